#include "muzero/pipeline.h"
#include "muzero/base/machine.h"
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
static const double PACKED = 0.6; /* of a packed segment, measured on the bundled environments */

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

/* Of one transition as a segment holds it, with its part of the look-ahead. */
static double transition_bytes(const mz_state *state) {
  const mz_spec *spec = &state->env->spec;
  const mz_cut cut = mz_state_cut(&state->settings);
  double raw = (double)mz_spec_obs_bytes(spec) + 17 + 6.0 * spec->actions;
  return cut.segment_moves ? raw * (1 + (double)cut.look_ahead / cut.segment_moves) : raw;
}

static void describe_memory(mz_pipeline *p, const mz_state *state) {
  const mz_settings *s = &state->settings;
  const mz_model *m = &state->model;
  double replay = fmin((double)s->replay.capacity * transition_bytes(state), (double)s->replay.bytes_max);
  p->bytes_fixed = (double)mz_machine_rss();
  p->store_count = 1;
  p->stores[0] = (mz_pipeline_store){.name = "replay", .raw = KNOB_RAW, .bytes = replay, .packed = PACKED};
  double rows = (double)(s->learning.batch_size / s->learning.shards);
  double weights = (double)m->params.packed * sizeof(float);
  mz_pipeline_stage *actor = &p->stages[MZ_STAGE_ACTOR], *batch = &p->stages[MZ_STAGE_BATCH],
                    *learner = &p->stages[MZ_STAGE_LEARNER];
  actor->bytes_thread = 2 * weights;
  actor->bytes_slot =
      (double)mz_search_slot_bytes(&s->search, m->actions, m->latent) + mz_model_row_floats(m, false) * sizeof(float);
  batch->bytes_thread = s->learning.reanalyze_ratio > 0 ? 2 * weights + 64 * actor->bytes_slot : 64 << 10;
  const double steps =
      2 * (double)(s->loss.unroll + 1) + mz_loss_observed(&s->loss) - 1; /* gradients; what consistency compares with */
  learner->bytes_thread = rows * mz_model_row_floats(m, true) * steps * sizeof(float);
  p->queues[0].bytes = (double)s->learning.batch_size * (double)(s->loss.unroll + 1) * sizeof(float) *
                       (double)(m->actions + 8 + m->obs_size * mz_loss_observed(&s->loss) / (s->loss.unroll + 1));
}

static double evaluation_groups(const mz_settings *s) {
  bool lines = strcmp(s->train.eval_opponent, "all") == 0;
  return lines ? 0 : ceil((double)s->train.eval_games / EVALUATION_GROUP);
}

void mz_pipeline_describe(mz_pipeline *p, const mz_state *state, const mz_devices *devices, const mz_knobs *held, int threads) {
  const mz_settings *s = &state->settings;
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
  describe_memory(p, state);
}
