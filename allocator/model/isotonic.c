#include "allocator/model/isotonic.h"
#include "base/status.h"
#include <math.h>
#include <string.h>

static bool is_below(const double *a, const double *b, int axes) {
  for (int i = 0; i < axes; i++)
    if (a[i] > b[i]) return false;
  return true;
}

/* A block of points that may yet be parted; its values will lie within [low, high]. */
typedef struct block {
  int start, count; /* in `order` */
  double low, high;
} block;

typedef struct keyed {
  double value;
  int point;
} keyed;

/* A block's sources are its points above the mean, its sinks the others. Sets of points are bits in `words` words. */
typedef struct solver {
  const mz_isotonic_points *points;
  int count, words, sinks;
  double *flow;       /* [sources, sinks]: holds where `carriers` says so */
  uint64_t *above;    /* [count, words]: points at or above a point, without itself */
  uint64_t *carriers; /* [count, words]: sources from which a sink receives flow */
  uint64_t *members;  /* [words]: points of the block at hand */
  uint64_t *sources;  /* [words] */
  uint64_t *reached;  /* [words] */
  double *left;       /* [count]: what is left of a source's surplus (> 0) or a sink's deficit (< 0) */
  block *blocks;      /* [count]: a stack */
  keyed *keyed;       /* [count]: while the order is found */
  int *order;         /* [count]: points, those of a block side by side */
  int *slot;          /* [count]: number among the sources, or the sinks */
  int *queue;         /* [count] */
  int *previous;      /* [count]: point from which a point was reached; −1: a source with surplus left */
} solver;
_Static_assert(sizeof(block) == 3 * sizeof(double) && sizeof(keyed) == 2 * sizeof(double), "MZ_ISOTONIC_SCRATCH_BYTES");

static bool has(const uint64_t *set, int i) { return set[i / 64] >> (i % 64) & 1; }
static void add(uint64_t *set, int i) { set[i / 64] |= UINT64_C(1) << (i % 64); }
static void take_out(uint64_t *set, int i) { set[i / 64] &= ~(UINT64_C(1) << (i % 64)); }
static uint64_t *row(const solver *s, uint64_t *sets, int i) { return sets + (size_t)i * (size_t)s->words; }
static double *flow_of(const solver *s, int source, int sink) {
  return &s->flow[(size_t)s->slot[source] * (size_t)s->sinks + (size_t)s->slot[sink]];
}

static int by_value(const void *a, const void *b) {
  const keyed *first = a, *second = b;
  return (first->value > second->value) - (first->value < second->value);
}

/* Finds the points above each point: those that are above it along every axis. */
static void find_order(solver *s) {
  const mz_isotonic_points *p = s->points;
  const size_t bytes = (size_t)s->words * sizeof *s->above;
  memset(s->above, 0xff, (size_t)s->count * bytes);
  for (int a = 0; a < p->axes; a++) {
    for (int i = 0; i < s->count; i++) {
      s->keyed[i] = (keyed){p->x[i * p->axes + a], i};
      MZ_ASSERT(isfinite(s->keyed[i].value));
    }
    qsort(s->keyed, (size_t)s->count, sizeof *s->keyed, by_value);
    memset(s->reached, 0, bytes);
    for (int end = s->count, k = s->count - 1; k >= 0; k--) {
      add(s->reached, s->keyed[k].point);
      if (k > 0 && s->keyed[k - 1].value == s->keyed[k].value) continue;
      for (; end > k; end--) {
        uint64_t *above = row(s, s->above, s->keyed[end - 1].point);
        for (int w = 0; w < s->words; w++) above[w] &= s->reached[w];
      }
    }
  }
  for (int i = 0; i < s->count; i++) take_out(row(s, s->above, i), i);
}

static void solver_init(solver *s, const mz_isotonic_points *p, void *scratch) {
  const size_t n = (size_t)p->count, words = MZ_ISOTONIC_WORDS(n);
  *s = (solver){.points = p, .count = p->count, .words = (int)words};
  s->flow = scratch;
  s->above = (uint64_t *)(s->flow + MZ_ISOTONIC_FLOWS(n));
  s->carriers = s->above + n * words;
  s->members = s->carriers + n * words;
  s->sources = s->members + words;
  s->reached = s->sources + words;
  s->left = (double *)(s->reached + words);
  s->blocks = (block *)(s->left + n);
  s->keyed = (keyed *)(s->blocks + n);
  s->order = (int *)(s->keyed + n);
  s->slot = s->order + n;
  s->queue = s->slot + n;
  s->previous = s->queue + n;
  for (int i = 0; i < s->count; i++) {
    MZ_ASSERT(isfinite(p->y[i]) && isfinite(p->weight[i]) && p->weight[i] > 0);
    s->order[i] = i;
  }
  find_order(s);
}

/* ---- the maximum flow from sources to sinks above them ---- */

static void begin_block(solver *s, const block *b, double mean) {
  int sources = 0;
  s->sinks = 0;
  memset(s->members, 0, (size_t)s->words * sizeof *s->members);
  memset(s->sources, 0, (size_t)s->words * sizeof *s->sources);
  for (int k = 0; k < b->count; k++) {
    const int i = s->order[b->start + k];
    add(s->members, i);
    s->left[i] = s->points->weight[i] * (s->points->y[i] - mean);
    if (s->left[i] > 0) {
      add(s->sources, i);
      s->slot[i] = sources++;
    } else {
      s->slot[i] = s->sinks++;
      memset(row(s, s->carriers, i), 0, (size_t)s->words * sizeof *s->carriers);
    }
  }
}

static void send(solver *s, int source, int sink, double amount) {
  if (!has(row(s, s->carriers, sink), source)) {
    add(row(s, s->carriers, sink), source);
    *flow_of(s, source, sink) = 0;
  }
  *flow_of(s, source, sink) += amount;
}

static void take_back(solver *s, int source, int sink, double amount) {
  *flow_of(s, source, sink) -= amount;
  if (*flow_of(s, source, sink) == 0) take_out(row(s, s->carriers, sink), source);
}

/* Sends each surplus to the sinks right above it, as far as it fits. */
static void send_directly(solver *s, const block *b) {
  for (int k = b->count - 1; k >= 0; k--) {
    const int source = s->order[b->start + k];
    const uint64_t *above = row(s, s->above, source);
    for (int w = 0; w < s->words && s->left[source] > 0; w++) {
      for (uint64_t bits = above[w] & s->members[w] & ~s->sources[w]; bits != 0 && s->left[source] > 0; bits &= bits - 1) {
        const int sink = w * 64 + __builtin_ctzll(bits);
        if (s->left[sink] >= 0) continue;
        const double amount = fmin(s->left[source], -s->left[sink]);
        send(s, source, sink, amount);
        s->left[source] -= amount;
        s->left[sink] += amount;
      }
    }
  }
}

/* Appends to the queue the members of `set` that were not reached yet; returns the queue's new length. */
static int reach(solver *s, const uint64_t *set, int from, int length) {
  for (int w = 0; w < s->words; w++) {
    const uint64_t found = set[w] & s->members[w] & ~s->reached[w];
    s->reached[w] |= found;
    for (uint64_t bits = found; bits != 0; bits &= bits - 1) {
      const int i = w * 64 + __builtin_ctzll(bits);
      s->previous[i] = from;
      s->queue[length++] = i;
    }
  }
  return length;
}

/* Finds all points to which more can flow, the nearest first; returns how many. What a sink receives from a source may go
 * elsewhere instead. The order is transitive, so that what is reached is an upper set. */
static int search(solver *s, const block *b) {
  int length = 0;
  memset(s->reached, 0, (size_t)s->words * sizeof *s->reached);
  for (int k = 0; k < b->count; k++) {
    const int i = s->order[b->start + k];
    if (s->left[i] <= 0) continue;
    add(s->reached, i);
    s->previous[i] = -1;
    s->queue[length++] = i;
  }
  for (int k = 0; k < length; k++) {
    const int i = s->queue[k];
    length = reach(s, row(s, has(s->sources, i) ? s->above : s->carriers, i), i, length);
  }
  return length;
}

/* Sends what fits along the path by which a sink was reached; returns whether anything did. */
static bool augment(solver *s, int sink) {
  double amount = -s->left[sink];
  int first = sink;
  for (int i = sink; s->previous[i] >= 0; i = first) {
    first = s->previous[i];
    if (!has(s->sources, first)) amount = fmin(amount, *flow_of(s, i, first));
  }
  amount = fmin(amount, s->left[first]);
  if (amount <= 0) return false;
  for (int i = sink; s->previous[i] >= 0; i = s->previous[i]) {
    if (has(s->sources, s->previous[i])) {
      send(s, s->previous[i], i, amount);
    } else {
      take_back(s, i, s->previous[i], amount);
    }
  }
  s->left[first] -= amount;
  s->left[sink] += amount;
  return true;
}

/* Finds the flow; returns how many points are reached in the end: the least upper set with the greatest surplus. */
static int maximize_flow(solver *s, const block *b) {
  send_directly(s, b);
  for (;;) {
    const int length = search(s, b);
    bool more = false;
    for (int k = 0; k < length; k++)
      if (s->left[s->queue[k]] < 0 && augment(s, s->queue[k])) more = true;
    if (!more) return length;
  }
}

/* ---- recursive partition ---- */

static double mean_of(const solver *s, const block *b) {
  /* Differences are summed: large values that hardly differ would lose their digits. */
  const double first = s->points->y[s->order[b->start]];
  double sum = 0, weights = 0;
  for (int k = 0; k < b->count; k++) {
    const int i = s->order[b->start + k];
    sum += s->points->weight[i] * (s->points->y[i] - first);
    weights += s->points->weight[i];
  }
  return first + sum / weights;
}

/* Puts the reached points of a block behind the others, both in the order they had; returns how many others there are. */
static int part(solver *s, const block *b) {
  int *members = &s->order[b->start], others = 0, reached = 0;
  for (int k = 0; k < b->count; k++) {
    if (has(s->reached, members[k])) {
      s->queue[reached++] = members[k];
    } else {
      members[others++] = members[k];
    }
  }
  memcpy(&members[others], s->queue, (size_t)reached * sizeof *members);
  return others;
}

void mz_isotonic_fit(const mz_isotonic_points *p, double *fitted, void *scratch) {
  MZ_ASSERT(p->count >= 0 && p->count <= MZ_ISOTONIC_POINTS_MAX && p->axes >= 0 && p->axes <= MZ_ISOTONIC_AXES_MAX);
  if (p->count == 0) return;
  solver s;
  solver_init(&s, p, scratch);
  int blocks = 0;
  s.blocks[blocks++] = (block){.count = p->count, .low = -INFINITY, .high = INFINITY};
  while (blocks > 0) {
    const block b = s.blocks[--blocks];
    const double mean = fmin(fmax(mean_of(&s, &b), b.low), b.high);
    for (int k = 0; k < b.count; k++) fitted[s.order[b.start + k]] = mean;
    begin_block(&s, &b, mean);
    const int upper = maximize_flow(&s, &b);
    if (upper == 0 || upper == b.count) continue;
    /* No value of the optimum's upper part is below the mean, and none of its lower part above it. Each part is therefore a
     * problem of its own, and bounds keep the order in spite of rounding. */
    const int lower = part(&s, &b);
    s.blocks[blocks++] = (block){b.start, lower, b.low, mean};
    s.blocks[blocks++] = (block){b.start + lower, upper, mean, b.high};
  }
}

/* ---- between points ---- */

void mz_isotonic_bounds(const mz_isotonic_points *p, const double *fitted, const double *x, double *low, double *high) {
  *low = -INFINITY;
  *high = INFINITY;
  for (int i = 0; i < p->count; i++) {
    if (is_below(&p->x[i * p->axes], x, p->axes)) *low = fmax(*low, fitted[i]);
    if (is_below(x, &p->x[i * p->axes], p->axes)) *high = fmin(*high, fitted[i]);
  }
}

static double width(double bound, mz_isotonic_noise noise) {
  return isfinite(bound) ? noise.absolute + noise.relative * fabs(bound) : 0;
}

mz_interval mz_isotonic_envelope(double low, double high, double least, double most, mz_isotonic_noise noise) {
  MZ_ASSERT(noise.absolute >= 0 && noise.relative >= 0 && noise.relative < 1);
  return (mz_interval){
      .estimate = fmax(low, least) / 2 + fmin(high, most) / 2, low - width(low, noise), high + width(high, noise)};
}
