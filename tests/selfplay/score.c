/* Scoring one node: golden values of mctx and muzero-cpp, and a plain double-precision reference over random nodes. */
#include "selfplay/search/search_state.h"
#include "base/file/file.h"
#include "base/json/json.h"
#include "tests/selfplay/table_model.h"

enum { ACTIONS_MAX = 12, VISITS_MAX = 100 };

/* A node with its edges, filled in by hand. */
typedef struct one_node {
  int actions;
  mz_tree_node node;
  float prior[ACTIONS_MAX], q[ACTIONS_MAX], score[ACTIONS_MAX];
  int32_t visits[ACTIONS_MAX], child[ACTIONS_MAX];
} one_node;

static mz_edges edges_of(one_node *n) { return (mz_edges){.prior = n->prior, .q = n->q, .visits = n->visits, .child = n->child}; }

static void count_visits(one_node *n) {
  n->node.visits = 1;
  for (int a = 0; a < n->actions; a++) n->node.visits += n->visits[a];
}

static mz_scorer scorer_of(const mz_search_settings *settings) {
  mz_scorer scorer;
  assert_int_equal(mz_scorer_init(&scorer, settings, 0.99f, VISITS_MAX), MZ_OK);
  return scorer;
}

static one_node random_node(mz_rng *rng, int actions) {
  one_node n = {.actions = actions};
  float logits[ACTIONS_MAX] = {0};
  for (int a = 0; a < actions; a++) {
    logits[a] = 2 * mz_rng_normal(rng);
    n.visits[a] = mz_rng_below(rng, 3) > 0 ? (int32_t)mz_rng_below(rng, 6) : 0;
    n.q[a] = n.visits[a] > 0 ? 3 * mz_rng_normal(rng) : 0;
  }
  mz_softmax(logits, actions, n.prior);
  n.node.raw_value = mz_rng_normal(rng);
  n.node.value = mz_rng_normal(rng);
  count_visits(&n);
  return n;
}

/* ---- puct ---- */

/* muzero-cpp's ucb test: c_base 1, c_init 0, bounds 0 … 1, 2 visits of the node, prior 0.01, reward 2, −8 over 10 visits, two
 * players, γ = ½: Q = 2 + ½·0.8. */
static void test_ucb_of_muzero_cpp(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_PUCT, 8);
  settings.q_transform = MZ_Q_MIN_MAX;
  settings.min_value = 0, settings.max_value = 1;
  settings.c_init = 0, settings.c_base = 1;
  mz_scorer scorer = scorer_of(&settings);
  one_node n = {.actions = 1, .node = {.visits = 2}, .prior = {0.01f}, .q = {2 + 0.5f * 0.8f}, .visits = {10}};
  mz_score_puct(&scorer, &n.node, edges_of(&n), 1, 0, n.score);
  assert_float_equal(n.score[0], 2.401782, 1e-6);
  mz_scorer_deinit(&scorer);
}

/* √N·(c_init + ln((N + c_base + 1)/c_base)): golden trees with c_base 19652 cannot see the + 1, a base of 2 can. */
static void test_exploration_counts_one_more(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_PUCT, 8);
  settings.c_init = 0.5, settings.c_base = 2;
  mz_scorer scorer = scorer_of(&settings);
  for (int n = 1; n <= VISITS_MAX; n++) assert_float_equal(scorer.exploration[n], sqrt(n) * (0.5 + log((n + 3) / 2.0)), 1e-5);
  mz_scorer_deinit(&scorer);
}

static double reference_puct(const one_node *n, int a, double spread_min) {
  double low = (double)n->node.value, high = low;
  for (int b = 0; b < n->actions; b++) {
    if (n->visits[b] == 0) continue;
    low = fmin(low, (double)n->q[b]);
    high = fmax(high, (double)n->q[b]);
  }
  const double N = n->node.visits,
               q = n->visits[a] > 0
                       ? ((double)n->q[a] - low) / fmax(high - low, fmax(spread_min * fabs((double)n->node.value), 1e-8))
                       : 0;
  return q + (double)n->prior[a] * sqrt(N) / (n->visits[a] + 1) * (1.25 + log((N + 19652 + 1) / 19652));
}

static void test_puct_is_the_formula(void **state) {
  (void)state;
  static const double spreads[] = {0, 0.4, 3};
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 3000; i++) {
    mz_search_settings settings = table_defaults(MZ_PUCT, 8);
    settings.spread_min = spreads[i % 3];
    mz_scorer scorer = scorer_of(&settings);
    one_node n = random_node(&rng, 1 + (int)mz_rng_below(&rng, ACTIONS_MAX));
    const int best = mz_score_puct(&scorer, &n.node, edges_of(&n), n.actions, 0, n.score);
    for (int a = 0; a < n.actions; a++) {
      assert_float_equal(n.score[a], reference_puct(&n, a, settings.spread_min), 1e-5);
      assert_true(n.score[a] <= n.score[best]);
    }
    mz_scorer_deinit(&scorer);
  }
}

/* Two moves at 300 that differ by 1 look alike where 120 is scaled to 1: the prior decides; and where 1 is, the better one. */
static void test_differences_within_the_least_spread_leave_the_priors(void **state) {
  (void)state;
  for (int with = 0; with <= 1; with++) {
    mz_search_settings settings = table_defaults(MZ_PUCT, 8);
    settings.spread_min = with ? 0.4 : 0;
    mz_scorer scorer = scorer_of(&settings);
    one_node n = {.actions = 2, .node = {.value = 300}, .prior = {0.6f, 0.4f}, .q = {300, 301}, .visits = {3, 3}};
    count_visits(&n);
    assert_int_equal(mz_score_puct(&scorer, &n.node, edges_of(&n), 2, 0, n.score), with ? 0 : 1);
    mz_scorer_deinit(&scorer);
  }
}

static void test_first_of_equals_wins_and_nan_wins_nothing(void **state) {
  (void)state;
  const float equal[] = {1, 3, 3, 2, 3};
  assert_int_equal(mz_argmax(equal, 5, 0), 1);
  assert_int_equal(mz_argmax(equal, 5, 2), 2);
  const float nothing[] = {NAN, NAN, NAN};
  assert_int_equal(mz_argmax(nothing, 3, 1), 1);
}

static void test_all_q_alike_leaves_the_priors(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_PUCT, 8);
  mz_scorer scorer = scorer_of(&settings);
  one_node n = {.actions = 3, .node = {.value = 0.25f}, .prior = {0.2f, 0.5f, 0.3f}, .q = {0.25f, 0.25f, 0}, .visits = {1, 1, 0}};
  count_visits(&n);
  assert_int_equal(mz_score_puct(&scorer, &n.node, edges_of(&n), 3, 0, n.score), 2);
  mz_scorer_deinit(&scorer);
}

static void test_bounds_out_of_order_are_refused(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_PUCT, 8);
  mz_scorer scorer;
  settings.q_transform = MZ_Q_MIN_MAX;
  settings.min_value = settings.max_value = 2;
  assert_int_equal(mz_scorer_init(&scorer, &settings, 1, 8), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "search.max_value: 2: must exceed search.min_value"));
}

/* ---- gumbel ---- */

/* mctx's qtransforms_test. */
static void test_mixed_value(void **state) {
  (void)state;
  const float logits[] = {-INFINITY, -1, 2, -INFINITY};
  one_node n = {.actions = 4, .node = {.raw_value = -0.8f}, .q = {0, 3 * 10.f / 54, -10.f / 54, 0}, .visits = {0, 4, 4, 0}};
  count_visits(&n);
  mz_softmax(logits, 4, n.prior);
  assert_float_equal(n.prior[0] + n.prior[3], 0, 0);
  const double p1 = exp(-3) / (1 + exp(-3)), expected = (-0.8 + 8 * (p1 * 30 / 54 - (1 - p1) * 10 / 54)) / 9;
  assert_float_equal(mz_mixed_value(&n.node, edges_of(&n), 4), expected, 1e-6);
  memset(n.visits, 0, sizeof n.visits);
  memset(n.q, 0, sizeof n.q);
  count_visits(&n);
  assert_float_equal(mz_mixed_value(&n.node, edges_of(&n), 4), -0.8f, 0);
}

static int read_list(const cJSON *row, const char *key, float *out) {
  const cJSON *entry = NULL;
  int count = 0;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItem(row, key)) {
    assert_true(count < ACTIONS_MAX);
    out[count++] = (float)entry->valuedouble;
  }
  return count;
}

static float read_float(const cJSON *row, const char *key) { return (float)cJSON_GetObjectItem(row, key)->valuedouble; }

static void test_completed_q_of_mctx(void **state) {
  (void)state;
  uint8_t *text;
  size_t size;
  cJSON *rows, *row;
  assert_int_equal(mz_file_read(TEST_DATA "/selfplay/completed_q.json", 0, &text, &size), MZ_OK);
  assert_int_equal(mz_json_parse((const char *)text, size, "completed_q.json", false, MZ_E_CONFIG, &rows), MZ_OK);
  assert_true(cJSON_GetArraySize(rows) >= 24);
  cJSON_ArrayForEach(row, rows) {
    mz_search_settings settings = table_defaults(MZ_GUMBEL, 8);
    settings.value_scale = (double)read_float(row, "value_scale");
    settings.maxvisit_init = (double)read_float(row, "maxvisit_init");
    settings.rescale_values = cJSON_IsTrue(cJSON_GetObjectItem(row, "rescale_values"));
    mz_scorer scorer = scorer_of(&settings);
    float logits[ACTIONS_MAX], visits[ACTIONS_MAX], completed[ACTIONS_MAX], improved[ACTIONS_MAX];
    one_node n = {.actions = read_list(row, "logits", logits), .node = {.raw_value = read_float(row, "raw_value")}};
    assert_int_equal(read_list(row, "visits", visits), n.actions);
    assert_int_equal(read_list(row, "q", n.q), n.actions);
    assert_int_equal(read_list(row, "completed_q", completed), n.actions);
    assert_int_equal(read_list(row, "improved_policy", improved), n.actions);
    for (int a = 0; a < n.actions; a++) n.visits[a] = (int32_t)visits[a];
    count_visits(&n);
    mz_softmax(logits, n.actions, n.prior);
    assert_float_equal(mz_mixed_value(&n.node, edges_of(&n), n.actions), read_float(row, "mixed_value"), 1e-5);
    mz_completed_q(&scorer, &n.node, edges_of(&n), n.actions, n.score);
    for (int a = 0; a < n.actions; a++) assert_float_equal(n.score[a], completed[a], 1e-5f * (1 + fabsf(completed[a])));
    mz_improved_policy(&scorer, &n.node, edges_of(&n), n.actions, logits, n.score);
    for (int a = 0; a < n.actions; a++) assert_float_equal(n.score[a], improved[a], 1e-5);
    mz_scorer_deinit(&scorer);
  }
  cJSON_Delete(rows);
  free(text);
}

/* π′ − n/N in double, from the definition. */
static void reference_interior(const one_node *n, const mz_search_settings *settings, double *score) {
  double q[ACTIONS_MAX], mass = 0, weight = 0, sum = 0, low = INFINITY, high = -INFINITY;
  int most = 0;
  for (int a = 0; a < n->actions; a++) {
    if (n->visits[a] == 0) continue;
    mass += (double)n->prior[a];
    weight += (double)n->prior[a] * (double)n->q[a];
    most = n->visits[a] > most ? n->visits[a] : most;
  }
  const double count = n->node.visits - 1, raw = (double)n->node.raw_value,
               mixed = mass > 0 ? (raw + count * weight / mass) / (count + 1) : raw;
  for (int a = 0; a < n->actions; a++) {
    q[a] = n->visits[a] > 0 ? (double)n->q[a] : mixed;
    low = fmin(low, q[a]);
    high = fmax(high, q[a]);
  }
  for (int a = 0; a < n->actions; a++) {
    if (settings->rescale_values) q[a] = (q[a] - low) / fmax(high - low, 1e-8);
    score[a] = (double)n->prior[a] * exp((settings->maxvisit_init + most) * settings->value_scale * q[a]);
    sum += score[a];
  }
  for (int a = 0; a < n->actions; a++) score[a] = score[a] / sum - n->visits[a] / (count + 1);
}

static void check_interior(const mz_search_settings *settings, const mz_scorer *scorer, one_node *n) {
  double score[ACTIONS_MAX];
  reference_interior(n, settings, score);
  const int best = mz_score_gumbel_interior(scorer, &n->node, edges_of(n), n->actions, n->score);
  for (int a = 0; a < n->actions; a++) assert_true(score[a] <= score[best] + 1e-5);
}

static void test_interior_choice_is_the_formula(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int rescale = 0; rescale < 2; rescale++) {
    mz_search_settings settings = table_defaults(MZ_GUMBEL, 8);
    settings.rescale_values = rescale;
    mz_scorer scorer = scorer_of(&settings);
    for (int i = 0; i < 4000; i++) {
      one_node n = random_node(&rng, i % 2 ? 2 : 1 + (int)mz_rng_below(&rng, ACTIONS_MAX));
      check_interior(&settings, &scorer, &n);
    }
    mz_scorer_deinit(&scorer);
  }
}

/* Two actions have a shorter way, which must leave off where Q differ by less than rescaling takes for one. */
static void test_two_actions_with_q_near_each_other(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_GUMBEL, 8);
  mz_scorer scorer = scorer_of(&settings);
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  int shorter = 0, longer = 0;
  for (int i = 0; i < 4000; i++) {
    one_node n = random_node(&rng, 2);
    const float scale = 1e-8f * mz_rng_f32(&rng) * 4;
    n.node.raw_value *= scale;
    for (int a = 0; a < 2; a++) n.q[a] *= scale;
    int best;
    *(mz_score_gumbel_two(&scorer, &n.node, edges_of(&n), &best) ? &shorter : &longer) += 1;
    check_interior(&settings, &scorer, &n);
  }
  assert_true(shorter > 500 && longer > 500);
  mz_scorer_deinit(&scorer);
}

static void test_root_choice_keeps_to_the_legal_and_the_considered(void **state) {
  (void)state;
  mz_search_settings settings = table_defaults(MZ_GUMBEL, 8);
  mz_scorer scorer = scorer_of(&settings);
  one_node n = {.actions = 4, .prior = {0, 0.1f, 0.2f, 0.7f}, .q = {0, 1, 2, 3}, .visits = {0, 2, 2, 3}};
  const float logits[] = {-INFINITY, -1, -2, 0};
  count_visits(&n);
  assert_int_equal(mz_score_gumbel_root(&scorer, &n.node, edges_of(&n), 4, 1, logits, 2, n.score), 2);
  assert_int_equal(mz_score_gumbel_root(&scorer, &n.node, edges_of(&n), 4, 1, logits, 3, n.score), 3);
  const float hopeless[] = {-INFINITY, -2e9f, -3e9f, 0}; /* both are held at −1e9: the first of them */
  assert_int_equal(mz_score_gumbel_root(&scorer, &n.node, edges_of(&n), 4, 1, hopeless, 2, n.score), 1);
  mz_scorer_deinit(&scorer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ucb_of_muzero_cpp),
      cmocka_unit_test(test_exploration_counts_one_more),
      cmocka_unit_test(test_puct_is_the_formula),
      cmocka_unit_test(test_differences_within_the_least_spread_leave_the_priors),
      cmocka_unit_test(test_first_of_equals_wins_and_nan_wins_nothing),
      cmocka_unit_test(test_all_q_alike_leaves_the_priors),
      cmocka_unit_test(test_bounds_out_of_order_are_refused),
      cmocka_unit_test(test_mixed_value),
      cmocka_unit_test(test_completed_q_of_mctx),
      cmocka_unit_test(test_interior_choice_is_the_formula),
      cmocka_unit_test(test_two_actions_with_q_near_each_other),
      cmocka_unit_test(test_root_choice_keeps_to_the_legal_and_the_considered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
