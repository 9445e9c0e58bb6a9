/* Random play shows where chance decides after moves, and where it does not. */
#include "envs/chance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static mz_chance measured(const char *name) {
  const mz_env *env;
  mz_chance found = {0};
  if (mz_env_find(name, &env) != MZ_OK || mz_chance_measure(env, &found) != MZ_OK) fail_msg("%s: %s", name, mz_message());
  return found;
}

static void test_bundled_games(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double least, most; /* share of moves that chance decides */
  } rows[] = {
      {"tictactoe", 0, 0}, {"cartpole", 0, 0}, {"catch", 0, 0}, /* it draws where a game begins only */
      {"2048", 0.6, 1},                                         /* a tile falls after each move, often where only one can */
      {"pig", 0.3, 0.9},                                        /* half of the moves roll a die */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mz_chance found = measured(rows[i].name);
    const double share = (double)found.differing / found.compared;
    assert_int_equal(found.compared, 300);
    if (share < rows[i].least || share > rows[i].most) fail_msg("%s: %.3f", rows[i].name, share);
  }
}

static void test_the_same_is_measured_again(void **state) {
  (void)state;
  const mz_chance once = measured("pig"), again = measured("pig");
  assert_memory_equal(&once, &again, sizeof once);
}

/* Played by workers, where no state can be copied: the next door is drawn after each move; the pole's numbers never come again; cells
 * follow each other. */
static void test_where_states_cannot_be_copied(void **state) {
  (void)state;
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) skip();
  const mz_chance doors = measured("gym:Doors-v1,workers=1"), pole = measured("gym:Pole-v0,workers=1"),
                  cells = measured("gym:Cells-v0,workers=1");
  assert_true(doors.compared == 300 && doors.differing > doors.compared / 2);
  assert_true(pole.compared == 0);
  assert_true(cells.compared == 300 && cells.differing == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bundled_games),
      cmocka_unit_test(test_the_same_is_measured_again),
      cmocka_unit_test(test_where_states_cannot_be_copied),
  };
  setenv("MUZERO_PYTHON", "python3", 1);
  setenv("PYTHONPATH", STAND_INS, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
