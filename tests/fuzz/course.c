/* A course file, fitted to runs or not. One that is accepted is written and read again as the same course, and a run of it, plan by
 * plan in turn, comes to its end. */
#include "allocator/runs/course_file.h"
#include "base/course/course_policy.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define PATH FUZZ_FOLDER "/course.json"

static const mz_pipeline pipeline = {
    .name = "fuzz", .knob_count = 2, .knobs = {{.name = "makers", .min = 1, .max = 8}, {.name = "users", .min = 1, .max = 8}}};

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  return 0;
}

static void check_again(const mz_course *course) {
  static mz_course again;
  cJSON *json = mz_course_to_json(course);
  char *text = mz_json_page(json);
  cJSON_Delete(json);
  if (!text) return;
  fuzz_must(mz_course_read(&again, text, strlen(text), "again"));
  MZ_ASSERT(again.digest == course->digest);
  free(text);
}

/* A run that takes the plans that its limits allow in turn. */
static void run(const mz_course *course, uint64_t seed) {
  mz_course_state state;
  mz_course_result result = {0};
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  float seen[MZ_COURSE_OBSERVATION];
  mz_course_begin(course, seed, &state);
  MZ_ASSERT(mz_course_static(course, &state) < course->plans);
  for (int stage = 0; !result.ended; stage++) {
    int plan = stage % course->plans;
    MZ_ASSERT(stage < course->stages && mz_course_state_valid(course, &state) && mz_course_mask(course, &state, mask) > 0);
    while (!mask[plan]) plan = (plan + 1) % course->plans;
    mz_course_observe(course, &state, seen);
    for (int i = 0; i < MZ_COURSE_OBSERVATION; i++) MZ_ASSERT(seen[i] >= -4 && seen[i] <= 4);
    result = mz_course_step(course, &state, plan);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mz_course course;
  static mz_fitted_course fitted;
  fuzz_file_put(PATH, data, size);
  (void)mz_course_file_read(&fitted, PATH, &pipeline);
  if (mz_course_read(&course, (const char *)data, size, "fuzz") != MZ_OK) return 0;
  check_again(&course);
  run(&course, size);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
