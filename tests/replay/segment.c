/* Cutting games into segments, and segments and games in play as bytes. */
#include "base/maths/digest.h"
#include "replay/batches/targets.h"
#include "tests/replay/fixtures.h"

static void open_segments_overlap_by_the_look_ahead(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, (mz_cut){.segment_moves = 4, .look_ahead = 3}, 9));
  play_game(trajectory, &spec, 1, 12, MZ_END_TERMINATED, &all);
  const int first[] = {0, 4, 8}, moves[] = {4, 4, 4}, length[] = {7, 7, 4};
  assert_int_equal(all.count, 3);
  for (int s = 0; s < 3; s++) {
    const mz_segment *segment = all.segments[s];
    assert_int_equal(segment->game, 9);
    assert_true(segment->ordinal == (uint64_t)s && segment->version == (uint64_t)(100 + first[s]));
    assert_int_equal(segment->moves, moves[s]);
    assert_int_equal(segment->length, length[s]);
    assert_int_equal(segment->end, s == 2 ? MZ_END_TERMINATED : MZ_END_OPEN);
    for (int i = 0; i < segment->length; i++) {
      made_move m;
      make_move(&m, &spec, 1, first[s] + i);
      assert_memory_equal(segment->obs + (size_t)i * sizeof m.obs, m.obs, sizeof m.obs);
      assert_int_equal(segment->action[i], m.move.action);
      assert_true(segment->reward[i] == m.move.reward && segment->value[i] == m.move.value);
    }
  }
  collected_release(&all);
  mz_trajectory_free(trajectory);
}

static void the_last_segment_has_all_that_is_left(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, (mz_cut){.segment_moves = 4, .look_ahead = 3}, 0));
  play_game(trajectory, &spec, 0, 7, MZ_END_TRUNCATED, &all); /* ends in the very move that would have cut an open one */
  assert_int_equal(all.count, 1);
  assert_int_equal(all.segments[0]->moves, 7);
  assert_int_equal(all.segments[0]->end, MZ_END_TRUNCATED);
  play_game(trajectory, &spec, 1, 2, MZ_END_TERMINATED, &all); /* the next game starts afresh */
  assert_int_equal(all.count, 2);
  assert_int_equal(all.segments[1]->length, 2);
  assert_int_equal(all.segments[1]->ordinal, 1);
  assert_true(all.segments[1]->reward[0] == 1);
  collected_release(&all);
  mz_trajectory_free(trajectory);
}

static void whole_games_are_kept_whole(void **state) {
  (void)state;
  mz_spec spec = board_spec();
  mz_segment *segment = make_segment(&spec, 3, 1000, 7, MZ_END_TERMINATED);
  assert_int_equal(segment->length, 1000);
  for (int t = 0; t < 1000; t++) assert_int_equal(segment->player[t], t % 2);
  mz_segment_release(segment);
}

/* A game of which no segment can be cut any more ends with what to do, long before its own end. */
static void a_game_that_no_segment_can_hold_is_refused(void **state) {
  (void)state;
  enum { OBS_BYTES = 1 << 20 };
  const mz_spec spec = {
      .obs_kind = MZ_OBS_U8, .obs_shape = {1, 1, OBS_BYTES}, .obs_size = OBS_BYTES, .actions = 2, .players = 1, .symmetries = 1};
  static const uint8_t observation[OBS_BYTES], legal[2] = {1, 1};
  static const float policy[2] = {0.5f, 0.5f};
  static const mz_cut cuts[] = {{0, 3}, {100, 3}};
  static const char *const advice[] = {"it is 0, which keeps games whole: set", "no segment may have; lower it"};
  const mz_move move = {.obs = observation, .policy = policy, .legal = legal};
  for (int i = 0; i < 2; i++) {
    mz_trajectory *trajectory;
    collected all = {.count = 0};
    ASSERT_OK(mz_trajectory_create(&trajectory, &spec, cuts[i], 7));
    const int fit = MZ_SEGMENT_BYTES_MAX / OBS_BYTES - 1; /* the other bytes of moves take the room of one observation */
    for (int t = 0; t < fit; t++) ASSERT_OK(mz_trajectory_append(trajectory, &move, 1, collect, &all));
    assert_int_equal(mz_trajectory_append(trajectory, &move, 1, collect, &all), MZ_E_CONFIG);
    if (!strstr(mz_message(), "replay.segment_moves: 24 moves of game 7 take more than 25165824 bytes") ||
        !strstr(mz_message(), advice[i]))
      fail_msg("%s", mz_message());
    assert_int_equal(all.count, 0);
    mz_trajectory_free(trajectory);
  }
}

static void the_policy_lists_exactly_the_legal_actions(void **state) {
  (void)state;
  mz_spec spec = board_spec();
  mz_segment *segment = make_segment(&spec, 0, 9, 0, MZ_END_TERMINATED);
  for (int t = 0; t < segment->length; t++) {
    made_move m;
    make_move(&m, &spec, 0, t);
    uint32_t entry = segment->policy_start[t];
    for (int a = 0; a < spec.actions; a++) {
      if (!m.legal[a]) continue;
      assert_int_equal(segment->policy_action[entry], a);
      assert_true(segment->policy_weight[entry] == m.policy[a]);
      entry++;
    }
    assert_int_equal(entry, segment->policy_start[t + 1]);
  }
  mz_segment_release(segment);
}

static void numbers_that_are_not_finite_are_refused(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, (mz_cut){0}, 5));
  for (int kind = 0; kind < 5; kind++) {
    made_move m;
    make_move(&m, &spec, 0, 0);
    m.move.terminated = true;
    if (kind == 0) m.move.value = NAN;
    if (kind == 1) m.move.reward = INFINITY;
    if (kind == 2) m.policy[0] = NAN;
    if (kind == 3) m.policy[0] = 0.1f; /* sums to less than 1 */
    if (kind == 4) m.obs[3] = NAN;
    assert_int_equal(mz_trajectory_append(trajectory, &m.move, 0, collect, &all), MZ_E_DIVERGED);
    assert_non_null(strstr(mz_message(), "game 5"));
    assert_int_equal(all.count, 0);
  }
  play_game(trajectory, &spec, 0, 2, MZ_END_TERMINATED, &all); /* and the trajectory is as it was */
  assert_int_equal(all.segments[0]->length, 2);
  collected_release(&all);
  mz_trajectory_free(trajectory);
}

static mz_writer written(const mz_segment *segment, const mz_spec *spec) {
  mz_writer writer = {0};
  mz_segment_write(segment, mz_spec_obs_bytes(spec), &writer);
  assert_false(writer.failed);
  return writer;
}

static void a_segment_survives_writing_and_reading(void **state) {
  (void)state;
  const mz_spec specs[] = {vector_spec(), board_spec()};
  for (int i = 0; i < 2; i++) {
    mz_segment *segment = make_segment(&specs[i], 1, 6, 3, MZ_END_OPEN), *copy;
    mz_writer first = written(segment, &specs[i]);
    mz_reader reader = mz_reader_over(first.data, first.size);
    ASSERT_OK(mz_segment_read(&reader, &specs[i], &copy));
    assert_int_equal(mz_reader_left(&reader), 0);
    assert_int_equal(copy->hash, segment->hash);
    assert_int_equal(copy->hash, mz_hash(first.data, first.size - sizeof(uint64_t), 0));
    assert_int_equal(copy->bytes, segment->bytes);
    mz_writer second = written(copy, &specs[i]);
    assert_int_equal(second.size, first.size);
    assert_memory_equal(second.data, first.data, first.size);
    mz_writer_free(&first);
    mz_writer_free(&second);
    mz_segment_release(segment);
    mz_segment_release(copy);
  }
}

/* Reads from a block of just that size, so that a sanitizer sees any read beyond it. */
static mz_status read_exact(const uint8_t *data, size_t size, const mz_spec *spec, mz_segment **out) {
  uint8_t *block = malloc(size ? size : 1);
  assert_non_null(block);
  memcpy(block, data, size);
  mz_reader reader = mz_reader_over(block, size);
  mz_status status = mz_segment_read(&reader, spec, out);
  free(block);
  return status;
}

/* The same after what is before the hash was changed. */
static mz_status read_forged(const mz_writer *writer, const mz_spec *spec, mz_segment **out) {
  const size_t content = writer->size - sizeof(uint64_t);
  const uint64_t hash = mz_hash(writer->data, content, 0);
  memcpy(writer->data + content, &hash, sizeof hash);
  return read_exact(writer->data, writer->size, spec, out);
}

static mz_status reread(const mz_segment *segment, const mz_spec *spec, mz_segment **out) {
  mz_writer writer = written(segment, spec);
  const mz_status status = read_forged(&writer, spec, out);
  mz_writer_free(&writer);
  return status;
}

static void random_moves_have_no_value_and_come_first(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, (mz_cut){0}, 5));
  assert_int_equal(mz_trajectory_last_action(trajectory), -1);
  for (int t = 0; t < 4; t++) {
    made_move m;
    make_move(&m, &spec, 0, t);
    m.move.random = t < 2;
    m.move.terminated = t == 3;
    ASSERT_OK(mz_trajectory_append(trajectory, &m.move, 0, collect, &all));
    assert_int_equal(mz_trajectory_last_action(trajectory), t < 3 ? m.move.action : -1);
  }
  mz_trajectory_free(trajectory);
  mz_segment *segment = all.segments[0], *copy;
  for (int t = 0; t < 4; t++) assert_true(t < 2 ? isnan(segment->value[t]) : segment->value[t] == (float)t / 8);
  ASSERT_OK(reread(segment, &spec, &copy));
  assert_memory_equal(copy->value, segment->value, 4 * sizeof(float));
  mz_segment_release(copy);
  segment->value[0] = 0; /* now a random move comes after one that was not */
  assert_int_equal(reread(segment, &spec, &copy), MZ_E_CHECKPOINT);
  segment->value[0] = INFINITY;
  assert_int_equal(reread(segment, &spec, &copy), MZ_E_CHECKPOINT);
  collected_release(&all);
}

static void a_move_may_have_legal_actions_and_no_policy(void **state) {
  (void)state;
  const mz_spec spec = board_spec();
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, (mz_cut){0}, 5));
  for (int t = 0; t < 4; t++) {
    made_move m;
    make_move(&m, &spec, 0, t);
    if (t % 2 == 1) m.move.policy = NULL;
    m.move.terminated = t == 3;
    ASSERT_OK(mz_trajectory_append(trajectory, &m.move, 0, collect, &all));
  }
  mz_segment *whole = make_segment(&spec, 0, 4, 0, MZ_END_TERMINATED), *copy;
  mz_writer bytes = written(all.segments[0], &spec);
  mz_reader reader = mz_reader_over(bytes.data, bytes.size);
  ASSERT_OK(mz_segment_read(&reader, &spec, &copy));
  for (int t = 0; t < 4; t++) {
    const mz_target target = mz_target_at(copy, t, copy->value + t, &(mz_target_rule){.discount = 1, .lambda = 1});
    assert_true(target.value_known && target.policy_known == (t % 2 == 0));
    assert_int_equal(copy->policy_start[t + 1], whole->policy_start[t + 1]);
    for (uint32_t e = copy->policy_start[t]; e < copy->policy_start[t + 1]; e++) {
      assert_int_equal(copy->policy_action[e], whole->policy_action[e]);
      assert_true(copy->policy_weight[e] == (t % 2 == 0 ? whole->policy_weight[e] : 0));
    }
  }
  mz_writer_free(&bytes);
  mz_segment_release(copy);
  mz_segment_release(whole);
  collected_release(&all);
  mz_trajectory_free(trajectory);
}

static void every_truncation_and_bit_flip_of_a_segment_is_found(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_segment *segment = make_segment(&spec, 1, 3, 2, MZ_END_OPEN), *copy;
  mz_writer writer = written(segment, &spec);
  for (size_t size = 0; size < writer.size; size++)
    assert_int_equal(read_exact(writer.data, size, &spec, &copy), MZ_E_CHECKPOINT);
  for (size_t bit = 0; bit < 8 * writer.size; bit++) {
    writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_int_equal(read_exact(writer.data, writer.size, &spec, &copy), MZ_E_CHECKPOINT);
    writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  mz_writer_free(&writer);
  mz_segment_release(segment);
}

/* Damage that has the right hash must still give either a valid segment or an error. */
static void a_forged_segment_is_valid_or_refused(void **state) {
  (void)state;
  mz_spec spec = board_spec();
  mz_segment *segment = make_segment(&spec, 1, 3, 2, MZ_END_OPEN);
  mz_writer writer = written(segment, &spec);
  size_t content = writer.size - sizeof(uint64_t);
  int accepted = 0, refused = 0;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int trial = 0; trial < 20000; trial++) {
    size_t at = mz_rng_below(&rng, (uint32_t)content);
    uint8_t before = writer.data[at];
    writer.data[at] = (uint8_t)mz_rng_u32(&rng);
    mz_segment *copy;
    mz_status status = read_forged(&writer, &spec, &copy);
    if (status == MZ_OK) {
      accepted++;
      assert_in_range(copy->moves, 1, copy->length);
      for (int t = 0; t < copy->length; t++) {
        assert_in_range(copy->action[t], 0, spec.actions - 1);
        assert_in_range(copy->player[t], 0, 1);
        assert_true(isfinite(copy->reward[t]) && !isinf(copy->value[t]));
        if (t > 0 && !isnan(copy->value[t - 1])) assert_false(isnan(copy->value[t]));
        for (uint32_t e = copy->policy_start[t]; e < copy->policy_start[t + 1]; e++)
          assert_in_range(copy->policy_action[e], 0, spec.actions - 1);
      }
      mz_segment_release(copy);
    } else {
      refused++;
      assert_int_equal(status, MZ_E_CHECKPOINT);
    }
    writer.data[at] = before;
  }
  assert_true(accepted > 100 && refused > 100);
  mz_writer_free(&writer);
  mz_segment_release(segment);
}

static void a_segment_of_another_environment_is_refused(void **state) {
  (void)state;
  mz_spec vector = vector_spec(), board = board_spec();
  mz_segment *segment = make_segment(&vector, 1, 3, 2, MZ_END_OPEN), *copy;
  mz_writer writer = written(segment, &vector);
  assert_int_equal(read_exact(writer.data, writer.size, &board, &copy), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "16 bytes"));
  mz_writer_free(&writer);
  mz_segment_release(segment);
}

static void a_game_in_play_goes_on_as_if_never_written(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_cut cut = {.segment_moves = 8, .look_ahead = 4};
  for (int stop = 0; stop <= 30; stop++) {
    collected straight = {.count = 0}, resumed = {.count = 0};
    mz_trajectory *a, *b;
    ASSERT_OK(mz_trajectory_create(&a, &spec, cut, 2));
    ASSERT_OK(mz_trajectory_create(&b, &spec, cut, 2));
    play_game(b, &spec, 7, 5, MZ_END_OPEN, &resumed); /* contents that reading replaces */
    mz_writer writer = {0};
    for (int t = 0; t < 31; t++) {
      if (t == stop) {
        mz_trajectory_write(a, &writer);
        for (size_t size = 0; size < writer.size; size++) {
          mz_reader cut_off = mz_reader_over(writer.data, size);
          assert_int_equal(mz_trajectory_read(b, &cut_off), MZ_E_CHECKPOINT);
        }
        mz_reader reader = mz_reader_over(writer.data, writer.size);
        ASSERT_OK(mz_trajectory_read(b, &reader));
        assert_int_equal(mz_reader_left(&reader), 0);
        mz_writer again = {0};
        mz_trajectory_write(b, &again);
        assert_int_equal(again.size, writer.size);
        assert_memory_equal(again.data, writer.data, writer.size);
        mz_writer_free(&again);
      }
      made_move m;
      make_move(&m, &spec, 0, t);
      m.move.terminated = t == 30;
      ASSERT_OK(mz_trajectory_append(a, &m.move, (uint64_t)t, collect, &straight));
      if (t >= stop) ASSERT_OK(mz_trajectory_append(b, &m.move, (uint64_t)t, collect, &resumed));
    }
    int skipped = straight.count - resumed.count;
    assert_true(resumed.count > 0 && skipped >= 0);
    for (int i = 0; i < resumed.count; i++) assert_int_equal(resumed.segments[i]->hash, straight.segments[i + skipped]->hash);
    mz_writer_free(&writer);
    collected_release(&straight);
    collected_release(&resumed);
    mz_trajectory_free(a);
    mz_trajectory_free(b);
  }
}

static void memory_that_runs_out_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  for (long n = 1;; n++) {
    collected all = {.count = 0};
    mz_trajectory *trajectory;
    mz_alloc_fail_after(n);
    mz_status status = mz_trajectory_create(&trajectory, &spec, (mz_cut){.segment_moves = 40}, 0);
    bool created = status == MZ_OK;
    for (int t = 0; status == MZ_OK && t < 60; t++) {
      made_move m;
      make_move(&m, &spec, 0, t);
      status = mz_trajectory_append(trajectory, &m.move, 0, collect, &all);
    }
    mz_alloc_fail_after(0);
    if (created) mz_trajectory_free(trajectory);
    collected_release(&all);
    if (status == MZ_OK) {
      assert_true(n > 4);
      break;
    }
    assert_int_equal(status, MZ_E_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_segments_overlap_by_the_look_ahead),
      cmocka_unit_test(the_last_segment_has_all_that_is_left),
      cmocka_unit_test(whole_games_are_kept_whole),
      cmocka_unit_test(a_game_that_no_segment_can_hold_is_refused),
      cmocka_unit_test(the_policy_lists_exactly_the_legal_actions),
      cmocka_unit_test(numbers_that_are_not_finite_are_refused),
      cmocka_unit_test(random_moves_have_no_value_and_come_first),
      cmocka_unit_test(a_segment_survives_writing_and_reading),
      cmocka_unit_test(a_move_may_have_legal_actions_and_no_policy),
      cmocka_unit_test(every_truncation_and_bit_flip_of_a_segment_is_found),
      cmocka_unit_test(a_forged_segment_is_valid_or_refused),
      cmocka_unit_test(a_segment_of_another_environment_is_refused),
      cmocka_unit_test(a_game_in_play_goes_on_as_if_never_written),
      cmocka_unit_test(memory_that_runs_out_is_an_error_and_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
