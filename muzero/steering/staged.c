#include "muzero/steering/staged.h"
#include "allocator/runs/course_file.h"
#include "allocator/runs/stage_progress.h"
#include "allocator/strategies/strategy.h"
#include "base/course/course_policy.h"
#include "base/log.h"
#include "base/text.h"
#include "envs/allocation.h"
#include "muzero/steering/shadow.h"
#include "muzero/trainer.h"
#include <math.h>
#include <string.h>

struct mz_staged {
  bool drives;
  mz_fitted_course fitted;
  const mz_course *course; /* the agent's: the fitted one, with the spread that it was trained with */
  mz_loaded *policy;
  mz_planner planner;
  uint8_t *env_state;
  uint64_t policy_digest;
  mz_course_oracle *oracle;
  mz_course_state state; /* at the beginning of the stage under way */
  mz_stage_progress progress;
  double sums[MZ_DECIDERS], half_cost;
};

/* ---- opening ---- */

static mz_status wrap(mz_status status) {
  if (status == MZ_OK) return MZ_OK;
  return mz_fail(status == MZ_E_IO || status == MZ_E_CHECKPOINT ? MZ_E_CONFIG : status, "allocate.policy: %s", mz_message());
}

static mz_status check_policy(const char *path, const mz_env *env, const mz_course *course, uint64_t trained_on) {
  if (course == NULL)
    return mz_fail(MZ_E_CONFIG, "allocate.policy: %s is a run of %s; takes one of allocation:course=FILE, whose agent plans runs",
                   path, env->name);
  if (mz_allocation_path(env)[0] == '\0')
    return mz_fail(MZ_E_CONFIG,
                   "allocate.policy: %s was trained on the built-in course, which is no course of real runs; train one on "
                   "allocation:course=FILE, with a course that was fitted to runs",
                   path);
  if (trained_on == 0)
    return mz_fail(
        MZ_E_CONFIG,
        "allocate.policy: %s does not say which course it was trained on; `muzero resume` it with this program, or train anew",
        path);
  if (trained_on != course->digest)
    return mz_fail(MZ_E_CONFIG,
                   "allocate.policy: %s was trained on another course (%016llx) than %s now holds (%016llx); train it anew", path,
                   (unsigned long long)trained_on, mz_allocation_path(env), (unsigned long long)course->digest);
  return MZ_OK;
}

static mz_status check_machine(const char *file, const char *fitted, const char *simulated) {
  if (strcmp(fitted, simulated) == 0) return MZ_OK;
  return mz_fail(MZ_E_CONFIG,
                 "allocate.policy: the course of %s was fitted to runs on %s, and this one is on %s; fit a course to runs there "
                 "(`muzero plan ENV --course`, with --machine for a simulated one) and train an agent on it",
                 file, fitted[0] ? fitted : "a real machine", simulated[0] ? simulated : "a real machine");
}

static mz_status refuse_other(const char *file, const char *what, const char *fitted, const char *run) {
  return mz_fail(
      MZ_E_CONFIG,
      "allocate.policy: the course of %s was fitted to runs with another %s (%s) than this one's (%s); fit a course to "
      "runs with these settings and train an agent on it",
      file, what, fitted, run);
}

static mz_status check_fitted(const mz_fitted_course *f, const char *file, const mz_curve_key *key,
                              const mz_allocation_settings *settings) {
  static const char *const keys[] = {"prices.core_hour", "prices.gpu_hour", "prices.gib_hour"};
  const double prices[] = {settings->core_hour, settings->gpu_hour, settings->gib_hour};
  if (strcmp(f->env, key->env) != 0) return refuse_other(file, "environment", f->env, key->env);
  if (strcmp(f->network, key->network) != 0) return refuse_other(file, "network", f->network, key->network);
  if (strcmp(f->learning, key->learning) != 0)
    return refuse_other(file, "hash of the settings that learning depends on", f->learning, key->learning);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    if (fabs(prices[r] - f->course.prices[r]) > 1e-9 * fabs(prices[r]))
      return mz_fail(MZ_E_CONFIG, "%s %g: the course of allocate.policy (%s) counts %g; nearest valid value: %g", keys[r],
                     prices[r], file, f->course.prices[r], f->course.prices[r]);
  return MZ_OK;
}

static mz_status check_error(const mz_fitted_course *f, const char *file, bool drives) {
  char text[200];
  if (f->error.usable) return MZ_OK;
  snprintf(text, sizeof text, "the course of %.100s foretells stages with an error of %.3g %% in seconds and %.3g %% in scores",
           file, 100 * f->error.seconds, 100 * f->error.score);
  if (drives)
    return mz_fail(MZ_E_CONFIG, "allocate.strategy=staged: %s, more than the %g %% up to which it may drive; fit it to more runs",
                   text, 100 * MZ_FIT_ERROR_MAX);
  mz_log_write(MZ_LOG_WARNING, "%s, more than %g %%: its regrets say nothing of this run", text, 100 * MZ_FIT_ERROR_MAX);
  return MZ_OK;
}

static mz_status open_planner(mz_staged *s) {
  const mz_agent agent = mz_loaded_agent(s->policy);
  MZ_TRY(mz_alloc(&s->env_state, 1, agent.env->state_size));
  return mz_agent_planner(&agent, 1, &s->planner);
}

static mz_status open_policy(mz_staged *s, const mz_allocation_settings *settings, const mz_curve_key *key, const char *simulated,
                             const mz_pipeline *pipeline) {
  MZ_TRY(wrap(mz_loaded_open(&s->policy, settings->policy)));
  const mz_env *env = mz_loaded_agent(s->policy).env;
  s->course = mz_allocation_course(env);
  MZ_TRY(check_policy(settings->policy, env, s->course, mz_loaded_course(s->policy)));
  const char *file = mz_allocation_path(env);
  MZ_TRY(wrap(mz_course_file_read(&s->fitted, file, pipeline)));
  MZ_TRY(check_machine(file, s->fitted.simulated, simulated));
  MZ_TRY(check_fitted(&s->fitted, file, key, settings));
  MZ_TRY(check_error(&s->fitted, file, s->drives));
  s->policy_digest = mz_loaded_digest(s->policy);
  const mz_shadowed own = {.policy = settings->policy, .course = s->course->digest, .agent = s->policy_digest};
  if (s->drives) MZ_TRY(mz_shadow_check(settings->shadow, &own));
  MZ_TRY(mz_course_oracle_create(&s->oracle));
  return open_planner(s);
}

mz_status mz_staged_is_asked(const mz_settings *settings, bool moves_loop_count, bool *asked) {
  const bool drives = strcmp(settings->allocation.strategy, mz_strategy_staged.name) == 0;
  *asked = settings->allocation.policy[0] != '\0';
  if (!*asked && drives)
    return mz_fail(MZ_E_CONFIG, "allocate.strategy staged: needs --set allocate.policy=RUN, a run of allocation:course=FILE");
  if (*asked && moves_loop_count)
    return mz_fail(
        MZ_E_CONFIG,
        "allocate.policy: courses are fitted to runs whose rounds train alike; set allocate.objective to time or cost");
  if (drives && settings->learning.batch_schedule[0] != '\0')
    return mz_fail(MZ_E_CONFIG, "batch_schedule: %s: the agent of allocate.policy moves the batch size; leave one of them away",
                   settings->learning.batch_schedule);
  return MZ_OK;
}

mz_status mz_staged_open(mz_staged **out, const mz_allocation_settings *settings, const mz_curve_key *key, const char *simulated,
                         const mz_pipeline *pipeline) {
  mz_staged *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->drives = strcmp(settings->strategy, mz_strategy_staged.name) == 0;
  s->half_cost = s->progress.score = NAN;
  const mz_status status = open_policy(s, settings, key, simulated, pipeline);
  if (status != MZ_OK) {
    mz_staged_free(s);
    return status;
  }
  mz_course_begin(s->course, 0, &s->state);
  s->state.noise_scale = s->course->noise_scale[0]; /* nothing was measured yet */
  *out = s;
  return MZ_OK;
}

void mz_staged_free(mz_staged *s) {
  if (!s) return;
  mz_planner_deinit(&s->planner);
  mz_course_oracle_free(s->oracle);
  mz_loaded_close(s->policy);
  free(s->env_state);
  free(s);
}

bool mz_staged_drives(const mz_staged *s) { return s->drives; }
int mz_staged_epochs(const mz_staged *s) { return s->fitted.epochs; }
int mz_staged_plan_count(const mz_staged *s) { return s->course->plans; }
const mz_plan *mz_staged_plan(const mz_staged *s, int plan) { return &s->fitted.plans[plan]; }
double mz_staged_batch_size(const mz_staged *s, int plan) { return s->course->plan[plan].batch_size; }
int mz_staged_cores(const mz_staged *s, int plan) { return (int)s->course->plan[plan].amounts[MZ_COURSE_CORES]; }
bool mz_staged_is_over(const mz_staged *s) { return mz_course_is_over(s->course, &s->state); }

/* ---- deciding ---- */

static uint32_t bits_of(const uint8_t *mask, int count) {
  uint32_t bits = 0;
  for (int p = 0; p < count; p++) bits |= (uint32_t)(mask[p] != 0) << p;
  return bits;
}

/* A plan holds the cores that the course gives it, as far as the run has them. */
static bool has_cores(const mz_course_plan *plan, const mz_bounds *bounds) {
  return fmin(plan->amounts[MZ_COURSE_CORES], bounds->cpu_max) >= bounds->cpu_min;
}

static uint32_t takes(const mz_staged *s, const mz_staged_run *run) {
  uint32_t bits = 0;
  for (int p = 0; p < s->course->plans; p++) {
    const double rows = s->course->plan[p].batch_size;
    const bool fits = rows == run->batch_size ? mz_plan_refused(run->pipeline, run->bounds, &s->fitted.plans[p]) == NULL
                                              : has_cores(&s->course->plan[p], run->bounds) && run->has_batch(run->context, rows);
    bits |= (uint32_t)fits << p;
  }
  return bits;
}

/* The agent's own choice where it is among `plans`, otherwise the one that its search gives most weight; −1: there is none. */
static int choose_among(const mz_root_result *found, uint32_t plans, int count) {
  int best = -1;
  if (plans >> found->selected & 1) return found->selected;
  for (int p = 0; p < count; p++)
    if (plans >> p & 1 && (best < 0 || found->policy[p] > found->policy[best])) best = p;
  return best;
}

static mz_status search(mz_staged *s) {
  const mz_agent agent = mz_loaded_agent(s->policy);
  mz_allocation_state(agent.env, &s->state, s->env_state);
  MZ_ASSERT(agent.env->valid(agent.env, s->env_state));
  MZ_TRY(mz_planner_observe(&s->planner, 0, 1, s->env_state));
  return mz_planner_search(&s->planner, 1, agent.weights, 0);
}

static const char *plan_text(const mz_staged *s, int plan, char *out, size_t size) {
  const mz_course_plan *p = &s->course->plan[plan];
  const double gpus = p->amounts[MZ_COURSE_GPUS];
  char with[24] = "";
  if (gpus > 0) snprintf(with, sizeof with, " and %g GPU%s", gpus, mz_plural(gpus));
  snprintf(out, size, "%g core%s%s in batches of %g", p->amounts[MZ_COURSE_CORES], mz_plural(p->amounts[MZ_COURSE_CORES]), with,
           p->batch_size);
  return out;
}

static void say(const mz_staged *s, mz_stage_record *r) {
  char own[64], fixed[64], again[64], held[96] = "";
  plan_text(s, r->plans[MZ_DECIDER_POLICY], own, sizeof own);
  plan_text(s, r->plans[MZ_DECIDER_STATIC], fixed, sizeof fixed);
  plan_text(s, r->plans[MZ_DECIDER_REPLAN], again, sizeof again);
  if (!s->drives)
    snprintf(held, sizeof held, "recorded only");
  else if (r->chosen < 0)
    snprintf(held, sizeof held, "the plan stays: this run can take none of those allowed");
  else if (r->chosen == r->plans[MZ_DECIDER_POLICY])
    snprintf(held, sizeof held, "in force");
  else
    snprintf(held, sizeof held, "in force is the best that this run can take");
  snprintf(r->reason, sizeof r->reason,
           "stage %d of %d: the agent proposes %s (regret %.3g); a fixed plan %s (%.3g), replanning %s (%.3g); %s",
           r->state.stage + 1, s->course->stages, own, r->regrets[MZ_DECIDER_POLICY], fixed, r->regrets[MZ_DECIDER_STATIC], again,
           r->regrets[MZ_DECIDER_REPLAN], held);
}

mz_status mz_staged_decide(mz_staged *s, const mz_staged_run *run, mz_stage_record *out) {
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  double values[MZ_COURSE_PLANS_MAX];
  MZ_ASSERT(!mz_staged_is_over(s));
  *out = (mz_stage_record){.phase = run->phase,
                           .round = run->round,
                           .course = s->course->digest,
                           .policy = s->policy_digest,
                           .drives = s->drives,
                           .state = s->state,
                           .chosen = -1};
  mz_course_mask(s->course, &s->state, mask);
  out->mask = bits_of(mask, s->course->plans);
  out->offered = out->mask & takes(s, run);
  MZ_TRY(search(s));
  const mz_root_result *found = &s->planner.results[0];
  out->plans[MZ_DECIDER_POLICY] = found->selected;
  out->plans[MZ_DECIDER_STATIC] = mz_course_static(s->course, &s->state);
  MZ_TRY(mz_course_values(s->oracle, s->course, &s->state, values));
  out->plans[MZ_DECIDER_REPLAN] = mz_course_best(values, s->course->plans);
  for (int d = 0; d < MZ_DECIDERS; d++) out->regrets[d] = values[out->plans[MZ_DECIDER_REPLAN]] - values[out->plans[d]];
  if (s->drives) out->chosen = choose_among(found, out->offered, s->course->plans);
  for (int d = 0; d < MZ_DECIDERS; d++) out->sums[d] = s->sums[d] += out->regrets[d];
  out->half_cost = s->half_cost;
  say(s, out);
  return MZ_OK;
}

/* ---- the run goes through its stages ---- */

bool mz_staged_epoch(mz_staged *s, const mz_epoch *epoch, double cost) {
  if (mz_staged_is_over(s)) return false;
  mz_stage_progress_add(&s->progress, epoch);
  if (epoch->number < mz_stage_last_epoch(s->fitted.epochs, s->course->stages, s->state.stage)) return false;
  const mz_stage_end end = {.plan = mz_course_nearest_plan(s->course, epoch->batch_size, epoch->amounts[MZ_COURSE_CORES],
                                                           epoch->amounts[MZ_COURSE_GPUS]),
                            .seconds = epoch->wall_s,
                            .cost = cost};
  mz_stage_progress_end(&s->progress, s->course, &end, &s->state);
  s->progress = (mz_stage_progress){.score = NAN};
  if (s->state.stage == s->course->stages / 2) s->half_cost = s->state.cost;
  return true;
}

void mz_staged_sum_up(const mz_staged *s, const mz_staged_run *run, double seconds, double cost, mz_stages_record *out) {
  char early[96] = "";
  mz_course_state last = s->state;
  last.score = fmax(last.score, s->progress.score); /* a run may end within a stage */
  *out = (mz_stages_record){.phase = run->phase,
                            .round = run->round,
                            .course = s->course->digest,
                            .policy = s->policy_digest,
                            .drives = s->drives,
                            .complete = mz_course_is_over(s->course, &last),
                            .stages = s->state.stage,
                            .seconds = seconds,
                            .cost = cost,
                            .score = last.score,
                            .violations = mz_course_violations(s->course, seconds, cost, last.score),
                            .early = isfinite(s->half_cost) && cost > 0 ? s->half_cost / cost : NAN};
  memcpy(out->regrets, s->sums, sizeof out->regrets);
  if (isfinite(out->early))
    snprintf(early, sizeof early, "; the first half of the stages took %.3g %% of the cost", 100 * out->early);
  snprintf(
      out->reason, sizeof out->reason,
      "%d of %d stages: regret of the agent %.3g, of a fixed plan %.3g, of replanning %.3g; %d of the course's limits violated%s",
      out->stages, s->course->stages, s->sums[MZ_DECIDER_POLICY], s->sums[MZ_DECIDER_STATIC], s->sums[MZ_DECIDER_REPLAN],
      out->violations, early);
}

mz_status mz_staged_resume(mz_staged *s, const mz_stage_lines *lines, const char *path) {
  if (lines->count == 0)
    return mz_fail(
        MZ_E_CONFIG,
        "allocate.policy: %s has no stage: the agent accompanies a run from its beginning; leave it away, or train anew with "
        "it",
        path);
  const mz_stage_record *last = &lines->last;
  if (last->course != s->course->digest || last->policy != s->policy_digest)
    return mz_fail(
        MZ_E_CONFIG,
        "allocate.policy: the run's stages were planned by another agent, or for another course (%s); resume it with that one",
        path);
  s->state = last->state;
  memcpy(s->sums, last->sums, sizeof s->sums);
  s->half_cost = last->half_cost;
  s->progress = lines->since;
  if (lines->ended && lines->whole.complete) s->state.stage = s->course->stages;
  return MZ_OK;
}
