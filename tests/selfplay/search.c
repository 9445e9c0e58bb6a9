/* The search on models without a network: backups, masks, noise, depth, and independence of the batch. Whole trees against
 * mctx: golden_search. */
#include "tests/selfplay/search_cases.h"

typedef struct outcome {
  int selected;
  float value, raw_value, policy[ACTIONS_MAX];
  int32_t visits[ACTIONS_MAX];
} outcome;

/* The roots that `which` names, in that order, one mz_search_run. Root r: observation, mask and noise follow from r. */
static void search_roots(const mz_search_settings *settings, hash_model *model, int slots, mz_turns turns, int n,
                         const int *which, outcome *out) {
  static uint32_t observations[ROOTS];
  static uint8_t legal[ROOTS][ACTIONS_MAX];
  mz_root roots[ROOTS];
  mz_root_result results[ROOTS];
  mz_search *search = table_search(settings, model->actions, 0.97, turns, slots);
  const mz_search_model searched = hash_search_model(model);
  memset(out, 0, (size_t)n * sizeof *out);
  for (int i = 0; i < n; i++) {
    const uint32_t r = (uint32_t)which[i];
    observations[i] = hash_mix(r + 1);
    for (int a = 0; a < model->actions; a++)
      legal[i][a] = r % 3 == 0 || a == (int)r % model->actions || hash_mix(r * 64 + (uint32_t)a) % 2;
    roots[i] = (mz_root){.observation = &observations[i],
                         .legal = r % 3 == 0 ? NULL : legal[i],
                         .noise = r % 2,
                         .rng = mz_rng_at(9, MZ_RNG_NOISE, r, 4)};
    results[i] = (mz_root_result){.policy = out[i].policy, .visits = out[i].visits};
  }
  table_run(search, &searched, n, roots, 0, results);
  for (int i = 0; i < n; i++) {
    out[i].selected = results[i].selected;
    out[i].value = results[i].value;
    out[i].raw_value = results[i].raw_value;
    float sum = 0;
    for (int a = 0; a < model->actions; a++) {
      sum += out[i].policy[a];
      if (roots[i].legal && !roots[i].legal[a]) assert_true(out[i].visits[a] == 0 && out[i].policy[a] == 0);
    }
    assert_float_equal(sum, 1, 1e-5);
    assert_true(!roots[i].legal || roots[i].legal[out[i].selected]);
  }
  mz_search_free(search);
}

static void test_a_root_does_not_see_its_batch(void **state) {
  (void)state;
  const int action_counts[] = {1, 2, 3, 5, 9}, slot_counts[] = {1, 3, 16, ROOTS, 200};
  for (int c = 0; c < 5 * 2 * 2 * 3; c++) {
    hash_model model = {.actions = action_counts[c % 5]};
    mz_search_settings settings = table_defaults(c / 5 % 2 ? MZ_PUCT : MZ_GUMBEL, 20);
    settings.max_depth = c / 10 % 2 ? 3 : 0;
    outcome alone[ROOTS], together[ROOTS];
    int forward[ROOTS], backward[ROOTS];
    for (int r = 0; r < ROOTS; r++) {
      forward[r] = r;
      backward[r] = ROOTS - 1 - r;
      search_roots(&settings, &model, 1, (mz_turns)(c % 3), 1, &forward[r], &alone[r]);
    }
    for (int s = 0; s < 5; s++) {
      search_roots(&settings, &model, slot_counts[s], (mz_turns)(c % 3), ROOTS, forward, together);
      assert_memory_equal(together, alone, sizeof alone);
    }
    search_roots(&settings, &model, 16, (mz_turns)(c % 3), ROOTS, backward, together);
    for (int r = 0; r < ROOTS; r++) assert_memory_equal(&together[ROOTS - 1 - r], &alone[r], sizeof alone[r]);
  }
}

static void test_observations_may_lie_anywhere(void **state) {
  (void)state;
  uint32_t scattered[8] = {11, 22, 33, 44, 55, 66, 77, 88};
  const int places[] = {0, 1, 5, 3, 4, 7};
  hash_model model = {.actions = 3};
  const mz_search_model searched = hash_search_model(&model);
  mz_search_settings settings = table_defaults(MZ_PUCT, 4);
  mz_search *search = table_search(&settings, 3, 1, MZ_TURNS_ALONE, 6);
  float policies[6][3];
  mz_root roots[6];
  mz_root_result results[6];
  for (int i = 0; i < 6; i++) {
    roots[i] = (mz_root){.observation = &scattered[places[i]]};
    results[i] = (mz_root_result){.policy = policies[i]};
  }
  table_run(search, &searched, 6, roots, 0, results);
  for (int i = 0; i < 6; i++) assert_float_equal(results[i].raw_value, hash_unit(scattered[places[i]], 0), 0);
  mz_search_free(search);
}

static void test_fewer_simulations_are_a_search_of_that_number(void **state) {
  (void)state;
  for (int algorithm = 0; algorithm < 2; algorithm++) {
    hash_model model = {.actions = 4};
    const mz_search_model searched = hash_search_model(&model);
    mz_search_settings many = table_defaults(algorithm, 50), few = table_defaults(algorithm, 11);
    mz_search *large = table_search(&many, 4, 0.9, MZ_TURNS_ALONE, 1), *small = table_search(&few, 4, 0.9, MZ_TURNS_ALONE, 1);
    const uint32_t observation = 5;
    float policies[2][4];
    int32_t visits[2][4];
    const mz_root root = {.observation = &observation};
    mz_root_result results[2] = {{.policy = policies[0], .visits = visits[0]}, {.policy = policies[1], .visits = visits[1]}};
    table_run(large, &searched, 1, &root, 0, &results[0]); /* leaves its tree behind */
    table_run(large, &searched, 1, &root, 11, &results[0]);
    table_run(small, &searched, 1, &root, 0, &results[1]);
    assert_memory_equal(policies[0], policies[1], sizeof policies[0]);
    assert_memory_equal(visits[0], visits[1], sizeof visits[0]);
    assert_int_equal(visits[0][0] + visits[0][1] + visits[0][2] + visits[0][3], 11);
    assert_float_equal(results[0].value, results[1].value, 0);
    mz_search_free(large);
    mz_search_free(small);
  }
}

/* ---- backups ---- */

/* What simulation 4 carried to node i: the sum of its values after 4 simulations less that after 3. muzero-cpp's backup tests. */
static void expect_backup(mz_turns turns, const double *expected) {
  chain deeper;
  const mz_search_model model = chain_model(&deeper);
  const mz_search_settings settings = table_defaults(MZ_PUCT, 4);
  mz_search *search = table_search(&settings, 1, 0.5, turns, 1);
  double sums[2][5] = {{0}};
  const mz_root root = {0};
  float policy;
  mz_root_result result = {.policy = &policy};
  for (int extra = 0; extra < 2; extra++) {
    table_run(search, &model, 1, &root, 3 + extra, &result);
    for (int i = 0; i < 4 + extra; i++) {
      const mz_tree_node *node = mz_tree_at(mz_search_tree(search), 0, i);
      assert_int_equal(node->visits, 4 + extra - i);
      sums[extra][i] = (double)node->value * node->visits;
    }
    assert_float_equal(result.value, mz_tree_at(mz_search_tree(search), 0, 0)->value, 0);
  }
  for (int i = 0; i < 5; i++) assert_float_equal(sums[1][4 - i] - sums[0][4 - i], expected[i], 1e-6);
  mz_search_free(search);
}

static void test_backup_of_one_and_two_players(void **state) {
  (void)state;
  expect_backup(MZ_TURNS_ALONE, (const double[]){1, 0.6, 0.4, 0.3, 0.25});
  expect_backup(MZ_TURNS_ALTERNATE, (const double[]){1, -0.4, 0.3, -0.05, 0.125});
}

/* ---- masks, depth ---- */

/* mctx's bandit: reward by action, discount 0, value 0, logits 0 below the root. */
static const float bandit_reward[] = {20, 3, -1, 10}, bandit_logits[] = {0, -1, 2, 3};

static mz_status bandit_initial(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  (void)context, (void)observations, (void)out;
  assert_int_equal(n, 1);
  memcpy(policy, bandit_logits, sizeof bandit_logits);
  value[0] = -5;
  return MZ_OK;
}

static mz_status bandit_recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                  float *policy, float *value, float *reward) {
  (void)context, (void)in, (void)out;
  assert_int_equal(n, 1);
  memset(policy, 0, sizeof bandit_logits);
  value[0] = 0;
  reward[0] = bandit_reward[action[0]];
  return MZ_OK;
}

/* Depth of the deepest nodes below `node`; *visits: the most that one of them has. */
static int deepest(const mz_tree *tree, int node, int *visits) {
  const mz_edges edges = mz_tree_edges(mz_tree_at(tree, 0, node), tree->actions);
  int depth = 0;
  *visits = mz_tree_at(tree, 0, node)->visits;
  for (int a = 0; a < tree->actions; a++) {
    int below;
    if (edges.child[a] == MZ_NO_NODE) continue;
    const int found = 1 + deepest(tree, edges.child[a], &below);
    if (found > depth || (found == depth && below > *visits)) *visits = below;
    depth = found > depth ? found : depth;
  }
  return depth;
}

/* policies_test.py: 17 simulations, max_depth 3, value_scale 0.05, maxvisit 60, actions 0 and 3 invalid. */
static void test_masked_gumbel_bandit_of_mctx(void **state) {
  (void)state;
  const mz_search_model model = {.actions = 4, .latent_stride = 1, .initial = bandit_initial, .recurrent = bandit_recurrent};
  mz_search_settings settings = table_defaults(MZ_GUMBEL, 17);
  settings.max_depth = 3;
  settings.value_scale = 0.05;
  settings.maxvisit_init = 60;
  mz_search *search = table_search(&settings, 4, 0, MZ_TURNS_ALONE, 1);
  const uint8_t legal[] = {0, 1, 1, 0};
  const mz_root root = {.legal = legal};
  float policy[4];
  int32_t visits[4];
  mz_root_result result = {.policy = policy, .visits = visits};
  table_run(search, &model, 1, &root, 0, &result);
  assert_int_equal(result.selected, 1);
  assert_memory_equal(visits, ((const int32_t[]){0, 9, 8, 0}), sizeof visits);
  const double p1 = exp(-3) / (1 + exp(-3)), mixed = (-5 + 17 * (3 * p1 - (1 - p1))) / 18; /* the least of all completed Q */
  const double better = -1 + (60 + 9) * 0.05, other = 2 + (60 + 9) * 0.05 * (-1 - mixed) / (3 - mixed);
  assert_float_equal(policy[1], 1 / (1 + exp(other - better)), 1e-6);
  assert_float_equal(policy[0] + policy[3], 0, 0);
  int most;
  assert_int_equal(deepest(mz_search_tree(search), 0, &most), 3);
  assert_int_equal(most, 6);
  mz_search_free(search);
}

static void test_max_depth_asks_the_model_once_for_each_node(void **state) {
  (void)state;
  const uint32_t observation = 3;
  hash_model model = {.actions = 2};
  const mz_search_model searched = hash_search_model(&model);
  mz_search_settings settings = table_defaults(MZ_PUCT, 40);
  settings.max_depth = 2;
  mz_search *search = table_search(&settings, 2, 0.9, MZ_TURNS_ALONE, 1);
  float policy[2];
  int32_t visits[2];
  const mz_root root = {.observation = &observation};
  mz_root_result result = {.policy = policy, .visits = visits};
  table_run(search, &searched, 1, &root, 0, &result);
  assert_int_equal(visits[0] + visits[1], 40);
  assert_true(model.rows <= 6);
  int most;
  assert_int_equal(deepest(mz_search_tree(search), 0, &most), 2);
  mz_search_free(search);
}

static void test_only_the_legal_are_considered(void **state) {
  (void)state;
  hash_model model = {.actions = 9};
  const mz_search_model searched = hash_search_model(&model);
  for (int considered = 1; considered <= 16; considered += 5) {
    mz_search_settings settings = table_defaults(MZ_GUMBEL, 24);
    settings.considered = considered;
    mz_search *search = table_search(&settings, 9, 1, MZ_TURNS_ALTERNATE, 1);
    for (uint32_t observation = 1; observation < 20; observation++) {
      const uint8_t legal[9] = {0, 1, 0, 0, 1, observation % 2, 0, 0, 1};
      const mz_root root = {
          .observation = &observation, .legal = legal, .noise = true, .rng = mz_rng_at(1, MZ_RNG_NOISE, 0, observation)};
      float policy[9];
      int32_t visits[9];
      mz_root_result result = {.policy = policy, .visits = visits};
      int visited = 0, count = 3 + observation % 2;
      table_run(search, &searched, 1, &root, 0, &result);
      for (int a = 0; a < 9; a++) {
        assert_true(legal[a] || visits[a] == 0);
        visited += visits[a] > 0;
      }
      assert_int_equal(visited, considered < count ? considered : count);
    }
    mz_search_free(search);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_root_does_not_see_its_batch),
                                     cmocka_unit_test(test_observations_may_lie_anywhere),
                                     cmocka_unit_test(test_fewer_simulations_are_a_search_of_that_number),
                                     cmocka_unit_test(test_backup_of_one_and_two_players),
                                     cmocka_unit_test(test_masked_gumbel_bandit_of_mctx),
                                     cmocka_unit_test(test_max_depth_asks_the_model_once_for_each_node),
                                     cmocka_unit_test(test_only_the_legal_are_considered)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
