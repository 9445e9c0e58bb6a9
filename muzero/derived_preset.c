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

mz_status mz_preset_derive(const mz_env *env, char **text, size_t *size) {
  enum { ROOM = 2048 };
  const mz_spec *spec = &env->spec;
  const bool two = spec->players == 2, board = spec->obs_shape[0] * spec->obs_shape[1] > SMALL_BOARD;
  const bool is_short = two || (spec->max_moves > 0 && spec->max_moves <= SHORT_GAME);
  const float reach =
      fmaxf(fmaxf(fabsf(spec->return_min), fabsf(spec->return_max)), fmaxf(fabsf(spec->reward_min), fabsf(spec->reward_max)));
  const bool transform = reach > 10;
  const bool large = mz_spec_obs_bytes(spec) > LARGE_OBSERVATION; /* replay of 100k would take gigabytes */
  char network[256], target[48];
  if (board)
    snprintf(network, sizeof network,
             "\"kind\": \"conv\", \"channels\": 32, \"blocks\": 2, \"pooled_blocks\": 1, \"scaling\": \"rms\", "
             "\"bn_rows\": 16");
  else
    snprintf(network, sizeof network, "\"width\": 128");
  snprintf(target, sizeof target, "%.9g", two ? 1.0 : (double)spec->return_max);
  MZ_TRY(mz_alloc(text, ROOM, 1));
  const int length = snprintf(
      *text, ROOM,
      "{\n"
      "  \"num_games\": 64, \"moves_per_round\": 8, \"loop_count\": 8, \"batch_size\": 128, \"shards\": 8, \"simulations\": 16,\n"
      "  \"td_steps\": %d, \"discount\": %s, \"unroll_steps\": 3,%s\n"
      "  \"learning_rate\": 0.005, \"learning_rate_schedule\": \"cosine\", \"weight_decay\": 1e-4, \"gradient_clip\": 5, "
      "\"weight_average\": 0.98,\n"
      "  \"network\": {%s, \"value_bins\": %d, \"reward_bins\": %d, \"transform\": \"%s\"},\n"
      "  \"replay\": {\"capacity\": %s, \"segment_moves\": %d, \"min_fill\": 1000, "
      "\"priority_exponent\": 0.6, \"importance_exponent\": 0.4},\n"
      "%s"
      "  \"train\": {\"horizon\": 10000, \"phase_rounds\": 25, \"target\": %s, \"updates\": 10000},\n"
      "  \"eval\": {\"games\": %d%s}\n"
      "}\n",
      two ? 0 : 10,
      two        ? "1"
      : is_short ? "0.97"
                 : "0.997",
      two ? "" : " \"search\": {\"algorithm\": \"puct\"},", network, bins_for(spec->return_min, spec->return_max, transform),
      bins_for(spec->reward_min, spec->reward_max, transform), transform ? "on" : "off",
      large ? "\"30k\", \"raw_bytes\": \"64M\"" : "\"100k\"", is_short ? 0 : 32,
      two ? "  \"selfplay\": {\"opening_plies\": 2},\n" : "", target, two ? 100 : 40, two ? ", \"opponent\": \"random\"" : "");
  MZ_ASSERT(length > 0 && length < ROOM);
  *size = (size_t)length;
  return MZ_OK;
}
