/* Evaluations of a run, and the time that those will take which end it. */
#include "base/machine/clock.h"
#include "muzero/limits.h"
#include "muzero/run.h"
#include "muzero/run_score.h"
#include <math.h>

static const uint32_t FRESH = 0x80000000u; /* evaluation streams of confirmation and final games */

/* That evaluations have. */
static int evaluation_cores(const mz_run *run) {
  const int threads = mz_pool_threads(run->workers.actor_pool), cores = mz_steer_cores(run->steer);
  return threads < cores ? threads : cores;
}

/* By how many an evaluation's time is divided: over every line it takes what it takes. */
static int games_timed(const mz_run *run, int games) { return run->every_line ? 1 : games; }

static mz_status evaluate(mz_run *run, int games, uint32_t stream, mz_evaluation *out, double *score) {
  const mz_settings *s = &run->settings;
  const mz_agent agent = {.env = run->state.env,
                          .search = &s->search,
                          .model = &run->state.model,
                          .where = &run->state.where.selfplay,
                          .discount = s->replay.discount,
                          .weights = run->state.published,
                          .simulations = (int)s->train.eval_simulations,
                          .symmetry = s->train.eval_symmetry};
  const mz_match match = {.env = run->state.env,
                          .sides = {{.agent = &agent}, {.player = run->has_opponent ? &run->opponent : NULL}},
                          .games = games,
                          .openings = (int)s->train.eval_openings,
                          .seed = run->state.seed,
                          .round = stream};
  mz_activity *activity = &run->workers.activity;
  const mz_doing before = mz_activity_begin(activity, MZ_DOING_EVALUATION, run->state.counters.rounds);
  const uint64_t start = mz_clock_ns();
  const mz_status status = run->every_line ? mz_evaluate_all(&agent, run->workers.actor_pool, out)
                                           : mz_evaluate(&match, run->workers.actor_pool, out, NULL);
  mz_activity_begin(activity, before, run->state.counters.rounds);
  MZ_TRY(status);
  *score = mz_score(out, run->state.env, s->train.eval_opponent);
  run->game_s = (double)(mz_clock_ns() - start) * 1e-9 / games_timed(run, games);
  run->game_cores = evaluation_cores(run);
  if (!run->every_line) mz_game_lengths_add(&run->lengths, (double)out->moves / games);
  return MZ_OK;
}

mz_status mz_run_evaluate(mz_run *run, int games, mz_evaluation *out, double *score) {
  return evaluate(run, games, (uint32_t)run->state.counters.rounds | FRESH, out, score);
}

mz_status mz_run_evaluate_phase(mz_run *run, mz_evaluation *out, double *score) {
  return evaluate(run, (int)run->settings.train.eval_games, (uint32_t)run->state.counters.rounds, out, score);
}

mz_status mz_run_time_evaluation(mz_run *run, const mz_limits *limits) {
  const mz_allocation_settings *a = &run->settings.allocation;
  const bool limited = limits->for_s > 0 || a->deadline > 0 || a->budget > 0;
  if (!limited || isfinite(run->game_s) || run->every_line) return MZ_OK;
  const int games = 2 * mz_pool_threads(run->workers.actor_pool);
  mz_evaluation evaluation;
  double score;
  return evaluate(run, games < MZ_CONFIRM_GAMES ? games : MZ_CONFIRM_GAMES, FRESH, &evaluation, &score);
}

double mz_run_game_s(const mz_run *run) {
  const double growth = mz_game_lengths_growth(&run->lengths, run->state.env->spec.max_moves);
  return growth * mz_limits_game_s(run->game_s, run->game_cores, evaluation_cores(run));
}

int mz_run_closing_games(const mz_run *run, bool evaluates) {
  return games_timed(run, MZ_CONFIRM_GAMES) + (evaluates ? games_timed(run, (int)run->settings.train.eval_games) : 0);
}
