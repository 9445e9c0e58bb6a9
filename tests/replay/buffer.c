/* The ring of segments: bounds, draws, priorities, and its state as bytes. */
#include "replay/buffer.h"
#include "tests/replay/fixtures.h"

static mz_replay_settings settings_of(int64_t capacity) {
  return (mz_replay_settings){
      .capacity = capacity, .bytes_max = 1 << 30, .td_steps = 3, .discount = 0.5, .lambda = 1, .priority_exponent = 1};
}

static mz_buffer *make_buffer(mz_replay_settings settings) {
  mz_spec spec = vector_spec();
  mz_buffer *buffer;
  ASSERT_OK(mz_buffer_create(&buffer, &settings, &spec));
  return buffer;
}

static void insert_game(mz_buffer *buffer, int game, int moves) {
  mz_spec spec = vector_spec();
  ASSERT_OK(mz_buffer_insert(buffer, make_segment(&spec, game, moves, 0, MZ_END_TERMINATED)));
}

static void the_settings_table_fills_its_struct(void **state) {
  (void)state;
  mz_replay_settings settings;
  memset(&settings, 0xff, sizeof settings);
  mz_config config = {.tables = &mz_replay_table, .table_count = 1, .values = &settings};
  mz_config_defaults(&config);
  assert_true(settings.capacity == 100000 && settings.bytes_max == INT64_C(1) << 30 && settings.segment_moves == 128);
  assert_true(settings.td_steps == 10 && settings.discount == 0.997 && settings.symmetry);
  assert_true(settings.priority_exponent == 0 && settings.importance_exponent == 0);
  assert_true(settings.min_fill > 0 && settings.min_fill <= settings.capacity);
  ASSERT_OK(mz_config_set(&config, "replay.capacity", "2M", "test"));
  assert_int_equal(settings.capacity, 2000000);
  assert_int_equal(mz_config_set(&config, "replay.capacity", "64KiB", "test"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "no such unit; replay.capacity takes a number with k, M or G"));
  assert_int_equal(mz_config_set(&config, "discount", "1.5", "test"), MZ_E_CONFIG);
  assert_true(settings.raw_bytes == 0 && settings.packed_bytes == 0);
  for (int i = 0; i < mz_config_row_count(&config); i++) {
    const mz_setting *row = mz_config_row(&config, i);
    bool tier = strcmp(row->key, "replay.raw_bytes") == 0 || strcmp(row->key, "replay.packed_bytes") == 0;
    assert_int_equal(row->class_, tier ? MZ_EXACT : MZ_ALGORITHMIC);
  }
}

static void the_oldest_leave_when_transitions_exceed_the_capacity(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(settings_of(20));
  for (int game = 0; game < 50; game++) {
    insert_game(buffer, game, 3 + game % 5);
    int64_t positions = 0;
    for (int i = 0; i < mz_buffer_segments(buffer); i++) {
      mz_entry entry = mz_buffer_entry(buffer, i);
      assert_int_equal(entry.serial, game - mz_buffer_segments(buffer) + 1 + i); /* one game a segment here */
      assert_int_equal(entry.moves, 3 + entry.serial % 5);
      positions += entry.moves;
    }
    assert_int_equal(positions, mz_buffer_positions(buffer));
    assert_true(positions <= 20 && (game < 4 || positions > 20 - 7));
  }
  mz_buffer_free(buffer);
}

static void the_oldest_leave_when_bytes_exceed_the_bound(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_segment *probe = make_segment(&spec, 0, 8, 0, MZ_END_TERMINATED);
  mz_replay_settings settings = settings_of(1000);
  settings.bytes_max = (int64_t)(3 * probe->bytes + probe->bytes / 2);
  mz_buffer *buffer = make_buffer(settings);
  for (int game = 0; game < 10; game++) {
    insert_game(buffer, game, 8);
    assert_int_equal(mz_buffer_segments(buffer), game < 3 ? game + 1 : 3);
    assert_int_equal(mz_buffer_bytes(buffer), (size_t)mz_buffer_segments(buffer) * probe->bytes);
  }
  mz_segment_release(probe);
  mz_buffer_free(buffer);
}

static void a_segment_beyond_a_bound_is_refused_with_both_numbers(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_buffer *buffer = make_buffer(settings_of(20));
  insert_game(buffer, 0, 5);
  assert_int_equal(mz_buffer_insert(buffer, make_segment(&spec, 1, 21, 0, MZ_END_TERMINATED)), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "21"));
  assert_non_null(strstr(mz_message(), "exceeds 20; raise it, or set replay.segment_moves, which is 0"));
  assert_int_equal(mz_buffer_positions(buffer), 5); /* nothing was evicted for it */
  mz_buffer_free(buffer);
  mz_replay_settings settings = settings_of(20);
  settings.bytes_max = 100;
  settings.segment_moves = 4;
  buffer = make_buffer(settings);
  assert_int_equal(mz_buffer_insert(buffer, make_segment(&spec, 1, 20, 0, MZ_END_TERMINATED)), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "exceeds 100; raise it, or lower replay.segment_moves or td_steps"));
  mz_buffer_free(buffer);
  settings.min_fill = 21;
  assert_int_equal(mz_buffer_create(&buffer, &settings, &spec), MZ_E_CONFIG);
}

static bool same_draw(const mz_draw *a, const mz_draw *b) { /* field by field: there is padding */
  return a->leaf == b->leaf && a->serial == b->serial && a->position == b->position && a->probability == b->probability &&
         a->segment->hash == b->segment->hash;
}

static void draws_name_positions_of_segments_that_are_here(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(settings_of(64));
  mz_draw draws[300];
  for (int game = 0; game < 40; game++) {
    insert_game(buffer, game, 1 + game % 9);
    mz_buffer_draw(buffer, 5, (uint32_t)game, 300, draws);
    for (int i = 0; i < 300; i++) {
      assert_in_range(draws[i].position, 0, draws[i].segment->moves - 1);
      int index = (int)draws[i].serial - (game - mz_buffer_segments(buffer) + 1);
      mz_entry entry = mz_buffer_entry(buffer, index);
      assert_int_equal(entry.serial, draws[i].serial);
      assert_int_equal(entry.hash, draws[i].segment->hash);
      assert_int_equal(draws[i].segment->game, entry.serial);
    }
  }
  mz_draw one[7], again[300];
  mz_buffer_draw(buffer, 5, 39, 7, one);
  for (int i = 0; i < 7; i++) assert_true(same_draw(&one[i], &draws[i])); /* draw i does not depend on how many */
  mz_buffer_draw(buffer, 6, 39, 300, again);
  int same = 0;
  for (int i = 0; i < 300; i++) same += same_draw(&again[i], &draws[i]);
  assert_true(same < 50); /* another seed gives others */
  mz_buffer_free(buffer);
}

/* Rewards t + 1, root values t / 8, discount 1/2, n = 3, five moves. */
static void first_priorities_are_the_distance_to_the_target(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(settings_of(8));
  insert_game(buffer, 0, 5);
  const double target[] = {1 + 1 + 0.75 + 0.125 * 3 / 8, 2 + 1.5 + 1 + 0.125 * 4 / 8, 3 + 2 + 1.25, 4 + 2.5, 5};
  double priority[5], total = 0, probability[5] = {0};
  for (int t = 0; t < 5; t++) total += priority[t] = mz_priority_from_error((float)(t / 8.0 - target[t]), 1);
  mz_draw draws[2000];
  mz_buffer_draw(buffer, 1, 0, 2000, draws);
  for (int i = 0; i < 2000; i++) probability[draws[i].position] = draws[i].probability;
  for (int t = 0; t < 5; t++) assert_true(fabs(probability[t] - priority[t] / total) < 1e-15);
  mz_buffer_free(buffer);
}

static void uniform_draws_give_every_position_the_same(void **state) {
  (void)state;
  mz_replay_settings settings = settings_of(8);
  settings.priority_exponent = 0;
  mz_buffer *buffer = make_buffer(settings);
  insert_game(buffer, 0, 4);
  mz_draw draws[4000];
  mz_buffer_draw(buffer, 1, 0, 4000, draws);
  mz_buffer_set_priority(buffer, draws[0].leaf, draws[0].serial, 1000); /* changes nothing */
  int count[4] = {0};
  for (int i = 0; i < 4000; i++) {
    assert_true(draws[i].probability == 0.25);
    count[draws[i].position]++;
  }
  for (int t = 0; t < 4; t++) assert_in_range(count[t], 900, 1100);
  mz_draw after;
  mz_buffer_draw(buffer, 1, 0, 1, &after);
  assert_true(after.probability == 0.25);
  mz_buffer_free(buffer);
}

static void priorities_change_what_is_drawn_unless_they_come_late(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(settings_of(8));
  insert_game(buffer, 0, 5);
  mz_draw draw;
  mz_buffer_draw(buffer, 1, 0, 1, &draw);
  uint64_t before = mz_buffer_digest(buffer);
  mz_buffer_set_priority(buffer, draw.leaf, draw.serial, 1e9f);
  assert_int_not_equal(mz_buffer_digest(buffer), before);
  mz_draw draws[50];
  mz_buffer_draw(buffer, 1, 1, 50, draws);
  int same = 0;
  for (int i = 0; i < 50; i++) same += draws[i].leaf == draw.leaf;
  assert_true(same > 45);

  insert_game(buffer, 1, 5); /* the first game has left, and this one has some of its leaves */
  insert_game(buffer, 2, 3);
  before = mz_buffer_digest(buffer);
  for (int64_t leaf = 0; leaf < 8; leaf++) mz_buffer_set_priority(buffer, leaf, draw.serial, 5);
  mz_buffer_set_priority(buffer, draw.leaf, 99, 5);
  assert_int_equal(mz_buffer_digest(buffer), before);
  mz_buffer_free(buffer);
}

typedef struct shelf {
  mz_segment *segments[64];
  int count, loads;
} shelf;
static mz_status load(void *context, uint64_t hash, mz_segment **out) {
  shelf *s = context;
  s->loads++;
  for (int i = 0; i < s->count; i++) {
    if (s->segments[i]->hash != hash) continue;
    mz_segment_retain(s->segments[i]);
    *out = s->segments[i];
    return MZ_OK;
  }
  return mz_fail(MZ_E_CHECKPOINT, "no segment %016llx", (unsigned long long)hash);
}

/* A buffer of 50 that has wrapped around, with priorities that were updated; everything it ever held is on the shelf. */
static mz_buffer *make_used_buffer(shelf *s) {
  mz_spec spec = vector_spec();
  mz_buffer *buffer = make_buffer(settings_of(50));
  *s = (shelf){.count = 0};
  for (int game = 0; game < 20; game++) {
    mz_segment *segment = make_segment(&spec, game, 3 + game % 7, 0, MZ_END_TERMINATED);
    mz_segment_retain(segment);
    s->segments[s->count++] = segment;
    ASSERT_OK(mz_buffer_insert(buffer, segment));
  }
  mz_draw draws[30];
  mz_buffer_draw(buffer, 1, 0, 30, draws);
  for (int i = 0; i < 30; i++) mz_buffer_set_priority(buffer, draws[i].leaf, draws[i].serial, (float)i);
  return buffer;
}
static void shelf_release(shelf *s) {
  for (int i = 0; i < s->count; i++) mz_segment_release(s->segments[i]);
}

static void a_buffer_survives_writing_and_reading(void **state) {
  (void)state;
  shelf s;
  mz_buffer *buffer = make_used_buffer(&s), *copy = make_buffer(settings_of(50));
  insert_game(copy, 40, 9); /* contents that reading replaces */
  mz_writer writer = {0};
  mz_buffer_write(buffer, &writer);
  mz_reader reader = mz_reader_over(writer.data, writer.size);
  ASSERT_OK(mz_buffer_read(copy, &reader, load, &s));
  assert_int_equal(mz_reader_left(&reader), 0);
  for (int more = 0; more < 5; more++) { /* the same now, and after continuing */
    assert_int_equal(mz_buffer_digest(copy), mz_buffer_digest(buffer));
    assert_int_equal(mz_buffer_bytes(copy), mz_buffer_bytes(buffer));
    mz_draw a[100], b[100];
    mz_buffer_draw(buffer, 3, (uint32_t)more, 100, a);
    mz_buffer_draw(copy, 3, (uint32_t)more, 100, b);
    for (int i = 0; i < 100; i++) assert_true(same_draw(&a[i], &b[i]));
    insert_game(buffer, 50 + more, 11);
    insert_game(copy, 50 + more, 11);
  }
  mz_writer_free(&writer);
  mz_buffer_free(buffer);
  mz_buffer_free(copy);
  shelf_release(&s);
}

enum { MANY = 200 };

static void expect_equal_probabilities(const mz_buffer *a, const mz_buffer *b) {
  mz_draw left[MANY], right[MANY];
  int compared = 0;
  mz_buffer_draw(a, 1, 0, MANY, left);
  mz_buffer_draw(b, 2, 0, MANY, right);
  for (int i = 0; i < MANY; i++) {
    for (int j = 0; j < MANY; j++) {
      if (left[i].serial != right[j].serial || left[i].position != right[j].position) continue;
      assert_float_equal(left[i].probability, right[j].probability, 1e-12);
      compared++;
    }
  }
  assert_true(compared > MANY);
}

static void expect_uniform(const mz_buffer *buffer) {
  mz_draw draws[MANY];
  mz_buffer_draw(buffer, 2, 0, MANY, draws);
  for (int i = 0; i < MANY; i++) assert_float_equal(draws[i].probability * (double)mz_buffer_positions(buffer), 1, 1e-9);
}

static void an_index_read_under_other_bounds_keeps_the_newest(void **state) {
  (void)state;
  shelf s;
  mz_buffer *buffer = make_used_buffer(&s), *small = make_buffer(settings_of(20)), *large = make_buffer(settings_of(500));
  mz_writer writer = {0};
  mz_buffer_write(buffer, &writer);
  mz_reader reader = mz_reader_over(writer.data, writer.size);
  ASSERT_OK(mz_buffer_read(small, &reader, load, &s));
  reader = mz_reader_over(writer.data, writer.size);
  ASSERT_OK(mz_buffer_read(large, &reader, load, &s));
  assert_int_equal(mz_buffer_positions(large), mz_buffer_positions(buffer));
  expect_equal_probabilities(buffer, large);
  mz_replay_settings settings = settings_of(50);
  settings.priority_exponent = 0;
  mz_buffer *uniform = make_buffer(settings);
  reader = mz_reader_over(writer.data, writer.size);
  ASSERT_OK(mz_buffer_read(uniform, &reader, load, &s));
  expect_uniform(uniform);
  mz_buffer_free(uniform);
  assert_in_range(mz_buffer_positions(small), 12, 20);
  mz_entry newest = mz_buffer_entry(buffer, mz_buffer_segments(buffer) - 1);
  mz_entry newest_small = mz_buffer_entry(small, mz_buffer_segments(small) - 1);
  assert_int_equal(newest_small.serial, newest.serial);
  assert_int_equal(newest_small.hash, newest.hash);
  mz_writer_free(&writer);
  mz_buffer_free(buffer);
  mz_buffer_free(small);
  mz_buffer_free(large);
  shelf_release(&s);
}

static void a_damaged_index_is_refused_and_leaves_the_buffer_empty(void **state) {
  (void)state;
  shelf s;
  mz_buffer *buffer = make_used_buffer(&s), *copy = make_buffer(settings_of(50));
  mz_writer writer = {0};
  mz_buffer_write(buffer, &writer);
  for (size_t size = 0; size < writer.size; size++) {
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, writer.data, size);
    mz_reader reader = mz_reader_over(exact, size);
    assert_int_equal(mz_buffer_read(copy, &reader, load, &s), MZ_E_CHECKPOINT);
    assert_int_equal(mz_buffer_positions(copy), 0);
    free(exact);
  }
  for (size_t bit = 0; bit < 8 * writer.size; bit++) { /* never a crash, never beyond a bound */
    writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    mz_reader reader = mz_reader_over(writer.data, writer.size);
    if (mz_buffer_read(copy, &reader, load, &s) == MZ_OK && mz_buffer_positions(copy) > 0) {
      mz_draw draw;
      mz_buffer_draw(copy, 1, 1, 1, &draw);
      assert_in_range(draw.position, 0, draw.segment->moves - 1);
    }
    assert_true(mz_buffer_positions(copy) <= 50);
    writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  s.count = 0; /* the shelf is empty: what load says is what read says */
  mz_reader reader = mz_reader_over(writer.data, writer.size);
  int count = 20;
  assert_int_equal(mz_buffer_read(copy, &reader, load, &s), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "no segment"));
  s.count = count;
  mz_writer_free(&writer);
  mz_buffer_free(buffer);
  mz_buffer_free(copy);
  shelf_release(&s);
}

static void memory_that_runs_out_keeps_the_buffer_whole(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_replay_settings settings = settings_of(1000);
  mz_buffer *buffer;
  for (long n = 1;; n++) {
    mz_alloc_fail_after(n);
    mz_status status = mz_buffer_create(&buffer, &settings, &spec);
    mz_alloc_fail_after(0);
    if (status == MZ_OK) break;
    assert_int_equal(status, MZ_E_MEMORY);
  }
  int failures = 0;
  for (int game = 0; game < 300; game++) { /* of one move, so that the ring of segments has to grow */
    mz_segment *segment = make_segment(&spec, game, 1, 0, MZ_END_TERMINATED);
    mz_segment_retain(segment);
    mz_alloc_fail_after(1);
    mz_status status = mz_buffer_insert(buffer, segment);
    mz_alloc_fail_after(0);
    failures += status != MZ_OK;
    if (status != MZ_OK)
      ASSERT_OK(mz_buffer_insert(buffer, segment));
    else
      mz_segment_release(segment);
  }
  assert_int_equal(failures, 3); /* at 64, 128 and 256 */
  assert_int_equal(mz_buffer_positions(buffer), 300);
  mz_buffer_free(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_settings_table_fills_its_struct),
      cmocka_unit_test(the_oldest_leave_when_transitions_exceed_the_capacity),
      cmocka_unit_test(the_oldest_leave_when_bytes_exceed_the_bound),
      cmocka_unit_test(a_segment_beyond_a_bound_is_refused_with_both_numbers),
      cmocka_unit_test(draws_name_positions_of_segments_that_are_here),
      cmocka_unit_test(first_priorities_are_the_distance_to_the_target),
      cmocka_unit_test(uniform_draws_give_every_position_the_same),
      cmocka_unit_test(priorities_change_what_is_drawn_unless_they_come_late),
      cmocka_unit_test(a_buffer_survives_writing_and_reading),
      cmocka_unit_test(an_index_read_under_other_bounds_keeps_the_newest),
      cmocka_unit_test(a_damaged_index_is_refused_and_leaves_the_buffer_empty),
      cmocka_unit_test(memory_that_runs_out_keeps_the_buffer_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
