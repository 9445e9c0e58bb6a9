#include "muzero/steering/trainer_pipeline.h"
#include <math.h>
#include <string.h>

enum { EVALUATION_GROUP = 5 };

static void describe_memory(mz_pipeline *p, const mz_memory *m) {
  p->bytes_fixed = 0;
  for (int i = 0; i < MZ_MEMORY_FIXED; i++) p->bytes_fixed += m->fixed[i];
  p->store_count = 1;
  p->stores[0] = (mz_pipeline_store){
      .name = "replay", .raw = MZ_KNOB_REPLAY_RAW, .bytes = m->replay, .packed = m->packed, .packed_max = m->packed_max};
  mz_pipeline_stage *actor = &p->stages[MZ_STAGE_ACTOR];
  actor->bytes_thread = m->actor;
  actor->bytes_slot = m->actor_slot;
  actor->bytes_tile = m->actor_tile;
  actor->tile = m->tile;
  p->stages[MZ_STAGE_BATCH].bytes_thread = m->builder;
  p->stages[MZ_STAGE_LEARNER].bytes_thread = m->learner;
  p->stages[MZ_STAGE_EVALUATE].bytes_thread = m->evaluation;
  p->stages[MZ_STAGE_ACTOR].on_gpu = m->gpu_actor;
  p->stages[MZ_STAGE_BATCH].on_gpu = m->gpu_builder;
  p->stages[MZ_STAGE_LEARNER].on_gpu = m->gpu_learner;
  p->stages[MZ_STAGE_EVALUATE].on_gpu = m->gpu_evaluation;
  p->stages[MZ_STAGE_ENV].bytes_thread = m->env.bytes;
  p->queues[0].bytes = m->batch;
}

/* Who runs which network, and what goes to and from the replay. */
static void describe_networks(mz_pipeline *p, const mz_settings *s, const mz_memory *m) {
  const uint32_t players = 1u << MZ_STAGE_ACTOR | 1u << MZ_STAGE_EVALUATE,
                 builder = s->learning.reanalyze_ratio > 0 ? 1u << MZ_STAGE_BATCH : 0, learner = 1u << MZ_STAGE_LEARNER;
  p->network_count = m->networks[0].name ? MZ_MODEL_PARTS : 0; /* an account made up by hand counts no model */
  for (int i = 0; i < p->network_count; i++) {
    const mz_model_part *part = &m->networks[i];
    mz_pipeline_network *network = &p->networks[i];
    *network = (mz_pipeline_network){.parameters = part->parameters,
                                     .flops = part->flops,
                                     .depth = part->depth,
                                     .width = part->width,
                                     .users = players | builder | learner};
    snprintf(network->name, sizeof network->name, "%s", part->name);
  }
  const double fresh = (double)(s->selfplay.games * s->selfplay.moves), trained = p->unit_samples;
  const double capacity = (double)s->replay.capacity, bytes = capacity > 0 ? m->replay / capacity : 0;
  const mz_pipeline_link links[] = {
      {.stage = MZ_STAGE_ACTOR, .writes = true, .items = fresh, .bytes = fresh * bytes},
      {.stage = MZ_STAGE_BATCH, .items = trained, .bytes = (double)s->learning.loop_count * m->batch},
      {.stage = MZ_STAGE_LEARNER, .writes = true, .items = trained, .bytes = trained * sizeof(float)}, /* priorities */
  };
  p->link_count = sizeof links / sizeof *links;
  memcpy(p->links, links, sizeof links);
}

void mz_pipeline_parts(const mz_pipeline *p, const mz_memory *m, const mz_plan *plan, double parts[MZ_MEMORY_PARTS]) {
  memcpy(parts, m->fixed, sizeof m->fixed);
  parts[MZ_MEMORY_ACTORS] = mz_stage_bytes(p, MZ_STAGE_ACTOR, plan);
  parts[MZ_MEMORY_BUILDERS] = mz_stage_bytes(p, MZ_STAGE_BATCH, plan);
  parts[MZ_MEMORY_LEARNERS] = mz_stage_bytes(p, MZ_STAGE_LEARNER, plan);
  parts[MZ_MEMORY_EVALUATION] = mz_stage_bytes(p, MZ_STAGE_EVALUATE, plan);
  parts[MZ_MEMORY_ENV] = mz_stage_bytes(p, MZ_STAGE_ENV, plan);
  parts[MZ_MEMORY_BATCHES] = mz_queue_bytes(p, 0, plan);
  parts[MZ_MEMORY_REPLAY] = mz_store_bytes(p, 0, plan);
}

static double evaluation_groups(const mz_settings *s) {
  bool lines = strcmp(s->train.eval_opponent, "all") == 0;
  return lines ? 0 : ceil((double)s->train.eval_games / EVALUATION_GROUP);
}

void mz_pipeline_describe(mz_pipeline *p, const mz_settings *s, const mz_memory *memory, const mz_devices *devices,
                          const mz_knobs *held, int threads) {
  const double loops = (double)s->learning.loop_count;
  *p = (mz_pipeline){.name = "muzero",
                     .unit_samples = loops * (double)s->learning.batch_size,
                     .stage_count = memory->env.has_workers ? MZ_STAGE_ENV + 1 : MZ_STAGE_ENV,
                     .queue_count = 1,
                     .device_count = devices->count};
  for (int d = 0; d < devices->count; d++) p->devices[d] = devices->items[d].device;
  p->knob_count = memory->env.has_workers ? MZ_KNOBS : MZ_KNOB_ENV_WORKERS;
  mz_knobs_describe(p->knobs, s, held, threads, devices->count);
  const mz_pipeline_stage stages[] = {
      [MZ_STAGE_ACTOR] = {.name = "actor",
                          .work = MZ_WORK_SELFPLAY,
                          .threads = MZ_KNOB_CPU_ACTOR,
                          .batch = MZ_KNOB_MCTS_STORAGE_SIZE,
                          .device = MZ_KNOB_SELFPLAY_DEVICE,
                          .gives_way = true, /* workers.c */
                          .items = (double)(s->selfplay.games * s->selfplay.moves) *
                                   mz_selfplay_mean_simulations(&s->selfplay, s->search.simulations),
                          .groups = (double)s->selfplay.games},
      [MZ_STAGE_BATCH] = {.name = "batch",
                          .work = MZ_WORK_REANALYZE,
                          .threads = MZ_KNOB_BATCH_ACTOR,
                          .batch = -1,
                          .device = MZ_KNOB_REANALYZE_DEVICE,
                          .items = loops,
                          .groups = loops},
      [MZ_STAGE_LEARNER] = {.name = "learner",
                            .work = MZ_WORK_TRAINING,
                            .threads = MZ_KNOB_LEARNER_THREADS,
                            .batch = -1,
                            .device = MZ_KNOB_LEARNING_DEVICE,
                            .items = loops,
                            .groups = (double)s->learning.shards,
                            .serial = 0.1},
      [MZ_STAGE_FOLD] = {.name = "fold", .step = 1, .threads = -1, .batch = -1, .device = MZ_KNOB_LEARNING_DEVICE, .items = 1},
      [MZ_STAGE_EVALUATE] = {.name = "evaluate",
                             .step = 2,
                             .threads = MZ_KNOB_CPU_ACTOR,
                             .batch = -1,
                             .device = MZ_KNOB_SELFPLAY_DEVICE,
                             .groups = evaluation_groups(s),
                             .apart = true},
      /* Threads of self-play wait for its answers, which no queue holds: in the model both work at the same time. */
      [MZ_STAGE_ENV] = {.name = "env",
                        .threads = MZ_KNOB_ENV_WORKERS,
                        .batch = -1,
                        .device = -1,
                        .items = (double)(s->selfplay.games * s->selfplay.moves),
                        .groups = (double)s->selfplay.games},
  };
  memcpy(p->stages, stages, sizeof stages);
  p->queues[0] = (mz_pipeline_queue){
      .name = "batches", .from = MZ_STAGE_BATCH, .to = MZ_STAGE_LEARNER, .capacity = MZ_KNOB_BATCH_BUFFER_SIZE, .items = loops};
  describe_memory(p, memory);
  describe_networks(p, s, memory);
}
