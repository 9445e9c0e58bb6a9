/* Refusals of agents that plan runs by stages: without a record that they may drive, and for other runs than their course's. */
#include "staged_runs.h"

static void without_a_record_the_agent_may_not_drive(void **unused) {
  (void)unused;
  mz_stages_record record = good_record();
  refused((const char *[]){"allocate.strategy=staged", NULL}, "allocate.strategy staged: needs --set allocate.policy=RUN");
  refused((const char *[]){"allocate.policy=policy", "allocate.strategy=staged", NULL},
          "no shadow run shows yet that the agent may drive; a run with --set allocate.policy=policy and another strategy");
  refused((const char *[]){"allocate.policy=policy", "allocate.strategy=staged", "allocate.shadow=first", NULL},
          "first has no record of all stages");
  refused(driving_sets, "record.jsonl");
  record.regrets[MZ_DECIDER_POLICY] = 0.6;
  write_record(&record);
  refused(driving_sets, "0.6, is above that of a fixed plan, 0.5");
  record.regrets[MZ_DECIDER_POLICY] = 0.5;
  record.policy++;
  write_record(&record);
  refused(driving_sets, "recorded another agent, or another course");
  record.policy--;
  record.drives = true;
  write_record(&record);
  refused(driving_sets, "in record.jsonl the agent drove");
  record.drives = false;
  record.complete = false;
  write_record(&record);
  refused(driving_sets, "has no record of all stages");
}

static void agents_of_other_runs_are_refused(void **unused) {
  (void)unused;
  mz_fitted_course other = fitted;
  refused((const char *[]){"allocate.policy=first", NULL}, "first is a run of tictactoe; takes one of allocation:course=FILE");
  refused((const char *[]){"allocate.policy=nowhere", NULL}, "allocate.policy: ");
  train_policy("allocation", "builtin");
  refused((const char *[]){"allocate.policy=builtin", NULL}, "built-in course");
  refused((const char *[]){"allocate.policy=policy", "network.width=8", NULL}, "another network");
  refused((const char *[]){"allocate.policy=policy", "learning_rate=0.01", NULL}, "another hash of the settings");
  refused((const char *[]){"allocate.policy=policy", "prices.core_hour=2", NULL}, "nearest valid value: 1");
  refused((const char *[]){"allocate.policy=policy", "allocate.objective=goodput", NULL}, "allocate.objective");
  const char *const scheduled[] = {driving_sets[0], driving_sets[1], driving_sets[2], "batch_schedule=2:32", NULL};
  refused(scheduled, "batch_schedule: 2:32: the agent of allocate.policy moves the batch size");

  snprintf(other.env, sizeof other.env, "gomoku");
  expect_ok(mz_course_file_write("course.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=policy", NULL}, "another environment (gomoku) than this one's (tictactoe)");
  other = fitted;
  snprintf(other.simulated, sizeof other.simulated, "sim:cores=64");
  expect_ok(mz_course_file_write("course.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=policy", NULL}, "fitted to runs on sim:cores=64, and this one is on a real machine");
  other = fitted;
  other.error = (mz_course_fit_error){.seconds = 0.3, .score = 0.1};
  expect_ok(mz_course_file_write("course.json", &other, &pipeline));
  refused(driving_sets, "an error of 30 % in seconds and 10 % in scores");
  expect_ok(mz_course_file_write("course.json", &fitted, &pipeline));

  other = fitted;
  fill_course(&other.course, 20);
  expect_ok(mz_course_file_write("changed.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=stale", NULL}, "stale was trained on another course");
  other.course.plans--; /* its agent has another network */
  expect_ok(mz_course_prepare(&other.course, "narrowed"));
  expect_ok(mz_course_file_write("narrowed.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=wide", NULL}, "was trained on another course");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_record_the_agent_may_not_drive),
      cmocka_unit_test(agents_of_other_runs_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
