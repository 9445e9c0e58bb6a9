/* The tiers of the buffer: nothing depends on them, whatever happens to memory, disk and file. */
#include "tests/replay/tiered.h"

/* 20 segments of which 10 are spilled and 6 packed. */
static mz_buffer *make_tiered(void) {
  mz_buffer *buffer = make_buffer(1000, 0, 0);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_games(buffer, 0, 20);
  int64_t raw = 0;
  for (int i = 16; i < 20; i++) raw += (int64_t)mz_buffer_entry(buffer, i).bytes;
  ASSERT_OK(mz_buffer_set_tiers(buffer, raw, 0));
  int64_t packed = 0;
  for (int i = 10; i < 16; i++) {
    mz_content content;
    ASSERT_OK(mz_buffer_content(buffer, i, &content));
    packed += (int64_t)mz_packed_bytes(content.packed->size);
    mz_content_release(&content);
  }
  ASSERT_OK(mz_buffer_set_tiers(buffer, raw, packed));
  return buffer;
}

static void assert_same_segment(const mz_segment *a, const mz_segment *b) {
  size_t obs_bytes = 16;
  mz_writer x = {0}, y = {0};
  mz_segment_write(a, obs_bytes, &x);
  mz_segment_write(b, obs_bytes, &y);
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  assert_int_equal(a->bytes, b->bytes);
  mz_writer_free(&x);
  mz_writer_free(&y);
}

/* ---- the same, whatever the tiers ---- */

typedef struct twins {
  mz_buffer *raw, *tiered;
  mz_row_reader reader;
  mz_rng rng;
  int64_t bound[2];
  int in_tier[MZ_TIERS]; /* draws */
  int game;
} twins;

static int64_t random_bound(mz_rng *rng, int64_t most) {
  uint32_t kind = mz_rng_below(rng, 4);
  return kind == 0 ? 0 : kind == 1 ? 1 : 1 + mz_rng_below(rng, (uint32_t)most);
}

static void change_tiers(twins *t) {
  t->bound[0] = random_bound(&t->rng, 20000);
  t->bound[1] = random_bound(&t->rng, 6000);
  ASSERT_OK(mz_buffer_set_tiers(t->tiered, t->bound[0], t->bound[1]));
}

static void insert_into_both(twins *t) {
  mz_spec spec = vector_spec();
  const mz_end ends[] = {MZ_END_TERMINATED, MZ_END_TRUNCATED, MZ_END_OPEN};
  for (uint32_t more = 1 + mz_rng_below(&t->rng, 4); more > 0; more--) {
    int moves = 1 + (int)mz_rng_below(&t->rng, 12);
    mz_end end = ends[mz_rng_below(&t->rng, 3)];
    ASSERT_OK(mz_buffer_insert(t->raw, make_segment(&spec, t->game, moves, 4, end)));
    ASSERT_OK(mz_buffer_insert(t->tiered, make_segment(&spec, t->game, moves, 4, end)));
    t->game++;
  }
}

static void assert_bounds_hold(const twins *t) {
  mz_tier_use use = mz_buffer_tier_use(t->tiered);
  int segments = 0;
  for (int tier = 0; tier < MZ_TIERS; tier++) segments += use.segments[tier];
  assert_int_equal(segments, mz_buffer_segments(t->raw));
  for (int tier = MZ_TIER_RAW; tier <= MZ_TIER_PACKED; tier++) assert_true(!t->bound[tier] || use.bytes[tier] <= t->bound[tier]);
  for (int i = 0; i < segments; i++) {
    mz_entry a = mz_buffer_entry(t->raw, i), b = mz_buffer_entry(t->tiered, i);
    assert_true(a.serial == b.serial && a.hash == b.hash && a.moves == b.moves && a.bytes == b.bytes);
    int before = segments - use.segments[MZ_TIER_RAW];
    assert_int_equal(b.tier, i >= before                                  ? MZ_TIER_RAW
                             : i >= before - use.segments[MZ_TIER_PACKED] ? MZ_TIER_PACKED
                                                                          : MZ_TIER_SPILLED);
  }
}

static void draw_from_both(twins *t, uint32_t update) {
  enum { ROWS = 40 };
  mz_draw a[ROWS], b[ROWS];
  mz_buffer_draw(t->raw, 7, update, ROWS, a);
  mz_buffer_draw(t->tiered, 7, update, ROWS, b);
  for (int i = 0; i < ROWS; i++) {
    int index = (int)(b[i].serial - mz_buffer_entry(t->tiered, 0).serial);
    mz_tier tier = mz_buffer_entry(t->tiered, index).tier;
    assert_int_equal(b[i].segment != NULL, tier == MZ_TIER_RAW);
    t->in_tier[tier]++;
  }
  const mz_span span = {.values = 1 + (int)mz_rng_below(&t->rng, 8),
                        .policies = 1 + (int)mz_rng_below(&t->rng, 4),
                        .observations = 1 + (int)mz_rng_below(&t->rng, 4)};
  for (int i = 0; i < ROWS; i++) {
    assert_true(a[i].leaf == b[i].leaf && a[i].serial == b[i].serial && a[i].position == b[i].position);
    assert_true(a[i].probability == b[i].probability);
    mz_draw read;
    ASSERT_OK(mz_row_read(&t->reader, t->tiered, &span, &b[i], &read));
    assert_true(read.leaf == a[i].leaf && read.serial == a[i].serial && read.probability == a[i].probability);
    if (b[i].segment)
      assert_same_segment(a[i].segment, read.segment);
    else
      assert_true(same_row(&a[i], &read, &span));
    float error = (float)mz_rng_below(&t->rng, 100);
    mz_buffer_set_priority(t->raw, a[i].leaf, a[i].serial, error);
    mz_buffer_set_priority(t->tiered, b[i].leaf, b[i].serial, error);
  }
}

static void assert_same_state(const twins *t) {
  assert_int_equal(mz_buffer_digest(t->raw), mz_buffer_digest(t->tiered));
  assert_int_equal(mz_buffer_bytes(t->raw), mz_buffer_bytes(t->tiered));
  mz_writer a = {0}, b = {0};
  mz_buffer_write(t->raw, &a);
  mz_buffer_write(t->tiered, &b);
  assert_int_equal(a.size, b.size);
  assert_memory_equal(a.data, b.data, a.size);
  mz_writer_free(&a);
  mz_writer_free(&b);
}

static void random_tiers_change_nothing(void **state) {
  (void)state;
  int in_tier[MZ_TIERS] = {0};
  for (uint64_t seed = 0; seed < 12; seed++) {
    twins t = {.rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0)};
    int64_t capacity = 30 + mz_rng_below(&t.rng, 300); /* many wrap around */
    t.raw = make_buffer(capacity, 0, 0);
    t.tiered = make_buffer(capacity, t.bound[0] = random_bound(&t.rng, 20000), t.bound[1] = random_bound(&t.rng, 6000));
    ASSERT_OK(mz_buffer_spill_to(t.tiered, dir));
    for (uint32_t round = 0; round < 60; round++) {
      insert_into_both(&t);
      if (mz_rng_below(&t.rng, 3) == 0) change_tiers(&t);
      assert_bounds_hold(&t);
      draw_from_both(&t, round);
      assert_same_state(&t);
    }
    for (int tier = 0; tier < MZ_TIERS; tier++) in_tier[tier] += t.in_tier[tier];
    mz_row_reader_deinit(&t.reader);
    mz_buffer_free(t.raw);
    mz_buffer_free(t.tiered);
  }
  for (int tier = 0; tier < MZ_TIERS; tier++) assert_true(in_tier[tier] > 2000); /* of 28,800 */
  assert_int_equal(warnings, 0);
}

static void batches_are_the_same_from_any_tier(void **state) {
  (void)state;
  enum { ROWS = 32, UNROLL = 3 };
  mz_spec spec = vector_spec();
  mz_buffer *tiered = make_tiered(), *raw = make_buffer(1000, 0, 0);
  insert_games(raw, 0, 20);
  mz_replay_settings settings = {.td_steps = 3, .discount = 0.5, .lambda = 1, .importance_exponent = 0.5};
  mz_batch a, b;
  ASSERT_OK(mz_batch_init(&a, &spec, ROWS, UNROLL, UNROLL + 1));
  ASSERT_OK(mz_batch_init(&b, &spec, ROWS, UNROLL, UNROLL + 1));
  mz_batch_source source = {.settings = &settings, .spec = &spec, .seed = 3};
  for (uint32_t update = 0; update < 20; update++) {
    source.buffer = raw;
    ASSERT_OK(mz_batch_build(&a, &source, update));
    source.buffer = tiered;
    ASSERT_OK(mz_batch_build(&b, &source, update));
    size_t steps = (UNROLL + 1) * ROWS * sizeof(float);
    assert_memory_equal(a.obs, b.obs, 4 * steps);
    assert_memory_equal(a.action, b.action, steps);
    assert_memory_equal(a.policy, b.policy, 3 * steps);
    assert_memory_equal(a.value, b.value, steps);
    assert_memory_equal(a.reward, b.reward, steps);
    assert_memory_equal(a.value_weight, b.value_weight, steps);
    assert_memory_equal(a.reward_weight, b.reward_weight, steps);
    assert_memory_equal(a.policy_weight, b.policy_weight, steps);
    assert_int_equal(a.version_sum, b.version_sum);
  }
  mz_batch_deinit(&a);
  mz_batch_deinit(&b);
  mz_buffer_free(raw);
  mz_buffer_free(tiered);
}

static void contents_are_given_as_they_are_kept(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_buffer *buffer = make_tiered();
  assert_tiers(buffer, 4, 6, 10);
  for (int i = 0; i < 20; i++) {
    mz_content content;
    mz_segment *copy, *made = make_segment(&spec, i, 3 + i % 7, 0, MZ_END_TERMINATED);
    ASSERT_OK(mz_buffer_content(buffer, i, &content));
    assert_int_equal(mz_content_hash(&content), mz_buffer_entry(buffer, i).hash);
    assert_int_equal(content.segment != NULL, i >= 16);
    assert_int_equal(content.packed != NULL, i < 16);
    if (content.packed) {
      ASSERT_OK(mz_packed_unpack(content.packed, &spec, &copy));
      assert_same_segment(copy, made);
      mz_segment_release(copy);
    }
    mz_content_release(&content);
    mz_segment_release(made);
  }
  mz_buffer_free(buffer);
}

static mz_status load(void *context, uint64_t hash, mz_segment **out) {
  mz_buffer *from = context; /* one that is all raw */
  for (int i = 0; i < mz_buffer_segments(from); i++) {
    mz_content content;
    if (mz_buffer_entry(from, i).hash != hash) continue;
    ASSERT_OK(mz_buffer_content(from, i, &content));
    *out = content.segment;
    return MZ_OK;
  }
  return mz_fail(MZ_E_CHECKPOINT, "no segment %016llx", (unsigned long long)hash);
}

static void an_index_is_read_into_any_tiers(void **state) {
  (void)state;
  mz_buffer *raw = make_buffer(1000, 0, 0), *tiered = make_tiered();
  insert_games(raw, 0, 20);
  const int64_t bounds[][2] = {{0, 0}, {1, 0}, {1, 1}, {2000, 600}};
  for (int i = 0; i < 4; i++) { /* over what is there: raw, packed and spilled */
    mz_writer writer = {0};
    mz_buffer_write(tiered, &writer);
    mz_reader reader = mz_reader_over(writer.data, writer.size);
    ASSERT_OK(mz_buffer_set_tiers(tiered, bounds[i][0], bounds[i][1]));
    ASSERT_OK(mz_buffer_read(tiered, &reader, load, raw));
    assert_int_equal(mz_buffer_digest(tiered), mz_buffer_digest(raw));
    mz_tier_use use = mz_buffer_tier_use(tiered);
    if (i == 0) assert_int_equal(use.segments[MZ_TIER_RAW], 20);
    if (i == 1) assert_int_equal(use.segments[MZ_TIER_PACKED], 20);
    if (i == 2) assert_int_equal(use.segments[MZ_TIER_SPILLED], 20);
    if (i == 3) assert_true(use.segments[MZ_TIER_PACKED] > 0 && use.segments[MZ_TIER_SPILLED] > 0);
    mz_writer_free(&writer);
  }
  mz_buffer_free(raw);
  mz_buffer_free(tiered);
}

/* ---- threads ---- */

static void many_read_at_once(void **state) {
  (void)state;
  enum { READERS = 4 };
  mz_buffer *raw = make_buffer(1000, 0, 0), *tiered = make_tiered();
  insert_games(raw, 0, 20);
  pthread_t threads[READERS];
  comparison readers[READERS];
  for (int i = 0; i < READERS; i++) {
    readers[i] = (comparison){.buffer = tiered, .raw = raw, .seed = (uint64_t)i / 2}; /* pairs want the same */
    assert_int_equal(pthread_create(&threads[i], NULL, draw_and_read, &readers[i]), 0);
  }
  for (int i = 0; i < READERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(readers[i].wrong, 0);
  }
  mz_buffer_free(raw);
  mz_buffer_free(tiered);
}

/* ---- memory ---- */

static void memory_that_runs_out_leaves_segments_raw(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_buffer *buffer = make_buffer(1000, 1, 0), *raw = make_buffer(1000, 0, 0);
  insert_games(buffer, 0, 5);
  insert_games(raw, 0, 20);
  for (int game = 5; game < 20; game++) {
    mz_segment *segment = make_segment(&spec, game, 3 + game % 7, 0, MZ_END_TERMINATED);
    mz_alloc_fail_after(1);
    ASSERT_OK(mz_buffer_insert(buffer, segment));
    mz_alloc_fail_after(0);
  }
  assert_true(mz_buffer_tier_use(buffer).segments[MZ_TIER_RAW] > 0);
  assert_int_equal(warnings, 1);
  assert_int_equal(mz_buffer_digest(buffer), mz_buffer_digest(raw));
  insert_game(buffer, 20, 4); /* there is memory again */
  assert_int_equal(mz_buffer_tier_use(buffer).segments[MZ_TIER_RAW], 0);
  mz_buffer_free(buffer);
  mz_buffer_free(raw);
}

static void memory_that_runs_out_fails_a_read(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(1000, 1, 1);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_game(buffer, 0, 9);
  mz_row_reader reader = {0};
  mz_draw draw, read;
  mz_buffer_draw(buffer, 1, 1, 1, &draw);
  for (long n = 1; n <= 2; n++) { /* memory for the record, then for its moves */
    mz_row_reader_deinit(&reader);
    mz_alloc_fail_after(n);
    const mz_status status = mz_row_read(&reader, buffer, &whole_span, &draw, &read);
    mz_alloc_fail_after(0);
    assert_int_equal(status, MZ_E_MEMORY);
    ASSERT_OK(mz_row_read(&reader, buffer, &whole_span, &draw, &read)); /* there is memory again */
  }
  mz_row_reader_deinit(&reader);
  mz_buffer_free(buffer);
}

static void tiers_that_cannot_be_had_leave_the_old_ones(void **state) {
  (void)state;
  const int64_t wanted[][2] = {{0, 0}, {0, 1}, {1, 0}};
  for (int i = 0; i < 3; i++) {
    mz_buffer *buffer = make_tiered();
    mz_tier_use before = mz_buffer_tier_use(buffer);
    uint64_t digest = mz_buffer_digest(buffer);
    long n = 1;
    for (;; n++) {
      mz_alloc_fail_after(n);
      mz_status status = mz_buffer_set_tiers(buffer, wanted[i][0], wanted[i][1]);
      mz_alloc_fail_after(0);
      if (status == MZ_OK) break;
      assert_int_equal(status, MZ_E_MEMORY);
      mz_tier_use after = mz_buffer_tier_use(buffer);
      assert_memory_equal(&after, &before, sizeof after);
    }
    assert_true(n > 10);
    ASSERT_OK(mz_buffer_set_tiers(buffer, wanted[i][0], wanted[i][1])); /* packing may have found no memory, too */
    assert_int_equal(mz_buffer_digest(buffer), digest);
    if (i < 2) assert_tiers(buffer, 20, 0, 0);
    if (i == 2) assert_tiers(buffer, 0, 20, 0);
    mz_buffer_free(buffer);
  }
}

int main(void) {
#define TIERS_TEST(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
  const struct CMUnitTest tests[] = {TIERS_TEST(random_tiers_change_nothing),
                                     TIERS_TEST(batches_are_the_same_from_any_tier),
                                     TIERS_TEST(contents_are_given_as_they_are_kept),
                                     TIERS_TEST(an_index_is_read_into_any_tiers),
                                     TIERS_TEST(many_read_at_once),
                                     TIERS_TEST(memory_that_runs_out_leaves_segments_raw),
                                     TIERS_TEST(memory_that_runs_out_fails_a_read),
                                     TIERS_TEST(tiers_that_cannot_be_had_leave_the_old_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
