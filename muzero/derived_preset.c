#include "muzero/derived_preset.h"
#include <math.h>

/* Up to so many cells, fully connected layers learn in less time than convolutions. */
enum { SMALL_BOARD = 16, SHORT_GAME = 64, BINS_MAX = 61, LARGE_OBSERVATION = 4096 };

/* Enough bins for whole numbers where the range is small; `transform`: larger ranges are compressed. */
static int bins_for(float min, float max, bool transform) {
  if (transform) return BINS_MAX;
  const float reach = fmaxf(fabsf(min), fabsf(max));
  const int whole = 2 * (int)ceilf(reach) + 1;
  return whole < 3 ? 3 : whole;
}

/* The settings that depend on the kind of game alone. */
typedef struct recipe {
  int num_games, moves_per_round, loop_count, td_steps, unroll_steps;
  const char *search; /* its algorithm */
  double learning_rate, weight_average;
  int consistency;
  const char *capacity;
  int min_fill;
  double priority, importance;
  int phase_rounds, updates, eval_games;
} recipe;

static const recipe short_alone = {64, 8, 8, 10, 3, "puct", 0.005, 0.98, 0, "100k", 1000, 0.6, 0.4, 25, 10000, 40};
static const recipe against = {64, 8, 8, 0, 3, "gumbel", 0.005, 0.98, 0, "100k", 1000, 0.6, 0.4, 25, 10000, 100};
/* Moves cost more than updates: few games, each move trained on two dozen times (docs/results/environments.md, LunarLander). */
static const recipe long_alone = {8, 64, 96, 20, 5, "gumbel", 0.001, 0.995, 1, "50k", 2000, 0, 0, 20, 90000, 20};

mz_status mz_preset_derive(const mz_env *env, char **text, size_t *size) {
  enum { ROOM = 2048 };
  const mz_spec *spec = &env->spec;
  const bool two = spec->players == 2, board = spec->obs_shape[0] * spec->obs_shape[1] > SMALL_BOARD;
  const bool is_short = two || (spec->max_moves > 0 && spec->max_moves <= SHORT_GAME);
  const recipe *r = two ? &against : is_short || board ? &short_alone : &long_alone;
  const float reach =
      fmaxf(fmaxf(fabsf(spec->return_min), fabsf(spec->return_max)), fmaxf(fabsf(spec->reward_min), fabsf(spec->reward_max)));
  const bool transform = reach > 10;
  const bool large = mz_spec_obs_bytes(spec) > LARGE_OBSERVATION; /* replay of 100k would take gigabytes */
  char network[256], capacity[64], target[48];
  if (board)
    snprintf(network, sizeof network,
             "\"kind\": \"conv\", \"channels\": 32, \"blocks\": 2, \"pooled_blocks\": 1, \"scaling\": \"rms\", "
             "\"bn_rows\": 16");
  else
    snprintf(network, sizeof network, "\"width\": 128");
  snprintf(capacity, sizeof capacity, "\"%s\"%s", large ? "30k" : r->capacity, large ? ", \"raw_bytes\": \"64M\"" : "");
  snprintf(target, sizeof target, "%.9g", two ? 1.0 : (double)spec->return_max);
  MZ_TRY(mz_alloc(text, ROOM, 1));
  const int length = snprintf(
      *text, ROOM,
      "{\n"
      "  \"num_games\": %d, \"moves_per_round\": %d, \"loop_count\": %d, \"batch_size\": 128, \"shards\": 8,\n"
      "  \"td_steps\": %d, \"discount\": %s, \"unroll_steps\": %d, \"simulations\": 16, \"search\": {\"algorithm\": \"%s\"},\n"
      "  \"learning_rate\": %g, \"learning_rate_schedule\": \"cosine\", \"weight_decay\": 1e-4, \"gradient_clip\": 5, "
      "\"weight_average\": %g,\n"
      "  \"loss\": {\"consistency_weight\": %d},\n"
      "  \"network\": {%s, \"value_bins\": %d, \"reward_bins\": %d, \"transform\": \"%s\"},\n"
      "  \"replay\": {\"capacity\": %s, \"segment_moves\": %d, \"min_fill\": %d, "
      "\"priority_exponent\": %g, \"importance_exponent\": %g},\n"
      "%s"
      "  \"train\": {\"horizon\": %d, \"phase_rounds\": %d, \"target\": %s, \"updates\": %d},\n"
      "  \"eval\": {\"games\": %d%s}\n"
      "}\n",
      r->num_games, r->moves_per_round, r->loop_count, r->td_steps,
      two        ? "1"
      : is_short ? "0.97"
                 : "0.997",
      r->unroll_steps, r->search, r->learning_rate, r->weight_average, r->consistency, network,
      bins_for(spec->return_min, spec->return_max, transform), bins_for(spec->reward_min, spec->reward_max, transform),
      transform ? "on" : "off", capacity, is_short ? 0 : 32, r->min_fill, r->priority, r->importance,
      two ? "  \"selfplay\": {\"opening_plies\": 2},\n" : "", r->updates, r->phase_rounds, target, r->updates, r->eval_games,
      two ? ", \"opponent\": \"random\"" : "");
  MZ_ASSERT(length > 0 && length < ROOM);
  *size = (size_t)length;
  return MZ_OK;
}
