/* Tic-tac-toe by complete enumeration: every game, every position, every symmetry, and perfect play against plain negamax. */
#include "envs/env.h"
#include "base/symmetry.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { CELLS = 9, OBSERVATION = 27, SYMMETRIES = 8, TERNARY = 19683, POSITIONS = 5478 };

static const mz_env *env;
static uint64_t positions[POSITIONS]; /* states, as the enumeration meets them; an ended one is among them */
static int position_count;

static int find_env(void **unused) {
  (void)unused;
  return mz_env_find("tictactoe", &env) != MZ_OK || env->state_size != sizeof(uint64_t);
}

/* --- perfect play is solved once, whoever asks first --- */

static void *ask_expert(void *value) {
  uint64_t state;
  uint8_t mask[CELLS];
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  env->expert(env, &state, mask, value);
  return NULL;
}

static void expert_is_solved_once_by_any_thread(void **unused) {
  (void)unused;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  float values[THREADS];
  for (int i = 0; i < THREADS; i++) {
    values[i] = 9;
    assert_int_equal(pthread_create(&threads[i], NULL, ask_expert, &values[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) assert_true(values[i] == 0); /* the game is a draw */
}

/* --- enumeration --- */

typedef struct tally {
  int games, wins[2], draws;
  bool seen[TERNARY];
} tally;

/* The observation and the legal actions follow from the numbers. */
static void check_views(const uint64_t *state, const double *board, int moves, bool ended) {
  uint8_t observation[OBSERVATION], mask[CELLS];
  env->observe(env, state, 1, observation);
  const int mover = moves % 2, own = mover == 0 ? 1 : -1;
  assert_int_equal(env->to_play(env, state), mover);
  int free_count = 0;
  for (int c = 0; c < CELLS; c++) {
    assert_int_equal(observation[3 * c + 0], board[c] == own);
    assert_int_equal(observation[3 * c + 1], board[c] == -own);
    assert_int_equal(observation[3 * c + 2], mover == 0);
    free_count += board[c] == 0;
  }
  const int legal = env->legal(env, state, mask);
  assert_int_equal(legal, ended ? 0 : free_count);
  for (int c = 0; c < CELLS; c++) assert_int_equal(mask[c], !ended && board[c] == 0);
}

static void visit(tally *t, const uint64_t *state, int moves, bool ended) {
  double board[CELLS];
  assert_int_equal(env->numbers(env, state, board), CELLS);
  int index = 0;
  for (int c = 0; c < CELLS; c++) index = 3 * index + (int)board[c] + 1;
  if (t->seen[index]) return;
  t->seen[index] = true;
  assert_true(position_count < POSITIONS);
  positions[position_count++] = *state;
  check_views(state, board, moves, ended);
  uint64_t loaded = UINT64_MAX;
  env->load(env, &loaded, board, moves);
  assert_true(loaded == *state); /* same bytes whatever order the stones came in */
}

/* Plays on in every way; the value for the player to move, by negamax. */
static int enumerate(tally *t, const uint64_t *state, int moves) {
  visit(t, state, moves, false);
  uint8_t legal[CELLS], best_mask[CELLS] = {0}, optimal[CELLS];
  env->legal(env, state, legal);
  int best = -2;
  for (int32_t action = 0; action < CELLS; action++) {
    if (!legal[action]) continue;
    uint64_t next = *state;
    mz_step result;
    assert_int_equal(env->step(env, &next, 1, &action, NULL, &result), MZ_OK);
    assert_false(result.truncated);
    int value = (int)result.reward;
    if (result.terminated) {
      visit(t, &next, moves + 1, true);
      t->games++;
      if (value)
        t->wins[moves % 2]++;
      else
        t->draws++;
    } else {
      assert_int_equal(value, 0);
      value = -enumerate(t, &next, moves + 1);
    }
    if (value > best) memset(best_mask, 0, sizeof best_mask);
    if (value >= best) best_mask[action] = 1;
    if (value > best) best = value;
  }
  float expert_value;
  env->expert(env, state, optimal, &expert_value);
  assert_true(expert_value == (float)best);
  assert_memory_equal(optimal, best_mask, sizeof optimal);
  return best;
}

static void all_games_and_positions(void **unused) {
  (void)unused;
  static tally t;
  uint64_t state = UINT64_MAX;
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  assert_int_equal(enumerate(&t, &state, 0), 0);
  assert_int_equal(t.games, 255168);
  assert_int_equal(t.wins[0], 131184);
  assert_int_equal(t.wins[1], 77904);
  assert_int_equal(t.draws, 46080);
  assert_int_equal(position_count, POSITIONS);
}

static void expert_of_an_ended_game(void **unused) {
  (void)unused;
  uint64_t state;
  uint8_t mask[CELLS];
  float value = 9;
  env->load(env, &state, (const double[]){1, 1, 1, -1, -1, 0, 0, 0, 0}, 5);
  env->expert(env, &state, mask, &value);
  assert_true(value == -1);
  for (int c = 0; c < CELLS; c++) assert_int_equal(mask[c], 0);
}

/* --- symmetries: runs after the enumeration has filled `positions` --- */

static void symmetries_are_a_group(void **unused) {
  (void)unused;
  assert_int_equal(env->spec.symmetries, SYMMETRIES);
  for (int a = 0; a < CELLS; a++) assert_int_equal(mz_symmetry_action(&env->spec, 0, a), a);
  for (int s = 0; s < SYMMETRIES; s++) {
    for (int t = 0; t < SYMMETRIES; t++) {
      int same = 0; /* exactly one symmetry equals t followed by s; this also keeps all eight apart */
      for (int u = 0; u < SYMMETRIES; u++) {
        bool equal = true;
        for (int a = 0; a < CELLS; a++)
          equal &=
              mz_symmetry_action(&env->spec, s, mz_symmetry_action(&env->spec, t, a)) == mz_symmetry_action(&env->spec, u, a);
        same += equal;
      }
      assert_int_equal(same, 1);
    }
  }
}

static void check_symmetry(int s, const uint64_t *state) {
  double board[CELLS], image_board[CELLS];
  env->numbers(env, state, board);
  int moves = 0;
  for (int c = 0; c < CELLS; c++) {
    image_board[mz_symmetry_action(&env->spec, s, c)] = board[c];
    moves += board[c] != 0;
  }
  uint64_t image;
  env->load(env, &image, image_board, moves);

  uint8_t observation[OBSERVATION], mapped[OBSERVATION], expected[OBSERVATION];
  env->observe(env, state, 1, observation);
  env->observe(env, &image, 1, expected);
  mz_symmetry_observe(&env->spec, s, observation, mapped);
  assert_memory_equal(mapped, expected, sizeof mapped);

  uint8_t legal[CELLS], image_legal[CELLS], optimal[CELLS], image_optimal[CELLS];
  float value, image_value;
  assert_int_equal(env->legal(env, state, legal), env->legal(env, &image, image_legal));
  env->expert(env, state, optimal, &value);
  env->expert(env, &image, image_optimal, &image_value);
  assert_true(value == image_value);
  for (int32_t a = 0; a < CELLS; a++) {
    const int32_t b = mz_symmetry_action(&env->spec, s, a);
    assert_int_equal(legal[a], image_legal[b]);
    assert_int_equal(optimal[a], image_optimal[b]);
    if (!legal[a]) continue;
    uint64_t next = *state, image_next = image;
    mz_step result, image_result;
    assert_int_equal(env->step(env, &next, 1, &a, NULL, &result), MZ_OK);
    assert_int_equal(env->step(env, &image_next, 1, &b, NULL, &image_result), MZ_OK);
    assert_true(result.reward == image_result.reward && result.terminated == image_result.terminated);
    env->observe(env, &next, 1, observation);
    env->observe(env, &image_next, 1, expected);
    mz_symmetry_observe(&env->spec, s, observation, mapped);
    assert_memory_equal(mapped, expected, sizeof mapped);
  }
}

static void symmetries_commute_with_the_game(void **unused) {
  (void)unused;
  assert_int_equal(position_count, POSITIONS);
  for (int i = 0; i < POSITIONS; i++) {
    for (int s = 0; s < SYMMETRIES; s++) check_symmetry(s, &positions[i]);
  }
}

/* --- batches --- */

/* All positions at once, each with one of its moves, are what they are one by one. */
static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  static uint64_t together[POSITIONS], alone[POSITIONS];
  static int32_t actions[POSITIONS];
  static mz_step results[POSITIONS];
  static uint8_t observations[POSITIONS * OBSERVATION];
  int n = 0;
  for (int i = 0; i < POSITIONS; i++) {
    uint8_t legal[CELLS];
    if (env->legal(env, &positions[i], legal) == 0) continue;
    int32_t action = (int32_t)(i % CELLS);
    while (!legal[action]) action = (action + 1) % CELLS;
    actions[n] = action;
    together[n] = alone[n] = positions[i];
    n++;
  }
  assert_int_equal(n, 4520); /* positions that are not ended */
  assert_int_equal(env->step(env, together, n, actions, NULL, results), MZ_OK);
  env->observe(env, together, n, observations);
  for (int i = 0; i < n; i++) {
    mz_step result;
    uint8_t observation[OBSERVATION];
    assert_int_equal(env->step(env, &alone[i], 1, &actions[i], NULL, &result), MZ_OK);
    env->observe(env, &alone[i], 1, observation);
    assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated && !results[i].truncated);
    assert_memory_equal(observation, observations + OBSERVATION * i, OBSERVATION);
  }
  assert_memory_equal(together, alone, sizeof together[0] * (size_t)n);
}

/* --- text --- */

static void text_and_names(void **unused) {
  (void)unused;
  uint64_t state;
  char out[128], small[4];
  env->load(env, &state, (const double[]){1, 0, -1, 0, 1, 0, 0, 0, 0}, 3);
  const char *expected = "  a b c\n1 x . o\n2 . x .\n3 . . .\n";
  assert_int_equal(env->text(env, &state, out, sizeof out), (int)strlen(expected));
  assert_string_equal(out, expected);
  assert_int_equal(env->text(env, &state, small, sizeof small), (int)strlen(expected));
  const char *const names[CELLS] = {"a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"};
  for (int a = 0; a < CELLS; a++) {
    env->action_text(env, a, out, sizeof out);
    assert_string_equal(out, names[a]);
  }
}

/* --- OpenSpiel's recorded game, state by state --- */

typedef struct playthrough {
  uint64_t state;
  mz_step last;
  int states, board_rows;
  double board[CELLS];
} playthrough;

/* The actions of "LegalActions() = [0, 1, 2]" as a mask. */
static void read_legal(const char *list, uint8_t *mask) {
  memset(mask, 0, CELLS);
  for (const char *at = strchr(list, '['); at && *at && *at != ']'; at++) {
    if (*at >= '0' && *at <= '8') mask[*at - '0'] = 1;
  }
}

static void follow_line(playthrough *p, const char *line) {
  int32_t number;
  int first, second;
  if (strncmp(line, "# State ", 8) == 0) {
    p->states++;
    p->board_rows = 0;
  } else if (p->states > 0 && p->board_rows < 3 && line[0] == '#' && strlen(line) == 6) {
    for (int c = 0; c < 3; c++) p->board[3 * p->board_rows + c] = line[2 + c] == 'x' ? 1 : line[2 + c] == 'o' ? -1 : 0;
    if (++p->board_rows == 3) {
      double got[CELLS];
      env->numbers(env, &p->state, got);
      assert_memory_equal(got, p->board, sizeof got);
    }
  } else if (strncmp(line, "IsTerminal() = ", 15) == 0) {
    assert_int_equal(p->last.terminated, strncmp(line + 15, "True", 4) == 0);
  } else if (sscanf(line, "CurrentPlayer() = %d", &number) == 1) {
    if (number >= 0) assert_int_equal(env->to_play(env, &p->state), number);
  } else if (sscanf(line, "Rewards() = [%d, %d]", &first, &second) == 2) {
    const int mover = 1 - env->to_play(env, &p->state);
    assert_true(p->last.reward == (float)(mover == 0 ? first : second));
  } else if (strncmp(line, "LegalActions()", 14) == 0) {
    uint8_t expected[CELLS], got[CELLS];
    read_legal(line, expected);
    env->legal(env, &p->state, got);
    assert_memory_equal(got, expected, sizeof got);
  } else if (sscanf(line, "action: %d", &number) == 1) {
    assert_int_equal(env->step(env, &p->state, 1, &number, NULL, &p->last), MZ_OK);
  }
}

static void follows_openspiel(void **unused) {
  (void)unused;
  FILE *file = fopen(SHARED_DIR "/openspiel_playthroughs/tic_tac_toe.txt", "r");
  if (!file) {
    print_message("skipped: no %s\n", SHARED_DIR "/openspiel_playthroughs/tic_tac_toe.txt");
    skip();
  }
  playthrough p = {0};
  assert_int_equal(env->reset(env, &p.state, NULL), MZ_OK);
  char line[1024];
  while (fgets(line, sizeof line, file)) follow_line(&p, line);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(p.states, 8);
  assert_true(p.last.terminated && p.last.reward == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expert_is_solved_once_by_any_thread), /* first: it needs the table unsolved */
      cmocka_unit_test(all_games_and_positions),
      cmocka_unit_test(expert_of_an_ended_game),
      cmocka_unit_test(symmetries_are_a_group),
      cmocka_unit_test(symmetries_commute_with_the_game),
      cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(text_and_names),
      cmocka_unit_test(follows_openspiel),
  };
  return cmocka_run_group_tests_name("tictactoe", tests, find_env, NULL);
}
