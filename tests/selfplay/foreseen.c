/* What plans of memory say of segments and games in play, and what they take: random games of every bundled environment. */
#include "envs/env.h"
#include "replay/segments/segment.h"
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define ASSERT_OK(expr) assert_int_equal((expr), MZ_OK)

enum { GAMES = 3, LOOK_AHEAD = 11 };

/* A game in play whose states, observations and legal actions lie here. */
typedef struct play {
  const mz_env *env;
  mz_cut cut;
  mz_trajectory *trajectory;
  uint8_t *state, *observation, *legal;
  float *policy;
} play;

static void *room(size_t count, size_t size) {
  void *memory;
  ASSERT_OK(mz_alloc(&memory, count, size));
  return memory;
}

static mz_status check_segment(void *context, mz_segment *segment) {
  const play *p = context;
  const mz_spec *spec = &p->env->spec;
  const double of_moves = (double)(segment->bytes - sizeof *segment), rounding = sizeof(uint32_t) * 2; /* of each array */
  if (segment->length > mz_segment_length_max(spec, p->cut))
    fail_msg("%s: a segment of %d moves, foreseen are %d", p->env->name, segment->length, mz_segment_length_max(spec, p->cut));
  if ((double)segment->bytes > mz_segment_bytes_max(spec, p->cut))
    fail_msg("%s: a segment of %zu bytes, foreseen are %g", p->env->name, segment->bytes, mz_segment_bytes_max(spec, p->cut));
  if (of_moves > mz_transition_bytes(spec, p->cut) * segment->moves + rounding)
    fail_msg("%s: %g bytes of %d positions, foreseen are %g of each", p->env->name, of_moves, segment->moves,
             mz_transition_bytes(spec, p->cut));
  mz_segment_release(segment);
  return MZ_OK;
}

static double heap_bytes(void) {
  const struct mallinfo2 heap = mallinfo2(); /* nothing where a sanitizer has a heap of its own */
  return (double)heap.uordblks + (double)heap.hblkhd;
}

/* Returns whether the game goes on. */
static bool play_move(play *p, int move, mz_rng *rng) {
  const mz_env *env = p->env;
  const mz_generator generator = mz_generator_from_rng(rng);
  const int count = mz_env_legal(env, p->state, p->legal), player = mz_env_to_play(env, p->state);
  int32_t action = -1;
  for (int left = (int)mz_rng_below(rng, (uint32_t)count); left >= 0; left--) do
      action++;
    while (!p->legal[action]);
  for (int a = 0; a < env->spec.actions; a++) p->policy[a] = p->legal[a] ? 1 / (float)count : 0;
  env->observe(env, p->state, 1, p->observation);
  mz_step made;
  ASSERT_OK(env->step(env, p->state, 1, &action, env->draws ? &generator : NULL, &made));
  const mz_move record = {.obs = p->observation,
                          .action = action,
                          .player = player,
                          .reward = made.reward,
                          .policy = p->policy,
                          .legal = p->legal,
                          .terminated = made.terminated,
                          .truncated = made.truncated};
  ASSERT_OK(mz_trajectory_append(p->trajectory, &record, (uint64_t)move, check_segment, p));
  return !made.terminated && !made.truncated;
}

static void play_games(const mz_env *env, mz_cut cut, double *foreseen, double *taken) {
  const size_t actions = (size_t)env->spec.actions;
  play p = {.env = env,
            .cut = cut,
            .state = room(1, env->state_size),
            .observation = room(1, mz_spec_obs_bytes(&env->spec)),
            .legal = room(actions, 1),
            .policy = room(actions, sizeof(float))};
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const double before = heap_bytes();
  *foreseen = mz_trajectory_bytes(&env->spec, cut);
  *taken = 0;
  ASSERT_OK(mz_trajectory_create(&p.trajectory, &env->spec, cut, 0));
  for (int game = 0; game < GAMES; game++) {
    ASSERT_OK(env->reset(env, p.state, &generator));
    for (int move = 0; play_move(&p, move, &rng); move++) *taken = fmax(*taken, heap_bytes() - before);
  }
  mz_trajectory_free(p.trajectory);
  free(p.state), free(p.observation), free(p.legal), free(p.policy);
}

static void bundled_games_take_no_more_than_is_foreseen(void **state) {
  (void)state;
  static const mz_cut cuts[] = {{0, LOOK_AHEAD}, {8, LOOK_AHEAD}, {64, LOOK_AHEAD}};
  enum { ROUNDING = 4 << 10 }; /* of allocations; pages where they are large */
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
      double foreseen, taken;
      play_games(env, cuts[c], &foreseen, &taken);
      if (taken > foreseen + 3 * ROUNDING)
        fail_msg("%s, segments of %d moves: a game in play takes %g bytes, foreseen are %g", env->name, cuts[c].segment_moves,
                 taken, foreseen);
    }
  }
}

/* A limit as far as one can be declared is no larger than what a segment may have. */
static void limits_that_no_segment_reaches_are_foreseen_as_the_largest_segment(void **state) {
  (void)state;
  mz_spec spec = {.obs_kind = MZ_OBS_F32, .obs_shape = {1, 1, 4}, .obs_size = 4, .actions = 3, .players = 1, .symmetries = 1};
  const mz_cut whole = {.look_ahead = LOOK_AHEAD}, cut = {.segment_moves = 1000000, .look_ahead = LOOK_AHEAD};
  for (int moves = INT32_MAX; moves > 1 << 28; moves /= 2) {
    spec.max_moves = moves;
    assert_true(mz_segment_bytes_max(&spec, whole) == MZ_SEGMENT_BYTES_MAX);
    assert_true(mz_segment_bytes_max(&spec, cut) == MZ_SEGMENT_BYTES_MAX);
    assert_in_range(mz_segment_length_max(&spec, whole), 500000, 1000000);
    assert_true(mz_trajectory_bytes(&spec, whole) < 8.0 * MZ_SEGMENT_BYTES_MAX);
    assert_true(mz_transition_bytes(&spec, whole) < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bundled_games_take_no_more_than_is_foreseen),
      cmocka_unit_test(limits_that_no_segment_reaches_are_foreseen_as_the_largest_segment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
