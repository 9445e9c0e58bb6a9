#include "muzero/limits.h"
#include <math.h>

mz_limits mz_limits_in_force(const mz_limits *given, const mz_settings *settings) {
  const mz_train_settings *t = &settings->train;
  const double score = settings->allocation.score;
  mz_limits limits = *given;
  if (!given->rounds && !given->env_steps && !given->updates && !(given->for_s > 0) && !given->until)
    limits = (mz_limits){.rounds = t->rounds,
                         .env_steps = t->env_steps,
                         .updates = t->updates,
                         .for_s = t->time,
                         .until = t->target < MZ_SCORE_NONE,
                         .score = t->target,
                         .evaluations = t->target_evaluations};
  if (!given->until && score < MZ_SCORE_NONE) limits.until = true, limits.score = score, limits.evaluations = 0;
  return limits;
}

static double share(double done, double whole) { return whole > 0 ? done / whole : 0; }

double mz_limits_fraction(const mz_limits *l, const mz_counters *c, double invocation_s) {
  const double counted = fmax(share((double)c->rounds, (double)l->rounds), share((double)c->env_steps, (double)l->env_steps));
  return fmin(fmax(counted, fmax(share((double)c->updates, (double)l->updates), share(invocation_s, l->for_s))), 1);
}

static bool used_up(double limit, double spent, double closing) { return limit > 0 && spent + fmin(closing, limit / 2) >= limit; }

mz_reason mz_limits_met(const mz_limits *l, const mz_allocation_settings *a, const mz_spent *spent) {
  const mz_counters *c = &spent->counters;
  const double closing_s = isfinite(spent->game_s) ? spent->game_s * spent->closing_games : 0;
  if (spent->stop) return MZ_REASON_INTERRUPTED;
  if (l->rounds && c->rounds >= l->rounds) return MZ_REASON_ROUNDS;
  if (l->env_steps && c->env_steps >= l->env_steps) return MZ_REASON_ENV_STEPS;
  if (l->updates && c->updates >= l->updates) return MZ_REASON_UPDATES;
  if (used_up(l->for_s, spent->invocation_s, closing_s)) return MZ_REASON_TIME;
  if (used_up(a->deadline, spent->wall_s + spent->round_s, closing_s)) return MZ_REASON_TIME;
  if (used_up(a->budget, spent->cost + spent->round_s * spent->price_s, closing_s * spent->price_s)) return MZ_REASON_BUDGET;
  return MZ_GOES_ON;
}

double mz_limits_game_s(double game_s, int measured, int cores) { return measured > cores ? game_s * measured / cores : game_s; }
