#include "muzero/knobs.h"
#include "envs/worker/workers.h"
#include <stdio.h>
#include <string.h>

/* A knob's value and range follow from these. */
typedef struct situation {
  const mz_settings *settings;
  int64_t threads; /* the budget */
  int devices;
  const mz_knobs *knobs; /* those before it in the table, resolved */
} situation;

typedef int64_t choice(const situation *s);

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t at_least_1(int64_t x) { return x < 1 ? 1 : x; }
static int64_t zero(const situation *s) {
  (void)s;
  return 0;
}
static int64_t one(const situation *s) {
  (void)s;
  return 1;
}

/* ---- values where the user names none: every stage may use every core, for whoever waits sleeps, so the stages share them by
 * need ---- */

static int64_t actors(const situation *s) { return least_of(s->threads, s->settings->selfplay.games); }
static int64_t builders(const situation *s) {
  return s->settings->learning.reanalyze_ratio > 0 ? s->threads : at_least_1(s->threads / 4);
}
static int64_t learners(const situation *s) { return least_of(s->threads, s->settings->learning.shards); }
/* Two groups an actor, so that the last group is short. */
static int64_t slots(const situation *s) {
  enum { SLOTS_CHOSEN_MAX = 64 };
  const int64_t groups = 2 * s->knobs->cpu_actor;
  return least_of(at_least_1((s->settings->selfplay.games + groups - 1) / groups), SLOTS_CHOSEN_MAX);
}
static int64_t queue(const situation *s) {
  (void)s;
  return 4;
}
static int64_t raw(const situation *s) {
  const mz_replay_settings *replay = &s->settings->replay;
  return replay->raw_bytes ? replay->raw_bytes : replay->bytes_max;
}

/* ---- ends of ranges ---- */

static int64_t actors_max(const situation *s) { return 2 * s->threads; }
static int64_t builders_max(const situation *s) {
  const bool moves = s->settings->allocation.objective == MZ_OBJECTIVE_GOODPUT; /* a range that holds whatever it becomes */
  const int64_t loops = moves ? 0 : s->settings->learning.loop_count;
  return loops > 0 ? least_of(loops, 2 * s->threads) : 2 * s->threads;
}
static int64_t learners_max(const situation *s) { return least_of(s->settings->learning.shards, 2 * s->threads); }
static int64_t slots_max(const situation *s) {
  enum { SLOTS_MAX = 4096 };
  return least_of(s->settings->selfplay.games, SLOTS_MAX);
}
static int64_t queue_max(const situation *s) {
  (void)s;
  return 64;
}
static int64_t last_device(const situation *s) { return s->devices - 1; }
static int64_t raw_min(const situation *s) { return least_of(s->settings->replay.bytes_max, 1 << 20); }
static int64_t env_workers_max(const situation *s) { return least_of(2 * s->threads, MZ_WORKERS_MAX); }
static int64_t raw_max(const situation *s) { return s->settings->replay.bytes_max; }

typedef struct knob_row {
  const char *name;
  size_t offset;
  bool device;
  choice *value, *least, *most;
  const char *setting; /* the key of --set, where it is not the name in records */
} knob_row;

#define KNOB(field, ...)                                                                                                         \
  { #field, offsetof(mz_knobs, field), __VA_ARGS__ }
static const knob_row table[MZ_KNOBS] = {
    [MZ_KNOB_CPU_ACTOR] = KNOB(cpu_actor, false, actors, one, actors_max),
    [MZ_KNOB_BATCH_ACTOR] = KNOB(batch_actor, false, builders, one, builders_max),
    [MZ_KNOB_LEARNER_THREADS] = KNOB(learner_threads, false, learners, one, learners_max),
    [MZ_KNOB_MCTS_STORAGE_SIZE] = KNOB(mcts_storage_size, false, slots, one, slots_max),
    [MZ_KNOB_BATCH_BUFFER_SIZE] = KNOB(batch_buffer_size, false, queue, one, queue_max),
    [MZ_KNOB_SELFPLAY_DEVICE] = KNOB(selfplay_device, true, one, zero, last_device, "devices.selfplay"),
    [MZ_KNOB_REANALYZE_DEVICE] = KNOB(reanalyze_device, true, one, zero, last_device, "devices.reanalyze"),
    [MZ_KNOB_LEARNING_DEVICE] = KNOB(learning_device, true, one, zero, last_device, "devices.learning"),
    [MZ_KNOB_REPLAY_RAW] = KNOB(replay_raw, false, raw, raw_min, raw_max, "replay.raw_bytes"),
    [MZ_KNOB_ENV_WORKERS] = KNOB(env_workers, false, zero, one, env_workers_max),
};

static int64_t *field(mz_knobs *knobs, int knob) { return (int64_t *)((char *)knobs + table[knob].offset); }

void mz_knobs_resolve(mz_knobs *knobs, const mz_settings *settings, int threads) {
  const situation s = {.settings = settings, .threads = threads, .knobs = knobs};
  for (int k = 0; k < MZ_KNOBS; k++)
    if (!*field(knobs, k)) *field(knobs, k) = table[k].value(&s);
}

mz_knobs mz_knobs_or(const mz_knobs *knobs, const mz_knobs *present) {
  mz_knobs result = *knobs, other = *present;
  for (int k = 0; k < MZ_KNOBS; k++)
    if (!*field(&result, k)) *field(&result, k) = *field(&other, k);
  return result;
}

void mz_knobs_describe(mz_knob *out, const mz_settings *settings, const mz_knobs *held, int threads, int devices) {
  const situation s = {.settings = settings, .threads = threads, .devices = devices, .knobs = held};
  mz_knobs copy = *held;
  for (int k = 0; k < MZ_KNOBS; k++) {
    mz_knob *knob = &out[k];
    *knob = (mz_knob){.class_ = MZ_EXACT, .scale = table[k].device ? MZ_SCALE_CHOICE : MZ_SCALE_LOG2, .min = table[k].least(&s)};
    snprintf(knob->name, sizeof knob->name, "%s", table[k].name);
    if (table[k].setting) snprintf(knob->setting, sizeof knob->setting, "%s", table[k].setting);
    const int64_t most = table[k].most(&s);
    knob->max = most > knob->min ? most : knob->min;
    if (*field(&copy, k)) knob->min = knob->max = *field(&copy, k) - table[k].device;
  }
}

const char *mz_knob_setting(const char *name) {
  for (int k = 0; k < MZ_KNOBS; k++)
    if (table[k].setting && strcmp(table[k].name, name) == 0) return table[k].setting;
  return name;
}

mz_plan mz_plan_of_knobs(const mz_knobs *knobs) {
  mz_plan plan = {0};
  mz_knobs copy = *knobs;
  for (int k = 0; k < MZ_KNOBS; k++) plan.values[k] = *field(&copy, k) - table[k].device;
  return plan;
}

mz_knobs mz_knobs_of_plan(const mz_plan *plan) {
  mz_knobs knobs = {0};
  for (int k = 0; k < MZ_KNOBS; k++) *field(&knobs, k) = plan->values[k] + table[k].device;
  return knobs;
}

cJSON *mz_knobs_to_json(const mz_knobs *knobs) {
  const mz_plan plan = mz_plan_of_knobs(knobs);
  cJSON *object = cJSON_CreateObject();
  for (int k = 0; k < MZ_KNOBS; k++)
    if (k != MZ_KNOB_ENV_WORKERS || plan.values[k] > 0) cJSON_AddNumberToObject(object, table[k].name, (double)plan.values[k]);
  return object;
}

mz_knobs mz_knobs_from_json(const cJSON *json) {
  mz_knobs knobs = {0};
  for (int k = 0; k < MZ_KNOBS; k++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, table[k].name);
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53)
      *field(&knobs, k) = (int64_t)item->valuedouble + table[k].device;
  }
  return knobs;
}
