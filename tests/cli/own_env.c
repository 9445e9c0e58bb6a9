/* An environment of a user's own, from `envs --new` to a trained agent; its runs when the file is gone or was changed. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--history none --preset " TEST_DATA "/cli/tiny.json"

/* $M in commands is the program, $CC the compiler with strict warnings. */
static void shell(process *p, int status, const char *command) {
  char text[2048];
  snprintf(text, sizeof text, "M=\"$MUZERO\"; CC='" C_COMPILER " -O2 -Wall -Wextra -Werror -pedantic -shared -fPIC'; %s",
           command);
  process_shell(p, text);
  assert_status(p, status);
}

static void test_a_new_environment_works_as_it_is(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M envs --new one && $M envs --new games/two --players 2 && $M envs --new film --pixels");
  assert_says(p.out, "muzero envs games/two/two.so --check");
  shell(&p, 0,
        "for s in c99 c17; do $CC -std=$s -o one/one.so one/one.c && $CC -std=$s -o games/two/two.so games/two/two.c && $CC "
        "-std=$s -o film/film.so "
        "film/film.c || exit 9; done");
  shell(&p, 0, "$M envs one/one.so --check && $M envs games/two/two.so --check");
  assert_says(p.out, "symmetries: 7 of 7 could be checked");
  shell(&p, 0, "$M envs film/film.so --check && $M envs film/film.so");
  assert_says(p.out, "networks read a byte times 0.00392157");
  assert_says(p.out, "the last 2 frames, the oldest first");
  shell(&p, 0, "$M envs one/one.so --trace --steps 3 && $M envs games/two/two.so --json");
  shell(&p, 0, "$M train one/one.so --history none --run runs/one --rounds 2 && $M inspect runs/one");
  assert_says(p.out, "one/one.so");
  shell(&p, 0, "$M train games/two/two.so " TINY " --run runs/two && $M eval runs/two --games 4 --opponent mcts:10");
  shell(&p, 0, "$M eval runs/two --opponent all --games 2; echo 1 | $M play runs/two --seat first");
  assert_says(p.out, "take1");
  shell(&p, 3, "$M envs --new one");
  assert_says(p.err, "is there already");
  shell(&p, 3, "$M envs --new 'a b'");
  shell(&p, 3, "$M envs --new $(printf 'n%.0s' $(seq 64))");
  assert_says(p.err, "a name of 64 bytes; it takes at most 63");
  shell(&p, 0, "$M envs --new $(printf 'n%.0s' $(seq 63)) && rm -r nnn*");
  shell(&p, 0,
        "mkdir 'my tools' && ln -s \"$M\" 'my tools/muzero' && MUZERO='my tools/muzero' CC='" C_COMPILER "' sh one/test.sh");
  assert_says(p.out, "no findings");
  shell(&p, 2, "$M envs --new three --players 3");
  shell(&p, 2, "$M envs --players 2");
  shell(&p, 2, "$M envs --pixels");
  shell(&p, 2, "$M envs --new three --pixels --players 2");
  shell(&p, 0, "test ! -e three && test ! -e 'a b'");
  process_free(&p);
}

static void test_runs_without_a_name_go_into_a_folder_of_the_file_s(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M train games/two/two.so " TINY " && ls runs/two/*/env.so");
  process_free(&p);
}

/* The run that was stopped, its file gone or changed, becomes the run that was never stopped. */
static void test_a_run_continues_with_its_own_copy(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "mkdir copy && cp games/two/two.so copy/two.so && cd copy && $M train two.so " TINY " --run whole --rounds 8");
  shell(&p, 0, "cd copy && $M train two.so " TINY " --run a --rounds 4 && cp -r a b && cp -r a c && cmp a/env.so two.so");
  shell(&p, 0,
        "cd copy && mv two.so kept.so && $M resume a --rounds 8 --history none && "
        "test $($M inspect a --digest) = $($M inspect whole --digest)");
  shell(&p, 0,
        "cd copy && sed 's/STONES = 13/STONES = 14/' ../games/two/two.c > other.c && $CC -std=c99 -I../games/two -o two.so "
        "other.c && $M resume b --rounds 8 --history none");
  assert_says(p.err, "two.so: was changed");
  assert_says(p.err, "the run keeps to its copy, b/env.so");
  shell(&p, 0, "cd copy && test $($M inspect b --digest 2>/dev/null) = $($M inspect whole --digest 2>/dev/null)");
  shell(&p, 3, "cd copy && rm c/env.so && $M resume c --rounds 8 --history none");
  assert_says(p.err, "its copy c/env.so is not there, and two.so has hash");
  shell(&p, 3, "cd copy && cp two.so c/env.so && $M resume c --rounds 8 --history none");
  assert_says(p.err, "put the file it was made with there again");
  shell(&p, 0,
        "cd copy && mv kept.so two.so && $M resume c --rounds 8 --history none && cmp c/env.so two.so && "
        "test $($M inspect c --digest) = $($M inspect whole --digest)");
  process_free(&p);
}

/* How a file is played is part of the run and changes nothing that it becomes; a run may take over games of one that was played
 * otherwise. */
static void test_processes_play_the_same_run(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "mkdir isolated && cp games/two/two.so isolated/ && cd isolated && $M train two.so " TINY " --run plain --rounds 4");
  shell(&p, 0,
        "cd isolated && for n in 1 2; do $M train two.so:isolate=1,workers=$n " TINY " --run w$n --rounds 4 && "
        "test $($M inspect w$n --digest) = $($M inspect plain --digest) || exit 9; done");
  shell(&p, 0, "cd isolated && grep '\"env\": \"two.so\"' w2/config.json && grep isolate=1,workers=2 w2/config.json");
  shell(&p, 0,
        "cd isolated && for r in plain w2; do $M resume $r --rounds 8 --history none || exit 9; done; "
        "test $($M inspect w2 --digest) = $($M inspect plain --digest) && $M eval w2 --games 4 --opponent plain && $M watch w2 "
        "--opponent plain --delay 0 && "
        "$M train ./two.so:isolate=1 --from plain --run from " TINY " --rounds 10 && echo 1 | $M play w2 --seat first");
  assert_says(p.out, "take1");
  process_free(&p);
}

/* Who moves next is told, observations are stacked pictures: processes, and replay that packs, become the same run; so does a file that
 * was compiled by the header of version 1 beside the same one by the present header. */
static void test_told_players_pictures_and_version_1(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train " OWN_GAMES "/told_0.so " TINY " --run told --rounds 6 && $M train " OWN_GAMES
        "/told_0.so:isolate=1,workers=2 " TINY
        " --run told2 --rounds 6 && test $($M inspect told --digest) = $($M inspect told2 --digest) && "
        "$M train " OWN_GAMES "/told_0.so " TINY " --run told3 --rounds 6 --set replay.raw_bytes=1 && "
        "test $($M inspect told --digest) = $($M inspect told3 --digest) && $M eval told2 --games 4 --opponent mcts:10");
  shell(&p, 0, "$M envs " OWN_GAMES "/told_0.so");
  assert_says(p.out, "players      2, who moves next is told after each move");
  shell(&p, 0, "$M envs " OWN_GAMES "/told_3.so --check");
  assert_says(p.out, "players: moved strictly in turn in every game, though alternating is 0");
  shell(&p, 0,
        "for v in .so _v1.so _v1.so:isolate=1; do $M train " OWN_GAMES "/game_42$v " TINY " --run by$v --rounds 6 && "
        "test $($M inspect by.so --digest) = $($M inspect by$v --digest) || exit 9; done");
  process_free(&p);
}

/* A trace draws NumPy's numbers, here and in processes. */
static void test_a_trace_is_the_same_in_processes(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "for g in game_0 game_42 told_0; do $M envs " OWN_GAMES "/$g.so --trace --seed 3 > plain.txt && "
        "$M envs " OWN_GAMES
        "/$g.so:isolate=1,workers=2 --trace --seed 3 > other.txt && cmp plain.txt other.txt || exit 9; done; "
        "test $(wc -l < plain.txt) = 100");
  shell(&p, 0, "OWN_GAME_COUNTER=$PWD/traced $M envs " OWN_GAMES "/game_43.so:isolate=1 --trace --steps 12");
  assert_says(p.err, "is lost in step: ");
  process_free(&p);
}

static void test_a_run_outlives_crashes(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "export OWN_GAME_COUNTER=$PWD/steps; $M train " OWN_GAMES "/game_42.so " TINY " --run sound --rounds 8 && "
        "$M train " OWN_GAMES "/game_43.so:isolate=1,workers=1 " TINY " --run crashing --rounds 8 && "
        "test $($M inspect sound --digest) = $($M inspect crashing --digest)");
  assert_says(p.err, "game_43.so: worker 0 (process ");
  assert_says(p.err, "is lost in step: ");
  shell(&p, 0, "$M inspect crashing");
  assert_says(p.out, "3 workers were lost, and 0 games truncated by that");
  shell(&p, 3, "$M train " OWN_GAMES "/game_44.so:isolate=1,workers=1 " TINY " --run always");
  assert_says(p.err, "in step: killed by signal 6 (Aborted)");
  assert_says(p.err, "game_44.so --check` looks for the mistake");
  process_free(&p);
}

static void test_another_file_is_another_environment(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "cd copy && $M train ../copy/two.so --from whole --run d " TINY " --rounds 10"); /* the same bytes */
  shell(&p, 0, "cd copy && $M train ../copy/two.so --replay-plan whole --run again " TINY " --rounds 2");
  shell(&p, 3, "cd copy && $CC -std=c99 -I../games/two -o two.so other.c && $M train two.so --from whole --run e " TINY);
  assert_says(p.err, "that run is of another two.so");
  shell(&p, 3, "cd copy && $M train two.so " TINY " --run f && $M eval f --opponent whole --games 2");
  assert_says(p.err, "plays another two.so, but f plays two.so");
  process_free(&p);
}

static void test_a_mistake_ends_a_run_with_its_name(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 3, "$M train " OWN_GAMES "/game_2.so " TINY " --run bad");
  assert_says(p.err, "game_2.so: step: reward 2");
  shell(&p, 3, "$M train " OWN_GAMES "/game_7.so " TINY " --run bad7");
  assert_says(p.err, "game_7.so: observe: entry 9 is nan");
  process_free(&p);
}

static void test_files_that_are_none(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"train", "none.so"}, 5, "none.so: there is no such file"},
      {{"train", "./none"}, 3, "ends in .so"},
      {{"train", TEST_DATA "/cli/tiny.json"}, 3, "ends in .so"},
      {{"envs", "tictactoe", "--check"}, 3, "--check: not for tictactoe"},
      {{"envs", "--check"}, 2, "--check: takes the path"},
      {{"train", OWN_GAMES "/game_31.so"}, 3, "compile it with this program's header"},
      {{"train", OWN_GAMES "/game_33.so"}, 3, "exports no function muzero_env"},
  };
  process p = {0};
  shell(&p, 3, "echo text > text.so; $M train text.so");
  assert_says(p.err, "text.so: not a shared object");
  shell(&p, 3, "head -c 200 one/one.so > cut.so; $M train cut.so");
  assert_says(p.err, "cut.so: cannot be opened as a shared object");
  assert_refused(refusals, sizeof refusals / sizeof *refusals);
  process_free(&p);
}

static void test_the_check_s_findings_are_for_scripts_too(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "envs", OWN_GAMES "/game_5.so", "--check", "--json", NULL);
  assert_status(&p, 3);
  cJSON *json = lines_at(p.out, 0);
  assert_keys(json, "file", "findings", "games", "moves", "longest", "complete", "only_alternates", "symmetries_checked",
              "steps_per_s", NULL);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "findings"), 0);
  assert_string_equal(lines_string(first, "function"), "legal");
  assert_string_equal(lines_string(first, "kind"), "mask");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(first, "actions")), 3);
  assert_keys(first, "what", "seed", NULL);
  cJSON_Delete(json);
  process_run(&p, "envs", OWN_GAMES "/game_44.so:isolate=1", "--check", "--seed", "5", NULL);
  assert_status(&p, 3);
  assert_says(p.out, "game_44.so: 0 games");
  assert_says(p.out, "step: crashes: ended by signal 6 (Aborted)\n  seed 5, actions ");
  assert_says(p.err, "game_44.so: 1 finding");
  process_run(&p, "envs", OWN_GAMES "/game_46.so", "--check", NULL);
  assert_status(&p, 3);
  assert_says(p.out, "muzero_env: crashes: ended by signal 6 (Aborted)\n\n1 finding");
  process_run(&p, "envs", OWN_GAMES "/game_17.so", "--check", NULL);
  assert_status(&p, 3);
  assert_says(p.out, "step: has not ended the game after 20000 random moves, and max_moves is 0");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_new_environment_works_as_it_is),
      cmocka_unit_test(test_runs_without_a_name_go_into_a_folder_of_the_file_s),
      cmocka_unit_test(test_a_run_continues_with_its_own_copy),
      cmocka_unit_test(test_processes_play_the_same_run),
      cmocka_unit_test(test_told_players_pictures_and_version_1),
      cmocka_unit_test(test_a_trace_is_the_same_in_processes),
      cmocka_unit_test(test_a_run_outlives_crashes),
      cmocka_unit_test(test_another_file_is_another_environment),
      cmocka_unit_test(test_a_mistake_ends_a_run_with_its_name),
      cmocka_unit_test(test_files_that_are_none),
      cmocka_unit_test(test_the_check_s_findings_are_for_scripts_too),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
