/* n-step targets against values worked out by hand. */
#include "replay/batches/targets.h"
#include "tests/replay/fixtures.h"

/* Four states, rewards 1 2 4 8, root values 10 20 30 40, discount 1/2: every sum below is exact. */
typedef struct arrays {
  float reward[4], value[4];
  uint8_t player[4];
  uint32_t policy_start[5]; /* one legal action each */
  float policy[4];
  mz_segment segment;
} arrays;
static mz_segment *four(arrays *a, mz_end end) {
  *a = (arrays){.reward = {1, 2, 4, 8}, .value = {10, 20, 30, 40}, .policy_start = {0, 1, 2, 3, 4}, .policy = {1, 1, 1, 1}};
  a->segment.length = a->segment.moves = 4;
  a->segment.end = end;
  a->segment.reward = a->reward;
  a->segment.value = a->value;
  a->segment.player = a->player;
  a->segment.policy_start = a->policy_start;
  a->segment.policy_weight = a->policy;
  return &a->segment;
}
static float value_at(const mz_segment *segment, int t, int n, bool alternating) {
  mz_target target = mz_target_at(segment, t, segment->value + t, &(mz_target_rule){n, 0.5f, 1, alternating});
  assert_true(target.value_known);
  return target.value;
}

static void assert_states(const mz_segment *segment, int t, int n, float lambda, int first, int last) {
  const mz_target_states states = mz_target_states_of(segment, t, &(mz_target_rule){n, 0.5f, lambda, false});
  assert_int_equal(states.first, first);
  assert_int_equal(states.last, last);
}

static void a_full_window_sums_rewards_and_bootstraps(void **state) {
  (void)state;
  arrays a;
  for (int end = MZ_END_OPEN; end <= MZ_END_TRUNCATED; end++) {
    const mz_segment *segment = four(&a, (mz_end)end);
    assert_true(value_at(segment, 0, 1, false) == 1 + 0.5f * 20);
    assert_true(value_at(segment, 0, 3, false) == 1 + 0.5f * 2 + 0.25f * 4 + 0.125f * 40);
    assert_true(value_at(segment, 2, 1, false) == 4 + 0.5f * 40);
    assert_states(segment, 0, 3, 1, 3, 3);
    assert_states(segment, 0, 3, 0.5f, 1, 3);
  }
}

static void past_a_terminal_state_everything_is_zero(void **state) {
  (void)state;
  arrays a;
  const mz_segment *segment = four(&a, MZ_END_TERMINATED);
  assert_true(value_at(segment, 0, 4, false) == 1 + 1 + 1 + 1); /* the end itself is worth 0 */
  assert_true(value_at(segment, 0, 0, false) == 4);
  assert_true(value_at(segment, 2, 10, false) == 4 + 0.5f * 8);
  assert_true(value_at(segment, 3, 1, false) == 8);
  assert_states(segment, 0, 4, 1, 4, 3); /* none */
  assert_states(segment, 0, 4, 0.5f, 1, 3);
  assert_states(segment, 3, 4, 0.5f, 4, 3);
  mz_target end = mz_target_at(segment, 4, NULL, &(mz_target_rule){3, 0.5f, 1, false});
  assert_true(end.value_known && end.value == 0 && end.reward_known && end.reward == 8 && !end.policy_known);
  mz_target past = mz_target_at(segment, 5, NULL, &(mz_target_rule){3, 0.5f, 1, false});
  assert_true(past.value_known && past.value == 0 && past.reward_known && past.reward == 0 && !past.policy_known);
}

static void an_open_or_truncated_end_bootstraps_from_the_last_stored_state(void **state) {
  (void)state;
  arrays a;
  const mz_end ends[] = {MZ_END_OPEN, MZ_END_TRUNCATED};
  for (int i = 0; i < 2; i++) {
    const mz_segment *segment = four(&a, ends[i]);
    for (int n = 0; n <= 9; n += 3) { /* 0, 3, 6, 9 all stop at state 3 */
      assert_true(value_at(segment, 0, n, false) == 1 + 1 + 1 + 0.125f * 40);
      assert_states(segment, 0, n, 1, 3, 3);
      assert_states(segment, 3, n, 0.5f, 3, 3);
      assert_states(segment, 4, n, 0.5f, 4, 3); /* none */
    }
    assert_true(value_at(segment, 2, 5, false) == 4 + 0.5f * 40);
    assert_true(value_at(segment, 3, 5, false) == 40);
    mz_target end = mz_target_at(segment, 4, NULL, &(mz_target_rule){3, 0.5f, 1, false}); /* the last move's reward was seen */
    assert_true(!end.value_known && end.reward_known && end.reward == 8 && !end.policy_known);
    mz_target past = mz_target_at(segment, 5, NULL, &(mz_target_rule){3, 0.5f, 1, false});
    assert_true(!past.value_known && !past.reward_known && !past.policy_known);
  }
}

/* A pole that never falls: reward 1 for 500 moves, then the time limit. Were the limit taught as an end, the last targets
 * would fall to 1; they stay at the value of continuing for ever. */
static void the_time_limit_of_cartpole_is_never_taught_as_an_end(void **state) {
  (void)state;
  enum { MOVES = 500 };
  const float discount = 0.997f, forever = 1 / (1 - discount);
  static float reward[MOVES], value[MOVES];
  static uint8_t player[MOVES];
  static uint32_t policy_start[MOVES + 1]; /* no policies */
  for (int t = 0; t < MOVES; t++) {
    reward[t] = 1;
    value[t] = forever;
  }
  mz_segment segment = {.length = MOVES,
                        .moves = MOVES,
                        .end = MZ_END_TRUNCATED,
                        .reward = reward,
                        .value = value,
                        .player = player,
                        .policy_start = policy_start};
  const int windows[] = {0, 1, 10, 50, 1000};
  for (int w = 0; w < 5; w++)
    for (int t = 0; t < MOVES; t++) {
      mz_target target = mz_target_at(&segment, t, value + t, &(mz_target_rule){windows[w], discount, 1, false});
      assert_true(target.value_known && fabsf(target.value - forever) < 1e-3f * forever);
    }
  for (int t = MOVES; t < MOVES + 10; t++)
    assert_false(mz_target_at(&segment, t, NULL, &(mz_target_rule){10, discount, 1, false}).value_known);
  segment.end = MZ_END_TERMINATED;
  assert_true(mz_target_at(&segment, MOVES - 1, value + MOVES - 1, &(mz_target_rule){10, discount, 1, false}).value == 1);
}

static void the_other_players_rewards_and_values_count_negatively(void **state) {
  (void)state;
  arrays a;
  mz_segment *segment = four(&a, MZ_END_TERMINATED);
  const uint8_t players[] = {0, 1, 0, 1};
  memcpy(a.player, players, sizeof players);
  assert_true(value_at(segment, 0, 1, true) == 1 - 0.5f * 20);
  assert_true(value_at(segment, 0, 2, true) == 1 - 0.5f * 2 + 0.25f * 30);
  assert_true(value_at(segment, 1, 1, true) == 2 - 0.5f * 30);
  assert_true(value_at(segment, 0, 0, true) == 1 - 1 + 1 - 1);
  assert_true(value_at(segment, 1, 0, true) == 2 - 0.5f * 4 + 0.25f * 8);
  assert_true(value_at(segment, 0, 1, false) == 1 + 0.5f * 20);
  /* what a move earned is told from its mover's view, as the search adds it */
  assert_true(mz_target_at(segment, 2, segment->value + 2, &(mz_target_rule){1, 0.5f, 1, true}).reward == 2);
}

static void signs_follow_the_player_not_the_parity(void **state) {
  (void)state;
  arrays a;
  mz_segment *segment = four(&a, MZ_END_OPEN);
  const uint8_t players[] = {0, 0, 1, 0}; /* player 0 moves twice running */
  memcpy(a.player, players, sizeof players);
  assert_true(value_at(segment, 0, 1, true) == 1 + 0.5f * 20);
  assert_true(value_at(segment, 0, 2, true) == 1 + 0.5f * 2 - 0.25f * 30);
  assert_true(value_at(segment, 0, 3, true) == 1 + 0.5f * 2 - 0.25f * 4 + 0.125f * 40);
  assert_true(value_at(segment, 2, 1, true) == 4 - 0.5f * 40);
}

static void fresher_values_take_the_place_of_stored_ones(void **state) {
  (void)state;
  arrays a;
  const mz_segment *segment = four(&a, MZ_END_OPEN);
  const float fresh[] = {-1, -2, -3, -4};
  assert_true(mz_target_at(segment, 0, fresh, &(mz_target_rule){2, 0.5f, 1, false}).value == 1 + 0.5f * 2 + 0.25f * -3);
  /* 2 + (-3)/2; 1 + (half of it + half of -2)/2 */
  assert_true(mz_target_at(segment, 0, fresh, &(mz_target_rule){2, 0.5f, 0.5f, false}).value == 1 + 0.25f * (0.5f - 2));
}

/* Worked out backwards, each from its own mover's view: 8; 4 - (8 + 40)/4; 2 - (-8 + 30)/4; 1 - (-3.5 + 20)/4. */
static void lambda_mixes_root_values_into_the_return(void **state) {
  (void)state;
  arrays a;
  mz_segment *segment = four(&a, MZ_END_TERMINATED);
  const uint8_t players[] = {0, 1, 0, 1};
  memcpy(a.player, players, sizeof players);
  const float expected[] = {-3.125f, -3.5f, -8, 8};
  const mz_target_rule half = {.discount = 0.5f, .lambda = 0.5f, .zero_sum = true};
  for (int t = 0; t < 4; t++) assert_true(mz_target_at(segment, t, a.value + t, &half).value == expected[t]);

  segment = four(&a, MZ_END_OPEN); /* the window's end counts in full: 4 + 20, then 2 + (24 + 30)/4, 1 + (15.5 + 20)/4 */
  const mz_target_rule open = {.td_steps = 3, .discount = 0.5f, .lambda = 0.5f};
  assert_true(mz_target_at(segment, 0, a.value, &open).value == 9.875f);
  for (int t = 0; t < 3; t++) { /* none: one step, whatever the window */
    const mz_target_rule none = {.discount = 0.5f};
    assert_true(mz_target_at(segment, t, a.value + t, &none).value == value_at(segment, t, 1, false));
  }
}

/* Player 0 moves at 0, 1 and 3: what belongs to player 1 changes its sign. Past the end nobody is known to move. */
static void a_view_is_one_players(void **state) {
  (void)state;
  arrays a;
  mz_segment *segment = four(&a, MZ_END_TERMINATED);
  const uint8_t players[] = {0, 0, 1, 0};
  memcpy(a.player, players, sizeof players);
  const mz_target_rule rule = {1, 0.5f, 1, true};
  for (int root = 0; root < 4; root++) {
    for (int t = root; t < 6; t++) {
      const mz_target own = mz_target_at(segment, t, segment->value + t, &rule);
      mz_target seen = own;
      bool known;
      const bool away = mz_target_view(segment, root, t, &seen, &known);
      assert_int_equal(known, t < 4);
      assert_int_equal(away, t < 4 && players[t] != players[root]);
      assert_true(seen.value == (away ? -own.value : own.value));
      const bool other = t > 0 && t <= 4 && players[t - 1] != players[root];
      assert_true(seen.reward == (other ? -own.reward : own.reward));
    }
  }
}

/* What follows a random move says nothing about a policy's value; policy and reward are targets all the same. */
static void random_moves_have_no_value(void **state) {
  (void)state;
  arrays a;
  for (int end = MZ_END_OPEN; end <= MZ_END_TRUNCATED; end++) {
    const mz_segment *segment = four(&a, (mz_end)end);
    a.value[0] = a.value[1] = NAN;
    const float fresh[] = {50, 60, 70, 80};
    for (int t = 0; t < 2; t++) {
      const float *const values[] = {a.value + t, fresh + t};
      for (int i = 0; i < 2; i++) {
        const mz_target target = mz_target_at(segment, t, values[i], &(mz_target_rule){1, 0.5f, 0.5f, false});
        assert_true(!target.value_known && target.value == 0 && target.policy_known);
        assert_true(target.reward_known == (t > 0) && target.reward == (float)t);
      }
    }
    assert_true(value_at(segment, 2, 1, false) == 4 + 0.5f * 40);
  }
}

static void step_zero_has_no_reward(void **state) {
  (void)state;
  arrays a;
  mz_target target = mz_target_at(four(&a, MZ_END_OPEN), 0, a.value, &(mz_target_rule){1, 0.5f, 1, false});
  assert_true(!target.reward_known && target.reward == 0 && target.policy_known);
}

/* No position of an open segment looks past its end. */
static void open_segments_hold_every_window(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  const int n = 5, unroll = 3;
  mz_segment *segment = make_segment(&spec, 0, 16, n + unroll, MZ_END_OPEN);
  for (int t = 0; t < segment->moves; t++)
    for (int k = 0; k <= unroll; k++) assert_states(segment, t + k, n, 1, t + k + n, t + k + n);
  mz_segment_release(segment);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_window_sums_rewards_and_bootstraps),
      cmocka_unit_test(past_a_terminal_state_everything_is_zero),
      cmocka_unit_test(an_open_or_truncated_end_bootstraps_from_the_last_stored_state),
      cmocka_unit_test(the_time_limit_of_cartpole_is_never_taught_as_an_end),
      cmocka_unit_test(the_other_players_rewards_and_values_count_negatively),
      cmocka_unit_test(signs_follow_the_player_not_the_parity),
      cmocka_unit_test(lambda_mixes_root_values_into_the_return),
      cmocka_unit_test(fresher_values_take_the_place_of_stored_ones),
      cmocka_unit_test(a_view_is_one_players),
      cmocka_unit_test(random_moves_have_no_value),
      cmocka_unit_test(step_zero_has_no_reward),
      cmocka_unit_test(open_segments_hold_every_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
