/* A sum tree of fixed-point priorities (prioritised replay, Schaul et al. 2016). Sums are exact integers, so a rebuilt tree
 * equals an updated one. Wide nodes and interleaved descents keep a draw near one cache miss a level. One writer; many
 * readers between writes. */
#pragma once
#include "base/status.h"
#include <stdint.h>

typedef struct mz_priority_tree mz_priority_tree;
mz_status mz_priority_tree_create(mz_priority_tree **out, int64_t leaves); /* 1 … 2^32 leaves, all 0 */
void mz_priority_tree_free(mz_priority_tree *tree);
double mz_priority_tree_bytes(int64_t leaves);                                      /* that create takes */
void mz_priority_tree_set(mz_priority_tree *tree, int64_t leaf, uint32_t priority); /* 0: never drawn */
uint32_t mz_priority_tree_get(const mz_priority_tree *tree, int64_t leaf);
const uint32_t *mz_priority_tree_leaves(const mz_priority_tree *tree); /* all of them, until the next set */
uint64_t mz_priority_tree_total(const mz_priority_tree *tree);
/* leaf[i] is where the running sum passes point[i] in 0 … total−1. */
void mz_priority_tree_find(const mz_priority_tree *tree, int n, const uint64_t *points, int64_t *leaves);

/* The error of a position whose value has no target. */
#define MZ_ERROR_UNKNOWN 1.0f
/* (|error| + 1e-6)^exponent in units of 2^-16, clamped to 1 … 2^31; exponent 0: always 2^16. */
uint32_t mz_priority_from_error(float error, double exponent);
