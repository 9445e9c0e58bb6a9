#include "muzero/training/memory_refusal.h"
#include <math.h>
#include <string.h>

enum { KEYS = 4 };
typedef struct part_text {
  const char *name;
  const char *keys[KEYS]; /* what makes it smaller, the nearest at hand first */
} part_text;

/* "network": the key that the kind of network has. */
static const part_text texts[MZ_MEMORY_PARTS] = {
    [MZ_MEMORY_PROCESS] = {"the process", {NULL}},
    [MZ_MEMORY_NETWORK] = {"network and moments", {"network", "network.depth", "network.blocks"}},
    [MZ_MEMORY_GRADIENTS] = {"gradients of shards", {"shards", "network", "network.blocks"}},
    [MZ_MEMORY_INDEX] = {"replay's index", {"replay.capacity"}},
    [MZ_MEMORY_GAMES] = {"games in play", {"num_games", "moves_per_round", "replay.segment_moves"}},
    [MZ_MEMORY_ROUND] = {"a round's priorities", {"loop_count", "batch_size"}},
    [MZ_MEMORY_SAVE] = {"a checkpoint's copy", {"replay.capacity", "network", "network.blocks", "num_games"}},
    [MZ_MEMORY_PROBE] = {"timings before the run", {"shards", "network", "network.blocks"}},
    [MZ_MEMORY_ACTORS] = {"actors", {"mcts_storage_size", "cpu_actor", "simulations", "network"}},
    [MZ_MEMORY_BUILDERS] = {"batch builders", {"batch_actor", "batch_size", "simulations", "network"}},
    [MZ_MEMORY_LEARNERS] = {"learner's activations", {"learner_threads", "batch_size", "unroll_steps", "network"}},
    [MZ_MEMORY_EVALUATION] = {"evaluation", {"eval.simulations", "cpu_actor", "simulations", "network"}},
    [MZ_MEMORY_ENV] = {"processes of the environment", {"env_workers"}},
    [MZ_MEMORY_BATCHES] = {"queue of batches", {"batch_buffer_size", "batch_size", "unroll_steps"}},
    [MZ_MEMORY_REPLAY] = {"replay", {"replay.capacity", "replay.bytes"}},
};

static const char *key_of(const char *key, const mz_settings *settings) {
  if (strcmp(key, "network") != 0) return key;
  return settings->network.kind == MZ_MODEL_CONV ? "network.channels" : "network.width";
}

/* Steps in which a setting's values are valid. */
static int64_t step_of(const char *key, const mz_settings *settings) {
  if (strcmp(key, "network.channels") == 0) return 16;
  if (strcmp(key, "batch_size") == 0) return settings->learning.shards;
  return 1;
}

/* 1234567 → 1200000. */
static int64_t two_digits(int64_t value) {
  int64_t unit = 1;
  while (value / unit >= 100) unit *= 10;
  return value / unit * unit;
}

typedef struct search {
  const mz_settings *settings;
  mz_config config; /* over `copy` */
  mz_settings copy;
  const char *key;
  int row;
  double most;
  mz_memory_need *need;
  void *context;
} search;

static int64_t *field(search *s) {
  const mz_setting *row = mz_config_row(&s->config, s->row);
  for (int t = 0; t < s->config.table_count; t++) {
    const mz_settings_table *table = &s->config.tables[t];
    if (row >= table->rows && row < table->rows + table->count)
      return (int64_t *)(void *)((char *)&s->copy + table->base + row->offset);
  }
  return NULL;
}

/* False also where the value cannot be. *value becomes what the other settings make of it. */
static bool fits(search *s, int64_t *value) {
  double bytes;
  s->copy = *s->settings;
  s->copy.learning.replay_ratio = 0;
  *field(s) = *value;
  if (mz_settings_resolve(&s->copy, NULL) != MZ_OK) return false;
  *value = *field(s);
  return s->need(s->context, &s->copy, &bytes) == MZ_OK && bytes <= s->most;
}

/* The least value that other settings allow. */
static int64_t least_of(const search *s) {
  const int64_t least = (int64_t)mz_config_row(&s->config, s->row)->min;
  const mz_replay_settings *replay = &s->settings->replay;
  if (strcmp(s->key, "replay.capacity") != 0) return least > 1 ? least : 1;
  return replay->min_fill > replay->segment_moves ? replay->min_fill : replay->segment_moves;
}

/* The largest value that fits, 0: none does. Knobs that are left to the program are 0 and give way by themselves. */
static int64_t largest(search *s) {
  const int64_t unit = step_of(s->key, s->settings), least = least_of(s);
  s->copy = *s->settings;
  int64_t low = (least + unit - 1) / unit, high = *field(s) / unit; /* in units; high does not fit */
  int64_t value = low * unit;
  if (high <= low || !fits(s, &value)) return 0;
  while (high - low > 1 + low / 256) {
    const int64_t middle = low + (high - low) / 2;
    value = middle * unit;
    if (fits(s, &value))
      low = middle;
    else
      high = middle;
  }
  value = two_digits(low) * unit;
  return fits(s, &value) ? value : low * unit;
}

/* "lower replay.capacity to 1200000". */
static void advise(int part, search *s, char *out, size_t size) {
  const part_text *text = &texts[part];
  s->config = mz_settings_config(&s->copy, NULL);
  size_t used = 0;
  for (int k = 0; k < KEYS && text->keys[k]; k++) {
    s->key = key_of(text->keys[k], s->settings);
    s->row = mz_config_find(&s->config, s->key);
    MZ_ASSERT(s->row >= 0);
    const int64_t value = largest(s);
    if (value == 0) continue;
    snprintf(out, size, "lower %s to %lld", s->key, (long long)value);
    return;
  }
  for (int k = 0; k < KEYS && text->keys[k] && used < size; k++) {
    const char *key = key_of(text->keys[k], s->settings);
    used += (size_t)snprintf(out + used, size - used, "%s%s", k == 0 ? "lower " : ", ", key);
  }
  if (used == 0) snprintf(out, size, "it needs a limits.memory_max, or a machine, that has so much");
}

static int by_size(const double *parts, int order[MZ_MEMORY_PARTS]) {
  int count = 0;
  for (int p = 0; p < MZ_MEMORY_PARTS; p++) {
    int at = count++;
    for (; at > 0 && parts[order[at - 1]] < parts[p]; at--) order[at] = order[at - 1];
    order[at] = p;
  }
  return count;
}

mz_status mz_memory_refuse(const double parts[MZ_MEMORY_PARTS], double most, const mz_settings *settings, mz_memory_need *need,
                           void *context) {
  int order[MZ_MEMORY_PARTS];
  char sum[512] = "", advice[160];
  double total = 0, small = 0;
  size_t used = 0;
  const int count = by_size(parts, order);
  for (int p = 0; p < count; p++) total += parts[p];
  for (int i = 0; i < count; i++) {
    const double bytes = parts[order[i]];
    if (i > 0 && bytes < 0.01 * total)
      small += bytes;
    else
      used += (size_t)snprintf(sum + used, sizeof sum - used, "%s%s %.0f", i ? " + " : "", texts[order[i]].name, bytes / 0x1p20);
  }
  if (small > 0) snprintf(sum + used, sizeof sum - used, " + the rest %.0f", small / 0x1p20);
  search s = {.settings = settings, .most = 0.999 * most, .need = need, .context = context}; /* so that what is advised holds */
  const int largest_part = order[0] == MZ_MEMORY_PROCESS ? order[1] : order[0];
  advise(largest_part, &s, advice, sizeof advice);
  return mz_fail(MZ_E_CONFIG,
                 "limits.memory_max: the run may need %.0f MiB, %.0f MiB more than the %.0f MiB that may be had: in MiB, %s; %s",
                 total / 0x1p20, ceil((total - most) / 0x1p20), most / 0x1p20, sum, advice);
}
