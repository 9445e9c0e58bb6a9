/* The process that uses the library: its stdout, signals, threads, numbers and log stay its own. */
#include "own_run.h"
#include "base/log.h"
#include <fenv.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

static void test_version(void **state) {
  (void)state;
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", MUZERO_VERSION_MAJOR, MUZERO_VERSION_MINOR, MUZERO_VERSION_PATCH);
  assert_string_equal(muzero_version(), version);
}

/* ---- what belongs to the process ---- */

typedef struct process {
  void (*handlers[32])(int);
  sigset_t mask;
  cpu_set_t cores;
  int omp_threads;
} process;

static process look(void) {
  process p;
  memset(&p, 0, sizeof p);
  for (int number = 1; number < 32; number++) {
    struct sigaction action;
    assert_int_equal(sigaction(number, NULL, &action), 0);
    p.handlers[number] = action.sa_handler;
  }
  assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &p.mask), 0);
  assert_int_equal(sched_getaffinity(0, sizeof p.cores, &p.cores), 0);
  p.omp_threads = omp_get_max_threads();
  return p;
}

static int omp_threads_in_callback;
static int on_round(void *context, const muzero_progress *progress) {
  (void)context;
  (void)progress;
  omp_threads_in_callback = omp_get_max_threads();
  return 0;
}

static void use_everything(void) {
  muzero_run_options options = tiny_options();
  static const char *const settings[] = {"network.kind=conv", "network.channels=16", "network.blocks=1"};
  options.settings = settings;
  options.settings_count = sizeof settings / sizeof *settings;
  options.on_round = on_round;
  muzero_run *run;
  muzero_agent *agent;
  muzero_game *game;
  int32_t action;
  expect_fine(muzero_run_create(&run, dir, &options));
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_agent_load(&agent, dir));
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  expect_fine(muzero_agent_move(agent, &game, 1, 0, &action, NULL, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, -1));
  expect_fine(muzero_game_close(game));
  expect_fine(muzero_agent_close(agent));
}

static void test_the_process_stays_its_own(void **state) {
  (void)state;
  char path[160];
  omp_set_num_threads(3);
  const process before = look();
  snprintf(path, sizeof path, "%s/stdout", folder);
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  FILE *file = freopen(path, "w", stdout);
  use_everything();
  fflush(stdout);
  const long written = file ? ftell(file) : -1;
  assert_true(dup2(kept, STDOUT_FILENO) >= 0);
  close(kept);
  assert_int_equal(written, 0);
  const process after = look();
  assert_memory_equal(before.handlers, after.handlers, sizeof before.handlers);
  assert_memory_equal(&before.mask, &after.mask, sizeof before.mask);
  assert_true(CPU_EQUAL(&before.cores, &after.cores));
  assert_int_equal(after.omp_threads, 3);
  assert_int_equal(omp_threads_in_callback, 3);
}

/* ---- numbers ---- */

static uint64_t digest_of_small_run(const char *name, const muzero_run_options *given) {
  const muzero_run_options options = given ? *given : tiny_options();
  const muzero_limits limits = rounds_limit(2);
  muzero_run *run;
  double score;
  snprintf(dir, sizeof dir, "%s/%s", folder, name);
  expect_fine(muzero_run_create(&run, dir, &options));
  expect_fine(muzero_run_train(run, &limits, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_run_resume(&run, dir, NULL));
  expect_fine(muzero_run_evaluate(run, 2, &score));
  expect_fine(muzero_run_close(run));
  return digest_of_run(dir);
}

/* A number as this thread writes it, and a sum as it rounds it. */
typedef struct numbers {
  char text[8];
  float sum;
} numbers;

static numbers numbers_here(void) {
  const volatile float one = 1, little = 0x1p-40f;
  numbers n = {.sum = one + little};
  snprintf(n.text, sizeof n.text, "%.1f", 1.5);
  return n;
}

static int note_numbers(void *context, const muzero_progress *progress) {
  (void)progress;
  *(numbers *)context = numbers_here();
  return 0;
}

static void expect_numbers_of_host(numbers n) {
  assert_string_equal(n.text, "1,5");
  assert_true(n.sum > 1);
}

static void test_numbers_of_the_host(void **state) {
  (void)state;
  const uint64_t wanted = digest_of_small_run("before", NULL);
  numbers in_callback = {0};
  muzero_run_options options = tiny_options();
  options.on_round = note_numbers;
  options.context = &in_callback;
  assert_int_equal(setenv("LOCPATH", TEST_DATA "/locale", 1), 0);
  const char *comma = setlocale(LC_NUMERIC, "comma");
  assert_int_equal(unsetenv("LOCPATH"), 0);
  if (!comma) {
    print_message("skipped: this C library does not read tests/data/locale/comma\n");
    skip();
  }
  assert_int_equal(fesetround(FE_UPWARD), 0);
  expect_numbers_of_host(numbers_here());
  const uint64_t digest = digest_of_small_run("comma", &options);
  const numbers after = numbers_here();
  assert_int_equal(fesetround(FE_TONEAREST), 0);
  assert_non_null(setlocale(LC_NUMERIC, "C"));
  expect_numbers_of_host(in_callback);
  expect_numbers_of_host(after);
  assert_true(digest == wanted);
}

/* ---- the log ---- */

typedef struct heard {
  int lines;
  muzero_log_level level;
  char line[64];
  muzero_status inside[3]; /* of functions that the callback calls */
} heard;

static void listen(void *context, muzero_log_level level, const char *line) {
  heard *h = context;
  muzero_game *game;
  h->lines++;
  h->level = level;
  snprintf(h->line, sizeof h->line, "%s", line);
  h->inside[0] = muzero_game_create(&game, "go", 1);
  h->inside[1] = muzero_log_set(NULL, NULL, MUZERO_LOG_DEBUG);
  h->inside[2] = muzero_run_save(NULL);
}

static void test_log(void **state) {
  (void)state;
  heard first = {0}, second = {0};
  expect_fine(muzero_log_set(listen, &first, MUZERO_LOG_WARNING));
  mz_log_write(MZ_LOG_WARNING, "one %d", 1);
  mz_log_write(MZ_LOG_INFO, "not asked for");
  assert_int_equal(first.lines, 1);
  assert_int_equal(first.level, MUZERO_LOG_WARNING);
  assert_string_equal(first.line, "one 1");
  for (int i = 0; i < 3; i++) assert_int_equal(first.inside[i], MUZERO_E_USAGE);
  expect_fine(muzero_log_set(listen, &second, MUZERO_LOG_INFO));
  mz_log_write(MZ_LOG_INFO, "two");
  assert_int_equal(first.lines, 1);
  assert_int_equal(second.lines, 1);
  expect_status(MUZERO_E_USAGE, muzero_log_set(listen, NULL, (muzero_log_level)4));
  expect_fine(muzero_log_set(NULL, NULL, MUZERO_LOG_WARNING));
  mz_log_write(MZ_LOG_WARNING, "to stderr");
  assert_int_equal(second.lines, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version),
      cmocka_unit_test_setup_teardown(test_the_process_stays_its_own, make, drop),
      cmocka_unit_test_setup_teardown(test_numbers_of_the_host, make, drop),
      cmocka_unit_test(test_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
