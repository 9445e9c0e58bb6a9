#include "cli/explaining/run_plan.h"
#include "cli/explaining/run_plan_drawing.h"
#include "cli/print.h"
#include "muzero/batch_schedule.h"
#include "muzero/compare/simulated_runs.h"
#include "muzero/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking ---- */

static mz_run_ask ask_of(const mz_run_plan_view *view, const mz_settings *settings, const mz_env *env) {
  mz_run_ask ask = mz_run_ask_of(settings, env, &view->run);
  ask.target = view->target;
  ask.epochs = view->epochs;
  ask.epochs_open = view->epochs == 0;
  ask.env = view->run.env;
  if (!isnan(view->deadline_s)) ask.deadline_s = view->deadline_s;
  if (!isnan(view->budget)) ask.budget = view->budget;
  return ask;
}

/* ---- JSON ---- */

static void add_interval(cJSON *o, const char *name, mz_interval interval) {
  cJSON *at = cJSON_AddObjectToObject(o, name);
  cJSON_AddNumberToObject(at, "estimate", interval.estimate);
  cJSON_AddNumberToObject(at, "low", interval.low);
  cJSON_AddNumberToObject(at, "high", interval.high);
}

/* All but the cost, which is a number in the contract. */
static cJSON *plan_json(const mz_run_plan *plan) {
  cJSON *o = cJSON_CreateObject();
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) cJSON_AddNumberToObject(o, mz_course_resource_names[r], plan->amounts[r]);
  cJSON_AddNumberToObject(o, "batch_size", plan->batch_size);
  cJSON_AddNumberToObject(o, "epochs", plan->epochs);
  add_interval(o, "seconds", plan->seconds);
  add_interval(o, "score", plan->score);
  return o;
}

static cJSON *choice_json(const mz_run_plan *plan) {
  cJSON *o = plan_json(plan);
  add_interval(o, "cost", plan->cost);
  return o;
}

static cJSON *json_of(const mz_run_plan_view *view, const mz_run_planning *p, const mz_run_place *place, const mz_run_ask *ask) {
  cJSON *o = plan_json(&p->best);
  cJSON_AddBoolToObject(o, "simulated", view->machine != NULL);
  cJSON_AddItemToObject(o, "machine_simulated", view->machine ? cJSON_CreateString(view->machine) : cJSON_CreateNull());
  cJSON_AddBoolToObject(o, "feasible", p->feasible);
  cJSON_AddItemToObject(o, "plan", mz_plan_to_json(&place->outset.pipeline, &p->best.knobs));
  cJSON_AddNumberToObject(o, "predicted_s", p->best.seconds.estimate);
  cJSON_AddNumberToObject(o, "low", p->best.seconds.low);
  cJSON_AddNumberToObject(o, "high", p->best.seconds.high);
  cJSON_AddNumberToObject(o, "cost", p->best.cost.estimate);
  add_interval(o, "cost_interval", p->best.cost);
  cJSON *limits = cJSON_AddObjectToObject(o, "limits");
  cJSON_AddNumberToObject(limits, "deadline_s", ask->deadline_s);
  cJSON_AddNumberToObject(limits, "score", ask->target);
  cJSON_AddNumberToObject(limits, "budget", ask->budget);
  cJSON *needs = cJSON_AddObjectToObject(o, "needs");
  cJSON_AddNumberToObject(needs, "deadline_s", p->shortfall.deadline_s);
  cJSON_AddNumberToObject(needs, "score", p->shortfall.target);
  cJSON_AddNumberToObject(needs, "budget", p->shortfall.budget);
  cJSON *choices = cJSON_AddArrayToObject(o, "choices");
  for (int i = 0; i < p->count; i++) cJSON_AddItemToArray(choices, choice_json(&p->choices[i]));
  cJSON_AddNumberToObject(o, "looked_at", (double)p->looked_at);
  cJSON_AddNumberToObject(o, "time_noise", p->time.noise);
  cJSON_AddNumberToObject(o, "score_stretch", mz_epoch_score_stretch(&p->score, 0.95));
  return o;
}

/* ---- text ---- */

static void print_choice(const mz_run_plan *p) {
  printf("%5g %4g %6g %7d   %7.4g (%.4g to %.4g)   %6.4g (%.4g to %.4g)   %.3g\n", p->amounts[MZ_COURSE_CORES],
         p->amounts[MZ_COURSE_GPUS], p->batch_size, p->epochs, p->seconds.estimate, p->seconds.low, p->seconds.high,
         p->score.estimate, p->score.low, p->score.high, p->cost.estimate);
}

static void print_choices(const mz_run_planning *p) {
  printf("cores gpus  batch  epochs   seconds (90 %%)   score (90 %%)   cost\n");
  for (int i = 0; i < p->count; i++) print_choice(&p->choices[i]);
  for (size_t i = 0; i < sizeof p->time.cut / sizeof *p->time.cut; i++)
    if (p->time.cut[i][0]) printf("%s\n", p->time.cut[i]);
  if (p->score.cut[0]) printf("%s\n", p->score.cut);
  printf("from %d learning curves of %d batch sizes and times of %d places; %lld combinations were evaluated\n\n", p->score.runs,
         p->score.batches, p->time.count, (long long)p->looked_at);
}

/* A word of a command for a shell, after its option. */
static void print_word(const char *option, const char *word) {
  char quoted[MZ_SHELL_QUOTE_SIZE(4096)];
  if (word) printf(" %s%s", option, mz_shell_quote(word, quoted, sizeof quoted));
}

/* Knobs that the settings leave open: those that a fixed run chooses for as many threads may be others. */
static void print_knobs(const mz_plan *plan, const mz_knobs *set) {
  const mz_knobs planned = mz_knobs_of_plan(plan);
  const struct {
    const char *name;
    int64_t set, planned;
  } knobs[] = {{"cpu_actor", set->cpu_actor, planned.cpu_actor},
               {"batch_actor", set->batch_actor, planned.batch_actor},
               {"learner_threads", set->learner_threads, planned.learner_threads},
               {"mcts_storage_size", set->mcts_storage_size, planned.mcts_storage_size},
               {"batch_buffer_size", set->batch_buffer_size, planned.batch_buffer_size},
               {"env_workers", set->env_workers, planned.env_workers}};
  for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
    if (knobs[i].set == 0 && knobs[i].planned > 0) printf(" --set %s=%lld", knobs[i].name, (long long)knobs[i].planned);
}

/* Likewise the stages, where there are several devices. */
static void print_devices(const mz_plan *plan, const mz_pipeline *pipeline, const mz_placement_settings *set) {
  const mz_knobs planned = mz_knobs_of_plan(plan);
  const struct {
    const char *name, *set;
    int64_t planned;
  } stages[] = {{"devices.selfplay", set->selfplay, planned.selfplay_device},
                {"devices.reanalyze", set->reanalyze, planned.reanalyze_device},
                {"devices.learning", set->learning, planned.learning_device}};
  for (size_t i = 0; pipeline->device_count > 1 && i < sizeof stages / sizeof *stages; i++)
    if (strcmp(stages[i].set, "auto") == 0) printf(" --set %s=%s", stages[i].name, pipeline->devices[stages[i].planned - 1].name);
}

static void print_command(const mz_run_plan_view *view, const mz_run_plan *best, const mz_pipeline *pipeline,
                          const mz_settings *settings) {
  printf("carry out  muzero train");
  print_word("", view->run.env);
  printf(" --allocate fixed --threads %g", best->amounts[MZ_COURSE_CORES]);
  print_word("--preset ", view->run.preset);
  print_word("--device ", view->run.device && strcmp(view->run.device, "auto") != 0 ? view->run.device : NULL);
  for (int i = 0; i < view->run.set_count; i++) print_word("--set ", view->run.sets[i]);
  print_knobs(&best->knobs, &settings->knobs);
  print_devices(&best->knobs, pipeline, &settings->placement);
  if (best->batch_size != (double)mz_batch_schedule_at(settings, 0)) printf(" --set batch_schedule=0:%g", best->batch_size);
  printf(" --rounds %lld\n", (long long)(best->epochs * settings->train.phase_rounds));
}

static void print_text(const mz_run_plan_view *view, const mz_run_planning *p, const mz_run_place *place,
                       const mz_settings *settings) {
  const mz_run_plan *best = &p->best;
  char knobs[256];
  print_choices(p);
  if (!p->feasible) return;
  mz_plan_text(&place->outset.pipeline, &best->knobs, NULL, knobs, sizeof knobs);
  printf("plan       %g core%s, %g GPUs, batches of %g rows, %d epochs\n", best->amounts[MZ_COURSE_CORES],
         mz_plural(best->amounts[MZ_COURSE_CORES]), best->amounts[MZ_COURSE_GPUS], best->batch_size, best->epochs);
  printf("knobs      %s\n", knobs);
  printf("time       %.4g s (90 %%: %.4g to %.4g)\n", best->seconds.estimate, best->seconds.low, best->seconds.high);
  printf("score      %.4g (90 %%: %.4g to %.4g)\n", best->score.estimate, best->score.low, best->score.high);
  printf("cost       %.3g (90 %%: %.3g to %.3g)\n", best->cost.estimate, best->cost.low, best->cost.high);
  if (!view->machine) print_command(view, best, &place->outset.pipeline, settings);
}

/* ---- all of it ---- */

static mz_status show(const mz_run_plan_view *view, const mz_run_planning *p, const mz_run_place *place, const mz_run_ask *ask,
                      const mz_settings *settings) {
  if (view->tradeoff) MZ_TRY(mz_run_plan_draw(view->tradeoff, p, ask->deadline_s, ask->budget));
  if (view->json)
    MZ_TRY(mz_print_json(json_of(view, p, place, ask)));
  else
    print_text(view, p, place, settings);
  MZ_TRY(mz_print_flush());
  return mz_run_planning_check(p, ask);
}

static mz_status plan_here(const mz_run_plan_view *view, const mz_env *env, const mz_settings *settings, const mz_run_ask *ask) {
  mz_device_choice *choice = NULL;
  mz_run_place *place = NULL;
  mz_run_planning *planning = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&choice, 1, sizeof *choice));
  MZ_TRY_CLEANUP(mz_alloc(&place, 1, sizeof *place));
  MZ_TRY_CLEANUP(mz_device_choose(choice, view->run.device, settings, &env->spec, NULL));
  MZ_TRY_CLEANUP(mz_run_planning_for(&planning, place, env, settings, choice, &view->run, ask));
  status = show(view, planning, place, ask, settings);
cleanup:
  mz_run_planning_free(planning);
  free(place);
  free(choice);
  return status;
}

static mz_status plan_simulated(const mz_run_plan_view *view, const mz_settings *settings, const mz_run_ask *ask) {
  mz_sim_machine machine;
  mz_simulated_runs *runs = NULL;
  mz_run_planning *planning = NULL;
  char text[MZ_MESSAGE_MAX], shown[MZ_SHOWN_SIZE];
  mz_status status;
  MZ_TRY(mz_sim_machine_parse(&machine, view->machine));
  MZ_TRY_CLEANUP(mz_simulated_runs_open(
      &runs, &(mz_simulated_runs_options){
                 .run = &view->run, .machine = &machine, .machine_text = view->machine, .target = view->target}));
  MZ_TRY_CLEANUP(mz_simulated_runs_plan(runs, settings, ask, &planning));
  mz_simulated_runs_text(runs, mz_text_shown(view->machine, shown), text, sizeof text);
  if (!view->json) printf("%s\n\n", text);
  status = show(view, planning, &runs->place, ask, settings);
cleanup:
  mz_run_planning_free(planning);
  mz_simulated_runs_close(runs);
  return status;
}

mz_status mz_run_plan_show(const mz_run_plan_view *view) {
  const mz_env *env;
  mz_settings settings;
  MZ_TRY(mz_env_find(view->run.env, &env));
  MZ_TRY(mz_settings_for_new_run(&view->run, &settings));
  const mz_run_ask ask = ask_of(view, &settings, env);
  return view->machine ? plan_simulated(view, &settings, &ask) : plan_here(view, env, &settings, &ask);
}
