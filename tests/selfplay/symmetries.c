/* Positions that are looked at in all symmetries of the board: images of one position get images of one answer, and what is searched
 * from there is of the position as it stands. */
#include "base/symmetry.h"
#include "selfplay/search/symmetric_model.h"
#include "tests/selfplay/agents.h"
#include <math.h>

enum { IMAGES_MAX = 8, ACTIONS_MAX = 64, STATE_MAX = 4096, MOVES = 3 };

/* Plays some moves, and puts all images of the position before the planner. */
static void observe_images(mz_planner *planner, mz_rng *choice) {
  const mz_env *env = planner->env;
  const mz_spec *spec = &env->spec;
  static _Alignas(16) uint8_t state[STATE_MAX];
  assert_true(env->state_size <= STATE_MAX && spec->symmetries <= IMAGES_MAX && spec->actions <= ACTIONS_MAX);
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  for (int move = 0; move < MOVES; move++) {
    uint8_t mask[ACTIONS_MAX];
    mz_step step;
    const int legal = mz_env_legal(env, state, mask);
    const int32_t action = mz_env_nth_legal(mask, spec->actions, mz_rng_below(choice, (uint32_t)legal));
    assert_int_equal(env->step(env, state, 1, &action, NULL, &step), MZ_OK);
  }
  assert_int_equal(mz_planner_observe(planner, 0, 1, state), MZ_OK);
  for (int s = 1; s < spec->symmetries; s++) {
    mz_symmetry_observe(spec, s, planner->observations, planner->observations + (size_t)s * mz_spec_obs_bytes(spec));
    for (int a = 0; a < spec->actions; a++)
      planner->legal[(size_t)s * (size_t)spec->actions + (size_t)mz_symmetry_action(spec, s, a)] = planner->legal[a];
  }
}

/* Returns how far the priors and values of images are from images of the first one's. */
static double apart(const char *name, bool symmetries) {
  const mz_env *env;
  test_agent agent;
  mz_planner planner;
  float prior[IMAGES_MAX][ACTIONS_MAX];
  mz_rng choice = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  double most = 0;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  test_agent_init(&agent, env, MZ_GUMBEL, 5);
  agent.agent.symmetry = symmetries;
  assert_int_equal(mz_agent_planner(&agent.agent, IMAGES_MAX, &planner), MZ_OK);
  observe_images(&planner, &choice);
  for (int s = 0; s < env->spec.symmetries; s++) planner.results[s].prior = prior[s];
  assert_int_equal(mz_planner_search(&planner, env->spec.symmetries, agent.weights, 4), MZ_OK);
  for (int s = 1; s < env->spec.symmetries; s++) {
    most = fmax(most, fabs((double)planner.results[s].raw_value - (double)planner.results[0].raw_value));
    for (int a = 0; a < env->spec.actions; a++)
      most = fmax(most, fabs((double)prior[s][mz_symmetry_action(&env->spec, s, a)] - (double)prior[0][a]));
  }
  mz_planner_deinit(&planner);
  test_agent_deinit(&agent);
  return most;
}

static void images_get_images_of_one_answer(void **unused) {
  (void)unused;
  static const char *const names[] = {"tictactoe", "connect4", "go:size=5", "othello6"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const double together = apart(names[i], true), alone = apart(names[i], false);
    print_message("%s: images are %.1e apart, without symmetries %.1e\n", names[i], together, alone);
    assert_true(together < 1e-6);
    assert_true(alone > 1e-4); /* the network itself is not symmetric */
  }
}

/* ---- over a model of our own ---- */

enum { ROWS = 3, POSITIONS = 7 };

typedef struct asked {
  int calls, rows_most;
  int32_t first[POSITIONS]; /* by latent: the first byte of what was looked at last */
} asked;

/* Answers 100 · action + the sum of the observation's bytes, weighted by their places. */
static mz_status answer(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  asked *seen = context;
  const uint8_t *bytes = observations;
  const size_t size = mz_spec_obs_bytes(&mz_env_tictactoe.spec);
  seen->calls++;
  seen->rows_most = n > seen->rows_most ? n : seen->rows_most;
  for (int i = 0; i < n; i++, bytes += size) {
    float sum = 0;
    for (size_t k = 0; k < size; k++) sum += (float)(k * bytes[k]);
    for (int a = 0; a < 9; a++) policy[i * 9 + a] = 100 * (float)a + sum;
    value[i] = sum;
    seen->first[out[i]] = bytes[0];
  }
  return MZ_OK;
}

static mz_status fail_once(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  (void)context, (void)n, (void)observations, (void)out, (void)policy, (void)value;
  return mz_fail(MZ_E_DEVICE, "no answer");
}

static void answers_are_means_and_latents_stay(void **unused) {
  (void)unused;
  const mz_spec *spec = &mz_env_tictactoe.spec;
  const size_t size = mz_spec_obs_bytes(spec);
  asked seen = {0};
  mz_search_model inner = {.context = &seen, .actions = 9, .latent_stride = 1, .obs_bytes = size, .initial = answer};
  mz_symmetric_model *symmetric;
  uint8_t observations[POSITIONS * 64] = {0}, image[64];
  int32_t out[POSITIONS];
  float policy[POSITIONS * 9], value[POSITIONS];
  assert_true(size <= sizeof image);
  for (int i = 0; i < POSITIONS; i++) {
    out[i] = POSITIONS - 1 - i;
    observations[(size_t)i * size] = (uint8_t)(i + 1); /* in a corner: images have it elsewhere */
  }
  assert_int_equal(mz_symmetric_model_create(&symmetric, &inner, spec, ROWS), MZ_OK);
  const mz_search_model model = mz_search_model_of_symmetric(symmetric);
  assert_int_equal(model.initial(model.context, POSITIONS, observations, out, policy, value), MZ_OK);
  assert_int_equal(seen.calls, 8 * 3); /* 3, 3 and 1 rows */
  assert_int_equal(seen.rows_most, ROWS);
  for (int i = 0; i < POSITIONS; i++) {
    float sums[8], mean = 0;
    assert_int_equal(seen.first[out[i]], i + 1); /* the position itself was looked at last */
    for (int s = 0; s < 8; s++) {
      sums[s] = 0;
      mz_symmetry_observe(spec, s, observations + (size_t)i * size, image);
      for (size_t k = 0; k < size; k++) sums[s] += (float)(k * image[k]);
      mean += sums[s] / 8;
    }
    assert_true(fabsf(value[i] - mean) < 1e-3f);
    for (int a = 0; a < 9; a++) {
      float expected = 0;
      for (int s = 0; s < 8; s++) expected += (100 * (float)mz_symmetry_action(spec, s, a) + sums[s]) / 8;
      assert_true(fabsf(policy[i * 9 + a] - expected) < 1e-2f);
    }
  }
  mz_symmetric_model_free(symmetric);
  inner.initial = fail_once;
  assert_int_equal(mz_symmetric_model_create(&symmetric, &inner, spec, ROWS), MZ_OK);
  const mz_search_model broken = mz_search_model_of_symmetric(symmetric);
  assert_int_equal(broken.initial(broken.context, POSITIONS, observations, out, policy, value), MZ_E_DEVICE);
  mz_symmetric_model_free(symmetric);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_get_images_of_one_answer),
      cmocka_unit_test(answers_are_means_and_latents_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
