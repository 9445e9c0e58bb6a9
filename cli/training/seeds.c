#include "cli/training/seeds.h"
#include "base/file/file.h"
#include "base/maths/statistics.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>

typedef struct point {
  double median, worst;
} point;

/* Returns both of numbers; NAN counts as the worst. `values` is sorted. NAN where there are none. */
static point point_of(double *values, int count) {
  if (count == 0) return (point){NAN, NAN};
  for (int i = 0; i < count; i++)
    if (isnan(values[i])) values[i] = -INFINITY;
  mz_sort(values, count);
  return (point){count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2, values[0]};
}

static point scores_point(const mz_outcome *outcomes, int count, double *scratch) {
  for (int i = 0; i < count; i++) scratch[i] = outcomes[i].score;
  return point_of(scratch, count);
}

/* Phase p over the seeds; a seed that has ended stays at its last score. */
static point curve_at(const mz_outcome *outcomes, int count, int64_t phase, double *scratch) {
  for (int i = 0; i < count; i++) {
    const int64_t last = outcomes[i].phases - 1;
    scratch[i] = phase < last ? outcomes[i].scores[phase] : outcomes[i].score;
  }
  return point_of(scratch, count);
}

static int64_t longest(const mz_outcome *outcomes, int count) {
  int64_t phases = 0;
  for (int i = 0; i < count; i++)
    if (outcomes[i].phases > phases) phases = outcomes[i].phases;
  return phases;
}

/* Returns how many of them ended by themselves: all but the last, where that one was interrupted. */
static int count_finished(const mz_outcome *outcomes, int count) {
  return count - (outcomes[count - 1].reason == MZ_REASON_INTERRUPTED);
}

/* Sums what all of them did. Scores are those of finished seeds: an interrupted one would have gone further. */
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
  const int finished = count_finished(outcomes, count);
  const point scored = scores_point(outcomes, finished, scratch);
  sum.score = scored.median;
  cJSON *object = mz_outcome_to_json(&sum, "done");
  if (!object) return NULL;
  cJSON_AddNumberToObject(object, "median", scored.median);
  cJSON_AddNumberToObject(object, "worst", scored.worst);
  cJSON *scores = cJSON_AddArrayToObject(object, "scores"), *walls = cJSON_AddArrayToObject(object, "walls_s"),
        *runs = cJSON_AddArrayToObject(object, "runs"), *curve = cJSON_AddArrayToObject(object, "curve");
  for (int i = 0; i < finished; i++) {
    cJSON_AddItemToArray(scores, cJSON_CreateNumber(outcomes[i].score));
    cJSON_AddItemToArray(walls, cJSON_CreateNumber(outcomes[i].wall_s));
    cJSON_AddItemToArray(runs, cJSON_CreateString(outcomes[i].run));
  }
  for (int64_t phase = 0; phase < longest(outcomes, finished); phase++) {
    const point at = curve_at(outcomes, finished, phase, scratch);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "phase", (double)(phase + 1));
    cJSON_AddNumberToObject(item, "median", at.median);
    cJSON_AddNumberToObject(item, "worst", at.worst);
    cJSON_AddItemToArray(curve, item);
  }
  return object;
}

/* Prints the aggregate of finished seeds. */
static void aggregate_print(const mz_outcome *outcomes, int count, double *scratch) {
  char text[MZ_TEXT_SIZE], worst[MZ_TEXT_SIZE], time[MZ_TEXT_SIZE], slowest[MZ_TEXT_SIZE];
  if (count == 0) return;
  printf("%d seed%s\n  scores ", count, mz_plural(count));
  for (int i = 0; i < count; i++) printf(" %s", mz_text_number(outcomes[i].score, text));
  const point scored = scores_point(outcomes, count, scratch);
  printf("\n  score   median %s, worst %s\n", mz_text_number(scored.median, text), mz_text_number(scored.worst, worst));
  for (int i = 0; i < count; i++) scratch[i] = outcomes[i].wall_s;
  const double middle_s = point_of(scratch, count).median;
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

/* The command's status when `done` seeds of `count` were begun. */
static mz_status ending(const mz_run_options *options, const mz_outcome *outcomes, int done, int count) {
  const int finished = count_finished(outcomes, done);
  char run[MZ_SHELL_QUOTE_SIZE(sizeof outcomes->run)], unfinished[sizeof run + 64] = "";
  if (done == count) return mz_outcome_status(&outcomes[done - 1]);
  if (finished < done)
    snprintf(unfinished, sizeof unfinished, "; `muzero resume %s` continues the one that was interrupted",
             mz_shell_quote(outcomes[done - 1].run, run, sizeof run));
  return mz_fail(MZ_INTERRUPTED, "interrupted: %d of %d seeds are trained%s; --seed %llu --seeds %d trains the others", finished,
                 count, unfinished, (unsigned long long)options->seed + (unsigned long long)done, count - done);
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
    aggregate_print(outcomes, count_finished(outcomes, done), scratch);
  status = ending(options, outcomes, done, count);
cleanup:
  if (outcomes)
    for (int i = 0; i < count; i++) mz_outcome_deinit(&outcomes[i]);
  free(outcomes);
  free(scratch);
  return status;
}
