#include "allocator/records/ledger.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/run_argument.h"
#include <math.h>
#include <string.h>

typedef struct what_if_arguments {
  mz_text_list sets;
  const char *run;
  int64_t phase;
  bool best, json;
} what_if_arguments;

#define AT(field) offsetof(what_if_arguments, field)
static const mz_option options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_WHOLE_RUN_HELP},
    MZ_OPTION_PHASE(AT(phase), "the last", "stand where the allocator stood after this phase"),
    {.name = "--set",
     .type = MZ_OPTION_LIST,
     .offset = AT(sets),
     .value = "knob=v",
     .otherwise = "the plan as it was",
     .class_ = MZ_OPERATIONAL,
     .help = "a knob of the other plan; may be repeated"},
    {.name = "--best",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(best),
     .class_ = MZ_OPERATIONAL,
     .help = "the other plan is the best one that was measured, by what is expected of it, within the limits, or the present one "
             "where none is better; not with --set"},
    MZ_OPTION_JSON(AT(json)),
    {0},
};

static mz_status set_knob(const mz_pipeline *pipeline, mz_plan *plan, const char *pair) {
  const char *equals = strchr(pair, '=');
  if (!equals) return mz_fail(MZ_E_USAGE, "--set %s: takes knob=value", pair);
  char name[64], where[160];
  int knob;
  int64_t value;
  snprintf(name, sizeof name, "%.*s", (int)(equals - pair), pair);
  snprintf(where, sizeof where, "--set %.140s", pair);
  MZ_TRY(mz_pipeline_find_knob(pipeline, name, where, &knob));
  const mz_knob *k = &pipeline->knobs[knob];
  int64_t device = k->scale == MZ_SCALE_CHOICE ? 0 : pipeline->device_count;
  while (device < pipeline->device_count && strcmp(pipeline->devices[device].name, equals + 1) != 0) device++;
  value = device; /* by name or by number */
  snprintf(name, sizeof name, "--set %.50s:", mz_knob_shown(k));
  if (device == pipeline->device_count) MZ_TRY(mz_parse_size(equals + 1, name, &value));
  if (value < k->min || value > k->max)
    return mz_fail(MZ_E_CONFIG, "--set %s: %s goes from %lld to %lld; nearest valid value: %lld", pair, mz_knob_shown(k),
                   (long long)k->min, (long long)k->max, (long long)mz_knob_clamp(k, value));
  plan->values[knob] = value;
  return MZ_OK;
}

static cJSON *prediction_json(const mz_pipeline *pipeline, const mz_plan *plan, const mz_prediction *p) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddItemToObject(o, "plan", mz_plan_to_json(pipeline, plan));
  cJSON_AddNumberToObject(o, "predicted", p->unit_s);
  cJSON_AddNumberToObject(o, "low", p->low);
  cJSON_AddNumberToObject(o, "high", p->high);
  return o;
}

/* How many windows of the plan the model was fitted to; 0: none, all that is said of it is inferred. */
static int times_measured(const mz_analytic *model, const mz_plan *plan) {
  for (int i = 0; i < model->plan_count; i++)
    if (mz_plan_equal(model->pipeline, &model->plans[i].plan, plan)) return model->plans[i].count;
  return 0;
}

/* Expected seconds of a unit of work, or its price where that is the objective. */
static double expected_cost(const mz_replayed *r, const mz_plan *plan) {
  const bool priced = r->options.settings->objective == MZ_OBJECTIVE_COST;
  const mz_prediction expected = mz_allocator_predict(r->allocator, plan);
  const double price = priced ? mz_plan_price_s(r->options.pipeline, r->options.settings, plan) : 1;
  return (expected.unit_s + expected.apart_s) * price;
}

/* The measured plan of the least expected cost; *plan, the present one, where none is better. */
static void take_best(const mz_replayed *r, mz_plan *plan) {
  const mz_analytic *model = mz_allocator_model(r->allocator);
  double least = expected_cost(r, plan);
  for (int i = 0; i < model->plan_count; i++) {
    const mz_plan *other = &model->plans[i].plan;
    const double cost = expected_cost(r, other);
    if (mz_plan_refused(model->pipeline, &r->options.bounds, other) || !(cost < least)) continue;
    least = cost;
    *plan = *other;
  }
}

static void print_expected(const char *label, const mz_prediction *p, const char *unit, const char *plan) {
  if (isfinite(p->unit_s))
    printf("%s %.4g ms%s (90 %%: %.4g to %.4g): %s\n", label, 1e3 * p->unit_s, unit, 1e3 * p->low, 1e3 * p->high, plan);
  else
    printf("%s nothing was measured that predicts its time: %s\n", label, plan);
}

/* Leaves out what is not known, and the cost where nothing has a price. */
static void print_ratios(double time, double cost, const char *refused) {
  char text[96] = "";
  if (isfinite(time)) snprintf(text, sizeof text, "%.3g of the time", time);
  if (isfinite(time) && isfinite(cost)) snprintf(text + strlen(text), sizeof text - strlen(text), ", %.3g of the cost", cost);
  if (text[0] || refused)
    printf("         %s%s%s%s\n", text, text[0] && refused ? "; " : "", refused ? "it would be refused: " : "",
           refused ? refused : "");
}

static mz_status answer(const what_if_arguments *arguments, const mz_replayed *replayed) {
  const mz_pipeline *pipeline = replayed->options.pipeline;
  const mz_plan *kept = mz_allocator_kept(replayed->allocator);
  mz_plan other = *kept;
  if (arguments->best && arguments->sets.count > 0)
    return mz_fail(MZ_E_USAGE, "--best: chooses the plan by itself; leave --set %s out, or --best", arguments->sets.items[0]);
  if (arguments->best) take_best(replayed, &other);
  for (int i = 0; i < arguments->sets.count; i++) MZ_TRY(set_knob(pipeline, &other, arguments->sets.items[i]));
  const mz_prediction was = mz_allocator_predict(replayed->allocator, kept),
                      would = mz_allocator_predict(replayed->allocator, &other);
  const char *refused = mz_plan_refused(pipeline, &replayed->options.bounds, &other);
  const int measured = times_measured(mz_allocator_model(replayed->allocator), &other);
  const double price = mz_plan_price_s(pipeline, replayed->options.settings, kept),
               other_price = mz_plan_price_s(pipeline, replayed->options.settings, &other);
  if (arguments->json) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "kept", prediction_json(pipeline, kept, &was));
    cJSON_AddItemToObject(o, "other", prediction_json(pipeline, &other, &would));
    cJSON_AddNumberToObject(o, "time_ratio", would.unit_s / was.unit_s);
    cJSON_AddNumberToObject(o, "cost_ratio", would.unit_s * other_price / (was.unit_s * price));
    cJSON_AddNumberToObject(o, "measured", measured);
    cJSON_AddItemToObject(o, "refused", refused ? cJSON_CreateString(refused) : cJSON_CreateNull());
    cJSON_AddNumberToObject(o, "replayed", (double)replayed->decisions);
    cJSON_AddNumberToObject(o, "differences", (double)replayed->differences);
    return mz_print_json(o);
  }
  char text[300];
  mz_plan_text(pipeline, kept, NULL, text, sizeof text);
  print_expected("kept:   ", &was, " a unit of work", text);
  mz_plan_text(pipeline, &other, kept, text, sizeof text);
  print_expected("what if:", &would, "", text[0] ? text : "the same plan");
  if (measured > 0)
    printf("         measured in %d window%s\n", measured, mz_plural(measured));
  else
    printf("         never measured%s\n", isfinite(would.unit_s) ? ": inferred from other plans" : "");
  print_ratios(would.unit_s / was.unit_s, would.unit_s * other_price / (was.unit_s * price), refused);
  printf("%lld decision%s replayed; %lld differ%s from the ledger\n", (long long)replayed->decisions,
         mz_plural((double)replayed->decisions), (long long)replayed->differences, replayed->differences == 1 ? "s" : "");
  if (replayed->followed > 0)
    printf("%lld earlier ones were made by other rules and taken as they are\n", (long long)replayed->followed);
  return mz_print_flush();
}

/* A phase within a window has no decision of its own, but one before it; one that was never played has none. */
static mz_status check_played(const what_if_arguments *arguments, const char *path, const mz_replayed *replayed) {
  mz_replayed whole;
  if (arguments->phase == MZ_COUNT_UNSET || replayed->phase >= arguments->phase) return MZ_OK;
  MZ_TRY(mz_ledger_replay(path, INT64_MAX, &whole));
  const int64_t last = whole.phase;
  mz_replayed_free(&whole);
  if (arguments->phase <= last) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: has no decision after phase %lld; the last is after phase %lld", arguments->run,
                 (long long)arguments->phase, (long long)last);
}

static mz_status what_if(const void *given) {
  const what_if_arguments *arguments = given;
  char run[MZ_RUN_ARGUMENT_SIZE], path[1024];
  MZ_TRY(mz_run_argument_whole(arguments->run, "a ledger", run));
  MZ_TRY(mz_ledger_path(run, path, sizeof path));
  mz_replayed replayed;
  MZ_TRY(mz_ledger_replay(path, arguments->phase == MZ_COUNT_UNSET ? INT64_MAX : arguments->phase, &replayed));
  mz_status status = replayed.allocator ? check_played(arguments, path, &replayed)
                                        : mz_fail(MZ_E_CONFIG, "%s: its ledger is empty: there is no plan yet", arguments->run);
  if (status == MZ_OK) status = answer(arguments, &replayed);
  mz_replayed_free(&replayed);
  return status;
}

const mz_command mz_command_what_if = {
    .name = "what-if",
    .summary = "what another plan would have been expected to do",
    .about = "Replays a run's ledger up to a phase, which gives the same decisions again, and asks the model that drove there "
             "for another plan, or with --best for the best one that was measured. Says whether the plan was ever measured.",
    .options = options,
    .arguments_size = sizeof(what_if_arguments),
    .examples = {"what-if runs/cp --phase 3 --set cpu_actor=1", "what-if runs/cp --set mcts_storage_size=32 --json"},
    .run = what_if,
};
