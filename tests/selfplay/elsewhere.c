/* Environments whose states name an instance that lives outside: games, evaluation, and what a checkpoint of them holds. */
#include "tests/selfplay/in_play.h"
#include <stdatomic.h>

/* A walk whose position an instance keeps; a state knows which instance, and what the functions that only look need. */
enum { INSTANCES = 256, LENGTH = 9 };
typedef struct walk_state {
  uint32_t instance; /* 0: none, else index + 1 */
  int32_t moves, place;
  uint32_t ended;
} walk_state;
typedef struct walk_instance {
  _Atomic bool used;
  int32_t moves, place;
} walk_instance;
static walk_instance instances[INSTANCES];

static int living(void) {
  int count = 0;
  for (int i = 0; i < INSTANCES; i++) count += instances[i].used;
  return count;
}

static uint32_t take(void) {
  for (uint32_t i = 0; i < INSTANCES; i++)
    if (!atomic_exchange(&instances[i].used, true)) return i + 1;
  fail_msg("more than %d instances", INSTANCES);
  return 0;
}

static mz_status walk_reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  walk_state *s = state;
  if (!s->instance) s->instance = take();
  walk_instance *mine = &instances[s->instance - 1];
  mine->moves = 0;
  mine->place = generator ? (int32_t)mz_generator_below(generator, 5) : 0;
  *s = (walk_state){.instance = s->instance, .place = mine->place};
  return MZ_OK;
}

static mz_status walk_step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                           mz_step *results) {
  (void)env, (void)generators;
  walk_state *s = states;
  for (int i = 0; i < n; i++) {
    walk_instance *mine = &instances[s[i].instance - 1];
    assert_true(s[i].instance > 0 && mine->used && !s[i].ended);
    assert_int_equal(mine->moves, s[i].moves); /* the newest copy, of an instance that nobody else has stepped */
    mine->place += actions[i] ? 1 : -1;
    s[i].moves = ++mine->moves;
    s[i].place = mine->place;
    s[i].ended = s[i].moves >= LENGTH + s[i].place % 3;
    results[i] = (mz_step){.reward = (float)mine->place, .terminated = s[i].ended};
  }
  return MZ_OK;
}

static void walk_release(const mz_env *env, void *state) {
  (void)env;
  walk_state *s = state;
  if (s->instance) instances[s->instance - 1].used = false;
  *s = (walk_state){0};
}

static void walk_observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const walk_state *s = states;
  float *out = observations;
  for (int i = 0; i < n; i++) {
    *out++ = (float)s[i].place / 10;
    *out++ = (float)s[i].moves / 10;
  }
}

static bool walk_valid(const mz_env *env, const void *state) { return (void)env, (void)state, false; }

static const mz_env walk = {
    .name = "walk",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, 2},
             .obs_size = 2,
             .actions = 2,
             .players = 1,
             .symmetries = 1,
             .reward_min = -20,
             .reward_max = 20,
             .return_min = -200,
             .return_max = 200},
    .state_size = sizeof(walk_state),
    .reset = walk_reset,
    .step = walk_step,
    .release = walk_release,
    .valid = walk_valid,
    .observe = walk_observe,
};

static void test_games_do_not_depend_on_groups_and_let_go(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &walk, MZ_PUCT, (mz_cut){0, 6});
  mz_selfplay_result results[2] = {0};
  for (int i = 0; i < 2; i++) {
    mz_games *games = new_games(&s);
    assert_int_equal(living(), GAMES);
    advance(&s, games, i ? 2 : GAMES, 40, 1, 0, &results[i]);
    assert_int_equal(living(), GAMES);
    mz_games_free(games);
    assert_int_equal(living(), 0);
  }
  assert_true(results[0].segment_count > GAMES);
  assert_int_equal(results[0].segment_count, results[1].segment_count);
  for (int i = 0; i < results[0].segment_count; i++) assert_true(results[0].segments[i]->hash == results[1].segments[i]->hash);
  for (int i = 0; i < 2; i++) mz_selfplay_result_deinit(&results[i]);
  test_agent_deinit(&s.agent);
}

/* A saved game tells how far each slot is; from that every slot begins its next episode, always the same. */
static void test_saved_games_begin_anew(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &walk, MZ_PUCT, (mz_cut){4, 3});
  mz_games *games = new_games(&s);
  mz_selfplay_result first = {0}, next[2] = {0};
  advance(&s, games, GAMES, 25, 1, 0, &first);
  mz_writer saved = written(games);
  assert_int_equal(saved.size, 8 + GAMES * 24);
  for (int i = 0; i < 2; i++) { /* into games that are already on their way, and into new ones */
    mz_games *other = i ? new_games(&s) : games;
    mz_reader reader = mz_reader_over(saved.data, saved.size);
    assert_int_equal(mz_games_read(other, &reader), MZ_OK);
    assert_int_equal(mz_reader_left(&reader), 0);
    advance(&s, other, GAMES, 30, 2, 0, &next[i]);
    if (i) mz_games_free(other);
  }
  assert_int_equal(next[0].segment_count, next[1].segment_count);
  for (int i = 0; i < next[0].segment_count; i++) {
    assert_true(next[0].segments[i]->hash == next[1].segments[i]->hash);
    for (int k = 0; k < first.segment_count; k++) /* ordinals go on: no two segments of a game have one */
      assert_false(first.segments[k]->game == next[0].segments[i]->game &&
                   first.segments[k]->ordinal == next[0].segments[i]->ordinal);
  }
  for (size_t cut = 0; cut < saved.size; cut += 5) {
    mz_reader reader = mz_reader_over(saved.data, cut);
    assert_int_equal(mz_games_read(games, &reader), MZ_E_CHECKPOINT);
  }
  mz_games_free(games);
  assert_int_equal(living(), 0);
  mz_writer_free(&saved);
  for (int i = 0; i < 2; i++) mz_selfplay_result_deinit(&next[i]);
  mz_selfplay_result_deinit(&first);
  test_agent_deinit(&s.agent);
}

static void test_evaluation_lets_go(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &walk, MZ_PUCT, 3);
  const mz_match match = {.env = &walk, .sides = {{.agent = &agent.agent}}, .games = 11, .seed = 1};
  double alone[11], shared[11];
  mz_evaluation e;
  mz_pool *pool;
  assert_int_equal(mz_evaluate(&match, NULL, &e, alone), MZ_OK);
  assert_int_equal(mz_pool_create(&pool, "test", 3, NULL), MZ_OK);
  assert_int_equal(mz_evaluate(&match, pool, &e, shared), MZ_OK);
  mz_pool_free(pool);
  assert_memory_equal(alone, shared, sizeof alone);
  assert_int_equal(living(), 0);
  test_agent_deinit(&agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_games_do_not_depend_on_groups_and_let_go),
      cmocka_unit_test(test_saved_games_begin_anew),
      cmocka_unit_test(test_evaluation_lets_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
