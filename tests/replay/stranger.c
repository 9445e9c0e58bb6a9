/* Bytes that somebody else has written, with every checksum right: refused before memory is taken for what they claim, or as good
 * as any. */
#include "base/maths/digest.h"
#include "replay/segments/frame.h"
#include "replay/buffer.h"
#include "tests/replay/fixtures.h"
#include <stdlib.h>
#include <zstd.h>

/* A game of `moves` moves in which every action is legal. */
static mz_segment *longest_segment(const mz_spec *spec, int moves, mz_end end) {
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  ASSERT_OK(mz_trajectory_create(&trajectory, spec, (mz_cut){0}, 3));
  for (int t = 0; t < moves; t++) {
    made_move m;
    make_move(&m, spec, 3, t);
    memset(m.legal, 1, sizeof m.legal);
    m.move.terminated = t == moves - 1 && end == MZ_END_TERMINATED;
    m.move.truncated = t == moves - 1 && end == MZ_END_TRUNCATED;
    ASSERT_OK(mz_trajectory_append(trajectory, &m.move, 0, collect, &all));
  }
  mz_trajectory_free(trajectory);
  assert_int_equal(all.count, 1);
  return all.segments[0];
}

static mz_spec limited_spec(int max_moves) {
  mz_spec spec = vector_spec();
  spec.max_moves = max_moves;
  return spec;
}

static void the_longest_game_unpacks_and_a_longer_one_does_not(void **state) {
  (void)state;
  const mz_spec spec = limited_spec(20);
  const size_t obs_bytes = mz_spec_obs_bytes(&spec);
  for (int moves = 20; moves <= 21; moves++) {
    mz_segment *segment = longest_segment(&spec, moves, MZ_END_TRUNCATED), *copy = NULL;
    mz_packer packer = {0};
    mz_unpacker unpacker = {0};
    mz_frame *frame;
    ASSERT_OK(mz_frame_pack(&packer, segment, obs_bytes, &frame));
    if (moves == 20) {
      assert_int_equal(frame->raw, mz_segment_written_max(&spec));
      ASSERT_OK(mz_frame_unpack(&unpacker, frame, &spec, &copy));
      assert_int_equal(copy->hash, segment->hash);
    } else {
      assert_int_equal(mz_frame_unpack(&unpacker, frame, &spec, &copy), MZ_E_CHECKPOINT);
      assert_non_null(strstr(mz_message(), "says that it unpacks to"));
      mz_writer written = {0}; /* nor is it read as it is */
      mz_segment_write(segment, obs_bytes, &written);
      mz_reader reader = mz_reader_over(written.data, written.size);
      assert_int_equal(mz_segment_read(&reader, &spec, &copy), MZ_E_CHECKPOINT);
      assert_non_null(strstr(mz_message(), "21 moves, a game has at most 20"));
      mz_writer_free(&written);
    }
    mz_segment_release(copy);
    mz_segment_release(segment);
    free(frame);
    mz_packer_deinit(&packer);
    mz_unpacker_deinit(&unpacker);
  }
}

/* A few kilobytes that unpack to much. */
static void a_size_that_no_segment_has_costs_no_memory(void **state) {
  (void)state;
  enum { CLAIMED = MZ_SEGMENT_BYTES_MAX + 1 };
  const mz_spec unlimited = vector_spec();
  uint8_t *zeros = calloc(1, CLAIMED);
  const size_t bound = ZSTD_compressBound(CLAIMED);
  mz_frame *frame;
  ASSERT_OK(mz_frame_alloc((uint32_t)bound, &frame));
  const size_t size = ZSTD_compress(frame->data, bound, zeros, CLAIMED, 1);
  assert_false(ZSTD_isError(size));
  assert_true(size < 64 * 1024);
  frame->size = (uint32_t)size;
  frame->raw = CLAIMED;
  mz_unpacker unpacker = {0};
  mz_segment *segment;
  mz_alloc_fail_after(1); /* whoever asks for memory fails with another status */
  const mz_status status = mz_frame_unpack(&unpacker, frame, &unlimited, &segment);
  mz_alloc_fail_after(0);
  assert_int_equal(status, MZ_E_CHECKPOINT);
  assert_int_equal(unpacker.capacity, 0);
  mz_unpacker_deinit(&unpacker);
  free(frame);
  free(zeros);
}

static void what_could_not_be_read_back_is_not_kept(void **state) {
  (void)state;
  const mz_spec spec = vector_spec();
  const mz_replay_settings settings = {.capacity = 100, .bytes_max = INT64_C(1) << 40, .segment_moves = 128, .discount = 1};
  mz_buffer *buffer;
  ASSERT_OK(mz_buffer_create(&buffer, &settings, &spec));
  mz_segment *segment = longest_segment(&spec, 3, MZ_END_TERMINATED);
  segment->bytes = MZ_SEGMENT_BYTES_MAX + 1; /* as if */
  assert_int_equal(mz_buffer_insert(buffer, segment), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "replay.segment_moves"));
  mz_buffer_free(buffer);
}

static void a_game_that_has_ended_has_no_look_ahead(void **state) {
  (void)state;
  const mz_spec spec = vector_spec();
  for (int end = MZ_END_TERMINATED; end <= MZ_END_TRUNCATED; end++) {
    mz_segment *segment = longest_segment(&spec, 5, (mz_end)end), *copy;
    for (int moves = 4; moves <= 5; moves++) {
      segment->moves = moves;
      mz_writer written = {0};
      mz_segment_write(segment, mz_spec_obs_bytes(&spec), &written);
      const uint64_t hash = mz_hash(written.data, written.size - sizeof hash, 0);
      memcpy(written.data + written.size - sizeof hash, &hash, sizeof hash);
      mz_reader reader = mz_reader_over(written.data, written.size);
      const mz_status status = mz_segment_read(&reader, &spec, &copy);
      assert_int_equal(status, moves == 5 ? MZ_OK : MZ_E_CHECKPOINT);
      if (status == MZ_OK) mz_segment_release(copy);
      mz_writer_free(&written);
    }
    mz_segment_release(segment);
  }
}

/* --- games in play --- */

static mz_status read_trajectory(mz_trajectory *trajectory, const mz_writer *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1); /* ends where the memory does */
  assert_non_null(copy);
  memcpy(copy, bytes->data, size);
  mz_reader reader = mz_reader_over(copy, size);
  const mz_status status = mz_trajectory_read(trajectory, &reader);
  free(copy);
  return status;
}

/* Goes on for long enough to cut what was read into segments. */
static void go_on(mz_trajectory *trajectory, const mz_spec *spec) {
  collected all = {.count = 0};
  play_game(trajectory, spec, 2, 20, MZ_END_TERMINATED, &all);
  assert_true(all.count > 0);
  for (int i = 0; i < all.count; i++) {
    for (int t = 0; t < all.segments[i]->length; t++) assert_in_range(all.segments[i]->action[t], 0, spec->actions - 1);
  }
  collected_release(&all);
}

static void a_changed_game_in_play_is_refused_or_goes_on(void **state) {
  (void)state;
  const mz_spec specs[] = {vector_spec(), board_spec(), limited_spec(40)};
  for (int s = 0; s < 3; s++) {
    mz_trajectory *trajectory;
    collected all = {.count = 0};
    mz_writer bytes = {0};
    int accepted = 0, refused = 0;
    ASSERT_OK(mz_trajectory_create(&trajectory, &specs[s], (mz_cut){.segment_moves = 8, .look_ahead = 4}, 6));
    play_game(trajectory, &specs[s], 1, 11, MZ_END_OPEN, &all);
    assert_int_equal(mz_trajectory_length(trajectory), 11);
    mz_trajectory_write(trajectory, &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
      assert_int_equal(read_trajectory(trajectory, &bytes, size), MZ_E_CHECKPOINT);
      assert_int_equal(mz_trajectory_length(trajectory), 0);
    }
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
      bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      const mz_status status = read_trajectory(trajectory, &bytes, bytes.size);
      bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      accepted += status == MZ_OK;
      refused += status == MZ_E_CHECKPOINT;
      if (bit % 3 == 0) go_on(trajectory, &specs[s]); /* an empty one, too */
    }
    assert_int_equal(accepted + refused, 8 * bytes.size);
    assert_true(accepted > 100 && refused > 100);
    mz_writer_free(&bytes);
    collected_release(&all);
    mz_trajectory_free(trajectory);
  }
}

static void a_game_in_play_is_no_longer_than_its_limit(void **state) {
  (void)state;
  const mz_spec limited = limited_spec(10), unlimited = vector_spec();
  mz_trajectory *from, *to;
  collected all = {.count = 0};
  mz_writer bytes = {0};
  ASSERT_OK(mz_trajectory_create(&from, &unlimited, (mz_cut){0}, 0));
  ASSERT_OK(mz_trajectory_create(&to, &limited, (mz_cut){0}, 0));
  play_game(from, &unlimited, 0, 11, MZ_END_OPEN, &all);
  mz_trajectory_write(from, &bytes);
  assert_int_equal(read_trajectory(to, &bytes, bytes.size), MZ_E_CHECKPOINT);
  mz_writer_free(&bytes);
  mz_trajectory_free(from);
  mz_trajectory_free(to);
}

/* --- the index --- */

static mz_status load_none(void *context, uint64_t hash, mz_segment **out) {
  (void)context, (void)hash;
  *out = NULL;
  return MZ_OK;
}

/* Entries of lost segments, which nothing but the index itself tells of. */
static mz_status read_index(mz_buffer *buffer, uint64_t capacity, uint64_t oldest, uint64_t count, const uint32_t *moves) {
  mz_writer bytes = {0};
  mz_write_u64(&bytes, capacity);
  mz_write_u64(&bytes, 0); /* the priority exponent */
  mz_write_u64(&bytes, 3); /* the first leaf */
  mz_write_u64(&bytes, oldest);
  mz_write_u64(&bytes, count);
  for (int i = 0; i < 3; i++) {
    mz_write_u64(&bytes, 7);
    mz_write_u32(&bytes, moves[i]);
    for (uint32_t t = 0; t < moves[i] && t < 100; t++) mz_write_u32(&bytes, 1);
  }
  mz_reader reader = mz_reader_over(bytes.data, bytes.size);
  const mz_status status = mz_buffer_read(buffer, &reader, load_none, NULL);
  if (status == MZ_OK) assert_int_equal(mz_reader_left(&reader), 0);
  mz_writer_free(&bytes);
  return status;
}

static void an_index_that_no_ring_can_have_is_refused(void **state) {
  (void)state;
  const mz_spec spec = vector_spec();
  const mz_replay_settings settings = {.capacity = 50, .bytes_max = INT64_C(1) << 30, .discount = 1};
  mz_buffer *buffer;
  ASSERT_OK(mz_buffer_create(&buffer, &settings, &spec));
  ASSERT_OK(read_index(buffer, 50, 9, 3, (const uint32_t[]){20, 20, 10}));
  const struct {
    uint64_t capacity, oldest, count;
    uint32_t moves[3];
  } bad[] = {{50, 9, 3, {20, 20, 11}},           /* more than the ring has room for */
             {50, 9, 3, {20, 0, 10}},            /* a segment of nothing */
             {50, 9, 3, {20, UINT32_MAX, 10}},   /* more than there are bytes */
             {3, 9, 3, {1, 1, 1}},               /* the first leaf is beyond it */
             {0, 9, 3, {1, 1, 1}},               /* an empty ring */
             {50, UINT64_MAX - 1, 3, {1, 1, 1}}, /* serials that would start again */
             {50, 9, UINT64_MAX, {1, 1, 1}},     /* more segments than bytes */
             {50, 9, 4, {1, 1, 1}},              /* one more than there are */
             {UINT64_MAX, UINT64_MAX, 3, {20, 20, 10}}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(read_index(buffer, bad[i].capacity, bad[i].oldest, bad[i].count, bad[i].moves), MZ_E_CHECKPOINT);
    assert_int_equal(mz_buffer_positions(buffer), 0);
  }
  mz_buffer_free(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_game_unpacks_and_a_longer_one_does_not),
      cmocka_unit_test(a_size_that_no_segment_has_costs_no_memory),
      cmocka_unit_test(what_could_not_be_read_back_is_not_kept),
      cmocka_unit_test(a_game_that_has_ended_has_no_look_ahead),
      cmocka_unit_test(a_changed_game_in_play_is_refused_or_goes_on),
      cmocka_unit_test(a_game_in_play_is_no_longer_than_its_limit),
      cmocka_unit_test(an_index_that_no_ring_can_have_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
