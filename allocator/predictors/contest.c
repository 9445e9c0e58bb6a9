#include "allocator/predictors/contest.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIE = 0.05, BAND = 0.9;
enum { LESSONS_MIN = 3, N = MZ_DRIFT_PLANS_MAX };

double mz_lessons_noise(const mz_lessons *l) {
  double sum = 0;
  for (int i = 0; i < l->count; i++) sum += l->items[i].sigma * sqrt(2 / M_PI) / l->count; /* mean of |x|, x normal */
  return sum;
}

/* ---- predicting what was left out ---- */

struct mz_contest_room {
  mz_lessons lessons, fewer;
  void *memory; /* of the predictor that needs most */
  int observation_count;
  mz_observation observations[];
};

mz_status mz_contest_room_create(mz_contest_room **out, int observations) {
  *out = NULL;
  mz_contest_room *room = NULL;
  MZ_TRY(mz_alloc(&room, 1, sizeof *room + (size_t)observations * sizeof *room->observations));
  room->observation_count = observations;
  const mz_status status = mz_alloc(&room->memory, 1, mz_predictor_memory_most());
  if (status != MZ_OK) {
    free(room);
    return status;
  }
  *out = room;
  return MZ_OK;
}

void mz_contest_room_free(mz_contest_room *room) {
  if (room == NULL) return;
  free(room->memory);
  free(room);
}

/* Leaves out some lessons and predicts them from the others. */
static void predict_without(const mz_lessons *l, const mz_predictor *predictor, const bool left_out[N], mz_contest_room *r,
                            double log_s[N]) {
  const mz_lessons *rest = l;
  for (int i = l->count - 1; i >= 0; i--) {
    if (!left_out[i]) continue;
    mz_lessons_without(&r->fewer, rest, i, r->observations);
    r->lessons = r->fewer;
    rest = &r->lessons;
  }
  memset(r->memory, 0, predictor->memory_bytes);
  predictor->fit(r->memory, rest);
  for (int i = 0; i < l->count; i++)
    if (left_out[i]) log_s[i] = log(predictor->predict(r->memory, &l->items[i].plan).unit_s);
}

/* ---- judging ---- */

static double spread(const double *errors, int count) {
  double mean = 0, squares = 0;
  for (int i = 0; i < count; i++) mean += errors[i] / count;
  for (int i = 0; i < count; i++) squares += (errors[i] - mean) * (errors[i] - mean);
  return sqrt(squares / (count - 1));
}

static double kendall(const mz_lessons *l, const double log_s[N]) {
  double concordant = 0, ties_measured = 0, ties_predicted = 0;
  const double pairs = l->count * (l->count - 1) / 2.0;
  for (int i = 0; i < l->count; i++) {
    for (int j = 0; j < i; j++) {
      const double a = l->items[i].log_s - l->items[j].log_s, b = log_s[i] - log_s[j];
      ties_measured += a == 0;
      ties_predicted += b == 0;
      concordant += a * b > 0 ? 1 : a * b < 0 ? -1 : 0;
    }
  }
  return concordant / sqrt((pairs - ties_measured) * (pairs - ties_predicted));
}

/* Sorts the errors. Returns the ⌈0.9 (n + 1)⌉-th smallest, the largest where there are too few. */
static double band_of(double *errors, int n) {
  const int rank = (int)ceil(BAND * (n + 1));
  mz_sort(errors, n);
  return errors[(rank < n ? rank : n) - 1];
}

/* Split conformal prediction (Vovk et al. 2005) with each lesson in turn as the new one: the ⌈0.9 (n + 1)⌉-th smallest of the others'
 * errors. */
static void judge_band(mz_contender *c, const double *errors, int count) {
  int held = 0;
  double others[N];
  for (int i = 0; i < count; i++) {
    int n = 0;
    for (int j = 0; j < count; j++)
      if (j != i) others[n++] = fabs(errors[j]);
    held += fabs(errors[i]) <= band_of(others, n);
  }
  for (int i = 0; i < count; i++) others[i] = fabs(errors[i]);
  c->held = (double)held / count;
  c->band = band_of(others, count);
}

static void judge(mz_contender *c, const mz_lessons *l, const double log_s[N]) {
  double errors[N], apart[N], least = INFINITY, chosen = NAN, predicted = INFINITY;
  c->judged = 0;
  c->mape = 0;
  for (int i = 0; i < l->count; i++) {
    if (!isfinite(log_s[i])) continue;
    errors[c->judged] = log_s[i] - l->items[i].log_s;
    apart[c->judged] = fabs(expm1(errors[c->judged]));
    c->mape += apart[c->judged++];
    least = fmin(least, l->items[i].log_s);
    if (!(log_s[i] < predicted)) continue;
    predicted = log_s[i];
    chosen = l->items[i].log_s;
  }
  c->error = INFINITY;
  if (c->judged < l->count) return;
  c->error = spread(errors, c->judged);
  c->mape /= c->judged;
  c->median_ape = mz_median(apart, c->judged);
  c->tau = kendall(l, log_s);
  c->regret = expm1(chosen - least);
  judge_band(c, errors, c->judged);
}

static mz_contender unjudged(const mz_predictor *predictor) {
  return (mz_contender){.predictor = predictor,
                        .error = INFINITY,
                        .mape = NAN,
                        .median_ape = NAN,
                        .tau = NAN,
                        .regret = NAN,
                        .held = NAN,
                        .band = NAN};
}

void mz_contest_judge(const mz_lessons *l, const mz_predictor *predictor, int folds, mz_contest_room *room, mz_contender *c) {
  double log_s[N];
  MZ_ASSERT(l->observation_count <= room->observation_count);
  *c = unjudged(predictor);
  if (l->count < LESSONS_MIN) return;
  if (folds == 0 || folds > l->count) folds = l->count;
  for (int fold = 0; fold < folds; fold++) {
    bool left_out[N];
    for (int i = 0; i < l->count; i++) left_out[i] = i % folds == fold;
    predict_without(l, predictor, left_out, room, log_s);
  }
  judge(c, l, log_s);
}

void mz_contest_judge_beyond(const mz_lessons *l, const mz_predictor *predictor, const bool *left_out, mz_contest_room *room,
                             mz_contender *c) {
  double log_s[N];
  mz_lessons beyond = *l;
  MZ_ASSERT(l->observation_count <= room->observation_count);
  *c = unjudged(predictor);
  predict_without(l, predictor, left_out, room, log_s);
  beyond.count = 0;
  for (int i = 0; i < l->count; i++) {
    if (!left_out[i]) continue;
    log_s[beyond.count] = log_s[i];
    beyond.items[beyond.count++] = l->items[i];
  }
  if (beyond.count >= LESSONS_MIN) judge(c, &beyond, log_s);
}

int mz_contest_winner(const mz_contender *contenders, int count) {
  double least = INFINITY;
  for (int i = 0; i < count; i++) least = fmin(least, contenders[i].error);
  for (int i = 0; i < count; i++)
    if (isfinite(contenders[i].error) && contenders[i].error <= least * (1 + TIE)) return i;
  return -1;
}
