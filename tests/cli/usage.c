/* Help, version and everything that is wrong before a run begins: what is said, and the exit status. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const commands[] = {"train",   "resume", "runs",    "eval",    "inspect", "play",
                                       "watch",   "gtp",    "envs",    "compare", "report",  "why",
                                       "what-if", "plan",   "profile", "bench",   "doctor",  "pretrain"};

static void test_overview(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "--help", NULL);
  assert_status(&p, 0);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) assert_says(p.out, commands[i]);
  assert_says(p.out, "75");
  process_run(&p, NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--help");
  assert_string_equal(p.out, "");
  process_free(&p);
}

static void test_every_command_has_help_with_two_examples(void **state) {
  (void)state;
  process p = {0};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    char usage[64], example[64];
    process_run(&p, commands[i], "--help", NULL);
    assert_status(&p, 0);
    snprintf(usage, sizeof usage, "usage: muzero %s", commands[i]);
    assert_says(p.out, usage);
    assert_says(p.out, "default");
    assert_says(p.out, "class");
    const char *examples = strstr(p.out, "examples:\n");
    assert_non_null(examples);
    snprintf(example, sizeof example, "\n  muzero %s", commands[i]);
    const char *first = strstr(examples, example);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, example));
    /* `muzero help CMD` is the same */
    char *text = strdup(p.out);
    process_run(&p, "help", commands[i], NULL);
    assert_string_equal(p.out, text);
    free(text);
  }
  process_free(&p);
}

static void test_train_help_lists_settings(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "--help", NULL);
  assert_status(&p, 0);
  const char *const words[] = {"--set",       "learning_rate", "loop_count", "exact",     "numeric",       "algorithmic",
                               "operational", "[puct|gumbel]", " acrobot",   " breakout", " connect4-gpu", " tictactoe"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) assert_says(p.out, words[i]);
  process_free(&p);
}

static void test_version(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "--version", NULL);
  assert_status(&p, 0);
  assert_int_equal(strncmp(p.out, "muzero ", 7), 0);
  assert_says(p.out, "commit");
  assert_says(p.out, "oneDNN");
  process_free(&p);
}

/* Every line: what is typed, the status, and what the message must say. */
static const struct {
  const char *arguments[6];
  int status;
  const char *says;
} wrong[] = {
    {{"trian", "tictactoe"}, 2, "did you mean 'train'"},
    {{"xyzzy"}, 2, "no command"},
    {{"help", "evla"}, 2, "did you mean 'eval'"},
    {{""}, 2, "'' is no command"},
    {{"--json", "train"}, 2, "--json: flags come after the command"},
    {{"help", "train", "more"}, 2, "'more': one argument too many"},
    {{"train", "--help=yes"}, 2, "--help: takes no value"},
    {{"train"}, 2, "needs ENV"},
    {{"train", ""}, 2, "ENV: an empty text; its meaning: an environment"},
    {{"train", "tictactoe", "--run", ""}, 2, "--run: an empty text; its meaning: the run's directory"},
    {{"train", "tictactoe", "--history="}, 2, "--history: an empty text"},
    {{"resume", ""}, 2, "RUN: an empty text"},
    {{"envs", "--new", ""}, 2, "--new: an empty text; its meaning: write a folder NAME"}, /* a sentence with every help */
    {{"train", "tictactoe", "--rounds", "99999999999999999999"}, 2, "out of range; the largest is 9223372036854775807"},
    {{"train", "tictactoe", "more"}, 2, "'more': one argument too many"},
    {{"train", "tictactoe", "--round", "3"}, 2, "--rounds"},
    {{"train", "tictactoe", "--round=3"}, 2, "--rounds"},
    {{"train", "tictactoe", "--rounds"}, 2, "--rounds: needs a value"},
    {{"train", "tictactoe", "--rounds", "three"}, 2, "--rounds"},
    {{"train", "tictactoe", "--rounds", "0"}, 2, "out of range"},
    {{"train", "tictactoe", "--rounds", "5s"}, 2, "k, M"},
    {{"train", "tictactoe", "--rounds", "10KiB"}, 2, "--rounds 10KiB: no such unit; a count takes k, M or G"},
    {{"train", "tictactoe", "--rounds", "1.5"}, 2, "--rounds 1.5: not a whole number, which may have k, M or G"},
    {{"train", "tictactoe", "--for", "5k"}, 2, "s, m or h"},
    {{"train", "tictactoe", "--until", "high"}, 2, "not a number"},
    {{"train", "cartpole", "--until", "600"}, 2, "--until 600: the score of cartpole is a game's mean return, 500 at the most"},
    {{"train", "tictactoe", "--until", "95"}, 2, "the share of points, 1 at the most"},
    {{"train", "tictactoe", "--seed", "-1"}, 2, "--seed: -1 is out of range: a whole number from 0 to 9200000000000000000"},
    {{"train", "tictactoe", "--seed", "x"}, 2, "--seed x: not a whole number, which may have k, M or G"},
    {{"train", "tictactoe", "--json=yes"}, 2, "takes no value"},
    {{"train", "tictactoe", "--threads", "100000"}, 2, "1 to 1024"},
    {{"train", "tictactoe", "--device", "gpu"}, 2, "--device"},
    {{"train", "tictactoe", "--device", "cuda"}, 6, "cpu"},
    {{"train", "tictactoo", "--rounds", "1"}, 3, "tictactoe"},
    {{"train", "tictactoe", "--preset", "cartpoll"}, 3, "cartpole"},
    {{"train", "tictactoe", "--preset", "./none.json"}, 5, "none.json"},
    {{"train", "tictactoe", "--set", "learning_rat=1"}, 3, "learning_rate"},
    {{"train", "tictactoe", "--set", "learning_rate"}, 3, "learning_rate"},
    {{"train", "tictactoe", "--set", "learning_rate=abc"}, 3, "learning_rate"},
    {{"train", "tictactoe", "--set", "learning_rate=11"}, 3, "10"},
    {{"train", "tictactoe", "--set", "loop_count=-1"}, 3, "updates a round"},
    {{"train", "tictactoe", "--set", "search.algorithm=gumble"}, 3, "gumbel"},
    {{"train", "tictactoe", "--set", "checkpoint.interval=5k"}, 3, "s, m or h"},
    {{"train", "tictactoe", "--set", "eval.opponent=prefect"}, 3, "perfect"},
    {{"train", "tictactoe", "--from", "nosuch"}, 5, "nosuch"},
    {{"resume", "nosuch"}, 5, "nosuch"},
    {{"eval", "nosuch"}, 5, "nosuch"},
    {{"eval", "nosuch", "--games", "0"}, 2, "out of range"},
    {{"inspect", "nosuch"}, 5, "nosuch"},
    {{"inspect", "--diff", "nosuch"}, 2, "two runs"},
    {{"inspect", "--diff", "nosuch", "other"}, 5, "nosuch"},
    {{"inspect", "a", "b"}, 2, "--diff"},
    {{"inspect", "a", "--verify", "--digest"}, 2, "one of them"},
    {{"envs", "cartpoel"}, 3, "cartpole"},
    {{"envs", "--trace"}, 2, "--trace"},
    {{"envs", "cartpole", "--steps", "3"}, 2, "--trace"},
    {{"envs", "cartpole", "--trace", "--actions", "nosuch"}, 5, "nosuch"},
    {{"profile", "cartpole", "--rounds", "3"}, 2, "--rounds: does not apply to a profile"},
    {{"profile", "cartpole", "--until", "3"}, 2, "--until: belongs to --score"},
    {{"profile", "cartpole", "--score", "--allocate", "greedy"}, 2, "--allocate: does not apply"},
    {{"profile", "cartpole", "--seeds", "7"}, 2, "--seeds: belongs to --score"},
    {{"profile", "cartpole", "--epochs", "3"}, 2, "--epochs: belongs to --score"},
    {{"profile", "cartpole", "--score", "--plans", "3"}, 2, "--plans: not with --score"},
    {{"profile", "cartpole", "--score", "--passes", "3"}, 2, "--passes: not with --score"},
    {{"profile", "cartpole", "--score", "--again", "3"}, 2, "--again: not with --score"},
    {{"profile", "cartpole", "--plans", "3", "--grid", "cpu_actor=1"}, 2, "--plans: not with --grid"},
    {{"envs", "cartpole", "--seed", "3"}, 2, "--seed: belongs to --trace or --check"},
    {{"plan", "cartpole", "--machine", "sim:cores=4", "--device=cpu"}, 2, "--device cpu: not with --machine"},
    {{"profile", "cartpole", "--machine", "sim:gpus=1", "--device=cuda"}, 2, "--device cuda: not with --machine"},
    {{"compare", "cartpole", "--machine", "sim:gpus=1", "--device=cuda"}, 2, "--device cuda: not with --machine"},
    {{"train", "tictactoe", "--watchdog", "foo"}, 3, "--watchdog foo: takes one of warn, abort"},
    {{"train", "tictactoe", "--allocate", "greed"}, 3, "--allocate: 'greed' is no strategy; did you mean greedy?"},
    {{"compare", "cartpole", "--allocate", "greedy"}, 2, "--allocate: an arm names its own strategy, as in --arms rule,greedy"},
    {{"bench", "search", "--signature"}, 2, "--signature: certifies one fixed job on CPUs; leave search out"},
    {{"bench", "--signature", "--device", "cuda"}, 2, "leave --device out"},
    {{"bench", "--signature", "--time", "1s"}, 2, "leave --time out"},
    {{"bench", "resize", "--situations", "5"}, 2, "--situations: belongs to `muzero bench predictors`"},
    {{"bench", "--env", "gym:Foo"}, 2, "--env: belongs to `muzero bench gym`"},
    {{"bench", "envs", "--device", "cpu"}, 2, "--device: belongs to search, learner and inference, not to envs"},
    {{"bench", "predictors", "--gpu-share", "0.9"}, 2, "--gpu-share: belongs to `muzero bench predictors --situations N`"},
    {{"bench", "envs", "--history", "none"}, 2, "--history: belongs to `muzero bench predictors`"},
    {{"plan", "cartpole", "--trace", "x.png"}, 2, "--trace x.png: a picture's name ends in .svg"},
    {{"pretrain", "no/such/x.st"}, 5, "no/such/x.st: no file can be made there"},
    {{"bench", "serach"}, 2, "search"},
    {{"bench", "search", "--set", "simulatoins=3"}, 3, "simulations"},
    {{"bench", "--time", "5k"}, 2, "s, m or h"},
    {{"bench", "learner", "--set", "network.kind=conv", "--set", "shards=48"}, 3, "nearest valid value: 144"},
};

static void test_wrong_input(void **state) {
  (void)state;
  process p = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const char *const *a = wrong[i].arguments;
    process_run(&p, a[0], a[1], a[2], a[3], a[4], a[5], NULL);
    if (p.status != wrong[i].status) print_error("%s %s %s %s\n", a[0], a[1] ? a[1] : "", a[2] ? a[2] : "", a[3] ? a[3] : "");
    assert_status(&p, wrong[i].status);
    assert_int_equal(strncmp(p.err, "muzero: ", 8), 0);
    assert_says(p.err, wrong[i].says);
    assert_string_equal(p.out, "");
  }
  /* nothing of all this began a run */
  process_shell(&p, "ls");
  assert_string_equal(p.out, "");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_overview),
      cmocka_unit_test(test_every_command_has_help_with_two_examples),
      cmocka_unit_test(test_train_help_lists_settings),
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
