#include "allocator/records/history.h"
#include "cli/commands.h"
#include "cli/explaining/course_plan.h"
#include "cli/explaining/drawing.h"
#include "cli/explaining/plan_trace.h"
#include "cli/explaining/run_plan.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "muzero/steering/planning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_arguments {
  mz_text_list sets;
  const char *env, *preset, *history, *machine, *trace, *device;
  const char *tradeoff, *course;
  int64_t threads, seed, epochs, stages;
  double deadline, target, budget;
  bool json;
} plan_arguments;

#define AT(field) offsetof(plan_arguments, field)
static const mz_option options[] = {
    MZ_OPTION_ENV(AT(env)),
    {.name = "--machine",
     .type = MZ_OPTION_TEXT,
     .offset = AT(machine),
     .value = "sim:K=V,…",
     .otherwise = "this one",
     .class_ = MZ_OPERATIONAL,
     .help = "a simulated machine: sim:cores=64,numa=2; its stages are timed here, its figures are predictions for a simulation"},
    {.name = "--trace",
     .type = MZ_OPTION_TEXT,
     .offset = AT(trace),
     .value = "OUT.svg",
     .class_ = MZ_OPERATIONAL,
     .help = "the search as a plot: temperature, energy and accepted moves"},
    {.name = "--target",
     .type = MZ_OPTION_NUMBER,
     .offset = AT(target),
     .value = "S",
     .otherwise = "rounds are planned",
     .class_ = MZ_OPERATIONAL,
     .help =
         "plan a whole run instead: the cheapest cores, batch size and epochs that reach this score, from learning curves in the "
         "history (`muzero profile ENV --score` makes some)"},
    {.name = "--deadline",
     .type = MZ_OPTION_TIME,
     .offset = AT(deadline),
     .value = "T",
     .otherwise = "limits.deadline, or none",
     .class_ = MZ_OPERATIONAL,
     .help = "with --target: the run ends within this time: 90s, 10m, 2h"},
    {.name = "--budget",
     .type = MZ_OPTION_NUMBER,
     .offset = AT(budget),
     .value = "C",
     .otherwise = "limits.budget, or none",
     .class_ = MZ_OPERATIONAL,
     .help = "with --target: the run costs no more than this, by prices.*"},
    {.name = "--epochs",
     .type = MZ_OPTION_COUNT,
     .offset = AT(epochs),
     .value = "N",
     .otherwise = "planned",
     .min = 1,
     .max = 1000000,
     .class_ = MZ_OPERATIONAL,
     .help = "with --target: so many epochs, each a phase: train.phase_rounds rounds and an evaluation"},
    {.name = "--tradeoff",
     .type = MZ_OPTION_TEXT,
     .offset = AT(tradeoff),
     .value = "OUT.svg",
     .class_ = MZ_OPERATIONAL,
     .help = "with --target: time against cost of every choice of cores and batch size, as a picture"},
    {.name = "--course",
     .type = MZ_OPTION_TEXT,
     .offset = AT(course),
     .value = "FILE",
     .otherwise = "no course is fitted",
     .class_ = MZ_OPERATIONAL,
     .help = "with --target, --deadline, --budget and --epochs: fit a course to the learning curves instead, for an agent of "
             "allocation:course=FILE that plans runs by stages (allocate.policy), with --machine those on that machine"},
    {.name = "--stages",
     .type = MZ_OPTION_COUNT,
     .offset = AT(stages),
     .value = "N",
     .otherwise = "8",
     .min = 4,
     .max = 16,
     .class_ = MZ_OPERATIONAL,
     .help = "with --course: stages that the epochs are cut into"},
    MZ_OPTION_HISTORY(AT(history), "what was measured on this machine; none: probes alone predict"),
    MZ_OPTION_PRESET(AT(preset)),
    {.name = "--set",
     .type = MZ_OPTION_LIST,
     .offset = AT(sets),
     .value = "k=v",
     .otherwise = "the preset's",
     .class_ = MZ_ALGORITHMIC,
     .help = "a setting of `muzero train --help`; allocate.predictor, allocate.search, allocate.objective and limits.* tell how "
             "to plan"},
    {.name = "--device",
     .type = MZ_OPTION_TEXT,
     .offset = AT(device),
     .value = "D",
     .otherwise = "auto",
     .class_ = MZ_NUMERIC,
     .help = "where stages begin on this machine: auto, cpu, cuda or cuda:N"},
    MZ_OPTION_THREADS(AT(threads), "budget of worker threads in all"),
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .fallback = "1",
     .max = 9e15,
     .class_ = MZ_OPERATIONAL,
     .help = "of the weights and games that are timed"},
    MZ_OPTION_JSON(AT(json)),
    {0},
};

static cJSON *limits_json(const mz_bounds *b) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "cpu_max", b->cpu_max);
  cJSON_AddNumberToObject(o, "gpu_max", b->gpu_max);
  cJSON_AddNumberToObject(o, "memory_max", b->memory_max);
  return o;
}

static mz_status print_json(const mz_planning *p, bool simulated) {
  const mz_prediction *best = &p->of_best.prediction;
  cJSON *o = cJSON_CreateObject(), *search;
  cJSON_AddItemToObject(o, "plan", mz_plan_to_json(&p->pipeline, &p->best));
  cJSON_AddItemToObject(o, "start", mz_plan_to_json(&p->pipeline, &p->start));
  cJSON_AddNumberToObject(o, "predicted_s", best->unit_s);
  cJSON_AddNumberToObject(o, "low", best->low);
  cJSON_AddNumberToObject(o, "high", best->high);
  cJSON_AddNumberToObject(o, "start_predicted_s", p->of_start.prediction.unit_s);
  cJSON_AddNumberToObject(o, "cost", best->unit_s * mz_plan_price_s(&p->pipeline, &p->settings, &p->best));
  cJSON_AddItemToObject(o, "limits", limits_json(&p->bounds));
  cJSON_AddStringToObject(o, "predictor", p->predictor);
  cJSON_AddNumberToObject(o, "plans_measured", p->plans_measured);
  cJSON_AddBoolToObject(o, "simulated", simulated);
  search = cJSON_AddObjectToObject(o, "search");
  cJSON_AddNumberToObject(search, "plans", (double)p->found.plans);
  cJSON_AddNumberToObject(search, "evaluated", p->found.evaluated);
  cJSON_AddNumberToObject(search, "proposals", (double)p->found.proposals);
  cJSON_AddStringToObject(search, "end", mz_search_end_name(p->found.end));
  return mz_print_json(o);
}

static mz_status print_text(const mz_planning *p, bool simulated) {
  char plan[256], change[128], sum[256], now[MZ_OUTLOOK_TEXT], low[MZ_OUTLOOK_TEXT], high[MZ_OUTLOOK_TEXT],
      before[MZ_OUTLOOK_TEXT];
  const mz_prediction *best = &p->of_best.prediction;
  mz_plan_text(&p->pipeline, &p->best, NULL, plan, sizeof plan);
  printf("plan       %s\n", plan);
  printf("predicted  %s a round of full work (90 %%: %s to %s)%s\n", mz_outlook_text(best->unit_s, now),
         mz_outlook_text(best->low, low), mz_outlook_text(best->high, high), simulated ? ", simulated machine" : "");
  if (mz_plan_equal(&p->pipeline, &p->best, &p->start)) {
    printf("that is what the run begins with: no plan is predicted to be better\n");
  } else {
    mz_plan_text(&p->pipeline, &p->best, &p->start, change, sizeof change);
    printf("instead of %s: %s\n", mz_outlook_text(p->of_start.prediction.unit_s, before), change);
  }
  for (int d = 0; d < p->pipeline.device_count; d++) {
    if (mz_plan_gpu_bytes(&p->pipeline, &p->best, d, sum, sizeof sum) > 0)
      printf("memory     of %s: %s\n", p->pipeline.devices[d].name, sum);
  }
  printf("predictor  %s, %d plan%s measured\n", p->predictor, p->plans_measured, mz_plural(p->plans_measured));
  printf("search     %d of %lld plans evaluated, until %s\n", p->found.evaluated, (long long)p->found.plans,
         p->found.end == MZ_SEARCH_ALL     ? "all were seen"
         : p->found.end == MZ_SEARCH_SPENT ? "its share was spent"
                                           : "annealing ended");
  return mz_print_flush();
}

/* ---- whole runs ---- */

static mz_status fit_course(const plan_arguments *a, const mz_run_options *run) {
  if (a->tradeoff) return mz_fail(MZ_E_USAGE, "--tradeoff: draws plans of whole runs; leave it out, or leave out --course");
  const mz_course_plan_view asked = {.run = *run,
                                     .deadline_s = a->deadline,
                                     .target = a->target,
                                     .budget = a->budget,
                                     .epochs = a->epochs == MZ_COUNT_UNSET ? 0 : a->epochs,
                                     .stages = a->stages == MZ_COUNT_UNSET ? 0 : a->stages,
                                     .machine = a->machine,
                                     .file = a->course,
                                     .json = a->json};
  return mz_course_plan_show(&asked);
}

static mz_status plan_run(const plan_arguments *a, const mz_run_options *run) {
  if (a->trace) return mz_fail(MZ_E_USAGE, "--trace: draws the search of plans of rounds; leave it out, or leave out --target");
  if (a->course) return fit_course(a, run);
  if (a->stages != MZ_COUNT_UNSET) return mz_fail(MZ_E_USAGE, "--stages: belongs to --course FILE");
  const mz_run_plan_view asked = {.run = *run,
                                  .deadline_s = a->deadline,
                                  .target = a->target,
                                  .budget = a->budget,
                                  .epochs = a->epochs == MZ_COUNT_UNSET ? 0 : a->epochs,
                                  .machine = a->machine,
                                  .tradeoff = a->tradeoff,
                                  .json = a->json};
  return mz_run_plan_show(&asked);
}

static mz_status refuse_limits(const plan_arguments *a) {
  const char *flag = !isnan(a->deadline)           ? "--deadline"
                     : !isnan(a->budget)           ? "--budget"
                     : a->epochs != MZ_COUNT_UNSET ? "--epochs"
                     : a->tradeoff                 ? "--tradeoff"
                     : a->course                   ? "--course"
                     : a->stages != MZ_COUNT_UNSET ? "--stages"
                                                   : NULL;
  if (!flag) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "%s: belongs to the plan of a whole run, which needs --target S, the score that it is after", flag);
}

static mz_status run_plan(const void *given) {
  const plan_arguments *arguments = given;
  MZ_TRY(mz_session_check_machine(arguments->machine, arguments->device));
  char history[512];
  mz_sim_machine machine;
  mz_planning *p;
  mz_run_options run = {.env = arguments->env,
                        .preset = arguments->preset,
                        .sets = arguments->sets.items,
                        .set_count = arguments->sets.count,
                        .history = arguments->history,
                        .device = arguments->device,
                        .threads = (int)arguments->threads,
                        .seed = (uint64_t)arguments->seed,
                        .seed_given = true};
  if (!run.history && mz_history_default_path(history, sizeof history)) {
    run.history = history;
    run.history_optional = true;
  }
  if (arguments->trace) MZ_TRY(mz_drawing_check_name("--trace", arguments->trace));
  if (arguments->tradeoff) MZ_TRY(mz_drawing_check_name("--tradeoff", arguments->tradeoff));
  if (!isnan(arguments->target)) return plan_run(arguments, &run);
  MZ_TRY(refuse_limits(arguments));
  if (arguments->machine) MZ_TRY(mz_sim_machine_parse(&machine, arguments->machine));
  MZ_TRY(mz_planning_make(&p, &run, arguments->machine ? &machine : NULL));
  mz_status status = MZ_OK;
  if (!isfinite(p->of_best.prediction.unit_s))
    status = mz_fail(MZ_E_CONFIG, "plan: nothing is predicted: no stage could be timed");
  if (status == MZ_OK && arguments->trace) status = mz_plan_trace_write(arguments->trace, &p->found);
  if (status == MZ_OK) status = arguments->json ? print_json(p, arguments->machine) : print_text(p, arguments->machine);
  free(p);
  return status;
}

const mz_command mz_command_plan = {
    .name = "plan",
    .summary = "the plan that is predicted to be best, without a run",
    .about =
        "Times the stages for some milliseconds, reads what was measured on this machine, and searches for the plan that is "
        "predicted to take the least time a round (or money, with --set allocate.objective=cost), by simulated annealing. A run "
        "with --allocate adaptive begins the same way, and then measures. With --target it plans a whole run: the cheapest "
        "cores, batch size and epochs that reach the score in time, or by how much each limit would have to give; --allocate "
        "static carries that out.",
    .options = options,
    .arguments_size = sizeof(plan_arguments),
    .examples = {"plan connect4 --machine sim:cores=64,numa=2 --trace search.svg",
                 "plan cartpole --target 475 --deadline 10s --tradeoff tradeoff.svg"},
    .run = run_plan,
};
