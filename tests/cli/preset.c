/* A run's own config.json as the preset of another run. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY_TEXT "--preset " TEST_DATA "/cli/tiny.json --history none"

/* $M in commands is the program. */
static void shell(process *p, int status, const char *command) {
  char text[2048];
  snprintf(text, sizeof text, "M=\"$MUZERO\"; %s", command);
  process_shell(p, text);
  assert_status(p, status);
}

static void test_a_run_is_repeated_from_its_config(void **state) {
  (void)state;
  process p = {0};
  /* Settings that are no default, of every type; replay_ratio comes to 1.6: no binary fraction. */
  shell(&p, 0,
        "$M train tictactoe " TINY_TEXT
        " --run a --seed 5 --rounds 6 --allocate fixed --set batch_size=24 --set num_games=10 --set shards=4 "
        "--set learning_rate=0.0123456789012345678 --set replay.capacity=1234 --set network.transform=off "
        "--set eval.opponent=mcts:7 --set checkpoint.interval=90s --set cpu_actor=1");
  const char *const presets[] = {"a/config.json", "a", "./a/"};
  for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
    char command[512];
    snprintf(command, sizeof command,
             "rm -rf b; $M train tictactoe --preset %s --run b --seed 5 --rounds 6 --history none && cmp a/config.json "
             "b/config.json && "
             "test $($M inspect a --digest) = $($M inspect b --digest)",
             presets[i]);
    shell(&p, 0, command);
    assert_string_equal(p.err, "");
  }
  shell(&p, 0, "$M train tictactoe --from a --preset a --run c --rounds 8 --history none && $M inspect c");
  process_free(&p);
}

/* The user's settings count as with any preset: loop_count may change, and replay_ratio follows it. */
static void test_flags_stand_above_it(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train tictactoe " TINY_TEXT
        " --run base && $M train tictactoe --preset base --run more --set loop_count=3 --seed 2 --history none");
  shell(&p, 0, "diff base/config.json more/config.json | grep '^[<>]' | tr -d ' ,'");
  assert_string_equal(
      p.out, "<\"seed\":\"1\"\n>\"seed\":\"2\"\n<\"loop_count\":2\n<\"replay_ratio\":2.6666666666666665\n>\"loop_count\":3\n"
             ">\"replay_ratio\":4\n");
  shell(&p, 0,
        "$M train tictactoe --preset base --run ratio --set replay_ratio=4 --history none && grep -q '\"loop_count\": 3' "
        "ratio/config.json");
  process_free(&p);
}

/* A run of an older program has older keys, and lacks newer ones. */
static void test_an_older_config(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train tictactoe " TINY_TEXT
        " --run now && sed 's/\"num_games\"/\"games\"/; s/\"td_steps\"/\"n_step\"/; /\"fork_share\"/d' "
        "now/config.json >old.json && ! cmp -s now/config.json old.json && "
        "$M train tictactoe --preset old.json --run then --history none && cmp now/config.json then/config.json");
  assert_string_equal(p.err, "");
  process_free(&p);
}

static void test_what_is_refused(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "mkdir -p empty cartpole; echo '{\"env\":\"tictactoe\",\"settings\":{\"learning_rat\":1}}' >wrong.json; "
        "echo '{\"env\":\"tictactoe\",\"settings\":3}' >other.json");
  static const refusal refusals[] = {
      {{"train", "tictactoe", "--preset", "empty"}, 5, "empty/config.json"},
      {{"train", "tictactoe", "--preset", "wrong.json"}, 3, "did you mean 'learning_rate'?"},
      {{"train", "tictactoe", "--preset", "other.json"}, 3, "unknown key 'env'"},
      {{"train", "tictactoe", "--preset", "nosuch"}, 3, "preset 'nosuch': unknown"},
  };
  assert_refused(refusals, sizeof refusals / sizeof refusals[0]);
  shell(&p, 0,
        "$M train cartpole --preset cartpole --rounds 1 --run pole --history none"); /* a bundled name stands above a folder */
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_run_is_repeated_from_its_config),
      cmocka_unit_test(test_flags_stand_above_it),
      cmocka_unit_test(test_an_older_config),
      cmocka_unit_test(test_what_is_refused),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
