#include "allocator/strategies/trial.h"
#include "base/maths/digest.h"
#include <math.h>

static const double PLAIN_SPEED = 0.7, CONFIDENCE = 0.9;
static const double REVERSAL_CONFIDENCE = 0.998,
                    REVERSAL_MARGIN = 3; /* the margin: times what the old plan's two blocks differ by */
enum { SETTLING_ROUNDS = 2, SLOW_ROUNDS = 2, PLAIN_ROUNDS = 3 };

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

/* The last `count` rounds that were added, at most as many as there are. */
static mz_rounds last_of(const mz_rounds *rounds, int count) {
  mz_rounds last = {0};
  if (count > rounds->count) count = rounds->count;
  for (int i = 0; i < count; i++)
    mz_rounds_add(&last, rounds->seconds[(rounds->next + MZ_TRIAL_ROUNDS - count + i) % MZ_TRIAL_ROUNDS]);
  return last;
}

static double fastest(const mz_rounds *rounds) {
  double least = INFINITY;
  for (int i = 0; i < rounds->count; i++) least = fmin(least, rounds->seconds[i]);
  return least;
}

/* The usual round: the median of the means of all pairs of logarithms (Hodges & Lehmann 1963). Where rounds are log-normal it varies by 2 %
 * more than their mean; a few that something else held up hardly move it, and would the mean. */
static double usual_s(const mz_rounds *rounds) {
  double logs[MZ_TRIAL_ROUNDS], means[MZ_TRIAL_ROUNDS * (MZ_TRIAL_ROUNDS + 1) / 2];
  int pairs = 0;
  for (int i = 0; i < rounds->count; i++) {
    logs[i] = log(rounds->seconds[i]);
    for (int j = 0; j <= i; j++) means[pairs++] = (logs[i] + logs[j]) / 2;
  }
  return exp(mz_median(means, pairs));
}

/* ---- trial ---- */

static void begin_block(mz_trial *trial, mz_side side) {
  trial->side = side;
  trial->block = (mz_rounds){.warming = true};
  trial->slow = trial->windows = 0;
}

void mz_trial_begin(mz_trial *trial, const mz_rounds *old, double worth, double concession, double gain_min, uint64_t seed) {
  MZ_ASSERT(worth > 0 && concession >= 0);
  *trial = (mz_trial){.rounds = {[MZ_SIDE_OLD] = *old},
                      .worth = worth,
                      .concession = concession,
                      .gain_min = gain_min,
                      .seed = seed,
                      .leads = MZ_SIDE_NEW,
                      .drawn = 1};
  begin_block(trial, MZ_SIDE_NEW);
}

bool mz_trial_round(mz_trial *trial, double seconds) {
  const mz_rounds *old = &trial->rounds[MZ_SIDE_OLD];
  const bool warming = trial->block.warming;
  mz_rounds_add(&trial->block, seconds);
  if (warming || trial->block.count < SETTLING_ROUNDS || trial->side == MZ_SIDE_OLD || old->count < 2) return false;
  const double equal_s = seconds / trial->worth; /* what the old plan would have to take to be as bad */
  const bool bad = equal_s * PLAIN_SPEED > mz_rounds_median(old) && equal_s > slowest(old);
  trial->slow = bad ? trial->slow + 1 : 0;
  return trial->slow >= SLOW_ROUNDS;
}

static mz_side other_than(mz_side side) { return side == MZ_SIDE_NEW ? MZ_SIDE_OLD : MZ_SIDE_NEW; }

/* The plan that the next pair begins with. Every other pair mirrors the one before it, so that a steady change favours neither. */
static mz_side draw(mz_trial *trial) {
  const uint64_t pair = (uint64_t)trial->drawn++;
  const bool mirrors = pair % 2 == 1;
  trial->leads = mirrors ? other_than(trial->leads) : mz_hash(&pair, sizeof pair, trial->seed) & 1 ? MZ_SIDE_NEW : MZ_SIDE_OLD;
  return trial->leads;
}

/* Before the first pair neither does: what was predicted is what is to be shown. */
static bool leads(const mz_trial *trial) {
  return trial->ratios.count > 0 && trial->side == (trial->ratios.mean >= 0 ? MZ_SIDE_NEW : MZ_SIDE_OLD);
}

/* A reversal (ABA): the new plan's first block lies between the old plan's rounds before and after it. A level that rises or falls all
 * along lies between theirs, so the block is compared with both; how far a level wanders to and fro shows in how much those two differ. */
static bool is_slower_than_before_and_after(const mz_trial *trial) {
  const mz_rounds *new = &trial->rounds[MZ_SIDE_NEW], *after = &trial->block;
  const mz_rounds before = last_of(&trial->rounds[MZ_SIDE_OLD], after->count);
  const mz_interval first = mz_speed_ratio(before.seconds, before.count, new->seconds, new->count, REVERSAL_CONFIDENCE),
                    second = mz_speed_ratio(after->seconds, after->count, new->seconds, new->count, REVERSAL_CONFIDENCE);
  const double least = exp(-trial->concession) / trial->worth, apart = fabs(log(first.estimate / second.estimate));
  return fmax(first.high, second.high) < least && log(least / fmax(first.estimate, second.estimate)) > REVERSAL_MARGIN * apart;
}

void mz_trial_window(mz_trial *trial, bool counts) {
  if (trial->block.count == 0) return;
  if (counts && ++trial->windows < MZ_TRIAL_LEAD && leads(trial)) return;
  const bool first = !(trial->first_s > 0);
  const double seconds = usual_s(&trial->block);
  mz_rounds *all = &trial->rounds[trial->side];
  trial->blocks++;
  if (!counts) {
    trial->first_s = 0;
    begin_block(trial, draw(trial));
    return;
  }
  if (!first && trial->drawn == 1) trial->slower = is_slower_than_before_and_after(trial);
  all->warming = false;
  for (int i = 0; i < trial->block.count; i++) {
    mz_rounds_add(all, trial->block.seconds[i]);
    trial->sum_s[trial->side] += trial->block.seconds[i];
    trial->summed[trial->side]++;
  }
  if (first) {
    trial->first_s = seconds;
    begin_block(trial, other_than(trial->side));
    return;
  }
  const double old_s = trial->side == MZ_SIDE_OLD ? seconds : trial->first_s;
  const double new_s = trial->side == MZ_SIDE_OLD ? trial->first_s : seconds;
  mz_sequence_add(&trial->ratios, log(trial->worth * old_s / new_s));
  trial->first_s = 0;
  begin_block(trial, draw(trial));
}

static bool is_over(const mz_trial *trial, int64_t pairs_min) {
  const int64_t most = pairs_min > MZ_TRIAL_PAIRS_MAX ? pairs_min : MZ_TRIAL_PAIRS_MAX;
  return trial->ratios.count >= most || trial->blocks >= 4 * most;
}

/* Every round of one plan is faster than every one of the other, by far. */
static mz_verdict plain(const mz_trial *trial) {
  const mz_rounds *old = &trial->rounds[MZ_SIDE_OLD], *new = &trial->rounds[MZ_SIDE_NEW];
  if (trial->ratios.count < 1 || old->count < PLAIN_ROUNDS || new->count < PLAIN_ROUNDS) return MZ_VERDICT_WAIT;
  if (slowest(new) / trial->worth < PLAIN_SPEED * fastest(old)) return MZ_VERDICT_CONFIRM;
  return PLAIN_SPEED * fastest(new) / trial->worth > slowest(old) ? MZ_VERDICT_REVERT : MZ_VERDICT_WAIT;
}

/* Every round counts here, also one that the plan itself held up now and then, which a usual round does not show. */
static bool mean_allows(const mz_trial *trial) {
  const double old_s = trial->sum_s[MZ_SIDE_OLD] / trial->summed[MZ_SIDE_OLD],
               new_s = trial->sum_s[MZ_SIDE_NEW] / trial->summed[MZ_SIDE_NEW];
  return log(trial->worth * old_s / new_s) > -trial->concession;
}

mz_verdict mz_trial_verdict(const mz_trial *trial, int64_t pairs_min, mz_interval *ratio) {
  const mz_interval logs = mz_sequence_interval(&trial->ratios, CONFIDENCE);
  *ratio = (mz_interval){.estimate = exp(logs.estimate), .low = exp(logs.low), .high = exp(logs.high)};
  const mz_verdict verdict = plain(trial);
  if (verdict != MZ_VERDICT_WAIT) return verdict;
  if (trial->slower) return MZ_VERDICT_REVERT;
  if (trial->ratios.count >= pairs_min) {
    const bool shown = logs.low > 0 || (trial->concession > 0 && logs.low >= -trial->concession);
    if (shown && mean_allows(trial)) return MZ_VERDICT_CONFIRM;
    if (logs.high < (trial->concession > 0 ? -trial->concession : trial->gain_min)) return MZ_VERDICT_REVERT;
  }
  if (!is_over(trial, pairs_min)) return MZ_VERDICT_WAIT;
  if (!isfinite(logs.high)) ratio->estimate = NAN;
  return MZ_VERDICT_REVERT;
}
