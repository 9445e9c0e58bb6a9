#include "allocator/strategies/surroundings.h"
#include <math.h>

static const double OTHERS_SHARE = 0.1, THROTTLED_SHARE = 0.05;
static const double WAITING_LEAST = 0.1; /* below, there were cores for all */
static const double TICKS_S = 0.04;      /* by which a sum over a window may be off, on two cores that count 10 ms */

mz_surroundings mz_surroundings_of(const mz_usage *usage) {
  return (mz_surroundings){.others = mz_usage_others(usage),
                           .doubt = usage->wall_s > 0 ? TICKS_S / usage->wall_s : INFINITY,
                           .waiting = mz_usage_waiting(usage),
                           .throttled = mz_usage_throttled(usage)};
}

static bool throttling_changed(const mz_surroundings *before, const mz_surroundings *now) {
  return fabs(now->throttled - before->throttled) > THROTTLED_SHARE;
}

bool mz_surroundings_changed(const mz_surroundings *before, const mz_surroundings *now, double cores) {
  if (throttling_changed(before, now)) return true;
  if (before->waiting < WAITING_LEAST && now->waiting < WAITING_LEAST) return false;
  return fabs(now->others - before->others) > OTHERS_SHARE * cores + before->doubt + now->doubt;
}

void mz_surroundings_text(const mz_surroundings *before, const mz_surroundings *now, char *out, size_t size) {
  if (throttling_changed(before, now))
    snprintf(out, size, "the quota held the run up for %.2g %% of the time instead of %.2g %%", 100 * now->throttled,
             100 * before->throttled);
  else
    snprintf(out, size, "other processes used %.2g cores instead of %.2g", now->others, before->others);
}
