/* The device that each stage begins on, by what was asked for, what the settings hold and where the run was. */
#include "allocator/machine/machine_spec.h"
#include "muzero/knobs.h"
#include "muzero/steering/outset.h"
#include "muzero/steering/trainer_pipeline.h"
#include "testing.h"
#include <sched.h>

static const mz_memory no_memory; /* nothing was counted: any plan fits */

/* Two GPUs of one model, cuda:0 and cuda:1. */
static mz_device_choice choice_of(int first, bool asked, bool holds) {
  mz_device_choice choice = {.first = first, .asked = asked, .holds = holds};
  choice.gpus.count = 2;
  for (int g = 0; g < 2; g++) {
    choice.gpus.items[g].number = g;
    snprintf(choice.gpus.items[g].device.name, sizeof choice.gpus.items[g].device.name, "A");
    choice.gpus.items[g].device.free_bytes = 1 << 30;
  }
  return choice;
}

static mz_device_records records_of(const char *device) {
  mz_device_records records = {0};
  for (int s = 0; s < MZ_PLACED_STAGES; s++) {
    snprintf(records.stages[s].device, sizeof records.stages[s].device, "%s", device);
    snprintf(records.stages[s].kind, sizeof records.stages[s].kind, "%.*s", (int)strcspn(device, ":"), device);
  }
  return records;
}

/* Each core a set: cpu:0 and cpu:1, as far as `cores` go. before: NULL: a new run; else it had these at 1 + index `was`. */
static void find(mz_outset *out, const mz_device_choice *choice, double cores, const char *before, int64_t was, const char *set) {
  const char *sets[] = {"devices.cpu=0,1", set};
  const mz_settings settings = settings_with(sets, set != NULL ? 2 : 1);
  const mz_device_records records = records_of(before != NULL ? before : "cpu:0");
  const mz_knobs last = {2, 1, 1, 4, 4, was, was, was, 1 << 20, 0};
  const mz_outset_options options = {.bounds = {.cpu_max = cores, .gpu_max = 2, .memory_max = 0x1p60},
                                     .last = before != NULL ? &last : NULL,
                                     .choice = choice,
                                     .before = before != NULL ? &records : NULL};
  memset(out, 0, sizeof *out);
  expect_ok(mz_outset_find(out, &settings, &no_memory, &options));
}

static const char *name_of(const mz_outset *o, int knob) { return o->devices.items[o->plan.values[knob]].device.name; }

static void expect_everywhere(const mz_outset *o, const char *device, int64_t range) {
  for (int k = MZ_KNOB_SELFPLAY_DEVICE; k <= MZ_KNOB_LEARNING_DEVICE; k++) {
    assert_string_equal(name_of(o, k), device);
    assert_int_equal(o->pipeline.knobs[k].max - o->pipeline.knobs[k].min, range - 1);
  }
}

/* Skips where the process has not the cores 0 and 1. */
static bool has_two_cores(void) {
  cpu_set_t allowed;
  const bool has = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_ISSET(0, &allowed) && CPU_ISSET(1, &allowed);
  if (!has) print_message("skipped: needs the cores 0 and 1\n");
  return has;
}

static void stages_begin_where_they_were_asked_for(void **unused) {
  (void)unused;
  if (!has_two_cores()) skip();
  mz_outset *o;
  expect_ok(mz_alloc(&o, 1, sizeof *o));
  const mz_device_choice on_cpus = choice_of(-1, false, false), first = choice_of(0, false, false),
                         asked = choice_of(0, true, false), held = choice_of(1, true, true);
  find(o, &on_cpus, 2, NULL, 0, NULL);
  expect_everywhere(o, "cpu:0", 2); /* free among the sets of cores */
  find(o, &first, 2, NULL, 0, NULL);
  expect_everywhere(o, "cuda:0", 2);
  find(o, &held, 2, NULL, 0, NULL);
  expect_everywhere(o, "cuda:1", 1);
  find(o, &asked, 2, NULL, 0, "allocate.numeric=on");
  expect_everywhere(o, "cuda:0", 4);
  find(o, &asked, 2, NULL, 0, "devices.learning=cpu:1");
  assert_string_equal(name_of(o, MZ_KNOB_LEARNING_DEVICE), "cpu:1");
  assert_string_equal(name_of(o, MZ_KNOB_SELFPLAY_DEVICE), "cuda:0");
  free(o);
}

static void stages_stay_where_they_were(void **unused) {
  (void)unused;
  if (!has_two_cores()) skip();
  mz_outset *o;
  expect_ok(mz_alloc(&o, 1, sizeof *o));
  const mz_device_choice by_size = choice_of(0, false, false), asked = choice_of(0, true, false), held = choice_of(1, true, true);
  find(o, &by_size, 2, "cpu:1", 2, NULL);
  expect_everywhere(o, "cpu:1", 2);
  find(o, &by_size, 2, "cuda:1", 4, NULL);
  expect_everywhere(o, "cuda:1", 2);
  find(o, &by_size, 1, "cuda:1", 4, NULL); /* a set of cores is gone, and numbers of devices with it */
  assert_int_equal(o->devices.count, 3);
  expect_everywhere(o, "cuda:1", 2);
  find(o, &by_size, 1, "cpu:1", 2, NULL);
  expect_everywhere(o, "cpu:0", 1);
  find(o, &asked, 2, "cuda:1", 4, NULL);
  expect_everywhere(o, "cuda:1", 2);
  find(o, &asked, 2, "cpu:0", 1, NULL); /* another kind was asked for */
  expect_everywhere(o, "cuda:0", 2);
  find(o, &by_size, 2, "cuda:7", 9, NULL); /* gone: one of its kind */
  expect_everywhere(o, "cuda:0", 2);
  find(o, &held, 2, "cuda:0", 3, NULL);
  expect_everywhere(o, "cuda:1", 1);
  free(o);
}

/* A run's pipeline reads back, on fewer threads than the machine has whole cores, on more, and on all of them. */
static void threads_that_share_cores_are_cut(void **unused) {
  (void)unused;
  static const struct { int cores, whole; } cases[] = {{4, 4}, {8, 8}, {12, 8}, {16, 8}};
  mz_sim_machine machine;
  mz_outset *o;
  mz_pipeline *again;
  const mz_settings settings = settings_with(NULL, 0);
  expect_ok(mz_sim_machine_parse(&machine, "sim:cores=16,numa=1,smt=1.3"));
  expect_ok(mz_alloc(&o, 1, sizeof *o));
  expect_ok(mz_alloc(&again, 1, sizeof *again));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(o, 0, sizeof *o);
    mz_sim_machine_devices(&machine, &o->devices);
    const mz_outset_options options = {.bounds = {.cpu_max = cases[i].cores, .memory_max = 0x1p60}};
    expect_ok(mz_outset_on_devices(o, &settings, &no_memory, &options));
    assert_int_equal(o->pipeline.devices[0].cores, cases[i].cores);
    assert_int_equal(mz_device_whole_cores(&o->pipeline.devices[0]), cases[i].whole);
    cJSON *json = mz_pipeline_to_json(&o->pipeline);
    expect_ok(mz_pipeline_from_json(again, json, "here", MZ_E_CHECKPOINT));
    assert_int_equal(mz_device_whole_cores(&again->devices[0]), cases[i].whole);
    cJSON_Delete(json);
  }
  free(o);
  free(again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_begin_where_they_were_asked_for),
      cmocka_unit_test(stages_stay_where_they_were),
      cmocka_unit_test(threads_that_share_cores_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
