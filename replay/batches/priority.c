#include "replay/batches/priority.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include <math.h>
#include <string.h>

enum { WIDTH_BITS = 4, WIDTH = 1 << WIDTH_BITS, LEVELS_MAX = 10, GROUP = 8 };

/* Level d has one entry per child, WIDTH to a node; an entry holds the sum of its elder siblings' priorities (the first: 0).
 * So finding a child is counting the entries that do not exceed the point, and no sum of a node itself is needed. */
struct mz_priority_tree {
  int64_t leaves;
  int levels;
  uint64_t total;
  uint64_t *before[LEVELS_MAX]; /* from the root down; the last level's children are the leaves */
  uint32_t *leaf;               /* [leaves] */
  void *block;
};

static void carve(mz_priority_tree *tree, int64_t leaves, mz_carver *carver) {
  MZ_ASSERT(leaves >= 1 && leaves <= INT64_C(1) << 32); /* 2^32 leaves of 2^31 sum to less than 2^63 */
  tree->leaves = leaves;
  tree->levels = 1;
  while (INT64_C(1) << (WIDTH_BITS * tree->levels) < leaves) tree->levels++;
  for (int d = 0; d < tree->levels; d++) {
    int shift = WIDTH_BITS * (tree->levels - d);
    int64_t nodes = ((leaves - 1) >> shift) + 1;
    mz_carve(carver, &tree->before[d], (size_t)nodes * WIDTH, sizeof(uint64_t));
  }
  mz_carve(carver, &tree->leaf, (size_t)leaves, sizeof(uint32_t));
}

double mz_priority_tree_bytes(int64_t leaves) {
  mz_priority_tree tree = {0};
  mz_carver carver = {0};
  carve(&tree, leaves, &carver);
  return (double)(sizeof tree + carver.bytes);
}

mz_status mz_priority_tree_create(mz_priority_tree **out, int64_t leaves) {
  mz_priority_tree *tree;
  MZ_TRY(mz_alloc(&tree, 1, sizeof *tree));
  mz_carver carver = {0};
  carve(tree, leaves, &carver);
  mz_status status = mz_carve_commit(&carver, &tree->block);
  if (status != MZ_OK) {
    free(tree);
    return status;
  }
  *out = tree;
  return MZ_OK;
}

void mz_priority_tree_free(mz_priority_tree *tree) {
  if (!tree) return;
  free(tree->block);
  free(tree);
}

void mz_priority_tree_set(mz_priority_tree *tree, int64_t leaf, uint32_t priority) {
  /* All ones from the seventeenth on: read from [WIDTH − 1 − i], the mask of a node's children after child i. */
  static const uint64_t after[2 * WIDTH - 1] = {
      [WIDTH] = ~0ull,      [WIDTH + 1] = ~0ull,  [WIDTH + 2] = ~0ull,  [WIDTH + 3] = ~0ull,  [WIDTH + 4] = ~0ull,
      [WIDTH + 5] = ~0ull,  [WIDTH + 6] = ~0ull,  [WIDTH + 7] = ~0ull,  [WIDTH + 8] = ~0ull,  [WIDTH + 9] = ~0ull,
      [WIDTH + 10] = ~0ull, [WIDTH + 11] = ~0ull, [WIDTH + 12] = ~0ull, [WIDTH + 13] = ~0ull, [WIDTH + 14] = ~0ull,
  };
  uint64_t change = (uint64_t)priority - tree->leaf[leaf]; /* modulo 2^64, as are the sums it is added to */
  if (change == 0) return;
  tree->leaf[leaf] = priority;
  tree->total += change;
  int64_t entry = leaf;
  for (int d = tree->levels - 1; d >= 0; d--) {
    uint64_t *node = tree->before[d] + (entry & ~(int64_t)(WIDTH - 1));
    const uint64_t *mask = after + WIDTH - 1 - (entry & (WIDTH - 1));
    for (int k = 0; k < WIDTH; k++) node[k] += change & mask[k];
    entry >>= WIDTH_BITS;
  }
}

uint32_t mz_priority_tree_get(const mz_priority_tree *tree, int64_t leaf) { return tree->leaf[leaf]; }
const uint32_t *mz_priority_tree_leaves(const mz_priority_tree *tree) { return tree->leaf; }
uint64_t mz_priority_tree_total(const mz_priority_tree *tree) { return tree->total; }

/* The last child whose elder siblings sum to no more than the point: first the quarter, then within it. Six comparisons
 * without a branch, on any instruction set. */
static inline int64_t child_at(const uint64_t *node, uint64_t point) {
  int64_t quarter = 4 * ((node[4] <= point) + (node[8] <= point) + (node[12] <= point));
  const uint64_t *q = node + quarter;
  return quarter + (q[1] <= point) + (q[2] <= point) + (q[3] <= point);
}

/* GROUP descents side by side, in registers: they are independent, so their latencies and cache misses overlap. */
static void find_group(const mz_priority_tree *tree, const uint64_t points[GROUP], int64_t leaves[GROUP]) {
  uint64_t rest[GROUP];
  int64_t entry[GROUP];
#pragma GCC unroll 8
  for (int i = 0; i < GROUP; i++) {
    rest[i] = points[i];
    entry[i] = 0;
  }
  for (int d = 0; d < tree->levels; d++) {
    const uint64_t *before = tree->before[d];
#pragma GCC unroll 8
    for (int i = 0; i < GROUP; i++) {
      int64_t first = entry[i] << WIDTH_BITS;
      entry[i] = first + child_at(before + first, rest[i]);
      rest[i] -= before[entry[i]];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < GROUP; i++) leaves[i] = entry[i];
}

void mz_priority_tree_find(const mz_priority_tree *tree, int n, const uint64_t *points, int64_t *leaves) {
  int whole = n - n % GROUP;
  for (int i = 0; i < whole; i += GROUP) find_group(tree, points + i, leaves + i);
  if (whole == n) return;
  uint64_t last_points[GROUP] = {0};
  int64_t last_leaves[GROUP];
  memcpy(last_points, points + whole, (size_t)(n - whole) * sizeof *points);
  find_group(tree, last_points, last_leaves);
  memcpy(leaves + whole, last_leaves, (size_t)(n - whole) * sizeof *leaves);
}

uint32_t mz_priority_from_error(float error, double exponent) {
  static const double unit = 65536, least = 1, most = 2147483648.0;
  if (exponent == 0) return (uint32_t)unit;
  double priority = unit * mz_exp(exponent * mz_log(fabs((double)error) + 1e-6));
  if (!(priority < most)) return (uint32_t)most; /* also where the error is not a number */
  return priority < least ? (uint32_t)least : (uint32_t)(priority + 0.5);
}
