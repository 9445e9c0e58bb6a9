/* The phase loop. One phase: rounds → evaluation → record → checkpoint when due → has a limit been met? The allocator decides after
 * a round that ends a window, or after the evaluation where the phase ends with it. */
#include "muzero/run.h"
#include "muzero/storage/sections.h"
#include "base/machine/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "muzero/limits.h"
#include "muzero/training/guard.h"
#include "muzero/training/soundness.h"
#include <math.h>

static double invocation_s(const mz_run *run) {
  return (double)((run->rest_ns ? run->rest_ns : mz_clock_ns()) - run->opened_ns) * 1e-9;
}
double mz_run_wall_s(const mz_run *run) { return run->wall_before_s + invocation_s(run); }

/* Says what the run is doing now; returns what it did before. */
static mz_doing begin(mz_run *run, mz_doing doing) {
  return mz_activity_begin(&run->workers.activity, doing, run->state.counters.rounds);
}

/* ---- limits ---- */

static double phase_s(const mz_run *run) { return (double)(mz_clock_ns() - run->meter.start_ns) * 1e-9; }

static double uncounted_s(const mz_run *run) { return (double)(mz_clock_ns() - run->reserved.ns) * 1e-9; }

/* What the plan in force has reserved until now; before another one may come. */
static void count_reserved(mz_run *run) {
  const double seconds = uncounted_s(run);
  run->reserved.core_s += seconds * mz_steer_cores(run->steer);
  run->reserved.gpu_s += seconds * mz_steer_gpus(run->steer);
  run->reserved.cost += seconds * mz_steer_price_s(run->steer);
  run->reserved.ns += (uint64_t)(seconds * 1e9);
}

/* evaluates: the phase's own evaluation is still to come, now or after the next round. */
static mz_reason limit_met(const mz_run *run, const mz_limits *limits, bool evaluates) {
  const double price_s = mz_steer_price_s(run->steer);
  const mz_spent spent = {.counters = run->state.counters,
                          .stop = atomic_load(&run->requests) & MZ_REQUEST_STOP,
                          .invocation_s = invocation_s(run),
                          .wall_s = mz_run_wall_s(run),
                          .cost = run->cost + run->reserved.cost + uncounted_s(run) * price_s,
                          .price_s = price_s,
                          .round_s = run->round_s,
                          .game_s = mz_run_game_s(run),
                          .closing_games = mz_run_closing_games(run, evaluates)};
  return mz_limits_met(limits, &run->settings.allocation, &spent);
}

static double share(double done, double whole) { return whole > 0 ? done / whole : 0; }

static void tick_progress(mz_run *run, const mz_limits *l, mz_tick tick, void *context) {
  if (!tick) return;
  const mz_counters *c = &run->state.counters;
  const mz_round_stats *s = &run->phase_stats;
  double seconds = phase_s(run);
  mz_progress p = {.counters = *c,
                   .wall_s = mz_run_wall_s(run),
                   .for_s = invocation_s(run),
                   .score = run->score,
                   .target = l->until ? l->score : NAN,
                   .positions = mz_buffer_positions(run->state.buffer),
                   .min_fill = run->settings.replay.min_fill};
  p.env_steps_per_s = share((double)(c->env_steps - run->meter.counters.env_steps), seconds);
  p.sims_per_s = share((double)(c->simulations - run->meter.counters.simulations), seconds);
  p.updates_per_s = share((double)(c->updates - run->meter.counters.updates), seconds);
  p.loss = s->learning.updates ? s->learning.loss / (double)s->learning.updates : NAN;
  p.mean_return = s->episodes ? s->return_sum / (double)s->episodes : NAN;
  p.fraction = mz_limits_fraction(l, c, p.for_s);
  begin(run, MZ_DOING_NOTHING); /* a terminal may be halted */
  tick(context, &p);
}

/* ---- checkpoints ---- */

mz_status mz_run_wait_for_checkpoint(mz_run *run) {
  const mz_doing before = mz_activity_begin(&run->workers.activity, MZ_DOING_WAIT_CHECKPOINT, run->saved_round);
  const mz_status status = mz_saver_wait(run->saver);
  begin(run, before);
  return status;
}

static mz_status save_sound(mz_run *run, bool best) {
  char *session;
  MZ_TRY(mz_state_check_sound(&run->state, &run->workers));
  MZ_TRY(mz_run_wait_for_checkpoint(run));
  if (best) run->best_rounds = run->state.counters.rounds;
  MZ_TRY(mz_run_session(run, &session));
  mz_status status = mz_saver_save(run->saver, &run->state, run->config_text, session, best);
  free(session);
  run->saved_ns = mz_clock_ns();
  run->saved_round = run->state.counters.rounds;
  return status;
}

static mz_status save(mz_run *run, bool best) {
  const mz_doing before = begin(run, MZ_DOING_SAVE);
  const mz_status status = save_sound(run, best);
  begin(run, before);
  return status;
}

mz_status mz_run_save(mz_run *run) {
  MZ_TRY(save(run, false));
  return mz_run_wait_for_checkpoint(run);
}

static mz_status save_when_due(mz_run *run) {
  bool asked = atomic_fetch_and(&run->requests, ~MZ_REQUEST_CHECKPOINT) & MZ_REQUEST_CHECKPOINT;
  double since = (double)(mz_clock_ns() - run->saved_ns) * 1e-9;
  return asked || since >= run->settings.train.checkpoint_interval ? save(run, false) : MZ_OK;
}

/* ---- the phase ---- */

static bool phase_ended(const mz_run *run) { return run->state.counters.rounds % run->settings.train.phase_rounds == 0; }

static void start_phase(mz_run *run) {
  run->episode_length = mz_run_episode_length(run);
  run->phase_stats = (mz_round_stats){0};
  run->meter = mz_phase_meter_start(&run->state, &run->workers);
  /* What came between two phases, or before the first, was reserved for the run, if for no phase. */
  run->cost += (double)(run->meter.start_ns - run->reserved.ns) * 1e-9 * mz_steer_price_s(run->steer);
  run->reserved.ns = run->meter.start_ns;
  run->reserved.core_s = run->reserved.gpu_s = run->reserved.cost = 0;
  mz_steer_phase(run->steer, &run->workers);
}

/* Says on stderr and in metrics.jsonl that the network went back. */
static mz_status record_back(mz_run *run) {
  const mz_guard *guard = run->state.guard;
  const long long rounds = (long long)run->state.counters.rounds, to = (long long)mz_guard_kept_rounds(guard);
  mz_log_write(MZ_LOG_WARNING, "round %lld: %s; network and optimizer are those of round %lld again", rounds, mz_guard_why(guard),
               to);
  cJSON *record = cJSON_CreateObject();
  cJSON_AddStringToObject(record, "event", "back");
  cJSON_AddNumberToObject(record, "rounds", (double)rounds);
  cJSON_AddNumberToObject(record, "to_rounds", (double)to);
  cJSON_AddNumberToObject(record, "backs", (double)mz_guard_backs(guard));
  cJSON_AddStringToObject(record, "reason", mz_guard_why(guard));
  const mz_status status = mz_metrics_append(&run->metrics, record, true);
  cJSON_Delete(record);
  return status;
}

static mz_status play_round(mz_run *run) {
  const uint64_t start = mz_clock_ns();
  const mz_guard *guard = run->state.guard;
  const int64_t backs = guard ? mz_guard_backs(guard) : 0;
  MZ_TRY(mz_round_play(&run->state, &run->workers, &run->phase_stats));
  if (guard && mz_guard_backs(guard) > backs) MZ_TRY(record_back(run));
  count_reserved(run);
  mz_steer_round(run->steer, &run->workers, &run->phase_stats);
  run->round_s = fmax(run->round_s, (double)(mz_clock_ns() - start) * 1e-9);
  return MZ_OK;
}

static bool evaluation_due(const mz_run *run, int64_t rounds) {
  const mz_train_settings *t = &run->settings.train;
  return rounds % (t->phase_rounds * t->eval_interval) == 0;
}

/* That the last evaluation reaches the limit's score, and those before it did as often as is asked. */
static bool reaches(const mz_run *run, const mz_limits *limits) {
  return limits->until && run->score >= limits->score && run->reached >= limits->evaluations;
}

/* Evaluates after a phase; a score that reaches the limit is confirmed. Then it looks at the limits again, for all that takes
 * time. */
static mz_status evaluate_phase(mz_run *run, const mz_limits *limits, mz_phase *phase, mz_reason *reason, bool *confirmed) {
  uint64_t start = mz_clock_ns();
  mz_steer_evaluation_starts(run->steer, &run->workers);
  const double before = run->score;
  MZ_TRY(mz_run_evaluate_phase(run, &phase->evaluation, &run->score));
  run->score_rise = run->score - before;
  mz_steer_evaluation_ended(run->steer, &run->workers, phase->evaluation.moves);
  phase->evaluation_s = (double)(mz_clock_ns() - start) * 1e-9;
  phase->evaluated = true;
  run->evaluated_rounds = run->state.counters.rounds;
  run->reached = run->score >= run->settings.train.target ? run->reached + 1 : 0;
  if (reaches(run, limits)) {
    if (!run->every_line) MZ_TRY(mz_run_evaluate(run, MZ_CONFIRM_GAMES, &phase->evaluation, &run->score));
    *confirmed = true;
    if (run->score >= limits->score)
      *reason = MZ_REASON_SCORE;
    else
      run->reached = 0;
  }
  if (*reason == MZ_GOES_ON) *reason = limit_met(run, limits, false);
  return MZ_OK;
}

/* A run that stops for another reason than its score or a signal ends with a score all the same, which is that of the very state. */
static mz_status evaluate_at_the_end(mz_run *run, mz_phase *phase, double *seconds) {
  const uint64_t start = mz_clock_ns();
  MZ_TRY(mz_run_evaluate(run, MZ_CONFIRM_GAMES, &phase->evaluation, &run->score));
  phase->evaluated = true;
  *seconds = (double)(mz_clock_ns() - start) * 1e-9;
  return MZ_OK;
}

/* Computes the phase's use of resources and its cost, under the plans that it ran with. */
static void measure_phase(mz_run *run, mz_phase *phase) {
  mz_phase_measure(phase, &run->state, &run->workers, &run->meter, &run->phase_stats);
  count_reserved(run);
  phase->reserved_core_s = run->reserved.core_s;
  phase->reserved_gpu_s = run->reserved.gpu_s;
  phase->cost = run->reserved.cost;
  phase->score = run->score;
  phase->wall_s = mz_run_wall_s(run);
  run->cost += phase->cost;
  run->reserved.core_s = run->reserved.cost = 0;
}

/* When a window has ended. */
static mz_status decide(mz_run *run, const mz_limits *limits, mz_phase *phase) {
  const mz_decision *decision;
  if (!mz_steer_window_ended(run->steer)) return MZ_OK;
  begin(run, MZ_DOING_DECISION);
  count_reserved(run);
  const mz_training_stage training = mz_run_training_stage(run, limits, invocation_s(run));
  MZ_TRY(mz_steer_decide(run->steer, &run->workers, &run->phase_stats, &training, run->score, &decision));
  if (phase->action != NULL && decision->action == MZ_DECISION_KEEP) return MZ_OK;
  phase->strategy = decision->strategy;
  phase->action = mz_decision_action_name(decision->action);
  snprintf(phase->reason, sizeof phase->reason, "%s", decision->reason);
  return MZ_OK;
}

/* kept: of a whole phase, or of an evaluation that was made up for. */
static mz_status record_phase(mz_run *run, mz_phase *phase, bool kept) {
  uint64_t hashes[MZ_DIGEST_PARTS];
  begin(run, MZ_DOING_RECORD);
  MZ_TRY(mz_state_digest(&run->state, hashes, &phase->digest));
  phase->score = run->score;
  phase->wall_s = mz_run_wall_s(run);
  if (phase->played == 0 && phase_ended(run) && !kept) return MZ_OK; /* it would be a second record of the phase before */
  cJSON *record = mz_phase_to_json(phase);
  cJSON *parts = record ? cJSON_AddObjectToObject(record, "parts") : NULL;
  for (int i = 0; i < MZ_DIGEST_PARTS && parts; i++) mz_json_add_u64_hex(parts, mz_digest_parts[i], hashes[i]);
  mz_status status =
      parts ? mz_metrics_append(&run->metrics, record, kept) : mz_fail(MZ_E_MEMORY, "metrics: no memory for a record");
  cJSON_Delete(record);
  return status;
}

void mz_run_rest(mz_run *run) {
  mz_steer_rest(run->steer, true);
  run->rest_ns = mz_clock_ns();
}

static void wake(mz_run *run) {
  if (!run->rest_ns) return;
  const uint64_t now = mz_clock_ns(), rested = now - run->rest_ns;
  run->opened_ns += rested;
  run->saved_ns = run->saved_ns > run->rest_ns ? now : run->saved_ns + rested; /* it may have been saved while it rested */
  run->meter.start_ns += rested;
  run->reserved.ns += rested;
  run->rest_ns = 0;
  mz_steer_rest(run->steer, false);
}

static bool pause_asked(mz_run *run) { return atomic_fetch_and(&run->requests, ~MZ_REQUEST_PAUSE) & MZ_REQUEST_PAUSE; }

/* The setting's limit of updates spans rows: as many updates as have them are left for the phase's batches. The user's counts updates. */
static mz_limits limits_of_phase(const mz_run *run, const mz_limits *given) {
  mz_limits limits = mz_limits_in_force(given, &run->settings);
  if (given->updates == 0 && limits.updates > 0) limits.updates = mz_state_updates_at(&run->state, limits.updates);
  return limits;
}

static mz_status run_phase(mz_run *run, const mz_limits *given, mz_tick tick, void *context, mz_phase *phase, mz_reason *reason) {
  const mz_limits limits = limits_of_phase(run, given);
  const bool owed = run->owes_evaluation;
  bool confirmed = false;
  wake(run);
  pause_asked(run); /* by a tick at the end of the phase before: it paused there anyway */
  *phase = (mz_phase){.score = NAN};
  if (!run->paused) {
    MZ_TRY(mz_run_time_evaluation(run, &limits)); /* no window's clocks run yet */
    start_phase(run);
  }
  run->paused = false;
  *reason = limit_met(run, &limits, false);
  while (*reason == MZ_GOES_ON && !owed) {
    MZ_TRY(play_round(run));
    tick_progress(run, &limits, tick, context);
    const int64_t rounds = run->state.counters.rounds;
    *reason = limit_met(run, &limits, evaluation_due(run, rounds) || evaluation_due(run, rounds + 1));
    if (phase_ended(run)) break;
    if (*reason == MZ_GOES_ON) MZ_TRY(decide(run, &limits, phase));
    if (*reason == MZ_GOES_ON) MZ_TRY(save_when_due(run));
    run->paused = *reason == MZ_GOES_ON && pause_asked(run);
    if (run->paused) return MZ_OK;
  }
  mz_steer_phase_ends(run->steer, &run->workers, &run->phase_stats);
  phase->played = run->phase_stats.rounds;
  const bool whole = phase->played > 0 && phase_ended(run);
  const bool due = owed || (whole && evaluation_due(run, run->state.counters.rounds));
  run->owes_evaluation = due && *reason == MZ_REASON_INTERRUPTED;
  if (due && !run->owes_evaluation) MZ_TRY(evaluate_phase(run, &limits, phase, reason, &confirmed));
  const bool evaluated = phase->played == 0 && !owed && run->evaluated_rounds == run->state.counters.rounds;
  double closing_s = 0;
  if (*reason != MZ_GOES_ON && *reason != MZ_REASON_INTERRUPTED && !confirmed && !evaluated)
    MZ_TRY(evaluate_at_the_end(run, phase, &closing_s));
  measure_phase(run, phase);
  if (whole) MZ_TRY(decide(run, &limits, phase));
  if (whole) MZ_TRY(mz_steer_epoch(run->steer, &run->workers, phase, run->cost, closing_s));
  if (whole) MZ_TRY(mz_steer_follow_schedule(run->steer, &run->workers));
  MZ_TRY(record_phase(run, phase, whole || (owed && !run->owes_evaluation)));
  if (*reason != MZ_GOES_ON && *reason != MZ_REASON_INTERRUPTED) MZ_TRY(mz_steer_ends(run->steer, mz_run_wall_s(run), run->cost));
  bool best = phase->evaluated && !(run->score <= run->best_score); /* the first one too */
  if (best) run->best_score = run->score;
  if (*reason != MZ_GOES_ON) {
    MZ_TRY(mz_run_keep_promise(run, *reason));
    MZ_TRY(save(run, best));
    return mz_run_wait_for_checkpoint(run);
  }
  return best ? save(run, true) : save_when_due(run);
}

/* Says of a run that cannot go on where its last checkpoint is, and how to continue from there. */
static mz_status stopped(mz_run *run, mz_status status) {
  char why[MZ_MESSAGE_MAX], name[MZ_CHECKPOINT_NAME_MAX], path[MZ_DIR_MAX + 128], dir[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  char env[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  snprintf(why, sizeof why, "%s", mz_message());
  if (mz_run_wait_for_checkpoint(run) != MZ_OK || mz_checkpoint_pointer_read(run->dir, "LATEST", name) != MZ_OK ||
      mz_checkpoint_path(run->dir, name, path, sizeof path) != MZ_OK)
    return mz_fail(status, "%s", why);
  mz_shell_quote(run->dir, dir, sizeof dir);
  if (status == MZ_E_DEVICE)
    return mz_fail(status,
                   "%s: the device is lost; the last checkpoint is %s; 'muzero resume %s' continues from it when the device is "
                   "there again, 'muzero resume %s --device cpu --allow-numeric' without it",
                   why, path, dir, dir);
  return mz_fail(status,
                 "%s: training has diverged; the last sound checkpoint is %s; 'muzero train %s --from %s --set "
                 "learning_rate=%.3g' continues from it with half the learning rate",
                 why, path, mz_shell_quote(run->state.env->name, env, sizeof env), dir,
                 run->settings.optimizer.learning_rate / 2);
}

mz_status mz_run_phase(mz_run *run, const mz_limits *limits, mz_tick tick, void *context, mz_phase *phase, mz_reason *reason) {
  const mz_status status = run_phase(run, limits, tick, context, phase, reason);
  const mz_status said = status == MZ_E_DIVERGED || status == MZ_E_DEVICE ? stopped(run, status) : status;
  begin(run, MZ_DOING_NOTHING);
  return said;
}

bool mz_run_is_paused(const mz_run *run) { return run->paused; }

void mz_run_request(mz_run *run, mz_request request) { atomic_fetch_or(&run->requests, (int)request); }

mz_status mz_run_resize(mz_run *run, const mz_knobs *knobs) {
  const mz_knobs before = run->workers.knobs;
  MZ_TRY(mz_workers_resize(&run->workers, knobs));
  const mz_status status = mz_steer_restart(run->steer, &run->workers);
  if (status == MZ_OK) return MZ_OK;
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  MZ_TRY(mz_workers_resize(&run->workers, &before));
  return mz_fail(status, "%s", why);
}

const char *mz_run_dir(const mz_run *run) { return run->dir; }
const mz_env *mz_run_env(const mz_run *run) { return run->state.env; }
const mz_settings *mz_run_settings(const mz_run *run) { return &run->settings; }
const mz_counters *mz_run_counters(const mz_run *run) { return &run->state.counters; }
uint64_t mz_run_seed(const mz_run *run) { return run->state.seed; }
