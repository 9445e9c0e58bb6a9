#include "allocator/strategies/hysteresis.h"

static const int64_t NEVER = INT64_MIN;

static void start(mz_hysteresis *h, const mz_plan *plan, int64_t window) {
  *h = (mz_hysteresis){.started = true, .window = window, .plan = *plan, .proposal = *plan};
  for (int k = 0; k < MZ_PLAN_KNOBS_MAX; k++) h->knobs[k].changed = NEVER;
}

bool mz_hysteresis_follow(mz_hysteresis *h, const mz_pipeline *pipeline, const mz_plan *plan, int64_t window) {
  if (!h->started) start(h, plan, window - 1);
  bool anew = window != h->window + 1;
  for (int k = 0; k < pipeline->knob_count; k++) {
    const int64_t before = h->plan.values[k], asked = h->proposal.values[k], now = plan->values[k];
    if (now == before && asked == before) continue;
    h->knobs[k].changed = now == asked ? h->window : window - 1;
    h->knobs[k].direction = now > before || (now == before && asked < before) ? 1 : -1; /* the second: a step down was undone */
    anew = true;
  }
  for (int k = 0; k < pipeline->knob_count && anew; k++) h->knobs[k].up = h->knobs[k].down = 0;
  h->window = window;
  h->plan = h->proposal = *plan;
  return anew;
}

static int64_t rest(const mz_hysteresis *h, int knob) {
  return h->knobs[knob].changed == NEVER ? INT64_MAX : h->window - h->knobs[knob].changed;
}

int64_t mz_hysteresis_settled(const mz_hysteresis *h, const mz_pipeline *pipeline) {
  int64_t least = INT64_MAX;
  for (int k = 0; k < pipeline->knob_count; k++)
    if (rest(h, k) < least) least = rest(h, k);
  return least;
}

bool mz_hysteresis_rested(const mz_hysteresis *h, int knob, int direction, bool clear, char *why_not, size_t size) {
  const int64_t windows = rest(h, knob);
  if (windows < MZ_REST_WINDOWS) {
    snprintf(why_not, size, "changed %lld window ago", (long long)windows);
    return false;
  }
  if (h->knobs[knob].direction != -direction || windows >= MZ_REVERSE_WINDOWS || clear) return true;
  snprintf(why_not, size, "went %s %lld windows ago", direction > 0 ? "down" : "up", (long long)windows);
  return false;
}
