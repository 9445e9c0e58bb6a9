#include "cli/training/seeds.h"
#include "base/file/file.h"
#include "base/maths/statistics.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>

/* Returns the median of numbers; NAN counts as the worst. `values` is sorted. */
static double median(double *values, int count) {
  for (int i = 0; i < count; i++)
    if (isnan(values[i])) values[i] = -INFINITY;
  mz_sort(values, count);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

typedef struct point {
  double median, worst;
} point;

/* Phase p over the seeds; a seed that has ended stays at its last score. */
static point curve_at(const mz_outcome *outcomes, int count, int64_t phase, double *scratch) {
  for (int i = 0; i < count; i++) {
    const int64_t last = outcomes[i].phases - 1;
    scratch[i] = phase < last ? outcomes[i].scores[phase] : outcomes[i].score;
  }
  const double middle = median(scratch, count);
  return (point){middle, scratch[0]};
}

static int64_t longest(const mz_outcome *outcomes, int count) {
  int64_t phases = 0;
  for (int i = 0; i < count; i++)
    if (outcomes[i].phases > phases) phases = outcomes[i].phases;
  return phases;
}

static cJSON *aggregate_to_json(const mz_outcome *outcomes, int count, const char *run, double *scratch) {
  mz_outcome sum = outcomes[count - 1]; /* of the last: seed, digest, reason */
  snprintf(sum.run, sizeof sum.run, "%s", run ? run : outcomes[0].run);
  for (int i = 0; i < count - 1; i++) {
    sum.wall_s += outcomes[i].wall_s;
    sum.lost.workers += outcomes[i].lost.workers;
    sum.lost.games += outcomes[i].lost.games;
    sum.counters.env_steps += outcomes[i].counters.env_steps;
    sum.counters.updates += outcomes[i].counters.updates;
    sum.counters.rounds += outcomes[i].counters.rounds;
    sum.counters.phases += outcomes[i].counters.phases;
    sum.counters.simulations += outcomes[i].counters.simulations;
  }
  for (int i = 0; i < count; i++) scratch[i] = outcomes[i].score;
  sum.score = median(scratch, count);
  cJSON *object = mz_outcome_to_json(&sum, "done");
  if (!object) return NULL;
  cJSON_AddNumberToObject(object, "median", sum.score);
  cJSON_AddNumberToObject(object, "worst", scratch[0]);
  cJSON *scores = cJSON_AddArrayToObject(object, "scores"), *walls = cJSON_AddArrayToObject(object, "walls_s"),
        *runs = cJSON_AddArrayToObject(object, "runs"), *curve = cJSON_AddArrayToObject(object, "curve");
  for (int i = 0; i < count; i++) {
    cJSON_AddItemToArray(scores, cJSON_CreateNumber(outcomes[i].score));
    cJSON_AddItemToArray(walls, cJSON_CreateNumber(outcomes[i].wall_s));
    cJSON_AddItemToArray(runs, cJSON_CreateString(outcomes[i].run));
  }
  for (int64_t phase = 0; phase < longest(outcomes, count); phase++) {
    const point at = curve_at(outcomes, count, phase, scratch);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "phase", (double)(phase + 1));
    cJSON_AddNumberToObject(item, "median", at.median);
    cJSON_AddNumberToObject(item, "worst", at.worst);
    cJSON_AddItemToArray(curve, item);
  }
  return object;
}

static void aggregate_print(const mz_outcome *outcomes, int count, double *scratch) {
  char text[MZ_TEXT_SIZE], worst[MZ_TEXT_SIZE], time[MZ_TEXT_SIZE], slowest[MZ_TEXT_SIZE];
  printf("%d seeds\n  scores ", count);
  for (int i = 0; i < count; i++) printf(" %s", mz_text_number(outcomes[i].score, text));
  for (int i = 0; i < count; i++) scratch[i] = outcomes[i].score;
  const double middle = median(scratch, count);
  printf("\n  score   median %s, worst %s\n", mz_text_number(middle, text), mz_text_number(scratch[0], worst));
  for (int i = 0; i < count; i++) scratch[i] = outcomes[i].wall_s;
  const double middle_s = median(scratch, count);
  printf("  time    median %s, longest %s\n", mz_text_time(middle_s, time), mz_text_time(scratch[count - 1], slowest));
  const int64_t phases = longest(outcomes, count), step = phases / 10 + 1;
  for (int64_t phase = step - 1; phase < phases; phase += step) {
    const point at = curve_at(outcomes, count, phase, scratch);
    printf("  phase %-5lld median %-8s worst %s\n", (long long)phase + 1, mz_text_number(at.median, text),
           mz_text_number(at.worst, worst));
  }
}

static mz_status train_seed(const mz_run_options *options, int index, const mz_limits *limits, bool json, mz_outcome *out) {
  mz_run_options one = *options;
  char dir[512];
  one.seed = options->seed + (uint64_t)index;
  one.seed_given = true;
  if (options->dir) {
    char name[32];
    snprintf(name, sizeof name, "seed-%llu", (unsigned long long)one.seed);
    MZ_TRY(mz_path_join(dir, sizeof dir, options->dir, name));
    one.dir = dir;
  }
  mz_run *run;
  MZ_TRY(mz_run_open(&run, &one));
  mz_status status = mz_session_drive(run, limits, json, out);
  mz_run_close(run);
  if (status != MZ_OK) return status;
  if (json) return mz_print_json(mz_outcome_to_json(out, "seed"));
  mz_outcome_print(out);
  return mz_print_flush();
}

mz_status mz_seeds_train(const mz_run_options *options, int count, const mz_limits *limits, bool json) {
  mz_outcome *outcomes = NULL;
  double *scratch = NULL;
  int done = 0;
  mz_status status = mz_alloc(&outcomes, (size_t)count, sizeof *outcomes);
  MZ_TRY_CLEANUP(status);
  MZ_TRY_CLEANUP(mz_alloc(&scratch, (size_t)count, sizeof *scratch));
  do MZ_TRY_CLEANUP(train_seed(options, done, limits, json, &outcomes[done]));
  while (++done < count && !mz_signals_stopping());
  if (json)
    MZ_TRY_CLEANUP(mz_print_json(aggregate_to_json(outcomes, done, options->dir, scratch)));
  else
    aggregate_print(outcomes, done, scratch);
  status = mz_outcome_status(&outcomes[done - 1]);
  if (status == MZ_OK && done < count)
    status = mz_fail(MZ_INTERRUPTED, "interrupted: %d of %d seeds are trained; --seed %llu --seeds %d trains the others", done,
                     count, (unsigned long long)options->seed + (unsigned long long)done, count - done);
cleanup:
  if (outcomes)
    for (int i = 0; i < count; i++) mz_outcome_deinit(&outcomes[i]);
  free(outcomes);
  free(scratch);
  return status;
}
