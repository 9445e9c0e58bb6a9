/* States from outside: a byte that chooses the environment, then a state. What is taken for one of a game in play is played to
 * its end by random moves, with every function called on the way. The mutator begins with states that play reaches. */
#include "envs/env.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static const char *const names[] = {"tictactoe",
                                    "cartpole",
                                    "connect4",
                                    "othello",
                                    "othello6",
                                    "gomoku",
                                    "go",
                                    "go:size=5",
                                    "gomoku:size=5,k=4",
                                    "go:size=7,komi=0.5",
                                    "allocation",
                                    "allocation:spread=0",
                                    "acrobot",
                                    "catch",
                                    "2048",
                                    "pig",
                                    "pig:target=20,sides=3,horizon=40",
                                    "hex",
                                    "hex:size=5",
                                    "mountaincar",
                                    "asterix",
                                    "breakout",
                                    "freeway",
                                    "seaquest",
                                    "space_invaders"};
enum { ENVS = sizeof names / sizeof names[0], PLIES_MAX = 2000, STATE_MAX = 1 << 14 };

static const mz_env *envs[ENVS];
static _Alignas(16) uint8_t state[STATE_MAX], copy[STATE_MAX];
static uint8_t observation[1 << 16], legal[1024];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  for (int i = 0; i < ENVS; i++) {
    fuzz_must(mz_env_find(names[i], &envs[i]));
    MZ_ASSERT(envs[i]->state_size <= sizeof state && mz_spec_obs_bytes(&envs[i]->spec) <= sizeof observation);
    MZ_ASSERT((size_t)envs[i]->spec.actions <= sizeof legal);
  }
  return 0;
}

/* Whatever only looks at a state. */
static void look(const mz_env *env, uint64_t *random) {
  char text[4096];
  double numbers[MZ_ENV_NUMBERS_MAX];
  const int player = mz_env_to_play(env, state);
  MZ_ASSERT(player >= 0 && player < env->spec.players);
  env->observe(env, state, 1, observation);
  MZ_ASSERT(env->text(env, state, text, sizeof text) >= 0);
  if (env->numbers) MZ_ASSERT(env->numbers(env, state, numbers) <= MZ_ENV_NUMBERS_MAX);
  uint64_t stream = fuzz_random(random) | 1;
  memcpy(copy, state, env->state_size);
  if (env->rollout && fuzz_below(random, 4) == 0) (void)env->rollout(env, copy, &stream);
  float value;
  if (env->expert && env->spec.actions == 9) env->expert(env, state, copy, &value); /* others search for long */
}

/* One random move; false: the game is over. */
static bool move(const mz_env *env, uint64_t *random) {
  const int count = mz_env_legal(env, state, legal);
  MZ_ASSERT(count > 0);
  const int32_t action = mz_env_nth_legal(legal, env->spec.actions, fuzz_below(random, (uint32_t)count));
  mz_rng rng = mz_rng_at(fuzz_random(random), MZ_RNG_ENV, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  mz_step result;
  const mz_status status = env->step(env, state, 1, &action, env->draws ? &generator : NULL, &result);
  MZ_ASSERT(status == MZ_OK);
  return !result.terminated && !result.truncated;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const mz_env *env = envs[data[0] % ENVS];
  if (size != 1 + env->state_size) return 0;
  memcpy(state, data + 1, env->state_size);
  if (!env->valid(env, state)) return 0;
  uint64_t random = data[1];
  look(env, &random);
  for (int ply = 0; ply < PLIES_MAX && move(env, &random); ply++) {
    MZ_ASSERT(env->valid(env, state));
    if (fuzz_below(&random, 8) == 0) look(env, &random);
  }
  return 0;
}

static size_t play_some(uint8_t *data, size_t max_size, uint64_t *random) {
  const int which = (int)fuzz_below(random, ENVS);
  const mz_env *env = envs[which];
  if (1 + env->state_size > max_size) return 0;
  mz_rng rng = mz_rng_at(fuzz_random(random), MZ_RNG_ENV, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const uint32_t plies = fuzz_below(random, 64);
  const mz_status status = env->reset(env, state, &generator);
  MZ_ASSERT(status == MZ_OK);
  data[0] = (uint8_t)which;
  for (uint32_t ply = 0;; ply++) {
    memcpy(data + 1, state, env->state_size); /* the last before the end */
    if (ply >= plies || !move(env, random)) return 1 + env->state_size;
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  if (size < 2 || size != 1 + envs[data[0] % ENVS]->state_size || fuzz_below(&random, 8) == 0) {
    size = play_some(data, max_size, &random);
    if (size == 0 || fuzz_below(&random, 4) == 0) return size;
  }
  /* Sizes stay as they are: any other is refused at once. */
  for (int n = 1 + (int)fuzz_below(&random, 2); n > 0; n--) fuzz_mutate_bytes(data + 1, size - 1, size - 1, &random);
  return size;
}
