#include "allocator/records/decision.h"
#include <math.h>
#include <stdarg.h>

const char *mz_decision_action_name(mz_decision_action action) {
  static const char *const names[] = {"keep", "try", "wait", "confirm", "revert"};
  return names[action];
}

void mz_decision_say(mz_decision *d, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(d->reason, sizeof d->reason, format, arguments);
  va_end(arguments);
  if (length < (int)sizeof d->reason) return;
  size_t end = sizeof d->reason - 1; /* perhaps within a code point, which then goes whole */
  while (end > 0 && ((unsigned char)d->reason[end - 1] & 0xC0) == 0x80) end--;
  if (end > 0 && ((unsigned char)d->reason[end - 1] & 0xC0) == 0xC0) end--;
  d->reason[end] = '\0';
}

void mz_decision_show(mz_decision *d, const mz_pipeline *pipeline, const mz_proposal *p, const char *why_not, int most) {
  mz_candidate proposed = {.plan = p->plan, .prediction = p->prediction};
  snprintf(proposed.why_not, sizeof proposed.why_not, "%s", why_not);
  bool shown = !p->change;
  int others = p->change ? most - 1 : most;
  d->candidate_count = 0;
  for (int i = 0; i < p->candidate_count; i++) {
    if (!shown && mz_plan_equal(pipeline, &p->candidates[i].plan, &p->plan)) {
      d->candidates[d->candidate_count++] = proposed;
      shown = true;
    } else if (others > 0) {
      d->candidates[d->candidate_count++] = p->candidates[i];
      others--;
    }
  }
  if (!shown) d->candidates[d->candidate_count++] = proposed;
}

/* ---- as JSON ---- */

/* Adds a number that only informs: six digits are more than was measured. Not finite: null. */
static void add_measure(cJSON *object, const char *key, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.5e", value);
  cJSON_AddNumberToObject(object, key, isfinite(value) ? strtod(text, NULL) : NAN);
}

/* The knobs in which `plan` differs from `from`. */
static void add_change(cJSON *object, const char *key, const mz_pipeline *pipeline, const mz_plan *plan, const mz_plan *from) {
  cJSON *change = cJSON_AddObjectToObject(object, key);
  for (int i = 0; i < pipeline->knob_count; i++) {
    if (plan->values[i] != from->values[i]) cJSON_AddNumberToObject(change, pipeline->knobs[i].name, (double)plan->values[i]);
  }
}

static void add_candidates(cJSON *object, const mz_pipeline *pipeline, const mz_decision *d) {
  cJSON *array = cJSON_AddArrayToObject(object, "candidates");
  for (int i = 0; i < d->candidate_count; i++) {
    const mz_candidate *candidate = &d->candidates[i];
    cJSON *o = cJSON_CreateObject();
    add_change(o, "plan", pipeline, &candidate->plan, &d->plan);
    add_measure(o, "predicted", candidate->prediction.unit_s);
    add_measure(o, "low", candidate->prediction.low);
    add_measure(o, "high", candidate->prediction.high);
    cJSON_AddStringToObject(o, "why_not", candidate->why_not);
    if (!cJSON_AddItemToArray(array, o)) cJSON_Delete(o);
  }
}

static void add_contest(cJSON *object, const mz_decision *d) {
  if (d->contest_count == 0) return;
  cJSON *contest = cJSON_AddObjectToObject(object, "contest"), *errors = cJSON_CreateObject();
  cJSON_AddNumberToObject(contest, "plans", d->contest_plans);
  for (int i = 0; i < d->contest_count; i++) add_measure(errors, d->contest[i].predictor, d->contest[i].error);
  mz_json_add(contest, "error", errors);
}

static void add_baseline(cJSON *object, const mz_baseline *b) {
  if (b->windows == 0) return;
  cJSON *baseline = cJSON_AddObjectToObject(object, "baseline");
  cJSON_AddNumberToObject(baseline, "windows", b->windows);
  cJSON_AddNumberToObject(baseline, "quiet", b->quiet);
  add_measure(baseline, "before", b->before);
  add_measure(baseline, "after", b->after);
}

cJSON *mz_decision_to_json(const mz_pipeline *pipeline, const mz_decision *d) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "decision");
  cJSON_AddNumberToObject(o, "phase", (double)d->phase);
  cJSON_AddStringToObject(o, "action", mz_decision_action_name(d->action));
  cJSON_AddBoolToObject(o, "reverted", d->reverted);
  cJSON_AddStringToObject(o, "strategy", d->strategy);
  cJSON_AddStringToObject(o, "predictor", d->predictor);
  add_measure(o, "predicted", d->predicted.unit_s);
  add_measure(o, "low", d->predicted.low);
  add_measure(o, "high", d->predicted.high);
  add_measure(o, "observed", d->observed);
  mz_json_add(o, "plan", mz_plan_to_json(pipeline, &d->plan));
  add_change(o, "next", pipeline, &d->next, &d->plan);
  add_measure(o, "expected", d->expected.unit_s);
  add_measure(o, "expected_low", d->expected.low);
  add_measure(o, "expected_high", d->expected.high);
  add_candidates(o, pipeline, d);
  add_contest(o, d);
  add_baseline(o, &d->baseline);
  cJSON_AddStringToObject(o, "binding", d->binding);
  if (d->assigned[0]) cJSON_AddStringToObject(o, "assigned", d->assigned);
  cJSON_AddStringToObject(o, "reason", d->reason);
  add_measure(o, "ratio", d->ratio);
  add_measure(o, "ratio_low", d->ratio_low);
  add_measure(o, "ratio_high", d->ratio_high);
  if (d->predictions > 0) {
    cJSON_AddNumberToObject(o, "predictions", (double)d->predictions);
    cJSON_AddNumberToObject(o, "predictions_held", (double)d->predictions_held);
  }
  cJSON_AddNumberToObject(o, "reverts", d->reverts);
  cJSON_AddNumberToObject(o, "round", (double)d->round);
  return o;
}
