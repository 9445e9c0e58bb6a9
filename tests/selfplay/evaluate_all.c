/* Every line of a game, against a naive count. */
#include "tests/selfplay/evaluate_cases.h"

/* The definition of mz_lines_count, one line at a time. */
static void count_naively(const mz_env *env, const void *state, int seat, double so_far, int plies, mz_chooser choose,
                          void *context, mz_lines *out) {
  _Alignas(8) uint8_t next[64];
  uint8_t mask[16];
  assert_true(env->state_size <= sizeof next && env->spec.actions <= 16);
  mz_env_legal(env, state, mask);
  const bool own = mz_env_to_play(env, state) == seat;
  int32_t chosen = -1;
  if (own) assert_int_equal(choose(context, 1, state, &chosen), MZ_OK);
  for (int32_t a = 0; a < env->spec.actions; a++) {
    if (!mask[a] || (own && a != chosen)) continue;
    mz_step step;
    memcpy(next, state, env->state_size);
    assert_int_equal(env->step(env, next, 1, &a, NULL, &step), MZ_OK);
    const double then = so_far + (double)(own ? step.reward : -step.reward);
    if (!step.terminated) {
      count_naively(env, next, seat, then, plies + 1, choose, context, out);
      continue;
    }
    out->tally.games++;
    out->tally.win += then > 0;
    out->tally.draw += then == 0;
    out->tally.loss += then < 0;
    out->tally.return_sum += then;
    out->square_sum += then * then;
    out->moves += plies + 1;
  }
}

static mz_lines naive_lines(const mz_env *env, int seat, mz_chooser choose, void *context) {
  _Alignas(8) uint8_t state[64];
  mz_lines out = {0};
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  count_naively(env, state, seat, 0, 0, choose, context, &out);
  return out;
}

static void assert_same_tally(const mz_tally *a, const mz_tally *b) {
  assert_int_equal(a->games, b->games);
  assert_int_equal(a->win, b->win);
  assert_int_equal(a->draw, b->draw);
  assert_int_equal(a->loss, b->loss);
  assert_true(a->return_sum == b->return_sum);
}

/* The first legal, or the first optimal, action. */
static mz_status first_of(bool optimal, int n, const void *states, int32_t *actions) {
  for (int i = 0; i < n; i++) {
    const uint8_t *state = (const uint8_t *)states + (size_t)i * mz_env_tictactoe.state_size;
    uint8_t mask[9];
    float value;
    mz_env_tictactoe.legal(&mz_env_tictactoe, state, mask);
    if (optimal) mz_env_tictactoe.expert(&mz_env_tictactoe, state, mask, &value);
    for (actions[i] = 0; !mask[actions[i]];) actions[i]++;
  }
  return MZ_OK;
}

static mz_status choose_first(void *context, int n, const void *states, int32_t *actions) {
  (void)context;
  return first_of(false, n, states, actions);
}

static mz_status choose_optimal(void *context, int n, const void *states, int32_t *actions) {
  (void)context;
  return first_of(true, n, states, actions);
}

static mz_status choose_nothing(void *context, int n, const void *states, int32_t *actions) {
  (void)context, (void)n, (void)states, (void)actions;
  return mz_fail(MZ_E_DEVICE, "no answer");
}

static void test_every_line_against_a_naive_count(void **unused) {
  (void)unused;
  const mz_chooser choosers[] = {choose_first, choose_optimal};
  for (int c = 0; c < 2; c++) {
    for (int seat = 0; seat < 2; seat++) {
      const mz_lines expected = naive_lines(&mz_env_tictactoe, seat, choosers[c], NULL);
      mz_lines lines;
      assert_int_equal(mz_lines_count(&mz_env_tictactoe, seat, choosers[c], NULL, expected.tally.games, &lines), MZ_OK);
      assert_same_tally(&expected.tally, &lines.tally);
      assert_true(expected.square_sum == lines.square_sum);
      assert_int_equal(expected.moves, lines.moves);
      assert_true(lines.positions > 0 && lines.positions < expected.tally.games);
      assert_true(c == 0 ? lines.tally.loss > 0 : lines.tally.loss == 0);
      /* One line more than allowed; a chooser that fails. */
      assert_int_equal(mz_lines_count(&mz_env_tictactoe, seat, choosers[c], NULL, expected.tally.games - 1, &lines), MZ_E_CONFIG);
      assert_int_equal(mz_lines_count(&mz_env_tictactoe, seat, choose_nothing, NULL, 1000, &lines), MZ_E_DEVICE);
    }
  }
}

typedef struct planning {
  mz_planner planner;
  const mz_prepared *weights;
} planning;

static mz_status choose_planned(void *context, int n, const void *states, int32_t *actions) {
  planning *p = context;
  assert_int_equal(n, 1);
  assert_int_equal(mz_planner_observe(&p->planner, 0, 1, states), MZ_OK);
  assert_int_equal(mz_planner_search(&p->planner, 1, p->weights, 0), MZ_OK);
  actions[0] = p->planner.results[0].selected;
  return MZ_OK;
}

static void test_every_line_of_an_agent(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &mz_env_tictactoe, MZ_PUCT, 5);
  planning p = {.weights = agent.weights};
  assert_int_equal(mz_planner_init(&p.planner, agent.agent.env, agent.agent.search, agent.agent.model, agent.agent.where,
                                   agent.agent.discount, 1),
                   MZ_OK);
  const mz_lines first = naive_lines(&mz_env_tictactoe, 0, choose_planned, &p);
  const mz_lines second = naive_lines(&mz_env_tictactoe, 1, choose_planned, &p);
  mz_evaluation expected;
  assert_int_equal(mz_evaluate_all(&agent.agent, NULL, &expected), MZ_OK);
  assert_same_tally(&first.tally, &expected.by_seat[0]);
  assert_same_tally(&second.tally, &expected.by_seat[1]);
  assert_int_equal(expected.games, first.tally.games + second.tally.games);
  assert_int_equal(expected.win + expected.draw + expected.loss, expected.games);
  assert_int_equal(expected.moves, first.moves + second.moves);
  assert_true(expected.points.estimate == ((double)expected.win + 0.5 * (double)expected.draw) / (double)expected.games);
  assert_true(expected.points.low == expected.points.estimate && expected.points.high == expected.points.estimate);
  const double mean = (first.tally.return_sum + second.tally.return_sum) / (double)expected.games;
  const double mean_square = (first.square_sum + second.square_sum) / (double)expected.games, n = (double)expected.games;
  assert_true(fabs(expected.mean_return - mean) < 1e-12);
  assert_true(fabs(expected.std - sqrt((mean_square - mean * mean) * n / (n - 1))) < 1e-9);
  for (int threads = 1; threads <= 3; threads++) {
    mz_pool *pool;
    mz_evaluation out;
    assert_int_equal(mz_pool_create(&pool, "test", threads, NULL), MZ_OK);
    assert_int_equal(mz_evaluate_all(&agent.agent, pool, &out), MZ_OK);
    assert_same(&expected, &out);
    mz_pool_free(pool);
  }
  mz_planner_deinit(&p.planner);
  test_agent_deinit(&agent);
}

/* Passes wherever it is asked: in Go that is always legal, and lines do not end soon. */
static mz_status choose_pass(void *context, int n, const void *states, int32_t *actions) {
  const mz_env *env = context;
  (void)states;
  for (int i = 0; i < n; i++) actions[i] = env->spec.actions - 1;
  return MZ_OK;
}

static void test_games_of_too_many_positions_are_refused(void **unused) {
  (void)unused;
  const mz_env *env;
  mz_lines lines;
  assert_int_equal(mz_env_find("go:size=5", &env), MZ_OK);
  assert_int_equal(mz_lines_count(env, 1, choose_pass, (void *)env, INT64_MAX, &lines), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "different positions"));
}

static void test_games_that_begin_differently_are_refused(void **unused) {
  (void)unused;
  const mz_env drawn = drawn_starts();
  test_agent agent;
  mz_evaluation out;
  test_agent_init(&agent, &drawn, MZ_PUCT, 5);
  assert_int_equal(mz_evaluate_all(&agent.agent, NULL, &out), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "opponent: all: only where all games begin alike, not for drawn"));
  test_agent_deinit(&agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_line_against_a_naive_count),
                                     cmocka_unit_test(test_every_line_of_an_agent),
                                     cmocka_unit_test(test_games_of_too_many_positions_are_refused),
                                     cmocka_unit_test(test_games_that_begin_differently_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
