#include "base/course/course_oracle.h"
#include "base/maths/maths.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
  DEADLINE = 1,
  BUDGET = 2,
  SCORE = 4,
  ALL_LIMITS = 7,
  STEPS = 80,
  PLANS = MZ_COURSE_PLANS_MAX,
  STAGES = MZ_COURSE_STAGES_MAX
};

static const double TINY = 1e-12; /* sums in another order differ by less */
static const double SLACK = 1e-9;

typedef struct label { /* a run up to some stage */
  double seconds, cost, score, loss;
  int32_t plan, parent; /* parent: in the stage before */
} label;

typedef struct front { /* the labels of a stage */
  label *items;
  int count, capacity;
} front;

/* Prices of limits, and the least loss of what is left at these prices, from a stage on with some plan in force; −1 at PLANS. */
typedef struct bound {
  bool may_end; /* after any stage: runs end at the target, which is to be reached */
  double seconds_price, cost_price, score_price;
  double left[STAGES + 1][PLANS + 1];
} bound;

struct mz_course_oracle {
  mz_course_cell cells[STAGES][PLANS];
  double closes[STAGES][PLANS]; /* logarithm of the distance to the ceiling */
  double least_seconds[STAGES + 1], least_cost[STAGES + 1], most_closed[STAGES + 1]; /* from a stage on */
  front fronts[STAGES + 1];
  const mz_course *course;
  mz_course_state start;
  uint8_t mask[PLANS]; /* of the next stage */
  double best;         /* loss of the best run known */
  int best_plans[STAGES];
  int64_t labels;
};

mz_status mz_course_oracle_create(mz_course_oracle **out) { return mz_alloc(out, 1, sizeof **out); }

void mz_course_oracle_free(mz_course_oracle *oracle) {
  if (!oracle) return;
  for (int s = 0; s <= STAGES; s++) free(oracle->fronts[s].items);
  free(oracle);
}

/* ---- runs ---- */

static double limit_loss(const mz_course *course, double seconds, double cost, double score) {
  return MZ_COURSE_LIMIT_PENALTY * mz_course_violations(course, seconds, cost, score);
}

static double resize_loss(const mz_course *course, int before, int plan) {
  return before >= 0 && before != plan ? course->resize_penalty : 0;
}

/* Runs a stage that goes as `cell` says. */
static label extend(const mz_course *course, const mz_course_cell *cell, const label *from, int plan) {
  const double cost = cell->seconds * course->plan[plan].cost_per_s;
  return (label){.seconds = from->seconds + cell->seconds,
                 .cost = from->cost + cost,
                 .score = mz_course_score_after(course, from->score, cell->growth),
                 .loss = from->loss + cost / course->budget + resize_loss(course, from->plan, plan),
                 .plan = plan};
}

/* Whether a run ends here though the course has more stages. */
static bool is_done(const mz_course *course, const label *at) { return course->ends_at_score && at->score >= course->target; }

static label first_label(const mz_course_state *s) {
  return (label){.seconds = s->seconds, .cost = s->cost, .score = s->score, .plan = s->plan, .parent = -1};
}

/* Returns the end of the run of these plans, as the course was drawn. */
static label end_of(const mz_course_oracle *o, const int *plans) {
  label at = first_label(&o->start);
  for (int s = o->start.stage; s < o->course->stages && !is_done(o->course, &at); s++) {
    const int plan = plans[s - o->start.stage];
    at = extend(o->course, &o->cells[s][plan], &at, plan);
  }
  return at;
}

/* Keeps the run of these plans where it is the best so far. */
static void offer(mz_course_oracle *o, const int *plans) {
  const label at = end_of(o, plans);
  const double loss = at.loss + limit_loss(o->course, at.seconds, at.cost, at.score);
  if (loss >= o->best) return;
  o->best = loss;
  memcpy(o->best_plans, plans, sizeof o->best_plans);
}

/* ---- the Lagrangian bound ---- */

/* Returns by how much a run's score may be off: it is rounded twice a stage, and may so reach a target that is the ceiling. */
static double rounding(const mz_course *course) {
  return 2 * STAGES * DBL_EPSILON * fmax(fabs(course->score), fabs(course->ceiling));
}

/* Logarithm of the distance to the ceiling that is to be closed from this score on. */
static double score_to_close(const mz_course *course, double score) {
  const double far = course->ceiling - score, allowed = course->ceiling - course->target + rounding(course);
  if (far <= allowed) return 0;
  return mz_course_closes(1 - allowed / far);
}

static double price_of(const mz_course_oracle *o, const bound *b, int stage, int plan) {
  const double seconds = o->cells[stage][plan].seconds, cost = seconds * o->course->plan[plan].cost_per_s;
  return cost / o->course->budget + b->seconds_price * seconds + b->cost_price * cost - b->score_price * o->closes[stage][plan];
}

static void fill_left(const mz_course_oracle *o, bound *b) {
  const int plans = o->course->plans, stages = o->course->stages;
  memset(b->left[stages], 0, sizeof b->left[stages]);
  for (int s = stages - 1; s >= o->start.stage; s--) {
    double worth[PLANS], least = INFINITY;
    for (int p = 0; p < plans; p++) {
      worth[p] = price_of(o, b, s, p) + b->left[s + 1][p];
      if (worth[p] < least) least = worth[p];
    }
    const double end = b->may_end ? 0 : INFINITY;
    b->left[s][PLANS] = least;
    for (int p = 0; p < plans; p++) b->left[s][p] = fmin(end, fmin(worth[p], least + o->course->resize_penalty));
  }
}

/* The run that is best at these prices; its sums against the limits go to excess. Where it may end, its last plan stands for the rest. */
static void follow(mz_course_oracle *o, const bound *b, int *plans, double excess[3]) {
  label at = first_label(&o->start);
  double closed = 0;
  bool ended = false;
  for (int s = o->start.stage; s < o->course->stages; s++) {
    int best = -1;
    double least = INFINITY;
    for (int p = 0; p < o->course->plans; p++) {
      const double worth = price_of(o, b, s, p) + resize_loss(o->course, at.plan, p) + b->left[s + 1][p];
      if ((s == o->start.stage && !o->mask[p]) || worth >= least) continue;
      least = worth;
      best = p;
    }
    ended = ended || (b->may_end && s > o->start.stage && least >= 0);
    plans[s - o->start.stage] = ended ? at.plan : best;
    if (ended) continue;
    at = extend(o->course, &o->cells[s][best], &at, best);
    closed += o->closes[s][best];
  }
  excess[0] = at.seconds / o->course->deadline_s - 1;
  excess[1] = at.cost / o->course->budget - 1;
  excess[2] = score_to_close(o->course, o->start.score) - closed;
}

/* The least loss of a run from this label on that meets the limits. */
static double bound_of(const mz_course_oracle *o, const bound *b, const label *at, int stage) {
  const mz_course *c = o->course;
  double loss = at->loss + b->left[stage][at->plan < 0 ? PLANS : at->plan];
  loss += b->seconds_price * (at->seconds - c->deadline_s) + b->cost_price * (at->cost - c->budget);
  return loss + (b->score_price > 0 ? b->score_price * score_to_close(c, at->score) : 0);
}

/* Raises the bound by subgradient steps, and offers the runs that are met on the way. */
static bound find_bound(mz_course_oracle *o, int limits, double threshold) {
  static const double step_min = 1e-3;
  const mz_course *c = o->course;
  double prices[3] = {0, 0, 0}, best = -INFINITY, size = 1;
  bound b = {.may_end = c->ends_at_score && limits & SCORE}, kept = b;
  int since = 0;
  const label start = first_label(&o->start);
  for (int step = 0; step < STEPS && size > step_min; step++) {
    b.seconds_price = prices[0] / c->deadline_s;
    b.cost_price = prices[1] / c->budget;
    b.score_price = prices[2];
    fill_left(o, &b);
    const double value = bound_of(o, &b, &start, o->start.stage);
    if (step == 0 || value > best) {
      best = value;
      kept = b;
      since = 0;
    } else if (++since >= 5) {
      size /= 2;
      since = 0;
    }
    int plans[STAGES] = {0};
    double excess[3], square = 0;
    follow(o, &b, plans, excess);
    offer(o, plans);
    for (int i = 0; i < 3; i++) square += limits >> i & 1 ? excess[i] * excess[i] : 0;
    if (square < TINY) break;
    const double top = fmin(threshold, o->best);
    const double gap = isfinite(top) && top > value ? top - value : 0.1;
    for (int i = 0; i < 3; i++)
      if (limits >> i & 1) prices[i] = fmax(0, prices[i] + size * gap * excess[i] / square);
  }
  return kept;
}

/* ---- labels ---- */

static bool can_meet(const mz_course_oracle *o, const label *at, int stage, int limits) {
  const mz_course *c = o->course;
  if (limits & DEADLINE && at->seconds + o->least_seconds[stage] > c->deadline_s * (1 + SLACK)) return false;
  if (limits & BUDGET && at->cost + o->least_cost[stage] > c->budget * (1 + SLACK)) return false;
  if (!(limits & SCORE)) return true;
  const double closed = 1 - mz_exp(-o->most_closed[stage]);
  return at->score + closed * (c->ceiling - at->score) >= c->target - SLACK * (c->ceiling - c->score) - rounding(c);
}

static bool dominates(const mz_course *course, const label *a, const label *b, int limits) {
  if (a->loss + resize_loss(course, a->plan, b->plan) > b->loss) return false;
  return !(limits & DEADLINE && a->seconds > b->seconds) && !(limits & BUDGET && a->cost > b->cost) &&
         !(limits & SCORE && a->score < b->score);
}

static int by_loss(const void *a, const void *b) {
  const label *x = a, *y = b;
  if (x->loss < y->loss || x->loss > y->loss) return x->loss < y->loss ? -1 : 1;
  if (x->seconds < y->seconds || x->seconds > y->seconds) return x->seconds < y->seconds ? -1 : 1;
  return x->plan != y->plan ? (x->plan < y->plan ? -1 : 1) : x->parent - y->parent;
}

/* Drops labels that another one dominates; those of less loss come first. */
static void thin(const mz_course *course, front *f, int limits) {
  if (f->count == 0) return;
  qsort(f->items, (size_t)f->count, sizeof *f->items, by_loss);
  int kept = 0;
  for (int i = 0; i < f->count; i++) {
    bool dominated = false;
    for (int k = 0; k < kept && !dominated; k++) dominated = dominates(course, &f->items[k], &f->items[i], limits);
    if (!dominated) f->items[kept++] = f->items[i];
  }
  f->count = kept;
}

static mz_status add(front *f, const label *item) {
  MZ_TRY(mz_reserve_one(&f->items, &f->capacity, f->count, sizeof *f->items));
  f->items[f->count++] = *item;
  return MZ_OK;
}

/* Offers the run whose last stage is this label's, which the front of `stage` does not hold. */
static void offer_label(mz_course_oracle *o, const label *last, int stage) {
  int plans[STAGES] = {0};
  for (int s = stage; s > o->start.stage; s--) {
    plans[s - 1 - o->start.stage] = last->plan;
    last = &o->fronts[s - 1].items[last->parent];
  }
  offer(o, plans);
}

static mz_status extend_front(mz_course_oracle *o, const bound *b, int stage, int limits, double violations_loss) {
  front *next = &o->fronts[stage + 1];
  next->count = 0;
  for (int i = 0; i < o->fronts[stage].count; i++) {
    for (int p = 0; p < o->course->plans; p++) {
      if (stage == o->start.stage && !o->mask[p]) continue;
      label at = extend(o->course, &o->cells[stage][p], &o->fronts[stage].items[i], p);
      at.parent = i;
      o->labels++;
      if (is_done(o->course, &at)) {
        if (at.loss < o->best) offer_label(o, &at, stage + 1);
      } else if (bound_of(o, b, &at, stage + 1) + violations_loss <= o->best - TINY && can_meet(o, &at, stage + 1, limits)) {
        MZ_TRY(add(next, &at));
      }
    }
  }
  thin(o->course, next, limits);
  return MZ_OK;
}

/* The best run that meets these limits, where it is better than the best known one. */
static mz_status solve_for(mz_course_oracle *o, int limits) {
  const double violations_loss = MZ_COURSE_LIMIT_PENALTY * (3 - __builtin_popcount((unsigned)limits));
  const label start = first_label(&o->start);
  if (violations_loss > o->best - TINY || !can_meet(o, &start, o->start.stage, limits)) return MZ_OK; /* stages cost something */
  const bound b = find_bound(o, limits, o->best - violations_loss);
  if (bound_of(o, &b, &start, o->start.stage) + violations_loss > o->best - TINY) return MZ_OK;
  front *first = &o->fronts[o->start.stage];
  first->count = 0;
  MZ_TRY(add(first, &start));
  for (int s = o->start.stage; s < o->course->stages; s++) MZ_TRY(extend_front(o, &b, s, limits, violations_loss));
  const front *last = &o->fronts[o->course->stages];
  for (int i = 0; i < last->count; i++) offer_label(o, &last->items[i], o->course->stages);
  return MZ_OK;
}

static void draw_cells(mz_course_oracle *o) {
  const mz_course *c = o->course;
  o->least_seconds[c->stages] = o->least_cost[c->stages] = o->most_closed[c->stages] = 0;
  for (int s = c->stages - 1; s >= o->start.stage; s--) {
    double seconds = INFINITY, cost = INFINITY, closes = 0;
    for (int p = 0; p < c->plans; p++) {
      const mz_course_cell cell = o->cells[s][p] = mz_course_draw(c, o->start.seed, s, p);
      o->closes[s][p] = mz_course_closes(cell.growth);
      seconds = fmin(seconds, cell.seconds);
      cost = fmin(cost, cell.seconds * c->plan[p].cost_per_s);
      closes = fmax(closes, o->closes[s][p]);
    }
    o->least_seconds[s] = seconds + (c->ends_at_score ? 0 : o->least_seconds[s + 1]);
    o->least_cost[s] = cost + (c->ends_at_score ? 0 : o->least_cost[s + 1]);
    o->most_closed[s] = o->most_closed[s + 1] + closes;
  }
}

/* Solves from `state` with a next plan of o->mask. */
static mz_status solve(mz_course_oracle *o, const mz_course *course, const mz_course_state *state, mz_course_answer *out) {
  static const int order[] = {ALL_LIMITS, DEADLINE | BUDGET, DEADLINE | SCORE, BUDGET | SCORE, DEADLINE, BUDGET, SCORE, 0};
  o->course = course;
  o->start = *state;
  o->best = INFINITY;
  o->labels = 0;
  draw_cells(o);
  for (int p = 0; p < course->plans; p++) { /* a run to compare with from the outset */
    int plans[STAGES];
    for (int s = 0; s < STAGES; s++) plans[s] = p;
    if (o->mask[p]) offer(o, plans);
  }
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) MZ_TRY(solve_for(o, order[i]));
  *out = (mz_course_answer){.value = -o->best, .labels = o->labels};
  memcpy(out->plans, o->best_plans, sizeof out->plans);
  const label at = end_of(o, out->plans);
  out->violations = mz_course_violations(course, at.seconds, at.cost, at.score);
  return MZ_OK;
}

mz_status mz_course_solve(mz_course_oracle *o, const mz_course *course, const mz_course_state *state, mz_course_answer *out) {
  const int allowed = mz_course_mask(course, state, o->mask);
  MZ_ASSERT(allowed > 0);
  return solve(o, course, state, out);
}
