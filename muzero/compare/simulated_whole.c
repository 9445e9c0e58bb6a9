#include "muzero/compare/simulated_whole.h"
#include "allocator/records/ledger.h"
#include "base/file/file.h"
#include "muzero/batch_rule.h"
#include "muzero/batch_schedule.h"
#include "muzero/game_lengths.h"
#include "muzero/limits.h"
#include "muzero/knobs.h"
#include "muzero/run.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/staged.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mz_simulated_whole {
  mz_simulated_runs *runs;
  mz_simulated_cell *cell;
  mz_settings settings; /* of the arm, in the batches that it begins with */
  uint64_t seed;
  int threads;
  mz_bounds bounds;
  mz_limits limits;
  int64_t phase_rounds, eval_interval;
  double batch_size;     /* rows an update; 0: no plan is made yet */
  const mz_curve *curve; /* that it learns by */
  double pace;           /* times as many epochs as the typical run needs */
  int64_t epochs;
  double round_s;          /* of the longest round; 0: none yet */
  mz_game_lengths lengths; /* by the seconds of evaluations */
  double score;            /* the best so far; NAN: none yet */
  struct {
    double score, curve; /* of the run, and of the curve, when it turned to this curve */
  } turned;
  mz_staged *staged; /* NULL: no agent plans by stages */
  int chosen;        /* plan of the course in force; −1: none */
  mz_ledger ledger;  /* of the stages */
};

static bool in_shadow(const mz_simulated_whole *w) { return w->staged && !mz_staged_drives(w->staged); }

/* ---- learning ---- */

static mz_status check_learning(const mz_simulated_runs *runs, const mz_settings *s) {
  if (strchr(s->learning.batch_schedule, ','))
    return mz_fail(MZ_E_CONFIG, "batch_schedule: %s: learning curves are of one batch size each; give one, as in 0:256",
                   s->learning.batch_schedule);
  if (mz_settings_learning_hash(s) != mz_settings_learning_hash(&runs->settings))
    return mz_fail(MZ_E_CONFIG,
                   "it learns by other settings than the learning curves; use --set, for all arms. Another batch size is "
                   "batch_schedule=0:ROWS");
  return MZ_OK;
}

/* The best score of the curve so far; before the first one that from which runs begin. */
static double best_of_curve(const mz_simulated_whole *w) {
  const double best = mz_curve_best(w->curve, (int)w->epochs);
  return isfinite(best) ? best : w->runs->start;
}

static mz_status turn_to_curve(mz_simulated_whole *w, int64_t rows) {
  if (!mz_simulated_runs_probes(w->runs, (double)rows))
    return mz_fail(MZ_E_CONFIG,
                   "no learning curve in batches of %lld rows is known: 'muzero profile %s --score --grid batch_size=%lld' "
                   "measures it",
                   (long long)rows, w->runs->env_name, (long long)rows);
  MZ_TRY(mz_simulated_runs_find_curve(w->runs, w->seed, (double)rows, &w->curve));
  w->pace = mz_simulated_runs_pace(w->runs, w->curve);
  w->batch_size = (double)rows;
  w->turned.score = isfinite(w->score) ? w->score : w->runs->start;
  w->turned.curve = best_of_curve(w);
  return MZ_OK;
}

/* Since it turned to its curve the run has closed the share of the distance to the ceiling that the curve has, as stages of a course do
 * (base/course/course.h). One that began with its curve has the curve's scores. */
static double score_of(const mz_simulated_whole *w) {
  const double ceiling = w->runs->ceiling, best = mz_curve_best(w->curve, (int)w->epochs);
  if (w->turned.score == w->turned.curve) return best;
  return ceiling - (ceiling - w->turned.score) * (ceiling - best_of_curve(w)) / (ceiling - w->turned.curve);
}

/* ---- plans ---- */

/* Makes `settings` what static plans. */
static mz_status plan(const mz_simulated_whole_options *o, mz_settings *settings, int64_t *rounds, char refused[MZ_MESSAGE_MAX]) {
  mz_run_planning *planning;
  mz_run_ask ask = mz_run_ask_of(settings, o->runs->env, o->run);
  ask.env = o->run->env;
  MZ_TRY(mz_simulated_runs_plan(o->runs, settings, &ask, &planning));
  if (mz_run_planning_check(planning, &ask) != MZ_OK) {
    snprintf(refused, MZ_MESSAGE_MAX, "%s", mz_message());
  } else {
    mz_run_plan_apply(&planning->best, &o->runs->place.outset.pipeline, &ask, settings);
    const int64_t planned = planning->best.epochs * settings->train.phase_rounds;
    *rounds = *rounds > 0 && *rounds < planned ? *rounds : planned;
  }
  mz_run_planning_free(planning);
  return MZ_OK;
}

/* Rounds of the cell in batches of so many rows. cores: that the run may have; 0: as its limits say. */
typedef struct round_work {
  mz_settings settings;
  mz_memory memory;
} round_work;

static mz_status describe(const mz_simulated_whole *w, int64_t rows, int cores, round_work *out) {
  const mz_simulated_probes *probes = mz_simulated_runs_probes(w->runs, (double)rows);
  MZ_ASSERT(probes);
  out->settings = w->settings;
  MZ_TRY(mz_batch_rule_apply(&out->settings, rows, "batch_schedule"));
  out->settings.learning.batch_schedule[0] = '\0'; /* the cell's rounds are all of that size */
  if (cores > 0) out->settings.allocation.cpu_max = fmin(cores, w->bounds.cpu_max);
  MZ_TRY(mz_memory_count(&out->memory, w->runs->env, &out->settings, NULL));
  mz_simulated_probes_settle(probes, &out->memory);
  return MZ_OK;
}

static mz_simulated_cell_options options_of(const mz_simulated_whole *w, const round_work *work, uint64_t noise_seed) {
  return (mz_simulated_cell_options){.machine = w->runs->machine,
                                     .probed = &mz_simulated_runs_probes(w->runs, w->batch_size)->stages,
                                     .settings = &work->settings,
                                     .memory = &work->memory,
                                     .threads = w->threads,
                                     .seed = w->seed,
                                     .noise_seed = noise_seed,
                                     .rounds = w->limits.rounds};
}

/* ---- stages, as those of a real run (muzero/steering/steer_stage.c) ---- */

static bool has_batch(const void *context, double batch_size) {
  const mz_simulated_whole *w = context;
  mz_settings copy = w->settings;
  const mz_curve *curve;
  return mz_simulated_runs_probes(w->runs, batch_size) != NULL &&
         mz_batch_rule_apply(&copy, (int64_t)batch_size, "batch_size") == MZ_OK &&
         mz_simulated_runs_find_curve(w->runs, w->seed, batch_size, &curve) == MZ_OK;
}

static mz_staged_run run_of(const mz_simulated_whole *w) {
  return (mz_staged_run){.pipeline = &w->runs->place.outset.pipeline,
                         .bounds = &w->bounds,
                         .batch_size = w->batch_size,
                         .has_batch = has_batch,
                         .context = w,
                         .phase = w->epochs,
                         .round = w->cell ? mz_simulated_cell_spent(w->cell).rounds : 0};
}

/* Asks the agent about the stage that begins. *plan: as mz_stage_record's chosen. */
static mz_status decide(mz_simulated_whole *w, int *plan) {
  mz_stage_record record;
  const mz_staged_run run = run_of(w);
  MZ_TRY(mz_staged_decide(w->staged, &run, &record));
  *plan = record.chosen;
  return mz_ledger_append_stage(&w->ledger, &record, mz_staged_plan_count(w->staged));
}

static mz_status put_in_force(mz_simulated_whole *w, int plan) {
  const int64_t rows = (int64_t)mz_staged_batch_size(w->staged, plan);
  const mz_knobs start = mz_knobs_of_plan(mz_staged_plan(w->staged, plan));
  round_work work;
  if (plan == w->chosen) return MZ_OK;
  w->chosen = plan;
  if ((double)rows != w->batch_size) MZ_TRY(turn_to_curve(w, rows));
  MZ_TRY(describe(w, rows, mz_staged_cores(w->staged, plan), &work));
  const mz_simulated_cell_options options = options_of(w, &work, 0);
  return mz_simulated_cell_move(w->cell, &options, &start);
}

static mz_status begin_stage(mz_simulated_whole *w) {
  int plan;
  MZ_TRY(decide(w, &plan));
  return plan >= 0 ? put_in_force(w, plan) : MZ_OK;
}

static mz_status append_sum(mz_simulated_whole *w) {
  const mz_simulated_spent spent = mz_simulated_cell_spent(w->cell);
  const mz_staged_run run = run_of(w);
  mz_stages_record record;
  mz_staged_sum_up(w->staged, &run, spent.wall_s, spent.cost, &record);
  return mz_ledger_append_stages(&w->ledger, &record);
}

/* Shows the agent a phase. last_s: of the games that ended the run; 0: it has not ended. */
static mz_status end_epoch(mz_simulated_whole *w, double last_s) {
  const mz_simulated_spent spent = mz_simulated_cell_spent(w->cell);
  mz_phase phase;
  mz_epoch epoch;
  mz_simulated_cell_phase(w->cell, &phase);
  phase.evaluated = w->epochs % w->eval_interval == 0;
  phase.score = w->score;
  phase.noise_scale = mz_curve_noise_scale(w->curve, (int)w->epochs);
  phase.batch_size = (int64_t)w->batch_size;
  mz_epoch_of_phase(&epoch, &phase, last_s);
  epoch.amounts[MZ_COURSE_CORES] = spent.cores;
  epoch.amounts[MZ_COURSE_GPUS] = spent.gpus;
  if (!mz_staged_epoch(w->staged, &epoch, spent.cost)) return MZ_OK;
  return mz_staged_is_over(w->staged) ? append_sum(w) : begin_stage(w);
}

/* ---- opening ---- */

static mz_status open_cell(mz_simulated_whole *w, uint64_t noise_seed) {
  round_work work;
  MZ_TRY(describe(w, (int64_t)w->batch_size, 0, &work));
  const mz_simulated_cell_options options = options_of(w, &work, noise_seed);
  return mz_simulated_cell_open(&w->cell, &options);
}

static mz_status open_stages(mz_simulated_whole *w, const mz_run_options *run) {
  const mz_allocation_settings *a = &w->settings.allocation;
  bool asked;
  MZ_TRY(mz_staged_is_asked(&w->settings, a->objective == MZ_OBJECTIVE_GOODPUT, &asked));
  if (!asked) return MZ_OK;
  MZ_TRY(mz_staged_open(&w->staged, a, &w->runs->key, w->runs->machine_text, &w->runs->place.outset.pipeline));
  MZ_ASSERT(run->dir);
  MZ_TRY(mz_file_mkdirs(run->dir));
  return mz_ledger_open(&w->ledger, run->dir, 0);
}

/* Returns the rounds of which curves tell: one that reaches the score keeps it, and ends there. What only accompanies a run sees all of its
 * course, or there would be no record of it. */
static int64_t rounds_known(const mz_simulated_whole *w) {
  const int64_t course = w->staged ? mz_staged_epochs(w->staged) : 0, own = mz_curve_length(w->curve),
                longest = mz_simulated_runs_longest(w->runs, w->curve);
  return (!w->staged ? own : in_shadow(w) || course > longest ? course : longest) * w->phase_rounds;
}

static mz_status open_whole(mz_simulated_whole *w, const mz_simulated_whole_options *o, char refused[MZ_MESSAGE_MAX]) {
  mz_settings *settings = &w->settings;
  int64_t rounds = o->rounds;
  MZ_TRY(mz_settings_for_new_run(o->run, settings));
  MZ_TRY(check_learning(w->runs, settings));
  settings->allocation.score = w->runs->target;
  if (strcmp(settings->allocation.strategy, "static") == 0) MZ_TRY(plan(o, settings, &rounds, refused));
  if (refused[0]) return MZ_OK;
  w->phase_rounds = settings->train.phase_rounds;
  w->eval_interval = settings->train.eval_interval;
  MZ_TRY(mz_simulated_runs_bounds(w->runs, settings, &w->bounds));
  MZ_TRY(open_stages(w, o->run));
  int first = -1;
  if (w->staged) MZ_TRY(decide(w, &first));
  MZ_TRY(turn_to_curve(w, first >= 0 ? (int64_t)mz_staged_batch_size(w->staged, first) : mz_batch_schedule_at(settings, 0)));
  if (in_shadow(w)) rounds = o->rounds; /* a plan of static may be shorter than the course */
  const int64_t known = rounds_known(w);
  w->limits = (mz_limits){.rounds = rounds > 0 && rounds < known ? rounds : known, .until = true, .score = w->runs->target};
  MZ_TRY(open_cell(w, o->noise_seed));
  return first >= 0 ? put_in_force(w, first) : MZ_OK;
}

mz_status mz_simulated_whole_open(mz_simulated_whole **out, const mz_simulated_whole_options *options,
                                  char refused[MZ_MESSAGE_MAX]) {
  mz_simulated_whole *w;
  *out = NULL;
  refused[0] = '\0';
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->runs = options->runs;
  w->seed = options->run->seed;
  w->threads = options->run->threads;
  w->score = NAN;
  w->chosen = w->ledger.fd = -1;
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
  mz_staged_free(w->staged);
  mz_ledger_close(&w->ledger);
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
  const double longest = mz_epoch_rest_longest_evaluation_s(&w->runs->rest, spent.cores, w->batch_size);
  const double games_s = closing_s(w, spent.cores) + (evaluates ? evaluation_s(w, spent.cores) : 0);
  return mz_limits_met(&w->limits, &w->settings.allocation,
                       &(mz_spent){.counters = {.rounds = spent.rounds},
                                   .invocation_s = spent.wall_s,
                                   .wall_s = spent.wall_s,
                                   .cost = spent.cost,
                                   .price_s = spent.price_s,
                                   .round_s = w->round_s,
                                   .game_s = games_s * mz_game_lengths_growth(&w->lengths, longest),
                                   .closing_games = 1});
}

/* Evaluates when due, and looks at the limits again. reason: the one found before. */
static mz_reason end_phase(mz_simulated_whole *w, mz_reason reason) {
  const double cores = mz_simulated_cell_spent(w->cell).cores;
  w->epochs++;
  mz_simulated_cell_pass(w->cell, mz_epoch_rest_other_s(&w->runs->rest, cores, w->batch_size, (double)w->epochs));
  if (w->epochs % w->eval_interval == 0) {
    mz_simulated_cell_pass(w->cell, evaluation_s(w, cores));
    mz_game_lengths_add(&w->lengths, evaluation_s(w, cores));
    w->score = score_of(w);
    if (w->score >= w->limits.score) return MZ_REASON_SCORE;
  }
  return reason == MZ_GOES_ON ? limit_met(w, false) : reason;
}

mz_status mz_simulated_whole_advance(mz_simulated_whole *w, cJSON **block, bool *ended) {
  mz_reason reason = MZ_GOES_ON;
  bool whole = false;
  while (!whole && reason == MZ_GOES_ON) {
    const double before_s = mz_simulated_cell_spent(w->cell).wall_s;
    MZ_TRY(mz_simulated_cell_play(w->cell, 1));
    w->round_s = fmax(w->round_s, mz_simulated_cell_spent(w->cell).wall_s - before_s);
    const int64_t rounds = mz_simulated_cell_spent(w->cell).rounds;
    whole = rounds % w->phase_rounds == 0;
    reason = limit_met(w, evaluation_due(w, rounds) || evaluation_due(w, rounds + 1));
    if (whole) reason = end_phase(w, reason);
  }
  *ended = reason != MZ_GOES_ON;
  const double last_s = *ended ? closing_s(w, mz_simulated_cell_spent(w->cell).cores) : 0;
  mz_simulated_cell_pass(w->cell, last_s);
  if (w->staged && whole) MZ_TRY(end_epoch(w, last_s));
  if (w->staged && *ended && !mz_staged_is_over(w->staged)) MZ_TRY(append_sum(w));
  return mz_simulated_cell_end_block(w->cell, w->score, reason, block);
}
