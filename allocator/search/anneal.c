/* Simulated annealing over the grid of plans. A move changes one knob by a step (uniform neighbours, 60 %), two knobs by a step each
 * (20 %: threads that no longer fit their tasks make ridges between good plans), one knob to anywhere (10 %), or all by rounded normal
 * draws (10 %). It is accepted if it lowers the energy E, else with probability exp(−ΔE / T) (Metropolis et al. 1953). The first T
 * accepts four of five moves upwards (mean ΔE⁺ / −ln 0.8, over the first moves); every 4 moves for each axis it falls by a factor
 * that brings it to a thousandth by the time the chain's share of the evaluations is spent. Three chains: from the start plan, from
 * every pool as large as there are cores, from the best so far; then a descent from the best with what is left. */
#include "allocator/search/search_looks.h"
#include "base/maths/streams.h"
#include <math.h>

enum { CHAINS = 3, MOVES_A_TEMPERATURE = 4, WARM_MOVES = 40, STALE_MOVES = 50, DRAWS_MAX = 1000 };
static const double COLD = 1e-3, ACCEPTED_FIRST = 0.8, COOLING = 0.97, CHAINS_SHARE = 0.6, NORMAL_STEPS = 0.8;

typedef struct chain {
  mz_looks *looks;
  mz_rng rng;
  mz_point at;
  double energy;
} chain;

/* ---- moves ---- */

static void step(const mz_space *s, mz_point *p, int axis, int by) {
  const int to = p->at[axis] + by;
  p->at[axis] = (int16_t)(to < 0 ? 0 : to >= s->count[axis] ? s->count[axis] - 1 : to);
}

static int draw_axis(chain *c) { return (int)mz_rng_below(&c->rng, (uint32_t)c->looks->space.axes); }
static int draw_sign(chain *c) { return mz_rng_below(&c->rng, 2) ? 1 : -1; }

static mz_point propose(chain *c) {
  const mz_space *s = &c->looks->space;
  mz_point p = c->at;
  const double kind = mz_rng_f64(&c->rng);
  if (kind < 0.6) {
    step(s, &p, draw_axis(c), draw_sign(c));
  } else if (kind < 0.8) {
    step(s, &p, draw_axis(c), draw_sign(c));
    step(s, &p, draw_axis(c), draw_sign(c));
  } else if (kind < 0.9) {
    const int axis = draw_axis(c);
    p.at[axis] = (int16_t)mz_rng_below(&c->rng, (uint32_t)s->count[axis]);
  } else {
    for (int a = 0; a < s->axes; a++) step(s, &p, a, (int)lround(NORMAL_STEPS * mz_rng_normal(&c->rng)));
  }
  return p;
}

/* ---- a chain ---- */

static double first_temperature(chain *c) {
  double up = 0;
  int count = 0;
  for (int i = 0; i < WARM_MOVES; i++) {
    const mz_point p = propose(c);
    const double energy = mz_looks_at(c->looks, &p);
    if (!isfinite(energy) || energy <= c->energy) continue;
    up += energy - c->energy;
    count++;
  }
  return count ? up / count / -log(ACCEPTED_FIRST) : 0;
}

static void trace(const chain *c, double temperature, double accepted) {
  mz_search_result *r = c->looks->result;
  if (r->trace_count == MZ_SEARCH_TRACE_MAX) return;
  r->trace[r->trace_count++] = (mz_search_step){.evaluated = r->evaluated,
                                                .temperature = temperature,
                                                .energy = c->energy,
                                                .best = r->count ? r->kept[0].energy : INFINITY,
                                                .accepted = accepted};
}

static bool accept(chain *c, double energy, double temperature) {
  if (energy <= c->energy) return true;
  return isfinite(energy) && mz_rng_f64(&c->rng) < exp((c->energy - energy) / temperature);
}

/* Cools until it is cold, its share is spent, or it sees nothing new any more. */
static void run(chain *c, double temperature, int until) {
  mz_search_result *r = c->looks->result;
  const int moves = MOVES_A_TEMPERATURE * c->looks->space.axes;
  const double temperatures = fmax(1, (double)(until - r->evaluated) / moves), cold = COLD * temperature;
  const double cooling = fmin(COOLING, pow(COLD, 1 / temperatures)), first = temperature;
  for (int stale = 0; temperature > cold && r->evaluated < until && stale < STALE_MOVES; temperature *= cooling) {
    const int before = r->evaluated;
    int accepted = 0;
    for (int i = 0; i < moves && r->evaluated < until; i++) {
      const mz_point p = propose(c);
      const double energy = mz_looks_at(c->looks, &p);
      r->proposals++;
      if (!accept(c, energy, temperature)) continue;
      c->at = p;
      c->energy = energy;
      accepted++;
    }
    stale = r->evaluated == before ? stale + 1 : 0;
    r->temperature = first;
    r->cooled = temperature;
    trace(c, temperature, (double)accepted / moves);
  }
}

/* ---- descent ---- */

/* Looks at all that one knob anywhere, then two knobs a step each, can reach from the best; again while that finds a better one. */
static void descend(mz_looks *l) {
  const mz_space *s = &l->space;
  mz_search_result *r = l->result;
  for (double before = INFINITY; r->count > 0 && r->kept[0].energy < before && !mz_looks_spent(l);) {
    before = r->kept[0].energy;
    const mz_point best = mz_space_point(s, &r->kept[0].plan);
    for (int a = 0; a < s->axes; a++) {
      for (int i = 0; i < s->count[a]; i++) {
        mz_point p = best;
        p.at[a] = (int16_t)i;
        mz_looks_at(l, &p);
      }
    }
    if (r->kept[0].energy < before) continue;
    for (int move = 0; move < s->axes * s->axes * 4; move++) {
      const int a = move / 4 / s->axes, b = move / 4 % s->axes;
      mz_point p = best;
      if (a >= b) continue;
      step(s, &p, a, move & 1 ? 1 : -1);
      step(s, &p, b, move & 2 ? 1 : -1);
      mz_looks_at(l, &p);
    }
  }
}

/* ---- starts ---- */

/* Every pool as large as the cores, or half of that and so on until it is allowed, as an expert would begin. */
static bool widen(mz_looks *l, chain *c) {
  for (int64_t threads = (int64_t)fmin(l->options->bounds->cpu_max, MZ_CORES_MAX); threads >= 1; threads /= 2) {
    mz_plan plan = l->options->start;
    mz_plan_set_pools(l->options->pipeline, threads, &plan);
    c->at = mz_space_point(&l->space, &plan);
    c->energy = mz_looks_at(l, &c->at);
    if (isfinite(c->energy)) return true;
  }
  return false;
}

static bool place(mz_looks *l, chain *c, int number) {
  if (number == 1 && widen(l, c)) return true;
  c->at = number > 1 && l->result->count > 0 ? mz_space_point(&l->space, &l->result->kept[0].plan)
                                             : mz_space_point(&l->space, &l->options->start);
  c->energy = mz_looks_at(l, &c->at);
  for (int i = 0; i < DRAWS_MAX && !isfinite(c->energy) && !mz_looks_spent(l); i++) {
    c->at = mz_space_draw(&l->space, &c->rng);
    c->energy = mz_looks_at(l, &c->at);
  }
  return isfinite(c->energy);
}

void mz_search_anneal(const mz_search_options *options, mz_search_result *out) {
  mz_looks looks;
  mz_looks_init(&looks, options, out);
  if (out->plans <= looks.budget) {
    mz_search_all(options, out);
    return;
  }
  for (int i = 0; i < CHAINS && !mz_looks_spent(&looks); i++) {
    chain c = {.looks = &looks, .rng = mz_stream_search(options->seed, MZ_SEARCH_CHAIN, i)};
    if (!place(&looks, &c, i)) break;
    const double temperature = first_temperature(&c);
    out->starts++;
    run(&c, temperature, (int)(CHAINS_SHARE * looks.budget * (i + 1) / CHAINS));
  }
  descend(&looks);
  out->end = out->count == 0 ? MZ_SEARCH_NOTHING : mz_looks_spent(&looks) ? MZ_SEARCH_SPENT : MZ_SEARCH_COLD;
}
