/* The phase loop. One phase: rounds → evaluation → record → checkpoint when due → has a limit been met? */
#include "muzero/run.h"
#include "base/machine/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "muzero/training/guard.h"
#include "muzero/training/soundness.h"
#include "networks/tape/backend.h"
#include <math.h>
#include <string.h>

enum { CONFIRM_GAMES = 100 };
static const uint32_t FRESH = 0x80000000u; /* evaluation streams of confirmation and final games */

double mz_run_wall_s(const mz_run *run) { return run->wall_before_s + (double)(mz_clock_ns() - run->opened_ns) * 1e-9; }
static double invocation_s(const mz_run *run) { return (double)(mz_clock_ns() - run->opened_ns) * 1e-9; }

/* Says what the run is doing now; returns what it did before. */
static mz_doing begin(mz_run *run, mz_doing doing) {
  return mz_activity_begin(&run->workers.activity, doing, run->state.counters.rounds);
}

/* ---- evaluation ---- */

/* Single-player: the mean return. Against every line or a perfect opponent, where a draw is the best there is: the share of
 * games not lost. Against others: the share of points, a draw being half. */
static double score_of(const mz_run *run, const mz_evaluation *e) {
  if (run->state.env->spec.players == 1) return e->mean_return;
  double games = (double)(e->games ? e->games : 1);
  bool unbeatable = run->every_line || (run->has_opponent && run->opponent.kind == MZ_PLAYER_PERFECT);
  return unbeatable ? 1 - (double)e->loss / games : ((double)e->win + 0.5 * (double)e->draw) / games;
}

static mz_status evaluate(mz_run *run, int games, uint32_t stream, mz_evaluation *out, double *score) {
  const mz_settings *s = &run->settings;
  const mz_agent agent = {.env = run->state.env,
                          .search = &s->search,
                          .model = &run->state.model,
                          .backend = &mz_backend_cpu,
                          .discount = s->replay.discount,
                          .weights = run->state.published->weights,
                          .simulations = (int)s->train.eval_simulations};
  const mz_match match = {.env = run->state.env,
                          .sides = {{.agent = &agent}, {.player = run->has_opponent ? &run->opponent : NULL}},
                          .games = games,
                          .openings = (int)s->train.eval_openings,
                          .seed = run->state.seed,
                          .round = stream};
  const mz_doing before = begin(run, MZ_DOING_EVALUATION);
  const mz_status status = run->every_line ? mz_evaluate_all(&agent, run->workers.actor_pool, out)
                                           : mz_evaluate(&match, run->workers.actor_pool, out, NULL);
  begin(run, before);
  MZ_TRY(status);
  *score = score_of(run, out);
  return MZ_OK;
}

mz_status mz_run_evaluate(mz_run *run, int games, mz_evaluation *out, double *score) {
  return evaluate(run, games, (uint32_t)run->state.counters.rounds | FRESH, out, score);
}

/* ---- limits ---- */

/* Without any limit given, the preset's hold; limits.score holds unless another score is given. */
static mz_limits limits_in_force(const mz_run *run, const mz_limits *given) {
  const mz_train_settings *t = &run->settings.train;
  const double score = run->settings.allocation.score;
  mz_limits limits = *given;
  if (!given->rounds && !given->env_steps && !given->updates && !(given->for_s > 0) && !given->until)
    limits = (mz_limits){.rounds = t->rounds,
                         .env_steps = t->env_steps,
                         .updates = t->updates,
                         .for_s = t->time,
                         .until = t->target < 1e9,
                         .score = t->target};
  if (!given->until && score < 1e9) limits.until = true, limits.score = score;
  return limits;
}

static double phase_s(const mz_run *run) { return (double)(mz_clock_ns() - run->meter.start_ns) * 1e-9; }

static mz_reason limit_met(const mz_run *run, const mz_limits *l) {
  const mz_counters *c = &run->state.counters;
  if (atomic_load(&run->requests) & MZ_REQUEST_STOP) return MZ_REASON_INTERRUPTED;
  if (l->rounds && c->rounds >= l->rounds) return MZ_REASON_ROUNDS;
  if (l->env_steps && c->env_steps >= l->env_steps) return MZ_REASON_ENV_STEPS;
  if (l->updates && c->updates >= l->updates) return MZ_REASON_UPDATES;
  if (l->for_s > 0 && invocation_s(run) >= l->for_s) return MZ_REASON_TIME;
  const mz_allocation_settings *a = &run->settings.allocation;
  if (a->deadline > 0 && mz_run_wall_s(run) >= a->deadline) return MZ_REASON_TIME;
  if (a->budget > 0 && run->cost + phase_s(run) * mz_steer_price_s(run->steer) >= a->budget) return MZ_REASON_BUDGET;
  return MZ_GOES_ON;
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
  p.env_steps_per_s = share((double)(c->env_steps - run->meter.env_steps), seconds);
  p.sims_per_s = share((double)(c->simulations - run->meter.simulations), seconds);
  p.updates_per_s = share((double)(c->updates - run->meter.updates), seconds);
  p.loss = s->learning.updates ? s->learning.loss / (double)s->learning.updates : NAN;
  p.mean_return = s->episodes ? s->return_sum / (double)s->episodes : NAN;
  p.fraction = fmax(fmax(share((double)c->rounds, (double)l->rounds), share((double)c->env_steps, (double)l->env_steps)),
                    fmax(share((double)c->updates, (double)l->updates), share(p.for_s, l->for_s)));
  p.fraction = fmin(p.fraction, 1);
  begin(run, MZ_DOING_NOTHING); /* a terminal may be halted */
  tick(context, &p);
}

/* ---- checkpoints ---- */

static mz_status wait_for_checkpoint(mz_run *run) {
  const mz_doing before = mz_activity_begin(&run->workers.activity, MZ_DOING_WAIT_CHECKPOINT, run->saved_round);
  const mz_status status = mz_saver_wait(run->saver);
  begin(run, before);
  return status;
}

static mz_status save_sound(mz_run *run, bool best) {
  char *session;
  MZ_TRY(mz_state_check_sound(&run->state, &run->workers));
  MZ_TRY(wait_for_checkpoint(run));
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
  return wait_for_checkpoint(run);
}

static mz_status save_when_due(mz_run *run) {
  bool asked = atomic_fetch_and(&run->requests, ~MZ_REQUEST_CHECKPOINT) & MZ_REQUEST_CHECKPOINT;
  double since = (double)(mz_clock_ns() - run->saved_ns) * 1e-9;
  return asked || since >= run->settings.train.checkpoint_interval ? save(run, false) : MZ_OK;
}

/* ---- the phase ---- */

static bool phase_ended(const mz_run *run) { return run->state.counters.rounds % run->settings.train.phase_rounds == 0; }

static void start_phase(mz_run *run) {
  run->phase_stats = (mz_round_stats){0};
  run->meter = mz_meter_start(&run->state, &run->workers);
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
  const mz_guard *guard = run->state.guard;
  const int64_t backs = guard ? mz_guard_backs(guard) : 0;
  MZ_TRY(mz_round_play(&run->state, &run->workers, &run->phase_stats));
  if (guard && mz_guard_backs(guard) > backs) MZ_TRY(record_back(run));
  mz_steer_round(run->steer, &run->workers, &run->phase_stats);
  return MZ_OK;
}

static mz_status evaluate_phase(mz_run *run, const mz_limits *limits, mz_phase *phase, mz_reason *reason) {
  uint32_t stream = (uint32_t)run->state.counters.rounds;
  uint64_t start = mz_clock_ns();
  mz_steer_evaluation_starts(run->steer, &run->workers, &run->phase_stats);
  MZ_TRY(evaluate(run, (int)run->settings.train.eval_games, stream, &phase->evaluation, &run->score));
  mz_steer_evaluation_ended(run->steer, &run->workers, phase->evaluation.moves);
  phase->evaluation_s = (double)(mz_clock_ns() - start) * 1e-9;
  phase->evaluated = true;
  if (!limits->until || run->score < limits->score) return MZ_OK;
  if (!run->every_line) MZ_TRY(evaluate(run, CONFIRM_GAMES, stream | FRESH, &phase->evaluation, &run->score));
  if (run->score >= limits->score) *reason = MZ_REASON_SCORE;
  return MZ_OK;
}

/* What the phase took and what it cost, under the plan that it ran with. */
static void measure_phase(mz_run *run, mz_phase *phase) {
  mz_phase_measure(phase, &run->state, &run->workers, &run->meter, &run->phase_stats);
  phase->reserved_core_s = phase->phase_s * mz_steer_cores(run->steer);
  phase->cost = phase->phase_s * mz_steer_price_s(run->steer);
  run->cost += phase->cost;
}

static mz_status decide(mz_run *run, mz_phase *phase) {
  const mz_decision *decision;
  begin(run, MZ_DOING_DECISION);
  MZ_TRY(mz_steer_decide(run->steer, &run->workers, &run->phase_stats, run->score, &decision));
  phase->strategy = decision->strategy;
  phase->action = mz_decision_action_name(decision->action);
  snprintf(phase->reason, sizeof phase->reason, "%s", decision->reason);
  return MZ_OK;
}

static mz_status record_phase(mz_run *run, mz_phase *phase, bool whole) {
  uint64_t hashes[MZ_DIGEST_PARTS];
  begin(run, MZ_DOING_RECORD);
  MZ_TRY(mz_state_digest(&run->state, hashes, &phase->digest));
  phase->score = run->score;
  phase->wall_s = mz_run_wall_s(run);
  cJSON *record = mz_phase_to_json(phase);
  cJSON *parts = record ? cJSON_AddObjectToObject(record, "parts") : NULL;
  for (int i = 0; i < MZ_DIGEST_PARTS && parts; i++) mz_json_add_u64_hex(parts, mz_digest_parts[i], hashes[i]);
  mz_status status =
      parts ? mz_metrics_append(&run->metrics, record, whole) : mz_fail(MZ_E_MEMORY, "metrics: no memory for a record");
  cJSON_Delete(record);
  return status;
}

void mz_run_rest(mz_run *run) {
  mz_steer_rest(run->steer, true);
  run->rest_ns = mz_clock_ns();
}

static void wake(mz_run *run) {
  if (!run->rest_ns) return;
  const uint64_t rested = mz_clock_ns() - run->rest_ns;
  run->opened_ns += rested;
  run->saved_ns += rested;
  run->rest_ns = 0;
  mz_steer_rest(run->steer, false);
}

static mz_status run_phase(mz_run *run, const mz_limits *given, mz_tick tick, void *context, mz_phase *phase, mz_reason *reason) {
  const mz_limits limits = limits_in_force(run, given);
  wake(run);
  *phase = (mz_phase){.score = NAN};
  *reason = limit_met(run, &limits);
  start_phase(run);
  while (*reason == MZ_GOES_ON) {
    MZ_TRY(play_round(run));
    tick_progress(run, &limits, tick, context);
    *reason = limit_met(run, &limits);
    if (phase_ended(run)) break;
    if (*reason == MZ_GOES_ON) MZ_TRY(save_when_due(run));
  }
  /* No phase ends where a limit was met before the first round: its record would be a phase's second one. */
  const bool whole = run->phase_stats.rounds > 0 && phase_ended(run), stops = *reason != MZ_GOES_ON;
  int64_t index = run->state.counters.rounds / run->settings.train.phase_rounds;
  if (whole && index % run->settings.train.eval_interval == 0 && *reason != MZ_REASON_INTERRUPTED)
    MZ_TRY(evaluate_phase(run, &limits, phase, reason));
  /* A run that stops for another reason than its score ends with a score all the same. */
  if (stops && *reason != MZ_REASON_INTERRUPTED && *reason != MZ_REASON_SCORE) {
    MZ_TRY(mz_run_evaluate(run, CONFIRM_GAMES, &phase->evaluation, &run->score));
    phase->evaluated = true;
  }
  measure_phase(run, phase);
  if (whole) MZ_TRY(decide(run, phase));
  MZ_TRY(record_phase(run, phase, whole));
  bool best = phase->evaluated && !(run->score <= run->best_score); /* the first one too */
  if (best) run->best_score = run->score;
  if (*reason != MZ_GOES_ON) {
    MZ_TRY(save(run, best));
    return wait_for_checkpoint(run);
  }
  return best ? save(run, true) : save_when_due(run);
}

/* Says where it is still sound, and how to continue from there. */
static mz_status diverged(mz_run *run) {
  char why[MZ_MESSAGE_MAX], name[MZ_CHECKPOINT_NAME_MAX], path[MZ_DIR_MAX + 128], quoted[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  snprintf(why, sizeof why, "%s", mz_message());
  if (wait_for_checkpoint(run) != MZ_OK || mz_checkpoint_pointer_read(run->dir, "LATEST", name) != MZ_OK ||
      mz_checkpoint_path(run->dir, name, path, sizeof path) != MZ_OK)
    return mz_fail(MZ_E_DIVERGED, "%s", why);
  return mz_fail(
      MZ_E_DIVERGED,
      "%s: training has diverged; the last sound checkpoint is %s; 'muzero train %s --from %s --set learning_rate=%.3g' "
      "continues from it with half the learning rate",
      why, path, run->state.env->name, mz_shell_quote(run->dir, quoted, sizeof quoted),
      run->settings.optimizer.learning_rate / 2);
}

mz_status mz_run_phase(mz_run *run, const mz_limits *limits, mz_tick tick, void *context, mz_phase *phase, mz_reason *reason) {
  const mz_status status = run_phase(run, limits, tick, context, phase, reason);
  const mz_status said = status == MZ_E_DIVERGED ? diverged(run) : status;
  begin(run, MZ_DOING_NOTHING);
  return said;
}

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
