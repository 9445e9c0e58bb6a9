#include "envs/own/recorded_game.h"
#include "base/maths/digest.h"
#include <string.h>

static uint64_t next64(void *context) {
  mz_game_chance *chance = context;
  chance->drew = chance->drew || chance->forbidden;
  return mz_rng_u64(&chance->rng);
}
static double uniform(void *context) { return (double)(next64(context) >> 11) * 0x1p-53; }
static uint32_t below(void *context, uint32_t n) {
  mz_game_chance *chance = context;
  chance->drew = chance->drew || chance->forbidden;
  return n > 1 ? mz_rng_below(&chance->rng, n) : 0;
}

mz_game_chance mz_game_chance_of(uint64_t seed) { return (mz_game_chance){.rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0)}; }

muzero_env_random mz_game_chance_source(mz_game_chance *chance) {
  return (muzero_env_random){.context = chance, .next64 = next64, .f64 = uniform, .below = below};
}

mz_status mz_game_eyes_init(mz_game_eyes *eyes, const muzero_env_abi *abi, const mz_spec *spec) {
  *eyes = (mz_game_eyes){.abi = abi, .spec = spec};
  MZ_TRY(mz_guarded_init(&eyes->observation, mz_spec_obs_bytes(spec), mz_spec_obs_bytes(spec)));
  return mz_guarded_init(&eyes->mask, (size_t)spec->actions, (size_t)spec->actions);
}

void mz_game_eyes_deinit(mz_game_eyes *eyes) {
  mz_guarded_deinit(&eyes->observation);
  mz_guarded_deinit(&eyes->mask);
}

mz_game_point mz_game_point_of(const mz_game_eyes *eyes, const void *state, const muzero_env_step *result) {
  const muzero_env_abi *abi = eyes->abi;
  const size_t bytes = mz_spec_obs_bytes(eyes->spec), actions = (size_t)eyes->spec->actions;
  memset(eyes->observation.bytes, 0, bytes);
  memset(eyes->mask.bytes, 1, actions);
  if (abi->legal) abi->legal(state, eyes->mask.bytes);
  abi->observe(state, 1, eyes->observation.bytes);
  return (mz_game_point){.state = mz_hash(state, abi->state_size, abi->to_play ? (uint64_t)abi->to_play(state) : 0),
                         .observation = mz_hash(eyes->observation.bytes, bytes, 0),
                         .legal = mz_hash(eyes->mask.bytes, actions, 0),
                         .result = result ? mz_hash(result, sizeof *result, 0) : 0};
}

const char *mz_game_point_differs(const mz_game_point *a, const mz_game_point *b, int move) {
  if (a->result != b->result) return "step";
  if (a->state != b->state) return move > 0 ? "step" : "reset";
  if (a->legal != b->legal) return "legal";
  return a->observation != b->observation ? "observe" : NULL;
}
