/* Runs through the library: however they are stepped, stopped and resumed, they are the runs of the program. */
#include "library.h"
#include <math.h>
#include <signal.h>

static char folder[64];
static int make(void **state) {
  (void)state;
  make_folder(folder);
  return 0;
}
static int drop(void **state) {
  (void)state;
  drop_folder(folder);
  return 0;
}
static const char *in(const char *name) {
  static char paths[4][128];
  static int next;
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
  return paths[next];
}

static uint64_t reference_digest(void) {
  const mz_run_options options = {.env = "tictactoe", .preset = TEST_DATA "/cli/tiny.json", .dir = in("reference"), .threads = 1};
  mz_run *run;
  expect_ok(mz_run_open(&run, &options));
  play_to(run, 4);
  mz_run_close(run);
  return digest_of_run(in("reference"));
}

static int count_lines(const char *path, const char *words) {
  uint8_t *text;
  size_t size;
  int count = 0;
  expect_ok(mz_file_read(path, 1 << 20, &text, &size));
  for (const char *at = (const char *)text; (at = strstr(at, words)); at++) count++;
  free(text);
  return count;
}

static void test_steps_of_any_length_give_one_run(void **state) {
  (void)state;
  const uint64_t wanted = reference_digest();
  const muzero_limits limits = rounds_limit(4);
  muzero_reason reason = MUZERO_CONTINUES;
  muzero_run *run = tiny_run(in("train"));
  expect_fine(muzero_run_train(run, &limits, &reason));
  assert_int_equal(reason, MUZERO_REACHED_ROUNDS);
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(in("train")) == wanted);

  run = tiny_run(in("phases"));
  expect_fine(muzero_run_phase(run, &limits, &reason));
  assert_int_equal(reason, MUZERO_CONTINUES);
  assert_int_equal(progress_of(run).rounds, 2);
  expect_fine(muzero_run_phase(run, &limits, &reason));
  assert_int_equal(reason, MUZERO_REACHED_ROUNDS);
  double loss, entropy, loss_by_rounds, entropy_by_rounds;
  expect_fine(muzero_run_metric(run, "loss", &loss));
  expect_fine(muzero_run_metric(run, "policy_entropy", &entropy));
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(in("phases")) == wanted);

  run = tiny_run(in("rounds"));
  for (int i = 1; i <= 3; i++) {
    expect_fine(muzero_run_rounds(run, 1, &limits, &reason));
    assert_int_equal(reason, MUZERO_CONTINUES);
    assert_int_equal(progress_of(run).rounds, i);
  }
  expect_fine(muzero_run_rounds(run, 100, &limits, &reason));
  assert_int_equal(reason, MUZERO_REACHED_ROUNDS);
  expect_fine(muzero_run_metric(run, "loss", &loss_by_rounds));
  expect_fine(muzero_run_metric(run, "policy_entropy", &entropy_by_rounds));
  assert_true(isfinite(loss) && loss == loss_by_rounds && entropy == entropy_by_rounds); /* of whole phases */
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(in("rounds")) == wanted);
  assert_int_equal(count_lines(in("rounds/metrics.jsonl"), "\"event\":\"phase\""),
                   count_lines(in("phases/metrics.jsonl"), "\"event\":\"phase\""));
}

static void test_rounds_over_several_phases(void **state) {
  (void)state;
  const muzero_limits limits = rounds_limit(100);
  muzero_reason reason = MUZERO_STOPPED;
  muzero_run *run = tiny_run(in("over"));
  expect_fine(muzero_run_rounds(run, 5, &limits, &reason));
  assert_int_equal(reason, MUZERO_CONTINUES);
  assert_int_equal(progress_of(run).rounds, 5);
  expect_fine(muzero_run_phase(run, &limits, &reason)); /* what is left of the third */
  assert_int_equal(reason, MUZERO_CONTINUES);
  assert_int_equal(progress_of(run).rounds, 6);
  expect_fine(muzero_run_close(run));
}

static void test_saved_and_resumed(void **state) {
  (void)state;
  const uint64_t wanted = reference_digest();
  const muzero_limits limits = rounds_limit(4);
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  muzero_run *run = tiny_run(in("saved"));
  expect_fine(muzero_run_rounds(run, 3, &limits, NULL));
  expect_fine(muzero_run_save(run));
  expect_fine(muzero_run_close(run));
  options.threads = 3;
  expect_fine(muzero_run_resume(&run, in("saved"), &options));
  assert_int_equal(progress_of(run).rounds, 3);
  expect_fine(muzero_run_train(run, &limits, NULL));
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(in("saved")) == wanted);
  expect_fine(muzero_run_resume(&run, in("saved"), NULL));
  expect_fine(muzero_run_close(run));
}

/* ---- callbacks and requests ---- */

typedef struct watched {
  muzero_run *run;
  int rounds, phases, stop_at, checkpoint_at;
  bool by_signal;
} watched;

static watched *signalled;
static void on_signal(int number) {
  (void)number;
  muzero_run_request(signalled->run, MUZERO_REQUEST_STOP);
}

static int on_round(void *context, const muzero_progress *progress) {
  watched *w = context;
  w->rounds++;
  assert_true(progress->rounds >= w->rounds);
  if (w->rounds == w->checkpoint_at) expect_fine(muzero_run_request(w->run, MUZERO_REQUEST_CHECKPOINT));
  if (w->rounds != w->stop_at) return 0;
  if (w->by_signal) raise(SIGUSR1);
  return !w->by_signal;
}
static int on_phase(void *context, const muzero_progress *progress) {
  watched *w = context;
  w->phases++;
  assert_int_equal(progress->rounds, w->rounds);
  return 0;
}

static muzero_run *watched_run(const char *dir, watched *w) {
  muzero_run_options options = tiny_options();
  options.on_round = on_round;
  options.on_phase = on_phase;
  options.context = w;
  expect_fine(muzero_run_create(&w->run, dir, &options));
  return w->run;
}

static void test_callbacks(void **state) {
  (void)state;
  watched w = {0};
  muzero_run *run = watched_run(in("callbacks"), &w);
  expect_fine(muzero_run_train(run, NULL, NULL));
  assert_int_equal(w.rounds, 4);
  assert_int_equal(w.phases, 2);
  expect_fine(muzero_run_close(run));
}

static void test_stops(void **state) {
  (void)state;
  const uint64_t wanted = reference_digest();
  for (int by_signal = 0; by_signal < 2; by_signal++) {
    const char *dir = in(by_signal ? "signal" : "returned");
    watched w = {.stop_at = 1, .by_signal = by_signal};
    muzero_reason reason = MUZERO_CONTINUES;
    signalled = &w;
    struct sigaction before, action = {.sa_handler = on_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    muzero_run *run = watched_run(dir, &w);
    expect_fine(muzero_run_train(run, NULL, &reason));
    assert_int_equal(reason, MUZERO_STOPPED);
    assert_int_equal(progress_of(run).rounds, 1);
    expect_fine(muzero_run_train(run, NULL, &reason)); /* the stop is used up */
    assert_int_equal(reason, MUZERO_REACHED_ROUNDS);
    expect_fine(muzero_run_request(run, MUZERO_REQUEST_STOP | MUZERO_REQUEST_CHECKPOINT)); /* kept for the next call */
    const muzero_limits more = rounds_limit(8);
    expect_fine(muzero_run_train(run, &more, &reason));
    assert_int_equal(reason, MUZERO_STOPPED);
    assert_int_equal(progress_of(run).rounds, 4);
    expect_fine(muzero_run_close(run));
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_true(digest_of_run(dir) == wanted);
  }
}

static void test_checkpoint_is_written_when_asked(void **state) {
  (void)state;
  for (int asked = 0; asked < 2; asked++) {
    const char *dir = in(asked ? "asked" : "unasked");
    watched w = {.checkpoint_at = asked};
    muzero_run *run = watched_run(dir, &w);
    expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
    expect_fine(muzero_run_close(run)); /* saves nothing itself */
    expect_fine(muzero_run_resume(&run, dir, NULL));
    assert_int_equal(progress_of(run).rounds, asked);
    expect_fine(muzero_run_close(run));
  }
}

/* ---- what a run tells ---- */

static void test_metrics(void **state) {
  (void)state;
  muzero_run *run = tiny_run(in("metrics"));
  double value = 0;
  char text[16384], dir[400];
  expect_status(MUZERO_E_USAGE, muzero_run_metric(run, "loss", &value));
  expect_message("no phase has ended");
  expect_status(MUZERO_E_USAGE, muzero_run_metrics_json(run, text, sizeof text));
  expect_fine(muzero_run_phase(run, NULL, NULL));
  expect_fine(muzero_run_metric(run, "rounds", &value));
  assert_true(value == 2);
  expect_fine(muzero_run_metric(run, "loss", &value)); /* nothing was learned yet */
  assert_true(isnan(value));
  expect_fine(muzero_run_phase(run, NULL, NULL));
  expect_fine(muzero_run_metric(run, "loss", &value));
  assert_true(isfinite(value) && value > 0);
  expect_fine(muzero_run_metric(run, "plan.cpu_actor", &value));
  assert_true(value >= 1);
  expect_status(MUZERO_E_USAGE, muzero_run_metric(run, "los", &value));
  expect_message("did you mean 'loss'?");
  expect_status(MUZERO_E_USAGE, muzero_run_metric(run, "", &value));
  expect_fine(muzero_run_metrics_json(run, text, sizeof text));
  assert_non_null(strstr(text, "\"gradient_norm\":"));
  expect_status(MUZERO_E_USAGE, muzero_run_metrics_json(run, text, 10));
  expect_fine(muzero_run_dir(run, dir, sizeof dir));
  assert_string_equal(dir, in("metrics"));
  expect_status(MUZERO_E_USAGE, muzero_run_dir(run, dir, strlen(dir)));
  double score = NAN;
  expect_fine(muzero_run_evaluate(run, 4, &score));
  assert_true(score >= 0 && score <= 1);
  expect_fine(muzero_run_close(run));
}

static void test_time_passes_only_while_it_trains(void **state) {
  (void)state;
  muzero_run *run = tiny_run(in("time"));
  expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
  const double before = progress_of(run).wall_s;
  usleep(20000);
  assert_true(before > 0 && progress_of(run).wall_s == before);
  expect_fine(muzero_run_save(run));
  assert_true(progress_of(run).wall_s == before);
  expect_fine(muzero_run_close(run));
}

/* The time since the last checkpoint decides when the next one is due: one that is written between two calls is no exception. */
static void test_saving_between_calls(void **state) {
  (void)state;
  static const char *const settings[] = {"train.phase_rounds=8"};
  muzero_run_options options = tiny_options();
  options.settings = settings;
  options.settings_count = 1;
  muzero_run *run;
  expect_fine(muzero_run_create(&run, in("between"), &options));
  expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
  usleep(200000); /* longer than a round takes */
  expect_fine(muzero_run_save(run));
  expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_run_resume(&run, in("between"), NULL));
  assert_int_equal(progress_of(run).rounds, 1);
  expect_fine(muzero_run_close(run));
}

/* ---- settings ---- */

static void test_settings(void **state) {
  (void)state;
  muzero_run *run = NULL;
  muzero_run_options options = tiny_options();
  const char *settings[] = {"simulation=8"};
  options.settings = settings;
  options.settings_count = 1;
  expect_status(MUZERO_E_CONFIG, muzero_run_create(&run, in("wrong"), &options));
  expect_message("simulations");
  assert_null(run);
  assert_false(mz_file_exists(in("wrong")));
  const uint64_t seed = 7;
  settings[0] = "watchdog.action=abort"; /* nothing may end the process */
  options.seed = &seed;
  expect_fine(muzero_run_create(&run, in("right"), &options));
  expect_fine(muzero_run_close(run));
  assert_int_equal(count_lines(in("right/config.json"), "\"action\": \"warn\""), 1);
  const uint64_t other = 8;
  options = (muzero_run_options)MUZERO_RUN_OPTIONS_INIT;
  options.seed = &other;
  expect_status(MUZERO_E_CONFIG, muzero_run_resume(&run, in("right"), &options));
  options = tiny_options();
  expect_status(MUZERO_E_CONFIG, muzero_run_create(&run, in("right"), &options)); /* there is a run */
  options.env = "tictacto";
  expect_status(MUZERO_E_CONFIG, muzero_run_create(&run, in("none"), &options));
  expect_message("tictactoe");
  expect_status(MUZERO_E_CHECKPOINT, muzero_run_resume(&run, folder, NULL));
  options = tiny_options();
  expect_status(MUZERO_E_IO, muzero_run_create(&run, in("right/config.json/run"), &options)); /* that is a file */
}

static void test_a_failed_run_is_resumed(void **state) {
  (void)state;
  muzero_run *run = tiny_run(in("failed"));
  expect_fine(muzero_run_phase(run, NULL, NULL));
  expect_fine(muzero_run_save(run));
  mz_alloc_fail_after(1);
  const muzero_status status = muzero_run_phase(run, NULL, NULL);
  mz_alloc_fail_after(0);
  assert_int_equal(status, MUZERO_E_MEMORY);
  expect_status(MUZERO_E_USAGE, muzero_run_phase(run, NULL, NULL));
  expect_message("resume it");
  expect_status(MUZERO_E_USAGE, muzero_run_save(run));
  double score;
  expect_status(MUZERO_E_USAGE, muzero_run_evaluate(run, 1, &score));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_run_resume(&run, in("failed"), NULL));
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(in("failed")) == reference_digest());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_steps_of_any_length_give_one_run, make, drop),
      cmocka_unit_test_setup_teardown(test_rounds_over_several_phases, make, drop),
      cmocka_unit_test_setup_teardown(test_saved_and_resumed, make, drop),
      cmocka_unit_test_setup_teardown(test_callbacks, make, drop),
      cmocka_unit_test_setup_teardown(test_stops, make, drop),
      cmocka_unit_test_setup_teardown(test_checkpoint_is_written_when_asked, make, drop),
      cmocka_unit_test_setup_teardown(test_metrics, make, drop),
      cmocka_unit_test_setup_teardown(test_time_passes_only_while_it_trains, make, drop),
      cmocka_unit_test_setup_teardown(test_saving_between_calls, make, drop),
      cmocka_unit_test_setup_teardown(test_settings, make, drop),
      cmocka_unit_test_setup_teardown(test_a_failed_run_is_resumed, make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
