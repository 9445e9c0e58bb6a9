/* Reanalyzed rows: fresh policies, and fresh values wherever a window takes one. */
#include "tests/replay/batches.h"

/* A target network made up: the policy puts everything on the first legal action, values follow from the observation. */
typedef struct network {
  int searches, evaluations;
  bool keys[ROWS * (UNROLL + 1)];
  mz_status fails;
} network;
static float searched_value(const uint8_t *obs) { return 1000 + obs[0]; }
static float evaluated_value(const uint8_t *obs) { return -1000 - (float)obs[0]; }
static mz_status search(void *context, uint32_t update, int n, const void *observations, const uint8_t *legal,
                        const uint32_t *key, float *policies, float *values) {
  network *net = context;
  assert_int_equal(update, 6);
  net->searches += n;
  for (int i = 0; i < n; i++) {
    assert_in_range(key[i], 0, ROWS * (UNROLL + 1) - 1);
    assert_false(net->keys[key[i]]);
    net->keys[key[i]] = true;
    int first = 0;
    while (!legal[i * 4 + first]) first++;
    for (int a = 0; a < 4; a++) policies[i * 4 + a] = a == first;
    values[i] = searched_value((const uint8_t *)observations + 4 * i);
  }
  return net->fails ? mz_fail(net->fails, "no search") : MZ_OK;
}
static mz_status evaluate(void *context, int n, const void *observations, float *values) {
  assert_in_range(n, 1, ROWS * (UNROLL + 1));
  ((network *)context)->evaluations += n;
  for (int i = 0; i < n; i++) values[i] = evaluated_value((const uint8_t *)observations + 4 * i);
  return MZ_OK;
}

/* Notes which of the row's states it takes values of. */
static float fresh_target(const setup *s, const mz_draw *draw, int t, bool *taken) {
  const mz_segment *segment = draw->segment;
  const mz_target_rule rule = mz_target_rule_of(&s->settings, &s->spec);
  float values[64];
  assert_true(segment->length <= 64);
  for (int i = t; i < segment->length; i++)
    values[i - t] = i <= draw->position + UNROLL ? searched_value(segment->obs + 4 * i) : evaluated_value(segment->obs + 4 * i);
  const mz_target_states states = mz_target_states_of(segment, t, &rule);
  for (int i = states.first; i <= states.last; i++) taken[i] = true;
  return mz_target_at(segment, t, values, &rule).value;
}

/* Returns how many states beyond the unroll a fresh row takes values of. */
static int check_fresh_row(const setup *s, const mz_draw *draw, int row) {
  const mz_segment *segment = draw->segment;
  const int symmetry = s->batch.obs[row * 4] > s->batch.obs[row * 4 + 1];
  bool taken[64] = {false};
  int evaluated = 0;
  for (int t = draw->position; t <= draw->position + UNROLL && t < segment->length; t++) {
    const int step = t - draw->position;
    const int first = board_symmetry_action(symmetry, segment->policy_action[segment->policy_start[t]]);
    for (int a = 0; a < 4; a++) assert_true(policy_at(s, step, row, a) == (a == first ? 1.0f : 0.0f));
    assert_true(s->batch.value[step * ROWS + row] == fresh_target(s, draw, t, taken));
  }
  for (int t = draw->position + UNROLL + 1; t < segment->length; t++) evaluated += taken[t];
  return evaluated;
}

static void check_reanalyzed_rows(double ratio, double lambda) {
  setup s;
  set_up(&s, board_spec(), 0);
  s.settings.lambda = lambda;
  mz_batch stored;
  ASSERT_OK(mz_batch_init(&stored, &s.spec, ROWS, UNROLL, 1));
  ASSERT_OK(mz_batch_build(&stored, &s.source, 6));
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 6, ROWS, draws);
  network net = {.searches = 0};
  mz_reanalyzer reanalyzer = {.context = &net, .ratio = ratio, .search = search, .evaluate = evaluate};
  s.source.reanalyzer = &reanalyzer;
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 6));
  int fresh_rows = 0, evaluated = 0;
  for (int row = 0; row < ROWS; row++) {
    const bool fresh = net.keys[row * (UNROLL + 1)];
    fresh_rows += fresh;
    if (fresh) evaluated += check_fresh_row(&s, &draws[row], row);
    for (int k = 0; k <= UNROLL; k++) {
      const bool inside = draws[row].position + k < draws[row].segment->length;
      const int at = k * ROWS + row;
      assert_int_equal(net.keys[row * (UNROLL + 1) + k], fresh && inside);
      if (fresh && inside) continue;
      assert_memory_equal(s.batch.policy + at * 4, stored.policy + at * 4, 16);
      assert_true(s.batch.value[at] == stored.value[at]);
    }
    assert_int_equal(s.batch.action[ROWS + row], stored.action[ROWS + row]);
  }
  if (ratio == 0) assert_int_equal(fresh_rows + net.searches, 0);
  if (ratio == 0.5) assert_in_range(fresh_rows, ROWS / 4, ROWS * 3 / 4);
  if (ratio == 1) assert_int_equal(fresh_rows, ROWS);
  assert_int_equal(net.evaluations, evaluated);
  assert_int_equal(evaluated > 0, ratio > 0);
  mz_batch_deinit(&stored);
  tear_down(&s);
}

static void reanalyzed_rows_have_fresh_policies_and_values(void **state) {
  (void)state;
  for (double ratio = 0; ratio <= 1; ratio += 0.5) {
    check_reanalyzed_rows(ratio, 1);
    check_reanalyzed_rows(ratio, 0.75);
    check_reanalyzed_rows(ratio, 0);
  }
}

/* Windows to the game's end take more values than one call is given. */
static void long_windows_are_evaluated_in_parts(void **state) {
  (void)state;
  setup s;
  set_up(&s, board_spec(), 0);
  s.settings.td_steps = 0;
  s.settings.lambda = 0.5;
  network net = {.searches = 0};
  mz_reanalyzer reanalyzer = {.context = &net, .ratio = 1, .search = search, .evaluate = evaluate};
  s.source.reanalyzer = &reanalyzer;
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 6));
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 6, ROWS, draws);
  int evaluated = 0;
  for (int row = 0; row < ROWS; row++) evaluated += check_fresh_row(&s, &draws[row], row);
  assert_int_equal(net.evaluations, evaluated);
  assert_true(evaluated > ROWS * (UNROLL + 1));
  tear_down(&s);
}

/* Half of the moves: of them, reanalyze makes targets again. */
static void states_without_a_policy_are_masked_until_reanalyzed(void **state) {
  (void)state;
  setup s;
  set_up(&s, board_spec(), 0);
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 6, ROWS, draws);
  for (int row = 0; row < ROWS; row++) {
    mz_segment *segment = (mz_segment *)(uintptr_t)draws[row].segment;
    for (int t = 0; t < segment->length; t += 2) {
      for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++) segment->policy_weight[e] = 0;
    }
  }
  for (int ratio = 0; ratio <= 1; ratio++) {
    network net = {.searches = 0};
    mz_reanalyzer reanalyzer = {.context = &net, .ratio = ratio, .search = search, .evaluate = evaluate};
    s.source.reanalyzer = &reanalyzer;
    ASSERT_OK(mz_batch_build(&s.batch, &s.source, 6));
    int masked = 0;
    for (int at = 0; at < ROWS * (UNROLL + 1); at++) {
      const mz_draw *draw = &draws[at % ROWS];
      const int t = draw->position + at / ROWS;
      const bool known = t < draw->segment->length && (ratio == 1 || t % 2 == 1);
      assert_int_equal(s.batch.policy_weight[at] > 0, known);
      assert_int_equal(s.batch.obs_weight[at] > 0, t < draw->segment->length); /* an observation needs no policy */
      masked += t < draw->segment->length && !known;
    }
    assert_int_equal(masked > 0, ratio == 0);
  }
  tear_down(&s);
}

static void failures_of_reanalyze_and_memory_are_forwarded(void **state) {
  (void)state;
  setup s;
  set_up(&s, board_spec(), 0);
  network net = {.fails = MZ_E_DEVICE};
  mz_reanalyzer reanalyzer = {.context = &net, .ratio = 1, .search = search, .evaluate = evaluate};
  s.source.reanalyzer = &reanalyzer;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_batch_build(&s.batch, &s.source, 6), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_int_equal(mz_batch_build(&s.batch, &s.source, 6), MZ_E_DEVICE);
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reanalyzed_rows_have_fresh_policies_and_values),
      cmocka_unit_test(long_windows_are_evaluated_in_parts),
      cmocka_unit_test(states_without_a_policy_are_masked_until_reanalyzed),
      cmocka_unit_test(failures_of_reanalyze_and_memory_are_forwarded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
