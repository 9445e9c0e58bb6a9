#include "allocator/predictors/champion.h"
#include "allocator/predictors/pretrained.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 8, PLANS_MIN = 4 };
static const double MORE_PLANS = 1.1;

struct mz_champion {
  const mz_pipeline *pipeline;
  double cores;
  mz_pretrained *pretrained;
  const mz_predictor *only, *predictor;
  mz_contest_room *room;
  void *memory; /* of `predictor`, fitted; room for the one that needs most */
  mz_lessons lessons;
  mz_contender contenders[MZ_PREDICTORS_MAX];
  int contender_count, contest_plans;
  double band; /* of `predictor` in the last contest; 0: it was in none */
};

static void read_lessons(mz_champion *c, const mz_observation *observations, int count) {
  mz_lessons_init(&c->lessons, c->pipeline, c->cores, observations, count);
  c->lessons.pretrained = c->pretrained;
}

static void fit(mz_champion *c) {
  memset(c->memory, 0, c->predictor->memory_bytes);
  c->predictor->fit(c->memory, &c->lessons);
}

mz_status mz_champion_create(mz_champion **out, const mz_pipeline *pipeline, double cores, const mz_predictor *only,
                             mz_pretrained *pretrained, int observations) {
  *out = NULL;
  mz_champion *c = NULL;
  mz_status status = MZ_OK;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  if (pretrained) MZ_TRY_CLEANUP(mz_pretrained_prepare(pretrained, pipeline));
  MZ_TRY_CLEANUP(mz_contest_room_create(&c->room, observations));
  MZ_TRY_CLEANUP(mz_alloc(&c->memory, 1, mz_predictor_memory_most()));
  c->pipeline = pipeline;
  c->cores = cores;
  c->pretrained = pretrained;
  c->only = only;
  c->predictor = only && only->pretrained && pretrained ? only : &mz_predictor_analytic;
  read_lessons(c, NULL, 0);
  fit(c);
  *out = c;
  return MZ_OK;
cleanup:
  mz_champion_free(c);
  return status;
}

void mz_champion_free(mz_champion *c) {
  if (c == NULL) return;
  mz_contest_room_free(c->room);
  free(c->memory);
  free(c);
}

/* ---- learning ---- */

/* The winner, where it is ahead of T_ana by more than two standard errors of an error of so many plans: of several predictors one is
 * ahead by chance. (After the one-standard-error rule: Breiman et al., Classification and Regression Trees, 1984.) */
static const mz_predictor *who_drives(const mz_champion *c) {
  const int winner = mz_contest_winner(c->contenders, c->contender_count);
  if (winner < 0) return c->predictor;
  const mz_contender *ahead = &c->contenders[winner];
  for (int i = 0; i < c->contender_count; i++) {
    const mz_contender *incumbent = &c->contenders[i];
    const double chance = 2 / sqrt(2.0 * (incumbent->judged - 1));
    if (incumbent->predictor == &mz_predictor_analytic && isfinite(incumbent->error) &&
        ahead->error > incumbent->error * (1 - chance))
      return incumbent->predictor;
  }
  return ahead->predictor;
}

static void hold_contest(mz_champion *c) {
  c->contest_plans = c->lessons.count;
  for (c->contender_count = 0; mz_predictors[c->contender_count]; c->contender_count++)
    mz_contest_judge(&c->lessons, mz_predictors[c->contender_count], FOLDS, c->room, &c->contenders[c->contender_count]);
  c->predictor = c->only ? c->only : who_drives(c);
  for (int i = 0; i < c->contender_count; i++) {
    const mz_contender *contender = &c->contenders[i];
    if (contender->predictor == c->predictor) c->band = isfinite(contender->error) ? contender->band : 0;
  }
}

void mz_champion_learn(mz_champion *c, const mz_observation *observations, int count) {
  read_lessons(c, observations, count);
  if (c->lessons.count >= PLANS_MIN && c->lessons.count > MORE_PLANS * c->contest_plans) hold_contest(c);
  fit(c);
}

/* ---- asking ---- */

bool mz_champion_measured(const mz_champion *c, const mz_plan *plan) {
  for (int i = 0; i < c->lessons.count; i++)
    if (mz_plan_equal(c->pipeline, plan, &c->lessons.items[i].plan)) return true;
  return false;
}

mz_prediction mz_champion_predict(const mz_champion *c, const mz_plan *plan, const mz_prediction *otherwise) {
  mz_prediction p = c->predictor->predict(c->memory, plan);
  if (!isfinite(p.unit_s)) return *otherwise;
  p.apart_s = otherwise->apart_s;
  if (!(c->band > 0) || mz_champion_measured(c, plan)) return p;
  p.low = fmin(p.low, p.unit_s * exp(-c->band));
  p.high = fmax(p.high, p.unit_s * exp(c->band));
  return p;
}

mz_prediction mz_predict(const mz_champion *champion, const mz_analytic *model, const mz_plan *plan) {
  const mz_prediction analytic = mz_analytic_predict(model, plan);
  return champion ? mz_champion_predict(champion, plan, &analytic) : analytic;
}

const mz_predictor *mz_champion_predictor(const mz_champion *c) { return c->predictor; }
const mz_lessons *mz_champion_lessons(const mz_champion *c) { return &c->lessons; }

const mz_contender *mz_champion_contest(const mz_champion *c, int *count, int *plans) {
  *count = c->contender_count;
  *plans = c->contest_plans;
  return c->contenders;
}
