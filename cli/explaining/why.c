#include "allocator/records/ledger.h"
#include "cli/commands.h"
#include "cli/explaining/why_graph.h"
#include "cli/explaining/why_summary.h"
#include "cli/print.h"
#include "cli/run_argument.h"
#include "muzero/knobs.h"
#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct why_arguments {
  const char *run, *graph, *layout;
  int64_t phase;
  bool json;
} why_arguments;

#define AT(field) offsetof(why_arguments, field)
static const mz_option options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_WHOLE_RUN_HELP},
    MZ_OPTION_PHASE(AT(phase), "all that changed something", "the decision after this phase, with everything that was known"),
    {.name = "--graph",
     .type = MZ_OPTION_TEXT,
     .offset = AT(graph),
     .value = "FILE",
     .class_ = MZ_OPERATIONAL,
     .help = "also draws the pipeline under the plan that is in force after that decision (the last one), as the graph that "
             "predictors read: FILE.svg, or FILE.dot as text for Graphviz"},
    {.name = "--layout",
     .type = MZ_OPTION_TEXT,
     .offset = AT(layout),
     .value = "L",
     .otherwise = "graphviz where it is on PATH, own elsewhere",
     .class_ = MZ_OPERATIONAL,
     .help = "who arranges the parts of FILE.svg",
     .choice = mz_why_graph_layout},
    {.name = "--json",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(json),
     .class_ = MZ_OPERATIONAL,
     .help = "one JSON object a decision on stdout, a line each"},
    {0},
};

/* Seconds per unit, in a unit that people read. */
static const char *per_unit(double seconds, char out[MZ_TEXT_SIZE]) {
  if (!isfinite(seconds))
    snprintf(out, MZ_TEXT_SIZE, "unknown");
  else if (seconds < 1)
    snprintf(out, MZ_TEXT_SIZE, "%.4g ms", 1e3 * seconds);
  else
    snprintf(out, MZ_TEXT_SIZE, "%.4g s", seconds);
  return out;
}

/* Prints the value of a knob: a device by its name, as its setting takes it. pipeline: of the ledger's section, or NULL. */
static void print_value(const cJSON *pipeline, const char *knob, double value) {
  const cJSON *described;
  cJSON_ArrayForEach(described, mz_json_item(pipeline, "knobs")) {
    const bool places = strcmp(mz_json_text_or_empty(described, "scale"), "choice") == 0;
    if (!places || strcmp(mz_json_text_or_empty(described, "name"), knob) != 0 || !(value >= 0 && value < INT_MAX)) continue;
    const cJSON *device = cJSON_GetArrayItem(mz_json_item(pipeline, "devices"), (int)value);
    if (!mz_json_text_or_empty(device, "name")[0]) break;
    printf("%s", mz_json_text_or_empty(device, "name"));
    return;
  }
  printf("%.0f", value);
}

/* Knobs of `plan`, or only those in which it differs from `from`. */
static void print_plan(const cJSON *pipeline, const cJSON *plan, const cJSON *from) {
  const cJSON *knob;
  bool any = false;
  if (!cJSON_IsObject(plan)) plan = NULL; /* a damaged line */
  cJSON_ArrayForEach(knob, plan) {
    const cJSON *old = from ? mz_json_item(from, knob->string) : NULL;
    if (from && cJSON_IsNumber(old) && old->valuedouble == knob->valuedouble) continue;
    printf("%s%s ", any ? ", " : "", mz_knob_setting(knob->string));
    if (from && cJSON_IsNumber(old)) {
      print_value(pipeline, knob->string, old->valuedouble);
      printf(" → ");
    }
    print_value(pipeline, knob->string, knob->valuedouble);
    any = true;
  }
  if (!any) printf("no change");
}

static void print_short(const cJSON *pipeline, const cJSON *d) {
  printf("phase %.0f: %s: ", mz_json_number_or_nan(d, "phase"), mz_json_text_or_empty(d, "action"));
  print_plan(pipeline, mz_json_item(d, "next"), mz_json_item(d, "plan"));
  printf("\n  %s\n", mz_json_text_or_empty(d, "reason"));
}

static void print_stages(const cJSON *window) {
  const cJSON *stage;
  const double wall_s = mz_json_number_or_nan(window, "wall_s");
  if (!(wall_s > 0)) return;
  printf("  stages, as shares of the phase's %.3g s: ", wall_s);
  bool any = false;
  cJSON_ArrayForEach(stage, mz_json_item(window, "stages")) {
    const double busy = cJSON_GetNumberValue(cJSON_GetArrayItem(stage, 1)),
                 in = cJSON_GetNumberValue(cJSON_GetArrayItem(stage, 3)),
                 out = cJSON_GetNumberValue(cJSON_GetArrayItem(stage, 4)),
                 waited_for = cJSON_GetNumberValue(cJSON_GetArrayItem(stage, 7));
    if (busy + in + out <= 0) continue;
    printf("%s%s busy %.2f", any ? "; " : "", stage->string, busy / wall_s);
    if (in > 0) printf(", waited for input %.2f", in / wall_s);
    if (out > 0) printf(", waited for room %.2f", out / wall_s);
    if (waited_for > 0) printf(", others waited for it %.2f", waited_for / wall_s);
    any = true;
  }
  printf("\n");
}

/* How far predictions were off before a baseline run, and at its end. */
static void print_baseline(const cJSON *baseline) {
  const double before = mz_json_number_or_nan(baseline, "before"), after = mz_json_number_or_nan(baseline, "after");
  if (!baseline) return;
  const double windows = mz_json_number_or_nan(baseline, "windows");
  printf("  a baseline ended, of %.0f window%s", windows, mz_plural(windows));
  if (isfinite(before)) printf("; before it the plan took %.3g times what was predicted", exp(before));
  if (isfinite(after)) printf("%s in its last one %.3g times", isfinite(before) ? "," : ";", exp(after));
  printf("\n");
}

static void print_long(const cJSON *pipeline, const cJSON *d) {
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE], c[MZ_TEXT_SIZE], e[MZ_TEXT_SIZE];
  printf("Phase %.0f, strategy %s.\n  plan: ", mz_json_number_or_nan(d, "phase"), mz_json_text_or_empty(d, "strategy"));
  print_plan(pipeline, mz_json_item(d, "plan"), NULL);
  printf("\n  observed %s a unit of work; predicted %s (90 %%: %s to %s) by the %s\n",
         per_unit(mz_json_number_or_nan(d, "observed"), a), per_unit(mz_json_number_or_nan(d, "predicted"), b),
         per_unit(mz_json_number_or_nan(d, "low"), c), per_unit(mz_json_number_or_nan(d, "high"), e),
         mz_json_text_or_empty(d, "predictor"));
  print_stages(mz_json_item(d, "window"));
  printf("  decision: %s: ", mz_json_text_or_empty(d, "action"));
  print_plan(pipeline, mz_json_item(d, "next"), mz_json_item(d, "plan"));
  printf("\n  why: %s\n", mz_json_text_or_empty(d, "reason"));
  if (isfinite(mz_json_number_or_nan(d, "ratio")) && !isfinite(mz_json_number_or_nan(d, "ratio_high")))
    printf("  the trial's speed over the old plan's: %.3f, shown by its rounds\n", mz_json_number_or_nan(d, "ratio"));
  else if (isfinite(mz_json_number_or_nan(d, "ratio")))
    printf("  the trial's speed over the old plan's: %.3f (90 %%: %.3f to %.3f)\n", mz_json_number_or_nan(d, "ratio"),
           mz_json_number_or_nan(d, "ratio_low"), mz_json_number_or_nan(d, "ratio_high"));
  print_baseline(mz_json_item(d, "baseline"));
  if (mz_json_text_or_empty(d, "assigned")[0]) printf("  assigned: %s\n", mz_json_text_or_empty(d, "assigned"));
  if (mz_json_text_or_empty(d, "binding")[0]) printf("  bound by %s\n", mz_json_text_or_empty(d, "binding"));
  if (mz_json_text_or_empty(d, "refused")[0]) printf("  could not be carried out: %s\n", mz_json_text_or_empty(d, "refused"));
  const cJSON *candidate;
  cJSON_ArrayForEach(candidate, mz_json_item(d, "candidates")) {
    printf("  looked at: ");
    print_plan(pipeline, mz_json_item(candidate, "plan"), mz_json_item(d, "plan"));
    printf(": %s a unit predicted%s%s\n", per_unit(mz_json_number_or_nan(candidate, "predicted"), a),
           mz_json_text_or_empty(candidate, "why_not")[0] ? "; not taken: " : "; taken",
           mz_json_text_or_empty(candidate, "why_not"));
  }
}

typedef struct reading {
  const why_arguments *arguments;
  int64_t decisions, kept, shown;
  int64_t nearest;     /* the phase of the decision that is nearest to the one asked for */
  double cores, bytes; /* that the section before was bound to; 0: there was none */
  cJSON *pipeline;     /* of the section, fit for a terminal; NULL: there was none */
} reading;

enum { WHERE_SIZE = 32 };

/* A line of the ledger; `where` names it. */
static mz_status parse(const char *line, size_t length, int64_t at, char where[WHERE_SIZE], cJSON **out) {
  snprintf(where, WHERE_SIZE, "ledger, line %lld", (long long)at);
  return mz_json_parse(line, length, where, false, MZ_E_CHECKPOINT, out);
}

static bool shows_all(const why_arguments *arguments) { return arguments->phase == MZ_COUNT_UNSET && !arguments->json; }

/* Tells where a section has other bounds than the one before: the machine grants more or less. */
static void print_bounds(reading *r, const cJSON *open) {
  const cJSON *bounds = mz_json_item(open, "bounds");
  const double cores = mz_json_number_or_nan(bounds, "cpu_max"), bytes = mz_json_number_or_nan(bounds, "memory_max");
  const double phase = mz_json_number_or_nan(open, "phase");
  if (r->cores > 0 && cores != r->cores) printf("after phase %.0f: cores that a plan may use: %g → %g\n", phase, r->cores, cores);
  if (r->bytes > 0 && fabs(bytes - r->bytes) > 0.1 * r->bytes) /* what is free differs from start to start */
    printf("after phase %.0f: memory that a plan may need: %.0f → %.0f MiB\n", phase, r->bytes / 0x1p20, bytes / 0x1p20);
  r->cores = cores;
  r->bytes = bytes;
}

/* The line that begins a section. */
static mz_status read_section(reading *r, const char *line, size_t length, int64_t at) {
  char where[WHERE_SIZE];
  cJSON *open;
  MZ_TRY(parse(line, length, at, where, &open));
  if (shows_all(r->arguments)) print_bounds(r, open);
  cJSON_Delete(r->pipeline);
  r->pipeline = cJSON_DetachItemFromObjectCaseSensitive(open, "pipeline");
  cJSON_Delete(open);
  return r->pipeline ? mz_json_show(r->pipeline) : MZ_OK;
}

/* What scripts read of a decision is its line without its inputs. */
static mz_status print_line(const char *line, size_t length, int64_t at) {
  const size_t before = mz_ledger_before_inputs(line, length);
  char *text, where[WHERE_SIZE];
  cJSON *decision;
  MZ_TRY(mz_alloc(&text, length + 1, 1));
  memcpy(text, line, before);
  if (before < length) text[before] = '}';
  const mz_status status = parse(text, before + (before < length), at, where, &decision);
  free(text);
  return status == MZ_OK ? mz_print_json(decision) : status;
}

/* A judgement of goodput is shown where loop_count moved. */
static mz_status print_goodput(const cJSON *json, const char *where) {
  mz_goodput_record record;
  MZ_TRY(mz_goodput_from_json(&record, json, where, MZ_E_CHECKPOINT));
  if (record.next != record.training)
    printf("after phase %lld, round %lld: loop_count %lld instead of %lld\n  %s\n\n", (long long)record.phase,
           (long long)record.round, (long long)record.next, (long long)record.training, mz_json_text_or_empty(json, "reason"));
  return MZ_OK;
}

static mz_status print_batch_move(const cJSON *json, const char *where) {
  mz_batch_move move;
  MZ_TRY(mz_batch_move_from_json(&move, json, where, MZ_E_CHECKPOINT));
  printf("after phase %lld, round %lld: batch_size %lld instead of %lld, by %s\n\n", (long long)move.phase, (long long)move.round,
         (long long)move.to, (long long)move.from, mz_json_text_or_empty(json, "by"));
  return MZ_OK;
}

/* Prints the line about a stage, or about all of them. */
static mz_status print_stage(const cJSON *json, const char *where) {
  (void)where;
  printf("after phase %.0f: %s\n\n", mz_json_number_or_nan(json, "phase"), mz_json_text_or_empty(json, "reason"));
  return MZ_OK;
}

static mz_status print_promise(const cJSON *json, const char *where) {
  mz_promise p;
  MZ_TRY(mz_promise_from_json(&p, json, where, MZ_E_CHECKPOINT));
  printf(
      "planned for the whole run: %g core%s, batches of %g rows, %lld epoch%s\n  promised (90 %%): %.4g s (%.4g to %.4g), score "
      "%.4g (%.4g at least), cost %.3g (%.3g to %.3g)\n\n",
      p.amounts[MZ_COURSE_CORES], mz_plural(p.amounts[MZ_COURSE_CORES]), p.batch_size, (long long)p.epochs,
      mz_plural((double)p.epochs), p.seconds.estimate, p.seconds.low, p.seconds.high, p.score.estimate, p.score.low,
      p.cost.estimate, p.cost.low, p.cost.high);
  return MZ_OK;
}

static const char *kept_or_not(const cJSON *outcome, const char *key) {
  return cJSON_IsTrue(mz_json_item(outcome, key)) ? "kept" : "not kept";
}

static mz_status print_outcome(const cJSON *o, const char *where) {
  (void)where;
  const double epochs = mz_json_number_or_nan(o, "epochs");
  printf("after %.0f epoch%s the run ended (%s): %.4g s, deadline %s; score %.4g, target %s; cost %.3g, budget %s\n\n", epochs,
         mz_plural(epochs), mz_json_text_or_empty(o, "reason"), mz_json_number_or_nan(o, "seconds"), kept_or_not(o, "in_time"),
         mz_json_number_or_nan(o, "score"), kept_or_not(o, "reached"), mz_json_number_or_nan(o, "cost"),
         kept_or_not(o, "affordable"));
  return MZ_OK;
}

/* Events that are no decisions, shown among all that changed something. */
static mz_status read_event(const char *line, size_t length, int64_t at) {
  static const struct {
    const char *event;
    mz_status (*print)(const cJSON *json, const char *where);
  } rows[] = {{"goodput", print_goodput}, {"batch_size", print_batch_move}, {"promise", print_promise},
              {"outcome", print_outcome}, {"stage", print_stage},           {"stages", print_stage}};
  enum { ROWS = sizeof rows / sizeof rows[0] };
  size_t i = 0;
  char where[WHERE_SIZE];
  cJSON *json;
  while (i < ROWS && !mz_ledger_is(line, rows[i].event)) i++;
  if (i == ROWS) return MZ_OK;
  MZ_TRY(parse(line, length, at, where, &json));
  mz_status status = mz_json_show(json);
  if (status == MZ_OK) status = rows[i].print(json, where);
  cJSON_Delete(json);
  return status;
}

static int64_t apart(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

static mz_status read_line(void *context, const char *line, size_t length, int64_t at) {
  reading *r = context;
  int64_t phase;
  char action[16];
  if (mz_ledger_is(line, "open")) return r->arguments->json ? MZ_OK : read_section(r, line, length, at);
  if (!mz_ledger_peek(line, &phase, action)) return shows_all(r->arguments) ? read_event(line, length, at) : MZ_OK;
  const bool one = r->arguments->phase != MZ_COUNT_UNSET, keeps = strcmp(action, "keep") == 0 || strcmp(action, "wait") == 0;
  if (one && (r->decisions == 0 || apart(phase, r->arguments->phase) < apart(r->nearest, r->arguments->phase)))
    r->nearest = phase;
  r->decisions++;
  r->kept += keeps;
  if (one && phase != r->arguments->phase) return MZ_OK;
  if (!one && keeps && !r->arguments->json) return MZ_OK;
  r->shown++;
  cJSON *decision;
  char where[WHERE_SIZE];
  if (r->arguments->json) return print_line(line, length, at);
  MZ_TRY(parse(line, length, at, where, &decision));
  const mz_status status = mz_json_show(decision);
  if (status == MZ_OK) (one ? print_long : print_short)(r->pipeline, decision);
  cJSON_Delete(decision);
  return status;
}

/* A decision of the ledger, for the summary. */
static mz_status sum_line(void *context, const char *line, size_t length, int64_t at) {
  int64_t phase;
  char action[16], where[WHERE_SIZE];
  cJSON *decision;
  if (!mz_ledger_peek(line, &phase, action)) return MZ_OK;
  MZ_TRY(parse(line, length, at, where, &decision));
  mz_why_summary_add(context, decision);
  cJSON_Delete(decision);
  return MZ_OK;
}

static mz_status summarise(const char *path) {
  mz_why_summary *summary;
  MZ_TRY(mz_alloc(&summary, 1, sizeof *summary));
  const mz_status status = mz_ledger_read(path, sum_line, summary);
  if (status == MZ_OK) mz_why_summary_print(summary);
  free(summary);
  return status;
}

static mz_status why(const void *given) {
  const why_arguments *arguments = given;
  reading r = {.arguments = arguments};
  char run[MZ_RUN_ARGUMENT_SIZE], path[1024];
  MZ_TRY(mz_run_argument_whole(arguments->run, "a ledger", run));
  MZ_TRY(mz_ledger_path(run, path, sizeof path));
  if (arguments->layout && !arguments->graph)
    return mz_fail(MZ_E_USAGE, "--layout %s: arranges what --graph draws; give --graph FILE.svg, too", arguments->layout);
  if (arguments->graph)
    MZ_TRY(mz_why_graph_write(
        &(mz_why_graph_options){.run = arguments->run,
                                .ledger = path,
                                .phase = arguments->phase == MZ_COUNT_UNSET ? MZ_NEWEST_PHASE : arguments->phase,
                                .out = arguments->graph,
                                .layout = arguments->layout}));
  const bool all = shows_all(arguments);
  if (all) MZ_TRY(summarise(path));
  const mz_status status = mz_ledger_read(path, read_line, &r);
  cJSON_Delete(r.pipeline);
  MZ_TRY(status);
  if (arguments->phase != MZ_COUNT_UNSET && r.decisions == 0)
    return mz_fail(MZ_E_CONFIG, "%s: its ledger is empty: there is no decision yet", arguments->run);
  if (arguments->phase != MZ_COUNT_UNSET && r.shown == 0)
    return mz_fail(MZ_E_CONFIG, "%s: there is no decision after phase %lld; the nearest is after phase %lld", arguments->run,
                   (long long)arguments->phase, (long long)r.nearest);
  if (all)
    printf("%lld decision%s; left out here, for they kept the plan or let a trial continue: %lld (--phase N shows any)\n",
           (long long)r.decisions, mz_plural((double)r.decisions), (long long)r.kept);
  return mz_print_flush();
}

const mz_command mz_command_why = {
    .name = "why",
    .summary = "the allocator's decisions explained",
    .about =
        "Reads a run's ledger: how many plans were tried, kept and undone, what that took and gained, and what was changed after "
        "which phase and why; with --phase, one decision with what was predicted, observed, looked at and rejected. --json "
        "prints one object per decision; --graph draws the pipeline.",
    .options = options,
    .arguments_size = sizeof(why_arguments),
    .examples = {"why runs/cp --phase 3", "why runs/cp --graph pipeline.svg"},
    .run = why,
};
