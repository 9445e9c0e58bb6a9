/* Batches: rows against the segments they were drawn from, masks, importance, symmetry. */
#include "base/symmetry.h"
#include "tests/replay/batches.h"

static void rows_hold_what_was_stored(void **state) {
  (void)state;
  setup s;
  set_up(&s, vector_spec(), 1);
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 4));
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 4, ROWS, draws);
  uint64_t versions = 0;
  int ends_seen[3] = {0};
  for (int row = 0; row < ROWS; row++) {
    const mz_segment *segment = draws[row].segment;
    int position = draws[row].position;
    assert_int_equal(s.batch.leaf[row], draws[row].leaf);
    assert_int_equal(s.batch.serial[row], draws[row].serial);
    versions += segment->version;
    for (int k = 0; k <= UNROLL; k++) {
      int t = position + k, at = k * ROWS + row;
      mz_target target = mz_target_at(segment, t, segment->value + t, &(mz_target_rule){2, 0.5f, 1, false});
      float weight = s.batch.importance[row] / ROWS;
      static const float nothing[4];
      assert_memory_equal(s.batch.obs + at * 4, t < segment->length ? (const void *)(segment->obs + t * 16) : nothing, 16);
      ends_seen[segment->end] += t >= segment->length;
      assert_true(s.batch.value[at] == target.value);
      assert_true(s.batch.reward[at] == (k > 0 ? target.reward : 0));
      assert_true(s.batch.value_weight[at] == (target.value_known ? weight : 0));
      assert_true(s.batch.reward_weight[at] == (target.reward_known && k > 0 ? weight : 0));
      assert_true(s.batch.policy_weight[at] == (target.policy_known ? weight : 0));
      assert_true(s.batch.obs_weight[at] == (t < segment->length ? weight : 0));
      if (k > 0 && t - 1 < segment->length) assert_int_equal(s.batch.action[at], segment->action[t - 1]);
      made_move m;
      make_move(&m, &s.spec, (int)segment->game, t);
      for (int a = 0; a < s.spec.actions; a++) assert_true(policy_at(&s, k, row, a) == (t < segment->length ? m.policy[a] : 0));
    }
  }
  assert_int_equal(s.batch.version_sum, versions);
  assert_true(ends_seen[MZ_END_TERMINATED] > 0 && ends_seen[MZ_END_TRUNCATED] > 0); /* the masks were put to the test */
  assert_int_equal(ends_seen[MZ_END_OPEN], 0);
  tear_down(&s);
}

static void told_turns_are_in_the_first_players_view(void **state) {
  (void)state;
  setup s;
  set_up(&s, vector_spec(), 0);
  assert_true(!s.batch.turn && !s.batch.turn_weight);
  tear_down(&s);
  set_up(&s, told_spec(), 1);
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 4));
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 4, ROWS, draws);
  int others = 0;
  for (int row = 0; row < ROWS; row++) {
    const mz_segment *segment = draws[row].segment;
    const int position = draws[row].position;
    for (int k = 0; k <= UNROLL; k++) {
      const int t = position + k, at = k * ROWS + row;
      const bool stored = t < segment->length, away = stored && segment->player[t] != segment->player[position];
      mz_target target = mz_target_at(segment, t, segment->value + t, &(mz_target_rule){2, 0.5f, 1, true});
      assert_true(s.batch.turn[at] == (away ? 1 : 0));
      assert_true(s.batch.turn_weight[at] == (stored && k > 0 ? s.batch.importance[row] / ROWS : 0));
      assert_true(s.batch.value[at] == (away ? -target.value : target.value));
      const bool other = k > 0 && t <= segment->length && segment->player[t - 1] != segment->player[position];
      assert_true(s.batch.reward[at] == (k == 0 ? 0 : other ? -target.reward : target.reward));
      others += away + other;
    }
  }
  assert_true(others > 20);
  tear_down(&s);
}

static void actions_past_an_end_are_uniform(void **state) {
  (void)state;
  setup s;
  set_up(&s, vector_spec(), 0);
  int count[3] = {0}, total = 0;
  for (uint32_t update = 0; update < 400; update++) {
    ASSERT_OK(mz_batch_build(&s.batch, &s.source, update));
    for (int at = ROWS; at < (UNROLL + 1) * ROWS; at++) {
      if (s.batch.policy_weight[at - ROWS] > 0) continue; /* the state before was stored, and so was its action */
      assert_in_range(s.batch.action[at], 0, 2);
      count[s.batch.action[at]]++;
      total++;
    }
  }
  assert_true(total > 3000);
  for (int a = 0; a < 3; a++) assert_in_range(count[a], total / 3 - total / 20, total / 3 + total / 20);
  tear_down(&s);
}

static void importance_weighs_against_the_draws(void **state) {
  (void)state;
  setup s;
  set_up(&s, vector_spec(), 1);
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 4));
  mz_draw draws[ROWS];
  mz_buffer_draw(s.buffer, 11, 4, ROWS, draws);
  double weight[ROWS], largest = 0;
  for (int i = 0; i < ROWS; i++) {
    weight[i] = pow((double)mz_buffer_positions(s.buffer) * draws[i].probability, -0.7);
    if (weight[i] > largest) largest = weight[i];
  }
  float most = 0;
  for (int i = 0; i < ROWS; i++) {
    assert_true(fabs(s.batch.importance[i] - weight[i] / largest) < 1e-6);
    if (s.batch.importance[i] > most) most = s.batch.importance[i];
  }
  assert_true(most == 1);
  s.settings.importance_exponent = 0;
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 4));
  for (int i = 0; i < ROWS; i++) assert_true(s.batch.importance[i] == 1);
  tear_down(&s);

  set_up(&s, vector_spec(), 0); /* uniform draws: exactly 1 whatever the importance exponent */
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 4));
  for (int i = 0; i < ROWS; i++) assert_true(s.batch.importance[i] == 1);
  tear_down(&s);
}

static void a_row_does_not_depend_on_its_batch(void **state) {
  (void)state;
  setup s;
  set_up(&s, board_spec(), 0);
  mz_batch small;
  ASSERT_OK(mz_batch_init(&small, &s.spec, 5, UNROLL, 1));
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 9));
  ASSERT_OK(mz_batch_build(&small, &s.source, 9));
  for (int row = 0; row < 5; row++) {
    assert_memory_equal(small.obs + 4 * row, s.batch.obs + 4 * row, 16);
    for (int k = 0; k <= UNROLL; k++) {
      int a = k * 5 + row, b = k * ROWS + row;
      assert_int_equal(small.action[a], s.batch.action[b]);
      assert_true(small.value[a] == s.batch.value[b] && small.reward[a] == s.batch.reward[b]);
      assert_memory_equal(small.policy + 4 * a, s.batch.policy + 4 * b, 16);
    }
  }
  mz_batch_deinit(&small);
  tear_down(&s);
}

/* The same rows twice: as they are stored, and in a symmetry each. */
static void build_plain_and_turned(setup *s, mz_batch *plain) {
  ASSERT_OK(mz_batch_init(plain, &s->spec, ROWS, UNROLL, UNROLL + 1));
  s->settings.symmetry = false;
  ASSERT_OK(mz_batch_build(plain, &s->source, 2));
  s->settings.symmetry = true;
  ASSERT_OK(mz_batch_build(&s->batch, &s->source, 2));
}

/* A quarter turn is not its own inverse, as a mirror is: where actions go is told from where they come from. */
static void quarter_turns_turn_policies_and_actions_the_same_way(void **state) {
  (void)state;
  setup s;
  mz_spec spec = board_spec();
  spec.symmetries = 8;
  set_up(&s, spec, 0);
  mz_batch plain;
  build_plain_and_turned(&s, &plain);
  int quarters = 0;
  for (int row = 0; row < ROWS; row++) {
    int symmetry = -1, same = 0;
    while (same < 4) { /* the one that makes this row of the plain one, all of whose entries differ */
      assert_true(++symmetry < 8);
      same = 0;
      for (int i = 0; i < 4; i++) same += s.batch.obs[row * 4 + mz_symmetry_cell(&s.spec, symmetry, i)] == plain.obs[row * 4 + i];
    }
    quarters += mz_symmetry_cell(&s.spec, symmetry, mz_symmetry_cell(&s.spec, symmetry, 0)) != 0;
    for (int k = 0; k <= UNROLL; k++) {
      const int at = k * ROWS + row;
      for (int a = 0; a < 4; a++)
        assert_true(policy_at(&s, k, row, mz_symmetry_action(&s.spec, symmetry, a)) == plain.policy[at * 4 + a]);
      if (k > 0 && plain.policy_weight[at - ROWS] > 0)
        assert_int_equal(s.batch.action[at], mz_symmetry_action(&s.spec, symmetry, plain.action[at]));
    }
  }
  assert_true(quarters > ROWS / 8);
  mz_batch_deinit(&plain);
  tear_down(&s);
}

/* Undoes the board's symmetry and finds the row that is built without it. */
static void symmetry_turns_a_whole_row(void **state) {
  (void)state;
  setup s;
  set_up(&s, board_spec(), 0);
  mz_batch plain;
  build_plain_and_turned(&s, &plain);
  int turned = 0;
  for (int row = 0; row < ROWS; row++) {
    int symmetry = s.batch.obs[row * 4] > s.batch.obs[row * 4 + 1]; /* entries ascend as stored */
    turned += symmetry;
    for (int k = 0; k <= UNROLL; k++) {
      int at = k * ROWS + row;
      for (int i = 0; i < 4; i++) assert_true(s.batch.obs[at * 4 + i] == plain.obs[at * 4 + (symmetry ? i ^ 1 : i)]);
      for (int a = 0; a < 4; a++)
        assert_true(policy_at(&s, k, row, board_symmetry_action(symmetry, a)) == plain.policy[at * 4 + a]);
      if (k > 0 && plain.policy_weight[at - ROWS] > 0)
        assert_int_equal(s.batch.action[at], board_symmetry_action(symmetry, plain.action[at]));
      assert_true(s.batch.value[at] == plain.value[at]);
    }
  }
  assert_in_range(turned, ROWS / 4, ROWS * 3 / 4);
  s.settings.symmetry = false;
  ASSERT_OK(mz_batch_build(&s.batch, &s.source, 2));
  assert_memory_equal(s.batch.obs, plain.obs, sizeof(float) * 4 * ROWS);
  mz_batch_deinit(&plain);
  tear_down(&s);
}

static void failures_of_memory_are_forwarded(void **state) {
  (void)state;
  const mz_spec spec = board_spec();
  mz_batch batch;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_batch_init(&batch, &spec, 4, 2, 1), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_hold_what_was_stored),
      cmocka_unit_test(told_turns_are_in_the_first_players_view),
      cmocka_unit_test(actions_past_an_end_are_uniform),
      cmocka_unit_test(importance_weighs_against_the_draws),
      cmocka_unit_test(a_row_does_not_depend_on_its_batch),
      cmocka_unit_test(quarter_turns_turn_policies_and_actions_the_same_way),
      cmocka_unit_test(symmetry_turns_a_whole_row),
      cmocka_unit_test(failures_of_memory_are_forwarded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
