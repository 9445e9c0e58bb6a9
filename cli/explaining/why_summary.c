#include "cli/explaining/why_summary.h"
#include "base/maths/statistics.h"
#include "cli/print.h"
#include <math.h>
#include <string.h>

static bool is(const cJSON *decision, const char *action) {
  return strcmp(mz_json_text_or_empty(decision, "action"), action) == 0;
}

static void plan_text(const cJSON *plan, char out[512]) {
  char *text = plan ? cJSON_PrintUnformatted(plan) : NULL;
  snprintf(out, 512, "%s", text ? text : "");
  cJSON_free(text);
}

/* Beyond what fits the newest stay. */
static void add_rounds(double *to, int *count, const cJSON *rounds) {
  const cJSON *round;
  cJSON_ArrayForEach(round, rounds) {
    if (!cJSON_IsNumber(round)) continue;
    if (*count == MZ_SUMMARY_ROUNDS) memmove(to, to + 1, (size_t)-- * count * sizeof *to);
    to[(*count)++] = round->valuedouble;
  }
}

static double sum_of(const cJSON *numbers) {
  const cJSON *number;
  double sum = 0;
  cJSON_ArrayForEach(number, numbers) sum += cJSON_IsNumber(number) ? number->valuedouble : 0;
  return sum;
}

/* Rounds of a window ran under one plan. In a window in which a trial was given up they did not: the ledger names the abandoned
 * plan. In a trial two plans take turns: which of them stays shows afterwards. */
static void add_window(mz_why_summary *s, const cJSON *decision, const cJSON *rounds) {
  char plan[512];
  if (!mz_json_item(decision, "window") || (is(decision, "revert") && !cJSON_IsNumber(mz_json_item(decision, "observed"))))
    return;
  plan_text(mz_json_item(decision, "plan"), plan);
  if (!s->first[0]) snprintf(s->first, sizeof s->first, "%s", plan);
  if (strcmp(plan, s->first) == 0) add_rounds(s->first_s, &s->first_count, rounds);
  if (strcmp(plan, s->last) != 0) {
    if (s->on_trial) return;
    s->last_count = 0;
  }
  snprintf(s->last, sizeof s->last, "%s", plan);
  add_rounds(s->last_s, &s->last_count, rounds);
}

/* A section counts from 0. */
static void count_predictions(mz_why_summary *s, const cJSON *decision) {
  const double read = mz_json_number_or_nan(decision, "predictions");
  const int64_t predictions = read > 0 ? (int64_t)read : 0;
  if (predictions < s->predictions) {
    s->earlier_predictions += s->predictions;
    s->earlier_held += s->held;
  }
  s->predictions = predictions;
  s->held = predictions > 0 ? (int64_t)mz_json_number_or_nan(decision, "predictions_held") : 0;
}

void mz_why_summary_add(mz_why_summary *s, const cJSON *decision) {
  const cJSON *rounds = mz_json_item(decision, "rounds");
  const double seconds = sum_of(rounds);
  s->decisions++;
  s->all_s += seconds;
  if (s->on_trial) s->trial_s += seconds;
  s->kept += s->on_trial && is(decision, "confirm");
  s->undone += is(decision, "revert");
  s->tries += is(decision, "try");
  add_window(s, decision, rounds);
  s->on_trial = is(decision, "try") || is(decision, "wait");
  count_predictions(s, decision);
}

static void print_gain(const mz_why_summary *s) {
  if (!s->first[0]) return;
  if (strcmp(s->first, s->last) == 0) {
    printf("  The plan that it began with holds%s.\n", s->on_trial ? ", while another is on trial" : "");
    return;
  }
  const mz_interval ratio = mz_speed_ratio(s->first_s, s->first_count, s->last_s, s->last_count, 0.9);
  if (isfinite(ratio.estimate) && isfinite(ratio.high))
    printf("  Rounds run %.3g times as fast (90 %%: %.3g to %.3g) as under the plan it began with: %d against %d of them, at\n"
           "  different times of the run, so that what games and replay have become counts, too.\n",
           ratio.estimate, ratio.low, ratio.high, s->last_count, s->first_count);
  else
    printf("  There are too few rounds to say what it has gained over the plan it began with.\n");
}

void mz_why_summary_print(const mz_why_summary *s) {
  char all[MZ_TEXT_SIZE], trial[MZ_TEXT_SIZE];
  printf("%lld decision%s: %lld plan%s tried, %lld kept, %lld undone", (long long)s->decisions, mz_plural((double)s->decisions),
         (long long)s->tries, mz_plural(s->tries), (long long)s->kept, (long long)s->undone);
  if (s->tries > 0) printf("; trials took %s of %s of rounds", mz_text_time(s->trial_s, trial), mz_text_time(s->all_s, all));
  printf(".\n");
  print_gain(s);
  const long long predictions = s->earlier_predictions + s->predictions, held = s->earlier_held + s->held;
  if (predictions > 0)
    printf("  %lld of %lld window%s fell within the 90 %% interval that was predicted for each.\n", held, predictions,
           mz_plural((double)predictions));
  printf("\n");
}
