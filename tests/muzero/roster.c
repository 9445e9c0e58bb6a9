#include "muzero/steering/roster.h"
#include "muzero/run.h"
#include "muzero/steering/steer.h"
#include "tests/muzero/testing.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void cores_are_divided_evenly_as_far_as_they_can_be_used(void **state) {
  (void)state;
  static const struct {
    int cores, runs, wants[4], counts[4];
  } cases[] = {{2, 1, {0}, {2}},
               {2, 2, {0, 0}, {1, 1}},
               {8, 3, {0, 0, 0}, {3, 3, 2}},
               {8, 2, {1, 0}, {1, 7}},
               {8, 3, {2, 0, 1}, {2, 5, 1}},
               {4, 2, {1, 1}, {1, 1}},
               {16, 4, {0, 3, 0, 0}, {5, 3, 4, 4}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int next = 0;
    for (int run = 0; run < cases[i].runs; run++) {
      int first, count;
      mz_roster_divide(cases[i].wants, cases[i].runs, cases[i].cores, run, &first, &count);
      assert_int_equal(first, next); /* side by side: no core twice */
      assert_int_equal(count, cases[i].counts[run]);
      next += count;
    }
    assert_true(next <= cases[i].cores);
  }
  for (int run = 0; run < 5; run++) { /* more runs than cores */
    int first, count;
    mz_roster_divide((const int[5]){0}, 5, 2, run, &first, &count);
    assert_int_equal(first, run % 2);
    assert_int_equal(count, 1);
  }
}

static cpu_set_t cores_up_to(int count) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core = 0; core < count; core++) CPU_SET(core, &cores);
  return cores;
}

static int share_of(mz_roster *roster, int granted, int *first) {
  cpu_set_t cores = cores_up_to(granted);
  mz_roster_share(roster, &cores);
  *first = 0;
  while (!CPU_ISSET(*first, &cores)) ++*first;
  return CPU_COUNT(&cores);
}

static void who_is_there_counts(void **state) {
  (void)state;
  char folder[64];
  int first;
  make_folder(folder);
  mz_roster a = {.fd = -1}, b = {.fd = -1}, other = {.fd = -1}, outside = {.fd = -1};
  const cpu_set_t four = cores_up_to(4), three = cores_up_to(3);
  mz_roster_enter(&a, folder, &four, 0);
  assert_int_equal(share_of(&a, 4, &first), 4);
  mz_roster_enter(&b, folder, &four, 0);
  mz_roster_enter(&other, folder, &three, 0); /* to which other cores are granted */
  assert_int_equal(share_of(&a, 4, &first), 2);
  assert_int_equal(first, 0);
  assert_int_equal(share_of(&b, 4, &first), 2);
  assert_int_equal(first, 2);
  assert_int_equal(share_of(&other, 3, &first), 3);
  assert_int_equal(share_of(&outside, 4, &first), 4);
  mz_roster_leave(&a);
  assert_int_equal(share_of(&a, 4, &first), 4);
  assert_int_equal(share_of(&b, 4, &first), 4);
  mz_roster_enter(&a, folder, &four, 0); /* its place is what it was */
  share_of(&a, 4, &first);
  assert_int_equal(first, 0);
  assert_int_equal(share_of(&b, 3, &first), 2); /* now it is granted what `other` is: the earliest has what is left over */
  assert_int_equal(share_of(&other, 3, &first), 1);
  mz_roster_leave(&a), mz_roster_leave(&b), mz_roster_leave(&other);
  assert_int_equal(rmdir(folder), 0); /* nothing stays behind */
}

static void one_that_was_killed_is_forgotten(void **state) {
  (void)state;
  char folder[64];
  int first, status;
  make_folder(folder);
  const cpu_set_t two = cores_up_to(2);
  mz_roster a = {.fd = -1}, dead = {.fd = -1};
  mz_roster_enter(&a, folder, &two, 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    mz_roster_enter(&dead, folder, &two, 0);
    _exit(dead.fd >= 0 ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(share_of(&a, 2, &first), 2);
  mz_roster_leave(&a);
  assert_int_equal(rmdir(folder), 0);
}

static void a_folder_that_cannot_be_had_is_no_failure(void **state) {
  (void)state;
  int first;
  const cpu_set_t two = cores_up_to(2);
  mz_roster a = {.fd = -1};
  mz_roster_enter(&a, "/dev/null/runs", &two, 0);
  assert_int_equal(a.fd, -1);
  assert_int_equal(share_of(&a, 2, &first), 2);
  mz_roster_leave(&a);
}

/* ---- runs ---- */

static mz_run *open_run(const char *folder, const char *name, const char *share, const char *source) {
  char dir[128];
  const char *sets[] = {"num_games=8",        "moves_per_round=4",    "loop_count=3",          "batch_size=16",
                        "simulations=3",      "network.width=16",     "train.phase_rounds=10", "eval.games=1",
                        "replay.min_fill=16", "eval.opponent=random", "allocate.window=2",     share};
  mz_run *run;
  snprintf(dir, sizeof dir, "%s/%s", folder, name);
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = sizeof sets / sizeof *sets,
                                  .allocate = "fixed",
                                  .source = source};
  expect_ok(mz_run_open(&run, &options));
  return run;
}

static int cores_after_a_phase(mz_run *run) {
  const mz_limits limits = {.rounds = 1000};
  mz_phase phase;
  mz_reason reason;
  expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  return mz_steer_devices(run->steer)->items[0].core_count;
}

static void two_runs_have_half_of_the_cores_each(void **state) {
  (void)state;
  char folder[64];
  cpu_set_t all;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) {
    print_message("skipped: one core only\n");
    skip();
  }
  const int cores = CPU_COUNT(&all);
  make_folder(folder);
  assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
  mz_run *a = open_run(folder, "a", "allocate.share=on", NULL), *b = open_run(folder, "b", "allocate.share=on", NULL),
         *alone = open_run(folder, "alone", "allocate.share=off", NULL),
         *profile = open_run(folder, "profile", "allocate.share=on", "profile");
  assert_int_equal(cores_after_a_phase(a), cores - cores / 2);
  assert_int_equal(cores_after_a_phase(b), cores / 2);
  assert_int_equal(cores_after_a_phase(alone), cores);
  assert_int_equal(cores_after_a_phase(profile), cores); /* its plans are for all of them */
  mz_run_rest(b);
  assert_int_equal(cores_after_a_phase(a), cores);
  assert_int_equal(cores_after_a_phase(b), cores / 2); /* awake again */
  mz_run_close(a);
  assert_int_equal(cores_after_a_phase(b), cores);
  mz_run_close(b);
  mz_run_close(alone);
  mz_run_close(profile);
  drop_folder(folder);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cores_are_divided_evenly_as_far_as_they_can_be_used),
                                     cmocka_unit_test(who_is_there_counts), cmocka_unit_test(one_that_was_killed_is_forgotten),
                                     cmocka_unit_test(a_folder_that_cannot_be_had_is_no_failure),
                                     cmocka_unit_test(two_runs_have_half_of_the_cores_each)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
