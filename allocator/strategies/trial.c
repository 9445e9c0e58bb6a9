#include "allocator/strategies/trial.h"
#include <math.h>

static const double ABANDON_SPEED = 0.7, LEAST_RATIO = 0.97, CONFIDENCE = 0.9;
enum { WINDOWS_MAX = 6, SETTLING_ROUNDS = 2, SLOW_ROUNDS = 2 };

/* ---- rounds ---- */

void mz_rounds_warm_up(mz_rounds *rounds) { rounds->warming = true; }

void mz_rounds_add(mz_rounds *rounds, double seconds) {
  if (rounds->warming) {
    rounds->warming = false;
    return;
  }
  rounds->seconds[rounds->next] = seconds;
  rounds->next = (rounds->next + 1) % MZ_TRIAL_ROUNDS;
  if (rounds->count < MZ_TRIAL_ROUNDS) rounds->count++;
}

double mz_rounds_median(const mz_rounds *rounds) {
  MZ_ASSERT(rounds->count > 0);
  mz_rounds copy = *rounds;
  return mz_median(copy.seconds, copy.count);
}

static double slowest(const mz_rounds *rounds) {
  double most = 0;
  for (int i = 0; i < rounds->count; i++) most = fmax(most, rounds->seconds[i]);
  return most;
}

/* ---- trial ---- */

void mz_trial_begin(mz_trial *trial, const mz_rounds *before, double worth, bool releases) {
  MZ_ASSERT(before->count >= 2 && worth > 0);
  *trial = (mz_trial){.before = *before, .after = {.warming = true}, .worth = worth, .releases = releases};
}

bool mz_trial_round(mz_trial *trial, double seconds) {
  const bool warming = trial->after.warming;
  mz_rounds_add(&trial->after, seconds);
  if (++trial->rounds <= SETTLING_ROUNDS || warming) return false;
  const double equal_s = seconds / trial->worth; /* what the old plan would have to take to be as bad */
  const bool bad = equal_s * ABANDON_SPEED > mz_rounds_median(&trial->before) && equal_s > slowest(&trial->before);
  trial->slow = bad ? trial->slow + 1 : 0;
  return trial->slow >= SLOW_ROUNDS;
}

static mz_verdict judge(const mz_trial *trial, int64_t windows_min, const mz_interval *ratio) {
  const int64_t windows_max = windows_min > WINDOWS_MAX ? windows_min : WINDOWS_MAX;
  if (trial->windows < windows_min) return MZ_VERDICT_WAIT;
  if (ratio->high < 1 && !trial->releases) return MZ_VERDICT_REVERT;
  if (ratio->low >= LEAST_RATIO) return MZ_VERDICT_CONFIRM;
  if (ratio->estimate < LEAST_RATIO || trial->windows >= windows_max) return MZ_VERDICT_REVERT;
  return MZ_VERDICT_WAIT;
}

mz_verdict mz_trial_window(mz_trial *trial, int64_t windows_min, mz_interval *ratio) {
  if (trial->rounds > trial->judged) trial->windows++;
  trial->judged = trial->rounds;
  *ratio = mz_speed_ratio(trial->before.seconds, trial->before.count, trial->after.seconds, trial->after.count, CONFIDENCE);
  ratio->estimate *= trial->worth;
  ratio->low *= trial->worth;
  ratio->high *= trial->worth;
  return judge(trial, windows_min, ratio);
}
