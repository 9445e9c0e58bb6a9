#include "muzero/compare/simulated_whole.h"
#include "muzero/batch_rule.h"
#include "muzero/batch_schedule.h"
#include "muzero/limits.h"
#include "muzero/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mz_simulated_whole {
  mz_simulated_runs *runs;
  mz_simulated_cell *cell;
  mz_allocation_settings allocation; /* its limits */
  mz_limits limits;
  int64_t phase_rounds, eval_interval;
  double batch_size;     /* rows an update */
  const mz_curve *curve; /* that it learns by */
  double pace;           /* times as many epochs as the typical run needs */
  int64_t epochs;
  double score; /* the best so far; NAN: none yet */
};

/* ---- opening ---- */

static mz_status check_learning(const mz_simulated_runs *runs, const mz_settings *s) {
  if (strcmp(s->allocation.strategy, "staged") == 0)
    return mz_fail(MZ_E_CONFIG, "strategy staged proposes plans by what an agent sees of a run; in a simulated one there is "
                                "nothing to see. Leave it out");
  if (strchr(s->learning.batch_schedule, ','))
    return mz_fail(MZ_E_CONFIG, "batch_schedule: %s: learning curves are of one batch size each; give one, as in 0:256",
                   s->learning.batch_schedule);
  if (mz_settings_learning_hash(s) != mz_settings_learning_hash(&runs->settings))
    return mz_fail(MZ_E_CONFIG,
                   "it learns by other settings than the learning curves; use --set, for all arms. Another batch size is "
                   "batch_schedule=0:ROWS");
  return MZ_OK;
}

/* Makes `settings` what static plans. */
static mz_status plan(const mz_simulated_whole_options *o, mz_settings *settings, int64_t *rounds, char refused[MZ_MESSAGE_MAX]) {
  mz_run_planning *planning;
  mz_run_ask ask = mz_run_ask_of(settings, o->runs->env, o->run);
  ask.env = o->run->env;
  MZ_TRY(mz_simulated_runs_plan(o->runs, settings, &ask, &planning));
  if (mz_run_planning_check(planning, &ask) != MZ_OK) {
    snprintf(refused, MZ_MESSAGE_MAX, "%s", mz_message());
  } else {
    mz_simulated_runs_apply(o->runs, &planning->best, &ask, settings);
    const int64_t planned = planning->best.epochs * settings->train.phase_rounds;
    *rounds = *rounds > 0 && *rounds < planned ? *rounds : planned;
  }
  mz_run_planning_free(planning);
  return MZ_OK;
}

static mz_status find_curve(mz_simulated_whole *w, const mz_simulated_whole_options *o, int64_t rows) {
  if (!mz_simulated_runs_probes(w->runs, (double)rows))
    return mz_fail(MZ_E_CONFIG,
                   "no learning curve in batches of %lld rows is known: 'muzero profile %s --score --grid batch_size=%lld' "
                   "measures it",
                   (long long)rows, w->runs->env_name, (long long)rows);
  MZ_TRY(mz_simulated_runs_find_curve(w->runs, o->run->seed, (double)rows, &w->curve));
  w->pace = mz_simulated_runs_pace(w->runs, w->curve);
  return MZ_OK;
}

static mz_status open_cell(mz_simulated_whole *w, const mz_simulated_whole_options *o, mz_settings *settings) {
  const int64_t rows = mz_batch_schedule_at(settings, 0);
  const mz_simulated_probes *probes = mz_simulated_runs_probes(w->runs, (double)rows);
  mz_memory memory;
  MZ_ASSERT(probes);
  MZ_TRY(mz_batch_rule_apply(settings, rows, "batch_schedule"));
  settings->learning.batch_schedule[0] = '\0'; /* the cell's rounds are of that size from the first on */
  MZ_TRY(mz_memory_count(&memory, w->runs->env, settings, NULL));
  memory.fixed[MZ_MEMORY_PROCESS] = probes->process_bytes;
  w->batch_size = (double)rows;
  w->eval_interval = settings->train.eval_interval;
  w->allocation = settings->allocation;
  return mz_simulated_cell_open(&w->cell, &(mz_simulated_cell_options){.machine = w->runs->machine,
                                                                       .probed = &probes->stages,
                                                                       .settings = settings,
                                                                       .memory = &memory,
                                                                       .threads = o->run->threads,
                                                                       .seed = o->run->seed,
                                                                       .noise_seed = o->noise_seed,
                                                                       .rounds = w->limits.rounds});
}

/* Returns the rounds of which a curve tells: one that reaches the score keeps it, and ends there. */
static int64_t rounds_known(const mz_simulated_whole *w) { return mz_curve_length(w->curve) * w->phase_rounds; }

static mz_status open_whole(mz_simulated_whole *w, const mz_simulated_whole_options *o, char refused[MZ_MESSAGE_MAX]) {
  mz_settings settings;
  int64_t rounds = o->rounds;
  MZ_TRY(mz_settings_for_new_run(o->run, &settings));
  MZ_TRY(check_learning(w->runs, &settings));
  settings.allocation.score = w->runs->target;
  if (strcmp(settings.allocation.strategy, "static") == 0) MZ_TRY(plan(o, &settings, &rounds, refused));
  if (refused[0]) return MZ_OK;
  w->phase_rounds = settings.train.phase_rounds;
  MZ_TRY(find_curve(w, o, mz_batch_schedule_at(&settings, 0)));
  const int64_t known = rounds_known(w);
  w->limits = (mz_limits){.rounds = rounds > 0 && rounds < known ? rounds : known, .until = true, .score = w->runs->target};
  return open_cell(w, o, &settings);
}

mz_status mz_simulated_whole_open(mz_simulated_whole **out, const mz_simulated_whole_options *options,
                                  char refused[MZ_MESSAGE_MAX]) {
  mz_simulated_whole *w;
  *out = NULL;
  refused[0] = '\0';
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->runs = options->runs;
  w->score = NAN;
  const mz_status status = open_whole(w, options, refused);
  if (status == MZ_OK && !refused[0])
    *out = w;
  else
    mz_simulated_whole_close(w);
  return status;
}

void mz_simulated_whole_close(mz_simulated_whole *w) {
  if (!w) return;
  mz_simulated_cell_close(w->cell);
  free(w);
}

mz_simulated_cell *mz_simulated_whole_cell(mz_simulated_whole *w) { return w->cell; }

/* ---- a phase ---- */

static double typical_epoch(const mz_simulated_whole *w) { return fmax((double)w->epochs / w->pace, 1); }

static double evaluation_s(const mz_simulated_whole *w, double cores) {
  return mz_epoch_rest_evaluation_s(&w->runs->rest, cores, w->batch_size, typical_epoch(w));
}

static double closing_s(const mz_simulated_whole *w, double cores) {
  return mz_simulated_runs_closing_s(w->runs, cores, w->batch_size, typical_epoch(w));
}

static bool evaluation_due(const mz_simulated_whole *w, int64_t rounds) {
  return rounds % (w->phase_rounds * w->eval_interval) == 0;
}

/* Asked as a run is: limits of time and money leave room for the closing games, and for an evaluation that is still to come. */
static mz_reason limit_met(const mz_simulated_whole *w, bool evaluates) {
  const mz_simulated_spent spent = mz_simulated_cell_spent(w->cell);
  return mz_limits_met(&w->limits, &w->allocation,
                       &(mz_spent){.counters = {.rounds = spent.rounds},
                                   .invocation_s = spent.wall_s,
                                   .wall_s = spent.wall_s,
                                   .cost = spent.cost,
                                   .price_s = spent.price_s,
                                   .game_s = closing_s(w, spent.cores) + (evaluates ? evaluation_s(w, spent.cores) : 0),
                                   .closing_games = 1});
}

/* Evaluates when due, and looks at the limits again. reason: the one found before. */
static mz_reason end_phase(mz_simulated_whole *w, mz_reason reason) {
  const double cores = mz_simulated_cell_spent(w->cell).cores;
  w->epochs++;
  mz_simulated_cell_pass(w->cell, mz_epoch_rest_other_s(&w->runs->rest, cores, w->batch_size, (double)w->epochs));
  if (w->epochs % w->eval_interval == 0) {
    mz_simulated_cell_pass(w->cell, evaluation_s(w, cores));
    w->score = mz_curve_best(w->curve, (int)w->epochs);
    if (w->score >= w->limits.score) return MZ_REASON_SCORE;
  }
  return reason == MZ_GOES_ON ? limit_met(w, false) : reason;
}

mz_status mz_simulated_whole_advance(mz_simulated_whole *w, cJSON **block, bool *ended) {
  mz_reason reason = MZ_GOES_ON;
  for (bool whole = false; !whole && reason == MZ_GOES_ON;) {
    MZ_TRY(mz_simulated_cell_play(w->cell, 1));
    const int64_t rounds = mz_simulated_cell_spent(w->cell).rounds;
    whole = rounds % w->phase_rounds == 0;
    reason = limit_met(w, evaluation_due(w, rounds) || evaluation_due(w, rounds + 1));
    if (whole) reason = end_phase(w, reason);
  }
  *ended = reason != MZ_GOES_ON;
  if (*ended) mz_simulated_cell_pass(w->cell, closing_s(w, mz_simulated_cell_spent(w->cell).cores));
  return mz_simulated_cell_end_block(w->cell, w->score, reason, block);
}
