/* Reanalyze: the same search that anyone would run with these weights and this noise, however it is grouped. */
#include "base/symmetry.h"
#include "selfplay/reanalyze.h"
#include "tests/selfplay/agents.h"

enum { ROWS = 21, ACTIONS = 9, SEED = 6, UPDATE = 40 };

typedef struct positions {
  uint8_t *observations;
  uint8_t legal[ROWS][ACTIONS];
  uint32_t key[ROWS];
} positions;

/* Tic-tac-toe after 0, 1, 2 … moves of random games. */
static void positions_init(positions *p, const mz_env *env) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const size_t bytes = mz_spec_obs_bytes(&env->spec);
  assert_int_equal(mz_alloc(&p->observations, ROWS, bytes), MZ_OK);
  void *game;
  assert_int_equal(mz_alloc(&game, 1, env->state_size), MZ_OK);
  assert_int_equal(env->reset(env, game, NULL), MZ_OK);
  for (int i = 0; i < ROWS; i++) {
    if (mz_env_legal(env, game, p->legal[i]) < 3) {
      assert_int_equal(env->reset(env, game, NULL), MZ_OK);
      mz_env_legal(env, game, p->legal[i]);
    }
    env->observe(env, game, 1, p->observations + (size_t)i * bytes);
    p->key[i] = (uint32_t)i * 7;
    int32_t action = (int32_t)mz_rng_below(&rng, ACTIONS);
    while (!p->legal[i][action]) action = (action + 1) % ACTIONS;
    mz_step step;
    assert_int_equal(env->step(env, game, 1, &action, NULL, &step), MZ_OK);
    if (step.terminated || step.truncated) assert_int_equal(env->reset(env, game, NULL), MZ_OK);
  }
  free(game);
}

static void reanalyze(const test_agent *agent, const positions *p, int slots, float policies[ROWS][ACTIONS], float *values,
                      float *network) {
  const mz_env *env = agent->agent.env;
  mz_reanalyze *r;
  assert_int_equal(mz_reanalyze_create(&r, &agent->search, &env->spec, &agent->model, &mz_lane_cpu, 0.97, slots), MZ_OK);
  assert_int_equal(
      mz_reanalyze_search(r, agent->weights, SEED, UPDATE, ROWS, p->observations, p->legal[0], p->key, policies[0], values),
      MZ_OK);
  assert_int_equal(mz_reanalyze_evaluate(r, agent->weights, ROWS, p->observations, network), MZ_OK);
  mz_reanalyze_free(r);
}

/* Root by root, with a search and a network of its own. */
static void search_directly(const test_agent *agent, const positions *p, float policies[ROWS][ACTIONS], float *values,
                            float *network) {
  const mz_env *env = agent->agent.env;
  mz_infer *infer;
  mz_search *search;
  const int latents = mz_search_latents(&agent->search, ACTIONS, mz_infer_latent_stride(&agent->model), 1);
  assert_int_equal(mz_infer_create(&infer, &agent->model, &mz_lane_cpu, 1, latents), MZ_OK);
  assert_int_equal(mz_infer_set_weights(infer, agent->weights), MZ_OK);
  mz_infer_model adapter = {.infer = infer, .kind = env->spec.obs_kind};
  const mz_search_model model = mz_search_model_of_infer(&adapter, &agent->model);
  assert_int_equal(model.obs_bytes, mz_spec_obs_bytes(&env->spec));
  assert_int_equal(mz_search_create(&search, &agent->search, ACTIONS, model.latent_stride, 0.97, MZ_TURNS_ALTERNATE, 1), MZ_OK);
  for (int i = 0; i < ROWS; i++) {
    const mz_root root = {.observation = p->observations + (size_t)i * mz_spec_obs_bytes(&env->spec),
                          .legal = p->legal[i],
                          .noise = true,
                          .rng = mz_rng_at(SEED, MZ_RNG_REANALYZE, UPDATE, p->key[i] + (1ull << 32))};
    mz_root_result result = {.policy = policies[i]};
    assert_int_equal(mz_search_run(search, &model, 1, &root, 0, &result), MZ_OK);
    values[i] = result.value;
    network[i] = result.raw_value;
  }
  mz_search_free(search);
  mz_infer_free(infer);
}

static void test_grouping_changes_nothing(void **state) {
  (void)state;
  for (int algorithm = 0; algorithm < 2; algorithm++) {
    test_agent agent;
    positions p;
    float policies[2][ROWS][ACTIONS], values[2][ROWS], network[2][ROWS];
    test_agent_init(&agent, &mz_env_tictactoe, algorithm, 3);
    positions_init(&p, &mz_env_tictactoe);
    search_directly(&agent, &p, policies[0], values[0], network[0]);
    const int slots[] = {1, 4, 8, ROWS, 64};
    for (int s = 0; s < 5; s++) {
      reanalyze(&agent, &p, slots[s], policies[1], values[1], network[1]);
      assert_memory_equal(policies[1], policies[0], sizeof policies[0]);
      assert_memory_equal(values[1], values[0], sizeof values[0]);
      assert_memory_equal(network[1], network[0], sizeof network[0]);
    }
    for (int i = 0; i < ROWS; i++)
      for (int a = 0; a < ACTIONS; a++) assert_true(p.legal[i][a] || policies[0][i][a] == 0);
    free(p.observations);
    test_agent_deinit(&agent);
  }
}

static void test_noise_is_of_the_update_and_the_key(void **state) {
  (void)state;
  test_agent agent;
  positions p;
  float before[ROWS][ACTIONS], after[ROWS][ACTIONS], values[ROWS], network[ROWS];
  test_agent_init(&agent, &mz_env_tictactoe, MZ_PUCT, 3);
  positions_init(&p, &mz_env_tictactoe);
  reanalyze(&agent, &p, 8, before, values, network);
  const int kept = ROWS / 2;
  for (int i = kept; i < ROWS; i++) p.key[i]++;
  reanalyze(&agent, &p, 8, after, values, network);
  assert_memory_equal(after, before, (size_t)kept * sizeof before[0]);
  assert_memory_not_equal(after[kept], before[kept], (size_t)(ROWS - kept) * sizeof before[0]);
  free(p.observations);
  test_agent_deinit(&agent);
}

/* Returns how far the values of positions are from those of their images. */
static float values_apart(test_agent *agent, const positions *p) {
  const mz_spec *spec = &agent->agent.env->spec;
  const size_t bytes = mz_spec_obs_bytes(spec);
  positions images = *p;
  float policies[ROWS][ACTIONS], values[ROWS], network[2][ROWS], most = 0;
  assert_int_equal(mz_alloc(&images.observations, ROWS, bytes), MZ_OK);
  for (size_t i = 0; i < ROWS; i++) mz_symmetry_observe(spec, 3, p->observations + i * bytes, images.observations + i * bytes);
  reanalyze(agent, p, 8, policies, values, network[0]);
  reanalyze(agent, &images, 8, policies, values, network[1]);
  for (int i = 0; i < ROWS; i++) most = fmaxf(most, fabsf(network[0][i] - network[1][i]));
  free(images.observations);
  return most;
}

static void test_values_are_looked_at_as_searches_look(void **state) {
  (void)state;
  test_agent agent;
  positions p;
  test_agent_init(&agent, &mz_env_tictactoe, MZ_GUMBEL, 3);
  positions_init(&p, &mz_env_tictactoe);
  assert_true(values_apart(&agent, &p) > 1e-3f);
  agent.search.symmetry = true;
  assert_true(values_apart(&agent, &p) < 1e-6f);
  free(p.observations);
  test_agent_deinit(&agent);
}

/* Few simulations make fewer latents than slots, and every value takes one: too many at a time would write past the latents and,
 * where turns are told, past what is kept of each. Sanitizers see it. */
static void test_more_slots_than_latents(void **state) {
  (void)state;
  const mz_env *const envs[] = {&mz_env_tictactoe, &mz_env_pig};
  for (int e = 0; e < 2; e++) {
    const mz_spec *spec = &envs[e]->spec;
    test_agent agent;
    test_agent_init(&agent, envs[e], MZ_PUCT, 3);
    agent.search.simulations = 1;
    const int stride = mz_infer_latent_stride(&agent.model);
    int slots = 64;
    /* tiles are bounded by the cache */
    while (mz_search_latents(&agent.search, spec->actions, stride, slots) >= slots) slots *= 2;
    const int n = slots + 1;
    uint8_t *observations;
    float *values, one;
    mz_reanalyze *r;
    assert_int_equal(mz_alloc(&observations, (size_t)n, mz_spec_obs_bytes(spec)), MZ_OK);
    assert_int_equal(mz_alloc(&values, (size_t)n, sizeof *values), MZ_OK);
    assert_int_equal(mz_reanalyze_create(&r, &agent.search, spec, &agent.model, &mz_lane_cpu, 0.97, slots), MZ_OK);
    assert_int_equal(mz_reanalyze_evaluate(r, agent.weights, n, observations, values), MZ_OK);
    assert_int_equal(mz_reanalyze_evaluate(r, agent.weights, 1, observations, &one), MZ_OK);
    for (int i = 0; i < n; i++) assert_true(values[i] == one);
    mz_reanalyze_free(r);
    free(observations);
    free(values);
    test_agent_deinit(&agent);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grouping_changes_nothing),
      cmocka_unit_test(test_noise_is_of_the_update_and_the_key),
      cmocka_unit_test(test_values_are_looked_at_as_searches_look),
      cmocka_unit_test(test_more_slots_than_latents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
