#include "allocator/balance/balance_advice.h"
#include "allocator/balance/balance_moves.h"
#include <math.h>
#include <string.h>

static const char *verdict_name(mz_balance_verdict verdict) {
  static const char *const names[] = {[MZ_BALANCE_IS_UNKNOWN] = "unknown",
                                      [MZ_BALANCE_IS_BALANCED] = "balanced",
                                      [MZ_BALANCE_IS_OVER] = "over-allocated",
                                      [MZ_BALANCE_IS_UNDER] = "under-allocated"};
  return names[verdict];
}

static mz_balance_verdict judge(double beta) {
  if (isnan(beta)) return MZ_BALANCE_IS_UNKNOWN;
  return beta > MZ_BALANCE_OVER ? MZ_BALANCE_IS_OVER : beta < MZ_BALANCE_UNDER ? MZ_BALANCE_IS_UNDER : MZ_BALANCE_IS_BALANCED;
}

static void skip(mz_advice *a, mz_resource resource, const char *why) {
  const size_t used = strlen(a->skipped);
  snprintf(a->skipped + used, sizeof a->skipped - used, "%s%s: %s", used > 0 ? "; " : "", mz_resource_name(resource), why);
}

/* The first resource in order that agrees and can move; false: there is none. */
static bool choose(const mz_balance *b, const mz_situation *situation, const mz_balance_memory *memory, mz_advice *a,
                   mz_balance_move *move) {
  static const mz_resource orders[2][MZ_RESOURCES] = {{MZ_RESOURCE_CPU, MZ_RESOURCE_MEMORY, MZ_RESOURCE_GPU},
                                                      {MZ_RESOURCE_GPU, MZ_RESOURCE_CPU, MZ_RESOURCE_MEMORY}};
  const bool more = a->verdict == MZ_BALANCE_IS_UNDER;
  char why[32];
  for (int i = 0; i < MZ_RESOURCES; i++) {
    const mz_resource resource = orders[more][i];
    const mz_resource_balance *r = &b->resources[resource];
    if (isnan(r->beta)) {
      skip(a, resource, r->unknown);
    } else if (judge(r->beta) != a->verdict) {
      snprintf(why, sizeof why, "its own beta is %.2f", r->beta);
      skip(a, resource, why);
    } else {
      mz_balance_find_move(b, situation, memory, resource, more ? 1 : -1, move);
      a->resource = resource;
      if (move->why_not[0] == '\0') return true;
      skip(a, resource, move->why_not);
    }
  }
  return false;
}

static int64_t window_number(const mz_window *w) { return w->number > 0 ? w->number : w->phase; }

static void count_turns(const mz_situation *situation, mz_balance_memory *memory, const mz_plan *plan) {
  for (int k = 0; k < situation->pipeline->knob_count; k++) {
    const int direction = (plan->values[k] > situation->plan->values[k]) - (plan->values[k] < situation->plan->values[k]);
    if (direction != 0 && memory->hysteresis.knobs[k].direction == -direction) memory->turns[k]++;
  }
}

/* ---- words ---- */

static void write_amount(mz_resource resource, double from, double to, char *out, size_t size) {
  if (resource == MZ_RESOURCE_MEMORY)
    snprintf(out, size, "memory %.0f → %.0f MiB", from / 0x1p20, to / 0x1p20);
  else
    snprintf(out, size, "%s %g → %g", mz_resource_name(resource), from, to);
}

static void say_change(const mz_balance *b, const mz_situation *situation, mz_advice *a) {
  char amount[64], plan[96];
  write_amount(a->resource, a->from, a->to, amount, sizeof amount);
  mz_plan_text(situation->pipeline, &a->plan, situation->plan, plan, sizeof plan);
  const mz_resource_balance *r = &b->resources[a->resource];
  snprintf(a->reason, sizeof a->reason, "%s: beta %.2f, %s %.2f (used %.2f, waited %.2f): %s%s%s", verdict_name(a->verdict),
           b->beta, mz_resource_name(a->resource), r->beta, r->used, r->waited, amount, plan[0] ? ", " : "", plan);
}

static void say_kept(const mz_balance *b, mz_advice *a, const char *why) {
  char text[136];
  mz_balance_text(b, text, sizeof text);
  snprintf(a->reason, sizeof a->reason, "keep: %s%s%.95s", text, why[0] ? ": " : "", why);
}

/* ---- advice ---- */

void mz_balance_advise(const mz_balance *b, const mz_situation *situation, mz_balance_memory *memory, mz_advice *a) {
  const mz_window *w = situation->window;
  *a = (mz_advice){.verdict = judge(b->beta), .plan = *situation->plan};
  if (!w || a->verdict == MZ_BALANCE_IS_UNKNOWN) {
    memory->windows = 0;
    say_kept(b, a, "");
    return;
  }
  const int64_t window = window_number(w), before = memory->hysteresis.window;
  mz_balance_move move;
  mz_hysteresis *h = &memory->hysteresis;
  mz_hysteresis_follow(h, situation->pipeline, situation->plan, window);
  const bool missed = before > 0 && window != before + 1;
  if (mz_hysteresis_settled(h, situation->pipeline) <= 1 || (memory->advised > 0 && window - memory->advised <= 1)) {
    memory->windows = 0;
    say_kept(b, a, "a window of rest after a change");
    return;
  }
  const bool acts = a->verdict != MZ_BALANCE_IS_BALANCED && choose(b, situation, memory, a, &move);
  if (!acts) {
    memory->windows = 0;
    say_kept(b, a, a->skipped);
    return;
  }
  const bool same = !missed && memory->windows > 0 && memory->verdict == a->verdict && memory->resource == a->resource;
  memory->windows = same ? memory->windows + 1 : 1;
  memory->verdict = a->verdict;
  memory->resource = a->resource;
  if (memory->windows < MZ_CONFIRMATIONS) {
    say_kept(b, a, "one window only");
    return;
  }
  a->change = true;
  a->from = b->resources[a->resource].allocated;
  a->to = move.to;
  a->plan = h->proposal = move.plan;
  count_turns(situation, memory, &move.plan);
  memory->advised = window;
  memory->windows = 0;
  say_change(b, situation, a);
}
