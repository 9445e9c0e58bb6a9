/* Noise at the root, a network of NaN, and what a search costs. */
#include "base/machine/clock.h"
#include "tests/selfplay/search_cases.h"

/* ---- noise ---- */

static void root_priors(const mz_search_settings *settings, const mz_root *root, float *prior) {
  hash_model model = {.actions = 5};
  const mz_search_model searched = hash_search_model(&model);
  mz_search *search = table_search(settings, 5, 0.9, MZ_TURNS_ALONE, 1);
  float policy[5];
  mz_root_result result = {.policy = policy};
  table_run(search, &searched, 1, root, 0, &result);
  memcpy(prior, mz_tree_edges(mz_tree_at(mz_search_tree(search), 0, 0), 5).prior, 5 * sizeof(float));
  mz_search_free(search);
}

static void test_dirichlet_noise_is_for_the_legal(void **state) {
  (void)state;
  const uint32_t observation = 8;
  const uint8_t legal[] = {1, 0, 1, 1, 0};
  mz_search_settings settings = table_defaults(MZ_PUCT, 1);
  settings.dirichlet_fraction = 0.25;
  mz_root root = {.observation = &observation, .legal = legal, .rng = mz_rng_at(1, MZ_RNG_NOISE, 2, 3)};
  float plain[5], noisy[5], drawn[3];
  mz_rng rng = root.rng;
  mz_rng_dirichlet(&rng, 0.3f, 3, drawn);
  root_priors(&settings, &root, plain);
  root.noise = true;
  root_priors(&settings, &root, noisy);
  for (int a = 0, i = 0; a < 5; a++) {
    if (legal[a])
      assert_float_equal(noisy[a], 0.75f * plain[a] + 0.25f * drawn[i++], 1e-6);
    else
      assert_true(noisy[a] == -INFINITY && plain[a] == -INFINITY);
  }
}

static void test_gumbel_noise_chooses_what_is_considered(void **state) {
  (void)state;
  hash_model model = {.actions = 9};
  const mz_search_model searched = hash_search_model(&model);
  int moved = 0;
  for (uint32_t observation = 1; observation < 60; observation++) {
    int32_t visits[2][9];
    float policy[9], logits[9], value;
    hash_answer(&model, observation, 0, logits, &value);
    const mz_rng stream = mz_rng_at(4, MZ_RNG_NOISE, observation, 0);
    for (int scaled = 0; scaled < 2; scaled++) {
      mz_search_settings settings = table_defaults(MZ_GUMBEL, 3);
      settings.considered = 3;
      settings.gumbel_scale = scaled ? 1.5 : 0;
      mz_search *search = table_search(&settings, 9, 0.9, MZ_TURNS_ALONE, 1);
      const mz_root root = {.observation = &observation, .noise = true, .rng = stream};
      mz_root_result result = {.policy = policy, .visits = visits[scaled]};
      table_run(search, &searched, 1, &root, 0, &result);
      mz_search_free(search);
      /* Three simulations of three: the three largest g + logits */
      mz_rng rng = stream;
      float key[9];
      for (int a = 0; a < 9; a++) key[a] = logits[a] + (scaled ? 1.5f * mz_rng_gumbel(&rng) : 0);
      for (int a = 0; a < 9; a++) {
        int larger = 0;
        for (int b = 0; b < 9; b++) larger += key[b] > key[a];
        assert_int_equal(visits[scaled][a], larger < 3);
      }
    }
    moved += memcmp(visits[0], visits[1], sizeof visits[0]) != 0;
  }
  assert_true(moved > 20);
}

/* ---- a broken network, cost ---- */

static mz_status nan_initial(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  (void)context, (void)observations, (void)out;
  for (int i = 0; i < n; i++) value[i] = NAN;
  for (int i = 0; i < 4 * n; i++) policy[i] = NAN;
  return MZ_OK;
}

static mz_status nan_recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                               float *value, float *reward) {
  (void)in, (void)action;
  for (int i = 0; i < n; i++) reward[i] = NAN;
  return nan_initial(context, n, NULL, out, policy, value);
}

static void test_a_network_of_nan_still_plays_what_is_legal(void **state) {
  (void)state;
  for (int algorithm = 0; algorithm < 2; algorithm++) {
    const mz_search_model model = {.actions = 4, .latent_stride = 1, .initial = nan_initial, .recurrent = nan_recurrent};
    const mz_search_settings settings = table_defaults(algorithm, 12);
    mz_search *search = table_search(&settings, 4, 0.9, MZ_TURNS_ALONE, 1);
    const uint8_t legal[] = {0, 0, 1, 1};
    const mz_root root = {.legal = legal, .noise = true, .rng = mz_rng_at(1, MZ_RNG_NOISE, 0, 0)};
    float policy[4];
    int32_t visits[4];
    mz_root_result result = {.policy = policy, .visits = visits};
    table_run(search, &model, 1, &root, 0, &result);
    assert_true(legal[result.selected]);
    assert_int_equal(visits[0] + visits[1], 0);
    mz_search_free(search);
  }
}

/* Takes at least a nanosecond. */
static mz_status slow_recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                                float *value, float *reward) {
  const uint64_t started = mz_clock_ns();
  while (mz_clock_ns() == started) {
  }
  return chain_recurrent(context, n, in, action, out, policy, value, reward);
}

static void test_cost_counts_edges_and_simulations(void **state) {
  (void)state;
  chain deeper;
  mz_search_model model = chain_model(&deeper);
  model.recurrent = slow_recurrent;
  const mz_search_settings settings = table_defaults(MZ_PUCT, 6);
  mz_search *search = table_search(&settings, 1, 0.5, MZ_TURNS_ALONE, 4);
  mz_root roots[4] = {0};
  float policies[4];
  mz_root_result results[4];
  for (int i = 0; i < 4; i++) results[i] = (mz_root_result){.policy = &policies[i]};
  table_run(search, &model, 4, roots, 0, results);
  assert_int_equal(mz_search_cost_read(search).model_ns, 0);
  mz_search_count_cost(search, true);
  table_run(search, &model, 4, roots, 0, results);
  const mz_search_cost cost = mz_search_cost_read(search);
  assert_int_equal(cost.simulations, 6 * 4); /* of the second run alone */
  assert_int_equal(cost.edges, (1 + 2 + 3 + 4 + 5 + 6) * 4);
  assert_true(cost.model_ns >= 6 && cost.total_ns >= cost.model_ns); /* 6 calls */
  mz_search_free(search);
}

static void test_memory_that_cannot_be_had_is_an_error(void **state) {
  (void)state;
  const mz_search_settings settings = table_defaults(MZ_GUMBEL, 10);
  for (long n = 1; n <= 3; n++) {
    mz_search *search = NULL;
    mz_alloc_fail_after(n);
    assert_int_equal(mz_search_create(&search, &settings, 3, 1, 0.9, MZ_TURNS_ALONE, 8), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dirichlet_noise_is_for_the_legal), cmocka_unit_test(test_gumbel_noise_chooses_what_is_considered),
      cmocka_unit_test(test_a_network_of_nan_still_plays_what_is_legal), cmocka_unit_test(test_cost_counts_edges_and_simulations),
      cmocka_unit_test(test_memory_that_cannot_be_had_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
