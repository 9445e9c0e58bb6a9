/* Packed segments: whatever is in them comes back, whole or a few moves of it, and boards take little room. */
#include "tests/replay/fixtures.h"
#include "tests/replay/spans.h"

typedef enum contents { BITS, BYTES, FLOATS } contents;

typedef struct made {
  contents contents;
  int obs_size, actions, players, length;
  bool same;    /* every move as the first */
  float sparse; /* share of legal actions without weight */
  int frames;   /* of pictures 3 wide; 0: no pictures */
  bool broken;  /* one stack is not the one before with a new frame */
  int one_of;   /* of so many actions one is legal; 0: two of three are */
} made;

static mz_spec spec_of(const made *m) {
  const int frames = m->frames ? m->frames : 1;
  return (mz_spec){
      .obs_kind = m->contents == FLOATS ? MZ_OBS_F32 : MZ_OBS_U8,
      .obs_shape = {m->frames ? m->obs_size / (6 * frames) : 1, m->frames ? 3 : 1, m->frames ? 2 * frames : m->obs_size},
      .frames = m->frames,
      .obs_size = m->obs_size,
      .actions = m->actions,
      .players = m->players,
      .symmetries = 1};
}

enum { ACTIONS_MAX = 2000, OBS_MAX = 900 };

static void fill_observation(const made *m, mz_rng *rng, void *obs) {
  if (m->frames && m->same) {
    memset(obs, 7, (size_t)m->obs_size);
    return;
  }
  for (int i = 0; i < m->obs_size; i++) {
    if (m->contents == FLOATS)
      ((float *)obs)[i] = (float)mz_rng_below(rng, 1000) / 8;
    else
      ((uint8_t *)obs)[i] = (uint8_t)mz_rng_below(rng, m->contents == BITS ? 2 : 256);
  }
}

/* The next of a stack: at every position two channels of each frame, the newest last. */
static void push_frame(const made *m, mz_rng *rng, void *obs) {
  const size_t entry = m->contents == FLOATS ? sizeof(float) : 1, part = 2 * entry, all = part * (size_t)m->frames;
  uint8_t *at = obs, fresh[OBS_MAX * sizeof(float)];
  fill_observation(m, rng, fresh);
  for (size_t p = 0; p < (size_t)m->obs_size * entry / all; p++, at += all) {
    memmove(at, at + part, all - part);
    memcpy(at + all - part, fresh + p * all, part);
  }
}

/* A distribution over legal actions, some of which have a weight of 0 or −0. */
static void fill_policy(const made *m, mz_rng *rng, uint8_t *legal, float *policy, int *action) {
  float sum = 0;
  *action = (int)mz_rng_below(rng, (uint32_t)m->actions);
  for (int a = 0; a < m->actions; a++) {
    legal[a] = a == *action || (m->one_of ? mz_rng_below(rng, (uint32_t)m->one_of) == 0 : mz_rng_below(rng, 3) > 0);
    policy[a] = !legal[a]                                            ? 0
                : a != *action && (float)mz_rng_f64(rng) < m->sparse ? (a % 2 ? -0.0f : 0.0f)
                                                                     : (float)(1 + mz_rng_below(rng, 99));
    sum += policy[a];
  }
  for (int a = 0; a < m->actions && sum > 0; a++) policy[a] /= sum;
}

static mz_segment *make(const made *m, uint64_t seed, mz_end end) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
  const mz_spec spec = spec_of(m);
  const mz_cut cut = {.segment_moves = end == MZ_END_OPEN && m->length > 1 ? m->length - 1 : 0, .look_ahead = 1};
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  float obs[OBS_MAX], policy[ACTIONS_MAX], reward = 0;
  uint8_t legal[ACTIONS_MAX];
  int action;
  ASSERT_OK(mz_trajectory_create(&trajectory, &spec, cut, 3));
  for (int t = 0; t < m->length; t++) {
    if (t == 0 || !m->same) {
      if (m->frames == 0 || t == 0 || (m->broken && t == m->length / 2))
        fill_observation(m, &rng, obs);
      else
        push_frame(m, &rng, obs);
      fill_policy(m, &rng, legal, policy, &action);
      reward = (float)mz_rng_below(&rng, 3) - 1;
    }
    const mz_move move = {.obs = obs,
                          .action = action,
                          .player = m->same ? 0 : t % m->players,
                          .reward = reward,
                          .value = m->same ? 1 : (float)t / 8,
                          .random = seed == 7 && t < m->length / 3,
                          .policy = mz_rng_below(&rng, 8) || m->same ? policy : NULL,
                          .legal = legal,
                          .terminated = end == MZ_END_TERMINATED && t == m->length - 1,
                          .truncated = end == MZ_END_TRUNCATED && t == m->length - 1};
    ASSERT_OK(mz_trajectory_append(trajectory, &move, seed, collect, &all));
  }
  mz_trajectory_free(trajectory);
  assert_int_equal(all.count, 1);
  return all.segments[0];
}

static const made all_kinds[] = {
    {BITS, 27, 9, 2, 7, false, 0.5f, 0, false, 0},     {BITS, 810, 82, 2, 60, false, 0, 0, false, 0},
    {BITS, 8, 300, 2, 40, false, 0.9f, 0, false, 0},   {BITS, 3, 2, 1, 1, false, 0, 0, false, 0},
    {BYTES, 12, 7, 2, 30, false, 0.2f, 0, false, 0},   {FLOATS, 4, 2, 1, 200, false, 0, 0, false, 0},
    {FLOATS, 5, 257, 1, 20, false, 0.6f, 0, false, 0}, {BITS, 30, 16, 2, 50, true, 0.3f, 0, false, 0},
    {FLOATS, 4, 1, 1, 25, true, 0, 0, false, 0},       {BYTES, 120, 4, 1, 30, false, 0, 4, false, 0},
    {BYTES, 120, 4, 1, 1, false, 0, 4, false, 0},      {FLOATS, 36, 4, 1, 9, false, 0, 2, false, 0},
    {BYTES, 120, 4, 1, 9, true, 0, 4, false, 0},       {BITS, 120, 4, 1, 9, false, 0, 4, false, 0},
    {BYTES, 120, 4, 1, 9, false, 0, 4, true, 0},       {BITS, 27, 2000, 2, 30, false, 0.5f, 0, false, 70},
    {BITS, 27, 2000, 2, 30, true, 0, 0, false, 70},    {BITS, 27, 2000, 2, 1, false, 0, 0, false, 70},
};
enum { KINDS = sizeof all_kinds / sizeof all_kinds[0] };
static const mz_end ends[] = {MZ_END_TERMINATED, MZ_END_TRUNCATED, MZ_END_OPEN};

static mz_packed *pack(const mz_segment *segment, const mz_spec *spec) {
  mz_writer scratch = {0};
  mz_packed *packed;
  ASSERT_OK(mz_packed_pack(segment, spec, &scratch, &packed));
  mz_writer_free(&scratch);
  return packed;
}

static void assert_same_written(const mz_segment *a, const mz_segment *b, size_t obs_bytes) {
  mz_writer x = {0}, y = {0};
  mz_segment_write(a, obs_bytes, &x);
  mz_segment_write(b, obs_bytes, &y);
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  mz_writer_free(&x);
  mz_writer_free(&y);
}

static void what_was_packed_comes_back(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    for (uint64_t seed = 0; seed < 9; seed++) {
      if (all_kinds[k].length == 1 && ends[seed % 3] == MZ_END_OPEN) continue;
      const mz_spec spec = spec_of(&all_kinds[k]);
      mz_segment *segment = make(&all_kinds[k], seed, ends[seed % 3]), *copy;
      mz_packed *packed = pack(segment, &spec);
      ASSERT_OK(mz_packed_unpack(packed, &spec, &copy));
      assert_same_written(segment, copy, mz_spec_obs_bytes(&spec));
      assert_true(copy->bytes == segment->bytes && copy->end == segment->end && copy->moves == segment->moves);
      mz_packed_release(packed);
      mz_segment_release(segment);
      mz_segment_release(copy);
    }
  }
}

/* The memory of a span has the size that was asked for, so that the address sanitizer sees what goes beyond. */
static void assert_span(const mz_segment *segment, const mz_packed *packed, const mz_spec *spec, int position,
                        const mz_span *span) {
  mz_segment read;
  void *memory = malloc(mz_span_bytes(span, packed->length - position, spec));
  assert_non_null(memory);
  mz_packed_read(packed, spec, position, span, memory, &read);
  assert_true(same_moves(segment, position, &read, span, mz_spec_obs_bytes(spec)));
  free(memory);
}

static void any_span_of_moves_is_read_alone(void **state) {
  (void)state;
  const mz_span spans[] = {{1, 1, 1}, {6, 4, 1}, {9, 3, 9}, {1 << 20, 6, 1}, {1 << 20, 1 << 20, 1 << 20}, {2, 50, 50}};
  for (int k = 0; k < KINDS; k++) {
    const mz_spec spec = spec_of(&all_kinds[k]);
    const mz_end end = all_kinds[k].length == 1 ? MZ_END_TRUNCATED : ends[k % 3];
    mz_segment *segment = make(&all_kinds[k], 5, end);
    mz_packed *packed = pack(segment, &spec);
    for (int position = 0; position < segment->length; position++)
      for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) assert_span(segment, packed, &spec, position, &spans[i]);
    mz_packed_release(packed);
    mz_segment_release(segment);
  }
}

static void what_does_not_change_is_kept_once(void **state) {
  (void)state;
  const made changing = {BITS, 810, 82, 2, 60, false, 0, 0, false, 0}, same = {BITS, 810, 82, 2, 60, true, 0, 0, false, 0};
  const mz_spec spec = spec_of(&same);
  mz_segment *a = make(&changing, 1, MZ_END_TERMINATED), *b = make(&same, 1, MZ_END_TERMINATED);
  mz_packed *changed = pack(a, &spec), *constant = pack(b, &spec);
  assert_true(mz_packed_bytes(changed->size) < 0.4 * (double)a->bytes);
  const size_t weights = b->policy_start[b->length] * sizeof(float), a_move = 4 + 4 + 4 + 1 + 1 + 11 + 102;
  assert_int_equal(constant->size, weights + a_move);
  mz_packed_release(changed);
  mz_packed_release(constant);
  mz_segment_release(a);
  mz_segment_release(b);
}

/* As in chess: a bit for each of thousands of actions would take more than the segment did. */
static void few_legal_actions_of_many_are_listed(void **state) {
  (void)state;
  const made few = {BITS, 8, 2000, 2, 30, false, 0.9f, 0, false, 70}, many = {BITS, 8, 2000, 2, 30, false, 0.9f, 0, false, 0};
  const mz_spec spec = spec_of(&few);
  mz_segment *a = make(&few, 1, MZ_END_TERMINATED), *b = make(&many, 1, MZ_END_TERMINATED);
  mz_packed *listed = pack(a, &spec), *bits = pack(b, &spec);
  assert_true(listed->is_listed && !bits->is_listed);
  assert_int_equal(listed->size, 30 * (4 + 4 + 4 + 2 + 1 + 1) + a->policy_start[a->length] * (2 + 4));
  assert_true(mz_packed_bytes(listed->size) < a->bytes && mz_packed_bytes(bits->size) < b->bytes);
  const made same = {BITS, 8, 2000, 2, 30, true, 0, 0, false, 70};
  mz_segment *c = make(&same, 1, MZ_END_TERMINATED); /* one row of bits stands for all moves */
  mz_packed *once = pack(c, &spec);
  assert_int_equal(once->size, 4 + 4 + 4 + 2 + 1 + 250 + 1 + c->policy_start[c->length] * 4);
  mz_packed_release(once);
  mz_segment_release(c);
  mz_packed_release(listed);
  mz_packed_release(bits);
  mz_segment_release(a);
  mz_segment_release(b);
}

/* Packed bytes differ in observations alone. */
static void stacks_are_kept_by_frames(void **state) {
  (void)state;
  const made stacked = {BYTES, 120, 4, 1, 30, false, 0, 4, false, 0}, broken = {BYTES, 120, 4, 1, 30, false, 0, 4, true, 0};
  const mz_spec spec = spec_of(&stacked);
  mz_segment *a = make(&stacked, 1, MZ_END_TERMINATED), *b = make(&broken, 1, MZ_END_TERMINATED);
  mz_packed *frames = pack(a, &spec), *whole = pack(b, &spec);
  assert_true(frames->is_stacked && !whole->is_stacked);
  const size_t frame = 30, moves = 30;
  const size_t others = whole->size - moves * 4 * frame - b->policy_start[b->length] * sizeof(float);
  assert_int_equal(frames->size, others + (moves + 3) * frame + a->policy_start[a->length] * sizeof(float));
  const made same = {BYTES, 120, 4, 1, 9, true, 0, 4, false, 0};
  mz_segment *c = make(&same, 1, MZ_END_TERMINATED);
  mz_packed *once = pack(c, &spec);
  assert_int_equal(once->size,
                   4 + 4 + 4 + 1 + 1 + 1 + (once->is_dense ? 0 : 1) + frame + c->policy_start[c->length] * sizeof(float));
  mz_packed_release(once);
  mz_segment_release(c);
  mz_packed_release(frames);
  mz_packed_release(whole);
  mz_segment_release(a);
  mz_segment_release(b);
}

static void memory_that_runs_out_fails_packing_and_unpacking(void **state) {
  (void)state;
  const mz_spec spec = spec_of(&all_kinds[0]);
  mz_segment *segment = make(&all_kinds[0], 1, MZ_END_TERMINATED), *copy;
  mz_writer scratch = {0};
  mz_packed *packed = NULL;
  for (long n = 1; n <= 2; n++) { /* the scratch memory, the result */
    mz_writer_free(&scratch);
    mz_alloc_fail_after(n);
    assert_int_equal(mz_packed_pack(segment, &spec, &scratch, &packed), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
  }
  ASSERT_OK(mz_packed_pack(segment, &spec, &scratch, &packed));
  mz_alloc_fail_after(1);
  assert_int_equal(mz_packed_unpack(packed, &spec, &copy), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  mz_packed_release(packed);
  mz_segment_release(segment);
  mz_writer_free(&scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_packed_comes_back),        cmocka_unit_test(any_span_of_moves_is_read_alone),
      cmocka_unit_test(what_does_not_change_is_kept_once), cmocka_unit_test(few_legal_actions_of_many_are_listed),
      cmocka_unit_test(stacks_are_kept_by_frames),         cmocka_unit_test(memory_that_runs_out_fails_packing_and_unpacking)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
