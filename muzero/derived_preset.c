#include "muzero/derived_preset.h"
#include "envs/chance.h"
#include <math.h>

/* Up to so many cells, fully connected layers learn in less time than convolutions. */
enum { SMALL_BOARD = 16, SHORT_GAME = 64, BINS_MAX = 61, LARGE_OBSERVATION = 4096 };

/* Where chance decides at least this share of moves, of so many that were compared, plans of several moves are worth nothing. */
enum { COMPARED_LEAST = 100 };
static const double CHANCE_LEAST = 0.25;

/* The settings of a kind of game, as members of a JSON object. */
#define EVERY_KIND                                                                                                               \
  "  \"batch_size\": 128, \"shards\": 8,\n"                                                                                      \
  "  \"learning_rate_schedule\": \"cosine\", \"weight_decay\": 1e-4, \"gradient_clip\": 5,\n"
#define BOARD "\"kind\": \"conv\", \"pooled_blocks\": 1, \"scaling\": \"rms\", \"bn_rows\": 16"

#define SHORT_GAMES                                                                                                              \
  EVERY_KIND                                                                                                                     \
  "  \"num_games\": 64, \"moves_per_round\": 8, \"loop_count\": 8, \"unroll_steps\": 3, \"simulations\": 16,\n"                  \
  "  \"learning_rate\": 0.005, \"weight_average\": 0.98,\n"                                                                      \
  "  \"replay\": {\"segment_moves\": 0, \"min_fill\": 1000, \"priority_exponent\": 0.6, \"importance_exponent\": 0.4},\n"        \
  "  \"train\": {\"horizon\": 10000, \"phase_rounds\": 25, \"updates\": 10000},\n"

static const char short_alone[] =
    SHORT_GAMES "  \"td_steps\": 10, \"discount\": 0.97, \"search\": {\"algorithm\": \"puct\"}, \"eval\": {\"games\": 40},\n";

static const char against[] =
    SHORT_GAMES "  \"td_steps\": 0, \"discount\": 1, \"search\": {\"algorithm\": \"gumbel\"},\n"
                "  \"selfplay\": {\"opening_plies\": 2}, \"eval\": {\"games\": 100, \"opponent\": \"random\"},\n";

/* Moves cost more than updates: few games, each move trained on two dozen times (docs/results/gymnasium.md, LunarLander and
 * CartPole). Where every move costs something, a goal ends the game, and random play hardly ever meets it: Gumbel's search keeps to one
 * way and explores further. Elsewhere moves are worth nearly the same once an agent plays well, and PUCT's soft targets keep what was
 * reached. */
#define LONG_ALONE                                                                                                               \
  EVERY_KIND                                                                                                                     \
  "  \"num_games\": 8, \"moves_per_round\": 64, \"loop_count\": 96,\n"                                                           \
  "  \"discount\": 0.997, \"simulations\": 16, \"learning_rate\": 0.001, \"weight_average\": 0.995,\n"                           \
  "  \"replay\": {\"segment_moves\": 32, \"min_fill\": 2000},\n"                                                                 \
  "  \"train\": {\"horizon\": 90000, \"phase_rounds\": 20, \"updates\": 90000}, \"eval\": {\"games\": 20},\n"
#define PLANNED "  \"unroll_steps\": 5, \"loss\": {\"consistency_weight\": 1},\n"
static const char long_costs[] = LONG_ALONE PLANNED "  \"td_steps\": 20, \"search\": {\"algorithm\": \"gumbel\"},\n";
static const char long_gains[] =
    LONG_ALONE PLANNED "  \"td_steps\": 50, \"search\": {\"algorithm\": \"puct\", \"spread_min\": 0.1},\n";

/* Where chance decides after moves, the model knows their mean and no more: what it says of a second move is of no position. Moves are
 * worth nearly the same, and what they differ by is small beside a value's error (docs/results/gymnasium.md, FrozenLake). */
static const char long_chance[] = LONG_ALONE "  \"unroll_steps\": 1, \"td_steps\": 50,\n"
                                             "  \"search\": {\"algorithm\": \"puct\", \"max_depth\": 1, \"spread_min\": 1},\n";

/* Updates cost more than moves: many games, each move trained on three times (docs/results/minatar.md, gymnasium.md: Pong). */
static const char long_pictures[] = EVERY_KIND
    "  \"num_games\": 64, \"moves_per_round\": 16, \"loop_count\": 24,\n"
    "  \"td_steps\": 10, \"td_lambda\": 0.9, \"discount\": 0.99, \"unroll_steps\": 2, \"simulations\": 8, "
    "\"search\": {\"algorithm\": \"gumbel\"},\n"
    "  \"learning_rate\": 0.008, \"weight_average\": 0.995, \"loss\": {\"consistency_weight\": 1},\n"
    "  \"replay\": {\"segment_moves\": 32, \"min_fill\": 4000},\n"
    "  \"train\": {\"horizon\": 47000, \"phase_rounds\": 20, \"updates\": 47000}, \"eval\": {\"games\": 16, \"interval\": 2},\n";

static const char vector[] = "  \"network\": {\"width\": 128},\n";
static const char board[] = "  \"network\": {" BOARD ", \"channels\": 32, \"blocks\": 2},\n";
static const char picture[] =
    "  \"network\": {" BOARD ", \"channels\": 16, \"blocks\": 1, \"head_width\": 64, \"projection\": 128, "
    "\"value_start\": \"zero\"},\n";

/* Enough bins for whole numbers where the range is small; `transform`: larger ranges are compressed. */
static int bins_for(float min, float max, bool transform) {
  if (transform) return BINS_MAX;
  const float reach = fmaxf(fabsf(min), fabsf(max));
  const int whole = 2 * (int)ceilf(reach) + 1;
  return whole < 3 ? 3 : whole;
}

static mz_status find_chance(const mz_env *env, bool *chance) {
  mz_chance found;
  MZ_TRY(mz_chance_measure(env, &found));
  *chance = found.compared >= COMPARED_LEAST && found.differing >= CHANCE_LEAST * found.compared;
  return MZ_OK;
}

mz_status mz_preset_derive(const mz_env *env, char **text, size_t *size) {
  enum { ROOM = 2048 };
  bool chance = false;
  const mz_spec *spec = &env->spec;
  const bool two = spec->players == 2, is_board = spec->obs_shape[0] * spec->obs_shape[1] > SMALL_BOARD;
  const bool is_short = two || (spec->max_moves > 0 && spec->max_moves <= SHORT_GAME);
  const float reach =
      fmaxf(fmaxf(fabsf(spec->return_min), fabsf(spec->return_max)), fmaxf(fabsf(spec->reward_min), fabsf(spec->reward_max)));
  const bool transform = reach > 10;
  const bool large = mz_spec_obs_bytes(spec) > LARGE_OBSERVATION; /* replay would take gigabytes */
  if (!is_short && !is_board && spec->return_max > 0) MZ_TRY(find_chance(env, &chance));
  MZ_TRY(mz_alloc(text, ROOM, 1));
  const int length = snprintf(
      *text, ROOM,
      "{\n"
      "%s%s"
      "  \"replay.capacity\": \"%s\", \"replay.raw_bytes\": \"%s\",\n"
      "  \"network.value_bins\": %d, \"network.reward_bins\": %d, \"network.transform\": \"%s\", \"train.target\": %.9g\n"
      "}\n",
      two                     ? against
      : is_short              ? short_alone
      : is_board              ? long_pictures
      : spec->return_max <= 0 ? long_costs
      : chance                ? long_chance
                              : long_gains,
      !is_board  ? vector
      : is_short ? board
                 : picture,
      large      ? "30k"
      : is_short ? "100k"
                 : "50k",
      large ? "64M" : "0", bins_for(spec->return_min, spec->return_max, transform),
      bins_for(spec->reward_min, spec->reward_max, transform), transform ? "on" : "off", two ? 1.0 : (double)spec->return_max);
  MZ_ASSERT(length > 0 && length < ROOM);
  *size = (size_t)length;
  return MZ_OK;
}
