/* Environments from files: each broken requirement is named when the file is opened, when the game is played, or by the check. */
#include "base/json/json.h"
#include "envs/own/check.h"
#include "envs/own/shared_object.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* tests/envs/own/game.c, compiled with -DBREAK=n. */
static const char *file_of(int broken) {
  static char path[512];
  snprintf(path, sizeof path, OWN_GAMES "/game_%d.so", broken);
  return path;
}

static const mz_env *open_file(const char *path) {
  const mz_env *env = NULL;
  if (mz_env_find(path, &env) != MZ_OK) fail_msg("%s: %s", path, mz_message());
  return env;
}
static const mz_env *open_game(int broken) { return open_file(file_of(broken)); }

/* tests/envs/own/told.c, likewise. */
static const char *told_file_of(int broken) {
  static char path[512];
  snprintf(path, sizeof path, OWN_GAMES "/told_%d.so", broken);
  return path;
}

/* ---- opening ---- */

static void test_one_file_is_one_environment(void **state) {
  (void)state;
  const mz_env *env = open_game(0), *again = NULL;
  assert_string_equal(env->name, file_of(0));
  assert_true(env->copies);
  assert_ptr_equal(open_game(0), env);
  char detour[600], name[64];
  snprintf(detour, sizeof detour, "%s/../own/game_0.so", OWN_GAMES);
  assert_int_equal(mz_env_find(detour, &again), MZ_OK);
  assert_ptr_equal(again, env); /* the same bytes */
  assert_ptr_not_equal(open_game(1), env);
  assert_non_null(mz_env_file_of(env));
  assert_null(mz_env_file_of(mz_env_at(0)));
  mz_env_short_name(env, name, sizeof name);
  assert_string_equal(name, "game_0");
}

static void test_paths_and_names(void **state) {
  (void)state;
  assert_true(mz_env_is_path("mine.so"));
  assert_true(mz_env_is_path("./a:b/mine.so"));
  assert_false(mz_env_is_path("gomoku"));
  assert_false(mz_env_is_path("allocation:course=a.so")); /* an option of a bundled game */
  assert_false(mz_env_is_path(".so"));
  assert_false(mz_env_is_path("./mine.json"));
}

static void test_files_that_are_refused(void **state) {
  (void)state;
  static const struct {
    int broken;
    const char *says;
  } rows[] = {
      {31, "version: made for version 3 of muzero/env_abi.h, this program takes versions 1 to 2"},
      {32, "size: "},
      {33, "exports no function muzero_env"},
      {34, "muzero_env: returned NULL"},
      {35, "state_size: 36 bytes; it takes multiples of 8 up to 1048576; nearest valid value: 40"},
      {36, "actions: 6 do not fit action_kind 3 on a board of 1 × 5; nearest valid value: 5"},
      {37, "step: is NULL"},
      {38, "players: 3 is outside of 1 … 2; nearest valid value: 2"},
      {39, "symmetries: 8 turns a board"},
      {41, "alternating: 2 is outside of 0 … 1; nearest valid value: 1"},
      {40, "reward_min … reward_max: 0 … nan"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mz_env *env = NULL;
    assert_int_equal(mz_env_find(file_of(rows[i].broken), &env), MZ_E_CONFIG);
    if (!strstr(mz_message(), rows[i].says) || !strstr(mz_message(), "game_"))
      fail_msg("game %d: '%s' does not say '%s'", rows[i].broken, mz_message(), rows[i].says);
  }
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(OWN_GAMES "/none.so", &env), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "there is no such file"));
  assert_int_equal(mz_env_find("./mine.dylib", &env), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "ends in .so"));
}

static void test_told_players_and_pictures_that_are_refused(void **state) {
  (void)state;
  static const struct {
    int broken;
    const char *says;
  } rows[] = {
      {4, "frames: 2 do not divide 3 channels (observation_shape[2]); nearest valid value: 1"},
      {5, "frames: 4 is outside of 0 … 3; nearest valid value: 3"},
      {6, "observation_scale: 0.005, but observation_kind is 1 (MUZERO_ENV_F32)"},
      {7, "observation_scale: -1 is no finite number from 0 on; nearest valid value: 0"},
      {8, "one_sided: 1, but alternating is 0"},
      {9, "alternating: 1 is outside of 0 … 0; nearest valid value: 0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mz_env *env = NULL;
    assert_int_equal(mz_env_find(told_file_of(rows[i].broken), &env), MZ_E_CONFIG);
    if (!strstr(mz_message(), rows[i].says) || !strstr(mz_message(), "told_"))
      fail_msg("told %d: '%s' does not say '%s'", rows[i].broken, mz_message(), rows[i].says);
  }
}

static void test_told_players_and_pictures(void **state) {
  (void)state;
  const mz_spec *spec = &open_file(told_file_of(0))->spec;
  assert_int_equal(spec->turns, MZ_TURNS_TOLD);
  assert_int_equal(spec->frames, 3);
  assert_true(spec->obs_scale == 1.0f / 200);
  assert_int_equal(open_game(0)->spec.turns, MZ_TURNS_ALTERNATE);
}

/* Members that version 1 lacks are as if they were not set. */
static void test_a_file_of_version_1_is_the_same_environment(void **state) {
  (void)state;
  static const int broken[] = {0, 42};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char path[512];
    snprintf(path, sizeof path, OWN_GAMES "/game_%d_v1.so", broken[i]);
    const mz_env *old = open_file(path), *env = open_game(broken[i]);
    assert_ptr_not_equal(old, env);
    assert_memory_equal(&old->spec, &env->spec, sizeof env->spec);
    assert_int_equal(old->spec.frames, 0);
    assert_true(old->spec.obs_scale == 0);
    assert_int_equal(old->state_size, env->state_size);
  }
}

/* ---- playing ---- */

/* Plays games by the first legal action through the functions that all of the program uses; returns the first failure. */
static mz_status play(const mz_env *env) {
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  _Alignas(8) uint8_t game[64];
  uint8_t mask[8];
  float observation[16];
  assert_true(env->state_size <= sizeof game);
  for (int i = 0; i < 20; i++) {
    MZ_TRY(env->reset(env, game, &generator));
    for (int move = 0; move < 30; move++) {
      mz_step result;
      env->observe(env, game, 1, observation);
      if (env->failure) MZ_TRY(env->failure(env));
      assert_true(env->legal(env, game, mask) > 0);
      const int32_t action = mz_env_nth_legal(mask, env->spec.actions, 0);
      MZ_TRY(env->step(env, game, 1, &action, env->draws ? &generator : NULL, &result));
      if (result.terminated || result.truncated) break;
    }
  }
  return MZ_OK;
}

static void test_a_sound_game_is_played(void **state) {
  (void)state;
  char text[64];
  const mz_env *env = open_game(0);
  assert_int_equal(play(env), MZ_OK);
  assert_int_equal(env->action_text(env, 2, text, sizeof text), 1);
  assert_string_equal(text, "c");
  _Alignas(8) uint8_t game[64];
  assert_int_equal(env->reset(env, game, NULL), MZ_OK); /* nobody's numbers: a constant start */
  assert_true(env->valid(env, game));
}

static void test_mistakes_in_play_are_named(void **state) {
  (void)state;
  static const struct {
    int broken;
    const char *says;
  } rows[] = {
      {1, "step: reward nan"},
      {2, "step: reward 2 after action 2 is outside of reward_min … reward_max, 0 … 1; nearest valid value: 1"},
      {4, "legal: no action is legal after action 2, and the game has not ended"},
      {5, "legal: mask[0] is 3"},
      {7, "observe: entry 9 is nan"},
      {12, "to_play: 2 is no player; nearest valid value: 1"},
      {20, "step: draws a random number, but draws is 0"},
      {27, "reset: the dice are gone"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mz_env *env = open_game(rows[i].broken);
    for (int again = 0; again < 2; again++) { /* the first mistake stays */
      assert_int_equal(play(env), MZ_E_CONFIG);
      if (!strstr(mz_message(), rows[i].says) || !strstr(mz_message(), "game_"))
        fail_msg("game %d: '%s' does not say '%s'", rows[i].broken, mz_message(), rows[i].says);
    }
  }
}

/* ---- the check ---- */

static void test_the_check_names_what_is_broken(void **state) {
  (void)state;
  static const struct {
    int broken;
    const char *function, *kind;
  } rows[] = {
      {1, "step", "finite"},      {2, "step", "range"},    {3, "step", "return"},        {4, "legal", "none"},
      {5, "legal", "mask"},       {6, "legal", "ended"},   {7, "observe", "finite"},     {8, "observe", "bounds"},
      {9, "step", "bounds"},      {10, "legal", "bounds"}, {11, "text", "bounds"},       {12, "to_play", "player"},
      {13, "to_play", "turn"},    {14, "step", "repeat"},  {15, "reset", "repeat"},      {16, "step", "moved"},
      {17, "step", "endless"},    {18, "step", "place"},   {19, "symmetries", "image"},  {20, "step", "draws"},
      {21, "observe", "changes"}, {22, "valid", "play"},   {23, "action_text", "names"}, {24, "step", "threads"},
      {25, "step", "truncated"},  {26, "reset", "bounds"}, {27, "reset", "failure"},     {28, "step", "limit"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mz_env_check check;
    assert_int_equal(mz_env_check_run(file_of(rows[i].broken), 7, &check), MZ_OK);
    if (check.findings.count == 0) fail_msg("game %d: nothing was found", rows[i].broken);
    const mz_finding *found = &check.findings.items[0];
    if (strcmp(found->function, rows[i].function) != 0 || strcmp(found->kind, rows[i].kind) != 0)
      fail_msg("game %d: found %s %s (%s), not %s %s", rows[i].broken, found->function, found->kind, found->what,
               rows[i].function, rows[i].kind);
    assert_true(found->seed >= 7 && found->seed < 7 + 64);
    mz_env_check_deinit(&check);
  }
}

static void test_the_check_looks_at_told_players_and_frames(void **state) {
  (void)state;
  static const struct {
    int broken;
    const char *function, *kind;
  } rows[] = {{1, "observe", "frames"}, {2, "to_play", "player"}, {10, "to_play", "turn"}};
  mz_env_check check;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(mz_env_check_run(told_file_of(rows[i].broken), 7, &check), MZ_OK);
    if (check.findings.count != 1) fail_msg("told %d: %d findings", rows[i].broken, check.findings.count);
    const mz_finding *found = &check.findings.items[0];
    if (strcmp(found->function, rows[i].function) != 0 || strcmp(found->kind, rows[i].kind) != 0)
      fail_msg("told %d: found %s %s (%s)", rows[i].broken, found->function, found->kind, found->what);
    mz_env_check_deinit(&check);
  }
  for (int broken = 0; broken <= 3; broken += 3) { /* 3: players only alternate */
    assert_int_equal(mz_env_check_run(told_file_of(broken), 7, &check), MZ_OK);
    if (check.findings.count > 0) fail_msg("%s: %s", check.findings.items[0].function, check.findings.items[0].what);
    assert_int_equal(check.only_alternates, broken == 3);
    mz_env_check_deinit(&check);
  }
}

static void test_the_check_finds_nothing_in_a_sound_game(void **state) {
  (void)state;
  mz_env_check check;
  for (uint64_t seed = 0; seed < 3; seed++) {
    assert_int_equal(mz_env_check_run(file_of(0), seed, &check), MZ_OK);
    if (check.findings.count > 0) fail_msg("%s: %s", check.findings.items[0].function, check.findings.items[0].what);
    assert_true(check.complete);
    assert_int_equal(check.symmetries, 1);
    assert_int_equal(check.longest, 5);
    cJSON *json = mz_env_check_to_json(&check);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "findings")), 0);
    cJSON_Delete(json);
    mz_env_check_deinit(&check);
  }
  assert_int_equal(mz_env_check_run("tictactoe", 1, &check), MZ_E_CONFIG);
}

/* Crashes and calls that do not return are findings, with the function and the game. */
static void test_the_check_outlives_what_it_checks(void **state) {
  (void)state;
  static const struct {
    const char *name, *function, *kind, *says;
    int actions;
  } rows[] = {
      {"game_44.so", "step", "crash", "crashes: ended by signal 6 (Aborted)", 3},
      {"game_44.so:isolate=1", "step", "crash", "crashes: ended by signal 6 (Aborted)", 3},
      {"game_49.so:isolate=1,timeout=1", "step", "crash", "crashes: ended by signal 6 (Aborted)",
       3}, /* a process of its lives on */
      {"game_46.so", "muzero_env", "crash", "crashes: ended by signal 6 (Aborted)", 0},
      {"game_43.so", "step", "crash", "crashes: ended by signal 11 (Segmentation fault)",
       1}, /* the sixth step, of games of five moves */
      {"game_45.so:isolate=1,timeout=1", "step", "hang", "has not returned after 1 s", 1},
      {"game_47.so", "observe", "crash", "ends the process with exit status 5", 2},
      {"game_48.so", "step", "crash", "crashes: ended by signal 11 (Segmentation fault) when several threads play at a time", -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char name[512], counter[] = "/tmp/own_game_counter_XXXXXX";
    mz_env_check check;
    const int file = mkstemp(counter);
    assert_true(file >= 0);
    close(file);
    setenv("OWN_GAME_COUNTER", counter, 1);
    snprintf(name, sizeof name, OWN_GAMES "/%s", rows[i].name);
    if (mz_env_check_run(name, 7, &check) != MZ_OK) fail_msg("%s: %s", name, mz_message());
    unlink(counter);
    assert_int_equal(check.findings.count, 1);
    const mz_finding *found = &check.findings.items[0];
    if (strcmp(found->function, rows[i].function) != 0 || strcmp(found->kind, rows[i].kind) != 0 ||
        !strstr(found->what, rows[i].says) || (rows[i].actions >= 0 && found->action_count != rows[i].actions))
      fail_msg("%s: found %s %s (%s) after %d actions", name, found->function, found->kind, found->what, found->action_count);
    assert_false(check.complete);
    assert_true(found->action_count == 0 || (found->seed >= 7 && found->seed < 7 + 64));
    mz_env_check_deinit(&check);
  }
}

/* Doubles do not have all whole numbers beyond 2^53. */
static void test_a_finding_s_seed_keeps_its_digits(void **state) {
  (void)state;
  int32_t action = 2;
  const mz_finding finding = {
      .function = "step", .kind = "reward", .seed = UINT64_C(9007199254740993), .actions = &action, .action_count = 1};
  cJSON *json = mz_finding_to_json(&finding);
  assert_non_null(json);
  char *line = mz_json_line(json);
  assert_non_null(line);
  if (!strstr(line, "\"seed\":9007199254740993,")) fail_msg("%s", line);
  free(line);
  cJSON_Delete(json);
}

/* A finding's seed and actions are enough to see it again: the check that begins with that seed finds it in its first game. */
static void test_a_finding_can_be_repeated(void **state) {
  (void)state;
  mz_env_check check, again;
  uint64_t seed = 0;
  for (;; mz_env_check_deinit(&check)) { /* whose first game does not show it */
    assert_in_range(++seed, 1, 20);
    assert_int_equal(mz_env_check_run(file_of(19), seed, &check), MZ_OK);
    assert_int_equal(check.findings.count, 1);
    if (check.findings.items[0].seed > seed) break;
  }
  assert_int_equal(mz_env_check_run(file_of(19), check.findings.items[0].seed, &again), MZ_OK);
  assert_int_equal(again.findings.items[0].seed, check.findings.items[0].seed);
  assert_int_equal(again.findings.items[0].action_count, check.findings.items[0].action_count);
  assert_memory_equal(again.findings.items[0].actions, check.findings.items[0].actions,
                      (size_t)check.findings.items[0].action_count * sizeof(int32_t));
  mz_env_check_deinit(&check);
  mz_env_check_deinit(&again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_file_is_one_environment),
      cmocka_unit_test(test_paths_and_names),
      cmocka_unit_test(test_files_that_are_refused),
      cmocka_unit_test(test_told_players_and_pictures_that_are_refused),
      cmocka_unit_test(test_told_players_and_pictures),
      cmocka_unit_test(test_a_file_of_version_1_is_the_same_environment),
      cmocka_unit_test(test_a_sound_game_is_played),
      cmocka_unit_test(test_mistakes_in_play_are_named),
      cmocka_unit_test(test_the_check_names_what_is_broken),
      cmocka_unit_test(test_the_check_looks_at_told_players_and_frames),
      cmocka_unit_test(test_the_check_finds_nothing_in_a_sound_game),
      cmocka_unit_test(test_the_check_outlives_what_it_checks),
      cmocka_unit_test(test_a_finding_s_seed_keeps_its_digits),
      cmocka_unit_test(test_a_finding_can_be_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
