/* Training a run: by rounds, by phases, to a limit. */
#include "muzero/library/training.h"
#include <math.h>

enum { LIMITS_FIRST_SIZE = sizeof(muzero_limits) };
_Static_assert((int)MUZERO_CONTINUES == (int)MZ_GOES_ON && (int)MUZERO_REACHED_ROUNDS == (int)MZ_REASON_ROUNDS &&
                   (int)MUZERO_REACHED_ENV_STEPS == (int)MZ_REASON_ENV_STEPS &&
                   (int)MUZERO_REACHED_UPDATES == (int)MZ_REASON_UPDATES && (int)MUZERO_REACHED_TIME == (int)MZ_REASON_TIME &&
                   (int)MUZERO_REACHED_SCORE == (int)MZ_REASON_SCORE && (int)MUZERO_REACHED_BUDGET == (int)MZ_REASON_BUDGET &&
                   (int)MUZERO_STOPPED == (int)MZ_REASON_INTERRUPTED,
               "a reason has one number inside and outside");
_Static_assert((int)MUZERO_REQUEST_STOP == (int)MZ_REQUEST_STOP && (int)MUZERO_REQUEST_CHECKPOINT == (int)MZ_REQUEST_CHECKPOINT,
               "a request has one number inside and outside");

/* ---- state ---- */

muzero_progress mz_training_progress(const mz_training *training) {
  const mz_counters *c = mz_run_counters(training->run);
  return (muzero_progress){.size = sizeof(muzero_progress),
                           .rounds = c->rounds,
                           .env_steps = c->env_steps,
                           .updates = c->updates,
                           .episodes = c->episodes,
                           .simulations = c->simulations,
                           .wall_s = mz_run_wall_s(training->run),
                           .score = training->run->score};
}

/* MUZERO_E_USAGE where a failure has left the state unusable. */
static muzero_status usable(const mz_training *training, const char *function) {
  if (!training->failed) return MUZERO_OK;
  return mz_failure(MUZERO_E_USAGE, "%s: training has failed before; close the run and resume it from its last checkpoint",
                    function);
}

/* Notes a failure of training. */
static muzero_status note(mz_training *training, mz_status status) {
  training->failed = status != MZ_OK;
  return mz_failure_of(status);
}

/* ---- callbacks and requests ---- */

static void pass_requests_on(mz_training *training) {
  const int requests = mz_handle_take_requests(training->handle);
  if (requests) mz_run_request(training->run, (mz_request)requests);
}

static void call_back(mz_training *training, muzero_run_callback callback) {
  if (!callback) return;
  const muzero_progress progress = mz_training_progress(training);
  mz_call_callback_begins(training->call);
  const int stops = callback(training->context, &progress);
  mz_call_callback_ended(training->call);
  if (stops) mz_run_request(training->run, MZ_REQUEST_STOP);
}

static void after_round(void *context, const mz_progress *progress) {
  mz_training *training = context;
  call_back(training, training->on_round);
  pass_requests_on(training);
  if (progress->counters.rounds == training->pause_at) mz_run_request(training->run, MZ_REQUEST_PAUSE);
}

/* ---- phases ---- */

static muzero_status keep_record(mz_training *training, const mz_phase *phase) {
  cJSON *record = mz_phase_to_json(phase);
  if (!record) return mz_failure(MUZERO_E_MEMORY, "metrics: no memory for a record");
  cJSON_Delete(training->record);
  training->record = record;
  return MUZERO_OK;
}

/* A phase, or what is left of it, until it ends or pauses. */
static muzero_status advance(mz_training *training, const mz_limits *limits, muzero_reason *reason) {
  mz_phase phase;
  mz_reason why;
  pass_requests_on(training);
  MUZERO_TRY(note(training, mz_run_phase(training->run, limits, after_round, training, &phase, &why)));
  *reason = (muzero_reason)(int)why;
  if (why == MZ_REASON_INTERRUPTED) atomic_fetch_and(&training->run->requests, ~(int)MZ_REQUEST_STOP);
  if (mz_run_is_paused(training->run) || (phase.played == 0 && why != MZ_GOES_ON)) return MUZERO_OK;
  MUZERO_TRY(keep_record(training, &phase));
  call_back(training, training->on_phase);
  return MUZERO_OK;
}

static muzero_status advance_to(mz_training *training, const mz_limits *limits, int64_t rounds, bool one_phase,
                                muzero_reason *reason) {
  muzero_status status;
  training->pause_at = rounds;
  do status = advance(training, limits, reason);
  while (status == MUZERO_OK && *reason == MUZERO_CONTINUES && !one_phase && mz_run_counters(training->run)->rounds != rounds);
  return status;
}

/* ---- limits ---- */

static muzero_status read_limits(const muzero_limits *given, const char *function, mz_limits *out) {
  muzero_limits l = MUZERO_LIMITS_INIT;
  if (given) MUZERO_TRY(mz_call_read(&l, sizeof l, LIMITS_FIRST_SIZE, given, function, "muzero_limits"));
  if (l.rounds < 0 || l.env_steps < 0 || l.updates < 0 || !(l.seconds >= 0))
    return mz_failure(MUZERO_E_USAGE, "%s: a limit is negative; takes 0, for none, or more", function);
  if (l.has_score && isnan(l.score)) return mz_failure(MUZERO_E_USAGE, "%s: limits.score is NaN", function);
  *out = (mz_limits){.rounds = l.rounds,
                     .env_steps = l.env_steps,
                     .updates = l.updates,
                     .for_s = l.seconds,
                     .until = l.has_score != 0,
                     .score = l.has_score ? l.score : 0};
  return MUZERO_OK;
}

/* rounds 0: as many as there are. */
static muzero_status train(mz_call *call, const muzero_limits *given, int64_t rounds, bool one_phase, muzero_reason *reason) {
  mz_training *training = call->object;
  mz_limits limits;
  muzero_reason why = MUZERO_CONTINUES;
  MUZERO_TRY(usable(training, call->function));
  MUZERO_TRY(read_limits(given, call->function, &limits));
  const int64_t now = mz_run_counters(training->run)->rounds;
  if (rounds > INT64_MAX - now) rounds = INT64_MAX - now;
  training->call = call;
  const muzero_status status = advance_to(training, &limits, rounds ? now + rounds : 0, one_phase, &why);
  training->call = NULL;
  mz_run_rest(training->run);
  if (status == MUZERO_OK && reason) *reason = why;
  return status;
}

/* ---- the public functions ---- */

muzero_status muzero_run_train(muzero_run *run, const muzero_limits *limits, muzero_reason *reason) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  return mz_call_end(&call, train(&call, limits, 0, false, reason));
}

muzero_status muzero_run_phase(muzero_run *run, const muzero_limits *limits, muzero_reason *reason) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  return mz_call_end(&call, train(&call, limits, 0, true, reason));
}

muzero_status muzero_run_rounds(muzero_run *run, int64_t rounds, const muzero_limits *limits, muzero_reason *reason) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  if (rounds < 1)
    return mz_call_end(&call, mz_failure(MUZERO_E_USAGE, "%s: rounds is %lld; takes 1 or more", __func__, (long long)rounds));
  return mz_call_end(&call, train(&call, limits, rounds, false, reason));
}

muzero_status muzero_run_request(muzero_run *run, int requests) { return mz_handle_request(run, MZ_HANDLE_RUN, requests); }

muzero_status muzero_run_save(muzero_run *run) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  mz_training *training = call.object;
  muzero_status status = usable(training, __func__);
  if (status == MUZERO_OK) status = mz_failure_of(mz_run_save(training->run));
  return mz_call_end(&call, status);
}

muzero_status muzero_run_evaluate(muzero_run *run, int32_t games, double *score) {
  enum { GAMES_MAX = 1000000 };
  mz_call call;
  mz_evaluation evaluation;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  MUZERO_NOT_NULL(score);
  mz_training *training = call.object;
  muzero_status status = usable(training, __func__);
  if (status == MUZERO_OK && (games < 1 || games > GAMES_MAX))
    status = mz_failure(MUZERO_E_USAGE, "%s: games is %d; takes 1 … %d", __func__, (int)games, GAMES_MAX);
  double result;
  if (status == MUZERO_OK) status = mz_failure_of(mz_run_evaluate(training->run, games, &evaluation, &result));
  if (status == MUZERO_OK) *score = result;
  return mz_call_end(&call, status);
}
