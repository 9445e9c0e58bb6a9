#include "muzero/steering/trainer_pipeline.h"
#include <math.h>
#include <string.h>

enum {
  KNOB_ACTORS,
  KNOB_BUILDERS,
  KNOB_LEARNERS,
  KNOB_SLOTS,
  KNOB_QUEUE,
  KNOB_SELFPLAY,
  KNOB_REANALYZE,
  KNOB_LEARNING,
  KNOB_RAW,
  KNOBS
};
enum { SLOTS_MAX = 1024, QUEUE_MAX = 64, EVALUATION_GROUP = 5, RAW_MIN = 1 << 20 };

static const struct {
  const char *name;
  size_t offset;
} knobs[KNOBS] = {
    [KNOB_ACTORS] = {"cpu_actor", offsetof(mz_knobs, cpu_actor)},
    [KNOB_BUILDERS] = {"batch_actor", offsetof(mz_knobs, batch_actor)},
    [KNOB_LEARNERS] = {"learner_threads", offsetof(mz_knobs, learner_threads)},
    [KNOB_SLOTS] = {"mcts_storage_size", offsetof(mz_knobs, mcts_storage_size)},
    [KNOB_QUEUE] = {"batch_buffer_size", offsetof(mz_knobs, batch_buffer_size)},
    [KNOB_SELFPLAY] = {"selfplay_device", offsetof(mz_knobs, selfplay_device)},
    [KNOB_REANALYZE] = {"reanalyze_device", offsetof(mz_knobs, reanalyze_device)},
    [KNOB_LEARNING] = {"learning_device", offsetof(mz_knobs, learning_device)},
    [KNOB_RAW] = {"replay_raw", offsetof(mz_knobs, replay_raw)},
};
static bool is_device(int knob) { return knob >= KNOB_SELFPLAY && knob <= KNOB_LEARNING; }
static int64_t *field(mz_knobs *values, int knob) { return (int64_t *)((char *)values + knobs[knob].offset); }

/* A plan names a device by its index, mz_knobs by 1 + index. */
mz_plan mz_plan_of_knobs(const mz_knobs *values) {
  mz_plan plan = {0};
  mz_knobs copy = *values;
  for (int k = 0; k < KNOBS; k++) plan.values[k] = *field(&copy, k) - is_device(k);
  return plan;
}

mz_knobs mz_knobs_of_plan(const mz_plan *plan) {
  mz_knobs values = {0};
  for (int k = 0; k < KNOBS; k++) *field(&values, k) = plan->values[k] + is_device(k);
  return values;
}

cJSON *mz_knobs_to_json(const mz_knobs *values) {
  const mz_plan plan = mz_plan_of_knobs(values);
  cJSON *object = cJSON_CreateObject();
  for (int k = 0; k < KNOBS; k++) cJSON_AddNumberToObject(object, knobs[k].name, (double)plan.values[k]);
  return object;
}

mz_knobs mz_knobs_from_json(const cJSON *json) {
  mz_knobs values = {0};
  for (int k = 0; k < KNOBS; k++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, knobs[k].name);
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53)
      *field(&values, k) = (int64_t)item->valuedouble + is_device(k);
  }
  return values;
}

static void describe_knobs(mz_pipeline *p, const mz_settings *s, const mz_knobs *held, int threads) {
  const int64_t shards = s->learning.shards, games = s->selfplay.games, loops = s->learning.loop_count;
  const int64_t most[KNOBS] = {
      [KNOB_ACTORS] = 2 * threads,
      [KNOB_BUILDERS] = loops > 0 && loops < 2 * threads ? loops : 2 * threads,
      [KNOB_LEARNERS] = shards < 2 * threads ? shards : 2 * threads,
      [KNOB_SLOTS] = games < SLOTS_MAX ? games : SLOTS_MAX,
      [KNOB_QUEUE] = QUEUE_MAX,
      [KNOB_SELFPLAY] = p->device_count - 1,
      [KNOB_REANALYZE] = p->device_count - 1,
      [KNOB_LEARNING] = p->device_count - 1,
      [KNOB_RAW] = s->replay.bytes_max,
  };
  mz_knobs copy = *held;
  p->knob_count = KNOBS;
  for (int k = 0; k < KNOBS; k++) {
    mz_knob *knob = &p->knobs[k];
    *knob = (mz_knob){.class_ = MZ_EXACT, .scale = is_device(k) ? MZ_SCALE_CHOICE : MZ_SCALE_LOG2, .min = !is_device(k)};
    snprintf(knob->name, sizeof knob->name, "%s", knobs[k].name);
    if (k == KNOB_RAW) knob->min = s->replay.bytes_max < RAW_MIN ? s->replay.bytes_max : RAW_MIN;
    knob->max = most[k] > knob->min ? most[k] : knob->min;
    if (*field(&copy, k)) knob->min = knob->max = *field(&copy, k) - is_device(k);
  }
}

static void describe_memory(mz_pipeline *p, const mz_memory *m) {
  p->bytes_fixed = 0;
  for (int i = 0; i < MZ_MEMORY_FIXED; i++) p->bytes_fixed += m->fixed[i];
  p->store_count = 1;
  p->stores[0] = (mz_pipeline_store){
      .name = "replay", .raw = KNOB_RAW, .bytes = m->replay, .packed = m->packed, .packed_max = m->packed_max};
  mz_pipeline_stage *actor = &p->stages[MZ_STAGE_ACTOR];
  actor->bytes_thread = m->actor;
  actor->bytes_slot = m->actor_slot;
  actor->bytes_tile = m->actor_tile;
  actor->tile = m->tile;
  p->stages[MZ_STAGE_BATCH].bytes_thread = m->builder;
  p->stages[MZ_STAGE_LEARNER].bytes_thread = m->learner;
  p->stages[MZ_STAGE_EVALUATE].bytes_thread = m->evaluation;
  p->queues[0].bytes = m->batch;
}

void mz_pipeline_parts(const mz_pipeline *p, const mz_memory *m, const mz_plan *plan, double parts[MZ_MEMORY_PARTS]) {
  memcpy(parts, m->fixed, sizeof m->fixed);
  parts[MZ_MEMORY_ACTORS] = mz_stage_bytes(p, MZ_STAGE_ACTOR, plan);
  parts[MZ_MEMORY_BUILDERS] = mz_stage_bytes(p, MZ_STAGE_BATCH, plan);
  parts[MZ_MEMORY_LEARNERS] = mz_stage_bytes(p, MZ_STAGE_LEARNER, plan);
  parts[MZ_MEMORY_EVALUATION] = mz_stage_bytes(p, MZ_STAGE_EVALUATE, plan);
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
                     .stage_count = MZ_STAGE_EVALUATE + 1,
                     .queue_count = 1,
                     .device_count = devices->count};
  for (int d = 0; d < devices->count; d++) p->devices[d] = devices->items[d].device;
  describe_knobs(p, s, held, threads);
  const mz_pipeline_stage stages[] = {
      [MZ_STAGE_ACTOR] = {.name = "actor",
                          .threads = KNOB_ACTORS,
                          .batch = KNOB_SLOTS,
                          .device = KNOB_SELFPLAY,
                          .gives_way = true, /* workers.c */
                          .items = (double)(s->selfplay.games * s->selfplay.moves) *
                                   mz_selfplay_mean_simulations(&s->selfplay, s->search.simulations),
                          .groups = (double)s->selfplay.games},
      [MZ_STAGE_BATCH] =
          {.name = "batch", .threads = KNOB_BUILDERS, .batch = -1, .device = KNOB_REANALYZE, .items = loops, .groups = loops},
      [MZ_STAGE_LEARNER] = {.name = "learner",
                            .threads = KNOB_LEARNERS,
                            .batch = -1,
                            .device = KNOB_LEARNING,
                            .items = loops,
                            .groups = (double)s->learning.shards,
                            .serial = 0.1},
      [MZ_STAGE_FOLD] = {.name = "fold", .step = 1, .threads = -1, .batch = -1, .device = KNOB_LEARNING, .items = 1},
      [MZ_STAGE_EVALUATE] = {.name = "evaluate",
                             .step = 2,
                             .threads = KNOB_ACTORS,
                             .batch = -1,
                             .device = KNOB_SELFPLAY,
                             .groups = evaluation_groups(s)},
  };
  memcpy(p->stages, stages, sizeof stages);
  p->queues[0] = (mz_pipeline_queue){
      .name = "batches", .from = MZ_STAGE_BATCH, .to = MZ_STAGE_LEARNER, .capacity = KNOB_QUEUE, .items = loops};
  describe_memory(p, memory);
}
