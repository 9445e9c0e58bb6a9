/* A run's ledger says how far training is, window by window. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WINDOWS_MAX = 64 };

typedef struct stage {
  double round, fill, length, horizon, slope; /* NAN: null */
} stage;

static double number_or_nan(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItem(object, key);
  assert_non_null(item);
  return cJSON_IsNull(item) ? NAN : cJSON_GetNumberValue(item);
}

/* Reads every decision that has a window. */
static int read_stages(const char *ledger, stage out[WINDOWS_MAX]) {
  char *text = process_text(ledger);
  int count = 0;
  for (int i = 0; i < lines_count(text); i++) {
    cJSON *line = lines_at(text, i);
    const cJSON *window = cJSON_GetObjectItem(line, "window"), *training = cJSON_GetObjectItem(window, "training");
    if (cJSON_IsObject(window)) {
      assert_true(count < WINDOWS_MAX);
      out[count++] = (stage){lines_number(window, "round"), number_or_nan(training, "replay_fill"),
                             number_or_nan(training, "episode_length"), number_or_nan(training, "horizon"),
                             number_or_nan(training, "score_slope")};
    }
    cJSON_Delete(line);
  }
  free(text);
  return count;
}

static void test_windows_say_how_far_training_is(void **state) {
  (void)state;
  process p = {0};
  stage s[WINDOWS_MAX];
  process_run(&p, "train", "tictactoe", "--preset", TEST_DATA "/cli/tiny.json", "--history", "none", "--seed", "3", "--run",
              "limited", "--rounds", "24", "--until", "1", "--set", "allocate.window=4", "--set", "train.phase_rounds=4", "--set",
              "eval.interval=1", "--set", "eval.games=2", NULL);
  assert_status(&p, 0);
  const int count = read_stages("limited/ledger.jsonl", s);
  assert_true(count >= 4);
  for (int i = 0; i < count; i++) {
    assert_true(s[i].fill > 0 && s[i].fill <= 1);
    assert_true(s[i].length >= 5 && s[i].length <= 9); /* a game of tic-tac-toe */
    assert_true(fabs(s[i].horizon - (1 - s[i].round / 24)) < 1e-5);
    if (i > 0) assert_true(s[i].fill >= s[i - 1].fill && s[i].horizon < s[i - 1].horizon);
  }
  assert_true(isnan(s[0].slope));             /* one evaluation has no slope */
  assert_true(fabs(s[count - 1].slope) <= 1); /* of the score that it is after */
  process_run(&p, "train", "tictactoe", "--preset", TEST_DATA "/cli/tiny.json", "--history", "none", "--seed", "3", "--run",
              "open", "--until", "0", "--set", "allocate.window=4", "--set", "train.phase_rounds=8", "--set", "eval.games=2",
              NULL);
  assert_status(&p, 0);
  assert_true(read_stages("open/ledger.jsonl", s) > 0);
  assert_true(isnan(s[0].horizon)); /* only a score ends it */
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_say_how_far_training_is)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
