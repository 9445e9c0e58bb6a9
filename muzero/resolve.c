/* Settings that depend on one another, brought into agreement (muzero/settings.h). */
#include "muzero/batch_schedule.h"
#include "muzero/settings.h"
#include <math.h>
#include <string.h>

static bool given(mz_settings *settings, const uint8_t *explicit_, const char *key) {
  if (!explicit_) return false;
  mz_config config = mz_settings_config(settings, NULL);
  int index = mz_config_find(&config, key);
  MZ_ASSERT(index >= 0);
  return explicit_[index];
}

/* ρ = L·B/(M·G): with ρ given, the one of L and M that was not given follows. */
static mz_status tie_replay_ratio(mz_settings *s, const uint8_t *explicit_) {
  mz_learning_settings *l = &s->learning;
  double rows = (double)l->batch_size, games = (double)s->selfplay.games;
  if (l->replay_ratio == 0) return MZ_OK;
  bool loop_given = given(s, explicit_, "loop_count"), moves_given = given(s, explicit_, "moves_per_round");
  double loops = l->replay_ratio * (double)s->selfplay.moves * games / rows;
  if (loop_given && !moves_given) {
    const double moves = (double)l->loop_count * rows / (l->replay_ratio * games), most = MZ_MOVES_PER_ROUND_MAX,
                 nearest = fmin(fmax(1, round(moves)), most);
    if (moves != nearest)
      return mz_fail(MZ_E_CONFIG,
                     "moves_per_round: %g follows from loop_count %lld and replay_ratio %g, and is no whole number from 1 to "
                     "%.0f; nearest valid replay_ratio: %.17g",
                     moves, (long long)l->loop_count, l->replay_ratio, most, (double)l->loop_count * rows / (nearest * games));
    s->selfplay.moves = (int64_t)moves;
    return MZ_OK;
  }
  const double most = MZ_LOOP_COUNT_MAX, nearest = loop_given ? (double)l->loop_count : fmin(fmax(1, round(loops)), most);
  if (loops != nearest)
    return mz_fail(
        MZ_E_CONFIG,
        "replay_ratio: %g with moves_per_round %lld means loop_count %g, which is %s; nearest valid replay_ratio: %.17g",
        l->replay_ratio, (long long)s->selfplay.moves, loops,
        loop_given     ? "given otherwise"
        : loops > most ? "more than it may be"
                       : "no whole number",
        nearest * rows / ((double)s->selfplay.moves * games));
  l->loop_count = (int64_t)loops;
  return MZ_OK;
}

/* Batch norm's groups divide a shard. */
static mz_status resolve_norm(mz_settings *s, const uint8_t *explicit_) {
  const int64_t rows = s->learning.batch_size / s->learning.shards;
  int64_t *group = &s->network.norm_rows, asked = *group;
  if (!mz_network_normalises(&s->network)) return MZ_OK;
  int64_t above = *group;
  if (*group > rows) *group = rows;
  while (rows % *group != 0) --*group;
  while (above < rows && rows % above != 0) ++above;
  if (above <= rows && above - asked < asked - *group) *group = above; /* the nearest that divides */
  if (*group != asked && given(s, explicit_, "network.bn_rows"))
    return mz_fail(MZ_E_CONFIG,
                   "network.bn_rows: groups of %lld rows do not divide a shard's %lld (batch_size %lld / shards %lld); nearest "
                   "valid value: %lld",
                   (long long)asked, (long long)rows, (long long)s->learning.batch_size, (long long)s->learning.shards,
                   (long long)*group);
  return MZ_OK;
}

mz_status mz_settings_resolve(mz_settings *s, const uint8_t *explicit_) {
  MZ_TRY(tie_replay_ratio(s, explicit_));
  mz_learning_settings *l = &s->learning;
  if (l->batch_size % l->shards != 0) {
    if (given(s, explicit_, "shards")) {
      int64_t nearest = (l->batch_size + l->shards / 2) / l->shards * l->shards;
      return mz_fail(MZ_E_CONFIG, "batch_size: %lld rows do not divide into %lld shards; nearest valid value: %lld",
                     (long long)l->batch_size, (long long)l->shards, (long long)(nearest ? nearest : l->shards));
    }
    while (l->batch_size % l->shards != 0) l->shards--; /* nobody asked for a number: the next that divides */
  }
  MZ_TRY(resolve_norm(s, explicit_));
  if (s->network.projection > 0 && s->loss.consistency_weight == 0)
    return mz_fail(MZ_E_CONFIG,
                   "network.projection: %lld units, of which nothing is asked as loss.consistency_weight is 0; nearest "
                   "valid value: 0",
                   (long long)s->network.projection);
  if (s->replay.min_fill > s->replay.capacity)
    return mz_fail(MZ_E_CONFIG, "replay.min_fill: %lld exceeds replay.capacity %lld; learning would never start",
                   (long long)s->replay.min_fill, (long long)s->replay.capacity);
  if (s->replay.segment_moves > s->replay.capacity)
    return mz_fail(MZ_E_CONFIG, "replay.segment_moves: %lld exceeds replay.capacity %lld; nearest valid value: %lld",
                   (long long)s->replay.segment_moves, (long long)s->replay.capacity, (long long)s->replay.capacity);
  l->replay_ratio = (double)l->loop_count * (double)l->batch_size / ((double)s->selfplay.moves * (double)s->selfplay.games);
  return mz_batch_schedule_check(s);
}

mz_status mz_settings_check(const mz_settings *settings) {
  mz_settings copy = *settings;
  uint8_t all[MZ_SETTINGS_ROWS_MAX];
  memset(all, 1, sizeof all);
  copy.learning.replay_ratio = 0; /* follows from the others, and is rounded */
  return mz_settings_resolve(&copy, all);
}
