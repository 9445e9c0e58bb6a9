/* Workers that go wrong: what a user is told of each fault, by stand-ins for the packages and for the interpreter (stand_in/). */
#include "base/log.h"
#include "envs/env.h"
#include "envs/worker/worker_env.h"
#include "envs/worker/workers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define RANGES ",reward_min=0,reward_max=1,return_min=0,return_max=10"
#define ODD "gym:Odd-v0,workers=1" RANGES ",fault="

static char heard[1 << 18]; /* all warnings */

static void hear(void *context, mz_log_level level, const char *line) {
  (void)context, (void)level;
  const size_t used = strlen(heard);
  snprintf(heard + used, sizeof heard - used, "%s\n", line);
}

static mz_status play_games(const mz_env *env, uint8_t *states, int moves, int *truncated) {
  enum { GAMES = 2 };
  for (int i = 0; i < GAMES; i++) MZ_TRY(env->reset(env, states + (size_t)i * env->state_size, NULL));
  for (int move = 0; move < moves; move++) {
    const int32_t actions[GAMES] = {0, 0};
    mz_step results[GAMES];
    MZ_TRY(env->step(env, states, GAMES, actions, NULL, results));
    for (int i = 0; i < GAMES; i++) {
      *truncated += results[i].truncated && !results[i].terminated;
      if (results[i].terminated || results[i].truncated) MZ_TRY(env->reset(env, states + (size_t)i * env->state_size, NULL));
    }
  }
  return MZ_OK;
}

/* Finds the environment and plays `moves` of two games. */
static mz_status play(const char *name, int moves, int *truncated) {
  const mz_env *env;
  uint8_t *states;
  *truncated = 0;
  heard[0] = '\0';
  MZ_TRY(mz_env_find(name, &env));
  MZ_TRY(mz_alloc(&states, 2, env->state_size));
  const mz_status status = play_games(env, states, moves, truncated);
  mz_env_release(env, states, 2);
  free(states);
  return status;
}

typedef struct fault {
  const char *python; /* in the folder of the stand-ins, or "/…"; NULL: python3 with the stand-in packages */
  const char *name;
  const char *says[3];  /* parts of the message; none: it plays */
  const char *warns[3]; /* parts of the warnings */
} fault;

static const fault faults[] = {
    /* interpreters */
    {"/none/python3", "gym:Pole-v0", .says = {"/none/python3: cannot be started: No such file", "MUZERO_PYTHON"}},
    {"/bin/false", "gym:Pole-v0", .says = {"gym:Pole-v0: the worker ended before it described the game: exit status 1"}},
    {"bare_python", "gym:Pole-v0", .says = {"has no package gymnasium", "-m pip install gymnasium", "MUZERO_PYTHON"}},
    {"old_python", "gym:Pole-v0", .says = {"is 3.8; takes 3.9 or later, MUZERO_PYTHON names another interpreter"}},
    {"bare_python", "spiel:walk", .says = {"has no package open_spiel", "-m pip install open_spiel"}},
    /* the handshake, and sizes that cannot be */
    {"liar", "gym:version", .says = {"gym:version: the worker speaks version 99, this program 3"}},
    {"liar", "gym:closes",
     .says = {"the worker ended before it described the game: it closed its socket, and did not end, so it was killed"}},
    {"liar", "gym:no_json", .says = {"what is no description: hello"}},
    {"liar", "gym:few_actions", .says = {"the worker says actions 0; it takes whole numbers of 1 … 65536"}},
    {"liar", "gym:many_actions", .says = {"the worker says actions 1e+09"}},
    {"liar", "gym:half_an_action", .says = {"the worker says actions 2.5"}},
    {"liar", "gym:negative_shape", .says = {"the worker says an observation's shape of -1"}},
    {"liar", "gym:flat_shape", .says = {"the worker says an observation's shape of nan"}},
    {"liar", "gym:large_shape", .says = {"observations of more than 1048576 entries; a wrapper"}},
    {"liar", "gym:three_players", .says = {"the worker says players 3"}},
    {"liar", "gym:two_players", .says = {"the worker says players 2; it takes whole numbers of 1 … 1"}},
    {"liar", "gym:long_games", .says = {"the worker says max_moves -1"}},
    {"liar", "gym:ranges", .says = {"random play gives a reward that is not finite"}},
    {"liar", "spiel:history", .says = {"games of up to 1e+09 moves and outcomes; takes up to 262144"}},
    {"liar", "spiel:entries", .says = {"up to 1e+06; takes up to 65536"}},
    {"liar", "spiel:no_range", .says = {"the game knows no reward_max; reward_max= in the name sets it"}},
    {"liar", "spiel:mask_of_7", .says = {"the worker says 7 of action 0; it takes 0 or 1"}},
    {"liar", "spiel:beyond_history", .says = {"the worker refuses a history, or answers what cannot be"}},
    {"liar", "spiel:player_5", .says = {"the worker refuses a history, or answers what cannot be"}},
    {"liar", "gym:another_batch" RANGES,
     .says = {"a reset lost its worker 8 times; the last time: it answered another batch than it was sent"}},
    /* names */
    {NULL, "gym:Pol-v0", .says = {"unknown to Gymnasium: Environment `Pol-v0` doesn't exist.", "nearest: Pole-v0"}},
    {NULL, "gym:Far/Pole-v0", .says = {"Namespace Far not found.", "import=ale_py"}},
    {NULL, "spiel:wlak", .says = {"unknown to OpenSpiel; did you mean walk?"}},
    {NULL, "spiel:walk,players=2", .says = {"option 'players=2': parameters stand in brackets"}},
    {NULL, "spiel:walk(colour=1)", .says = {"cannot be loaded", "colour"}},
    {NULL, "gym:Odd-v0,colour=red", .says = {"cannot be made: TypeError", "colour"}},
    {NULL, "gym:Odd-v0,worker=2", .says = {"cannot be made: TypeError", "worker", "did you mean workers=2?"}},
    {NULL, ODD "make_raises", .says = {"cannot be made: ValueError: the cart is gone"}},
    {NULL, ODD "make_raises_at_length", .says = {"cannot be made: ValueError: gone gone"}},
    {NULL, .name = ODD "make_spawns"},
    {NULL, "gym:Odd-v0,import=no_such_module", .says = {"cannot import no_such_module: No module named"}},
    {NULL, "gym:Odd-v0,import=dev", .says = {"cannot import dev: No module named"}}, /* / is no folder of modules */
    {NULL, "gym:Odd-v0,wrap=no_such_module:Wrapper", .says = {"wrap=no_such_module:Wrapper: No module named"}},
    {NULL, "gym:Odd-v0,wrap=gymnasium:Missing",
     .says = {"wrap=gymnasium:Missing: module 'gymnasium' has no attribute 'Missing'"}},
    {NULL, "gym:Odd-v0,wrap=gymnasium", .says = {"wrap=gymnasium: takes module:Class"}},
    {NULL, "gym:Odd-v0,wrap=gymnasium:Wrapper(f())", .says = {"arguments are numbers"}},
    {NULL, "gym:Odd-v0,wrap=gymnasium:Wrapper(size=4)", .says = {"cannot be wrapped: ValueError: no size 4"}},
    {NULL, .name = "gym:Odd-v0,wrap=gymnasium:Wrapper(size=3)"},
    /* spaces */
    {NULL, ODD "continuous", .says = {"actions Box((2,), float32) are not supported; takes Discrete", "no continuous actions"}},
    {NULL, ODD "tuple_actions", .says = {"actions Tuple([Discrete(2)]) are not supported; takes Discrete"}},
    {NULL, ODD "no_actions", .says = {"the worker says actions 0"}},
    {NULL, ODD "sequence", .says = {"observations Sequence() are not supported", "takes Box"}},
    {NULL, ODD "own_space", .says = {"observations Own() are not supported (Gymnasium does not flatten them); takes Box"}},
    {NULL, .name = ODD "tuple"},
    /* observations and rewards */
    {NULL, ODD "nan", .says = {"entry 1 of an observation is nan, which is not finite"}},
    {NULL, ODD "infinite", .says = {"entry 2 of an observation is inf, which is not finite"}},
    {NULL, ODD "outside", .warns = {"entry 2 of an observation is 1.5, outside of its space's -1 … 1"}},
    {NULL, ODD "reward_nan", .says = {"a reward of nan, which is not finite"}},
    {NULL, ODD "reward_infinite", .says = {"a reward of -inf, which is not finite"}},
    {NULL, "gym:Odd-v0,fault=reward_nan", .says = {"random play gives a reward that is not finite"}},
    {NULL, "gym:Odd-v0,fault=step_raises",
     .says = {"ended while it played at random: exit status 1", "ValueError: the cart is gone"}},
    /* masks */
    {NULL, "gym:Doors-v0,mistake=empty,workers=1" RANGES,
     .says = {"no action is legal after 0 moves, and the game has not ended"}},
    {NULL, "gym:Doors-v0,mistake=empty", .says = {"ended while it played at random", "no action is legal after 0 random moves"}},
    {NULL, "gym:Doors-v0,mistake=short,workers=1" RANGES,
     .says = {"a reset lost its worker 8 times", "an action mask of 2 entries; there are 3 actions"}},
    /* exceptions and deaths, again and again; the first start is not repeated */
    {NULL, ODD "make_dies", .says = {"ended before it described the game: exit status 7"}},
    {NULL, ODD "make_sleeps,timeout=0.5",
     .says = {"before it described the game: no answer in 0.5 s (timeout=0.5; a larger one waits"}},
    {NULL, ODD "reset_raises",
     .says = {"a reset lost its worker 8 times; the last time: exit status 1: ", "ValueError: the cart is gone"},
     .warns = {"is lost in a reset: exit status 1; a new one takes its place (1 lost so far", "in raise_it", "(8 lost so far"}},
    {NULL, ODD "reset_dies", .says = {"a reset lost its worker 8 times; the last time: exit status 8"}},
    {NULL, ODD "step_dies,late=1", .says = {"lost 8 times in a row without playing a move; the last time: exit status 9"},
     .warns = {"in a move"}},
    {NULL, ODD "step_raises,late=1", .says = {"lost 8 times in a row", "the cart is gone"},
     .warns = {"in raise_it", "ValueError: the cart is gone"}},
    {NULL, ODD "short,late=1",
     .says = {"lost 8 times in a row", "an observation of 8 bytes; its space, Box((3,), float32), says 12"}},
    {NULL, ODD "missing,late=1", .says = {"lost 8 times in a row", "TypeError: 'NoneType'"}},
    {NULL, ODD "reward_none,late=1", .says = {"lost 8 times in a row", "struct.error: required argument is not a float"}},
    {NULL, ODD "reward_huge,late=1", .says = {"a reward of inf, which is not finite"}},
    {NULL, "gym:Odd-v0,fault=reward_huge", .says = {"random play gives a reward that is not finite"}},
    /* games of OpenSpiel */
    {NULL, "spiel:walk(fault=at_once)", .says = {"players move at once"}},
    {NULL, "spiel:walk(fault=hidden)", .says = {"players do not see everything"}},
    {NULL, "spiel:walk(fault=sampled)", .says = {"draws its chance by itself; takes games that tell the outcomes"}},
    {NULL, "spiel:walk(players=2,fault=general)",
     .says = {"2 players, Utility.GENERAL_SUM; takes one player, or two of which one wins"}},
    {NULL, "spiel:walk(players=3)", .says = {"3 players"}},
    {NULL, "spiel:walk(fault=no_tensor)", .says = {"has no observation tensor"}},
    {NULL, "spiel:walk(players=2,fault=no_legal)", .says = {"no action is legal in a position that is not the end"}},
    {NULL, "spiel:walk(fault=no_legal)", .says = {"no action is legal after 3 moves, and the game has not ended"}},
    {NULL, "spiel:walk(fault=nan)", .says = {"entry 3 of an observation is nan"}},
    {NULL, "spiel:walk(fault=reward_nan)", .says = {"a reward of nan, which is not finite"}},
    {NULL, "spiel:walk(fault=beyond),workers=1",
     .says = {"a move lost its worker 8 times", "legal action 99; the game says that there are 3"}},
    {NULL, "spiel:walk(fault=short),workers=1",
     .says = {"a move lost its worker 8 times", "an observation tensor of 2 entries; the game says 4"}},
    {NULL, "spiel:walk(fault=long),workers=1",
     .says = {"a move lost its worker 8 times", "a game of more than 4 moves and outcomes"}},
    {NULL, "spiel:walk(fault=raises),workers=1", .says = {"a move lost its worker 8 times", "ValueError: the walker is gone"}},
    {NULL, "spiel:walk(fault=dies),workers=1", .says = {"a move lost its worker 8 times", "exit status 9"}},
    {NULL, .name = "spiel:walk(fault=name_dies)"},
    {NULL, .name = "spiel:walk(players=2)"},
    {NULL, .name = "spiel:walk(players=2,fault=pairs)"},
};

static void use_python(const char *python) {
  char path[512];
  snprintf(path, sizeof path, python && python[0] == '/' ? "%s%s" : "%s/%s", python && python[0] == '/' ? "" : STAND_INS,
           python ? python : "");
  setenv("MUZERO_PYTHON", python ? path : "python3", 1);
}

static bool says_all(const char *text, const char *const parts[3]) {
  for (int k = 0; k < 3 && parts[k]; k++)
    if (!strstr(text, parts[k])) return false;
  return true;
}

static void test_each_fault_is_told(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const fault *f = &faults[i];
    int truncated;
    use_python(f->python);
    const mz_status status = play(f->name, 25, &truncated);
    const bool as_told = status == (f->says[0] ? MZ_E_CONFIG : MZ_OK) && (status == MZ_OK || says_all(mz_message(), f->says)) &&
                         says_all(heard, f->warns);
    if (!as_told)
      print_error("%s %s: status %d: %s; warnings: %.600s\n", f->python ? f->python : "", f->name, status,
                  status ? mz_message() : "", heard);
    wrong += !as_told;
  }
  assert_int_equal(wrong, 0);
}

static void test_random_games_show_whether_players_alternate(void **state) {
  (void)state;
  static const struct {
    const char *name;
    mz_turns turns;
  } games[] = {{"spiel:walk", MZ_TURNS_ALONE},
               {"spiel:walk(players=2)", MZ_TURNS_ALTERNATE},
               {"spiel:walk(players=2,fault=pairs)", MZ_TURNS_TOLD}};
  use_python(NULL);
  for (size_t i = 0; i < sizeof games / sizeof *games; i++) {
    const mz_env *env;
    assert_int_equal(mz_env_find(games[i].name, &env), MZ_OK);
    assert_int_equal(env->spec.turns, games[i].turns);
  }
}

/* Actions that an environment says are illegal are illegal here: random play, ours and the worker's own, never meets a closed door. */
static void test_masks_say_what_is_legal(void **state) {
  (void)state;
  enum { MOVES = 25 };
  static const char *const names[] = {"gym:Doors-v0,workers=1", "gym:Doors-v1,workers=1",
                                      "gym:Doors-v1,workers=1,wrap=gymnasium:Wrapper"};
  use_python(NULL);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const mz_env *env;
    uint8_t *position, mask[3];
    int ends = 0;
    if (mz_env_find(names[i], &env) != MZ_OK) fail_msg("%s: %s", names[i], mz_message());
    assert_int_equal(mz_alloc(&position, 1, env->state_size), MZ_OK);
    assert_int_equal(env->reset(env, position, NULL), MZ_OK);
    for (int move = 0; move < MOVES; move++) {
      float door;
      mz_step result;
      env->observe(env, position, 1, &door);
      assert_int_equal(mz_env_legal(env, position, mask), 1);
      const int32_t open = (int32_t)door;
      assert_int_equal(mask[open], 1);
      assert_int_equal(env->step(env, position, 1, &open, NULL, &result), MZ_OK);
      assert_true(result.reward == 1);
      if (!result.terminated) continue;
      ends++;
      assert_int_equal(mz_env_legal(env, position, mask), 0);
      assert_int_equal(env->reset(env, position, NULL), MZ_OK);
    }
    assert_int_equal(ends, MOVES / 10);
    assert_int_equal(mz_worker_env_lost(env).workers, 0);
    mz_env_release(env, position, 1);
    free(position);
  }
}

/* Random games of ten moves, each worth 1: the longest game is as long as the environment, or the user, says; or it is guessed. */
static void test_ranges_reach_as_far_as_games_may(void **state) {
  (void)state;
  static const struct {
    const char *name;
    float most;
  } rows[] = {{"gym:Doors-v0,workers=1", 20}, {"gym:Doors-v2,workers=1", 100}, {"gym:Doors-v2,workers=1,limit=30", 30}};
  use_python(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mz_env *env;
    if (mz_env_find(rows[i].name, &env) != MZ_OK) fail_msg("%s: %s", rows[i].name, mz_message());
    assert_true(env->spec.reward_min == 0 && env->spec.reward_max == 1);
    assert_true(env->spec.return_min == 0 && env->spec.return_max == rows[i].most);
  }
}

/* Workers that are lost now and then are replaced: games are truncated, counted, and others follow. */
typedef struct lost_row {
  const char *name; /* behind ODD: %s is a file's name */
  int workers, games;
  const char *warns[3];
} lost_row;

static const lost_row lost_rows[] = {
    {"step_dies,count=%s,last=0", 1, 2, {"is lost in a move: exit status 9"}},
    {"step_dies_with_a_child,timeout=10,count=%s,last=0", 1, 2, {"is lost in a move: exit status 9"}},
    {"step_dies,count=%s,first=6,last=8", 3, 6, {"(3 lost so far; before this one 4 games were truncated)"}},
    {"step_raises,count=%s,last=1", 2, 4, {"is lost in a move: exit status 1", "ValueError: the cart is gone"}},
    {"step_sleeps,timeout=10,count=%s,last=0", 1, 2, {"no answer in 10 s (timeout=10; a larger one waits longer)"}},
    {"reset_dies,count=%s,first=1,last=2", 2, 1, {"is lost in a reset: exit status 8"}},
    {"reset_dies,count=%s,first=3,last=9", 7, 1, {"(4 lost so far"}},
    /* its second game is another instance, which is made in its first reset */
    {"make_dies,count=%s,first=1,last=1", 1, 1, {"is lost in a reset: exit status 7"}},
    {"make_dies,count=%s,first=1,last=6", 6, 1, {"is lost before it described the game: exit status 7"}},
};

static void test_what_is_lost_is_replaced_and_counted(void **state) {
  (void)state;
  char file[] = "/tmp/workers_XXXXXX", name[512], format[512];
  const int fd = mkstemp(file);
  assert_true(fd >= 0);
  use_python(NULL);
  for (size_t i = 0; i < sizeof lost_rows / sizeof *lost_rows; i++) {
    int truncated;
    assert_int_equal(ftruncate(fd, 0), 0);
    snprintf(format, sizeof format, ODD "%s", lost_rows[i].name);
    snprintf(name, sizeof name, format, file);
    if (play(name, 25, &truncated) != MZ_OK) fail_msg("%s: %s", name, mz_message());
    const mz_env *env;
    assert_int_equal(mz_env_find(name, &env), MZ_OK); /* the same again */
    const mz_lost_workers lost = mz_worker_env_lost(env);
    if (!says_all(heard, lost_rows[i].warns) || lost.workers != lost_rows[i].workers || lost.games != lost_rows[i].games ||
        truncated != lost_rows[i].games)
      fail_msg("%s: lost %lld workers, %lld games; %d truncated; %s", name, (long long)lost.workers, (long long)lost.games,
               truncated, heard);
  }
  close(fd);
  unlink(file);
}

/* Starts, resets and moves in which a worker is lost count alike, until a move is answered. */
static void test_one_rule_ends_restarts(void **state) {
  (void)state;
  static const struct {
    const char *fault;
    const char *says;
  } rows[] = {
      {"make_dies", "worker 0 was lost 8 times in a row without playing a move; the last time: exit status 7"},
      {"reset_dies", "a reset lost its worker 8 times; the last time: exit status 8"},
  };
  char file[] = "/tmp/workers_XXXXXX", name[512];
  const int fd = mkstemp(file);
  assert_true(fd >= 0);
  use_python(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int truncated;
    assert_int_equal(ftruncate(fd, 0), 0);
    snprintf(name, sizeof name, ODD "%s,count=%s,first=%d,last=100", rows[i].fault, file, 1);
    assert_int_equal(play(name, 25, &truncated), MZ_E_CONFIG);
    if (!strstr(mz_message(), rows[i].says)) fail_msg("%s: %s", name, mz_message());
  }
  unlink(file);
  use_python("liar"); /* of which each start makes the file, or finds it */
  snprintf(name, sizeof name, "gym:other:%s" RANGES, file);
  int truncated;
  assert_int_equal(play(name, 25, &truncated), MZ_E_CONFIG);
  if (!strstr(mz_message(), "a worker describes another environment than the first one did; was a package changed?"))
    fail_msg("%s", mz_message());
  close(fd);
  unlink(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_fault_is_told),      cmocka_unit_test(test_random_games_show_whether_players_alternate),
      cmocka_unit_test(test_masks_say_what_is_legal), cmocka_unit_test(test_what_is_lost_is_replaced_and_counted),
      cmocka_unit_test(test_one_rule_ends_restarts),  cmocka_unit_test(test_ranges_reach_as_far_as_games_may),
  };
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) {
    print_message("skipped: there is no python3 of version 3.9 or later\n");
    return 77;
  }
  setenv("PYTHONPATH", STAND_INS, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  mz_log_set_sink(hear, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
