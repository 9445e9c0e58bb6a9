/* Weights of members that share work: ranks that own shards of games, replay and gradients, or pools that share a device's
 * cores. A member's weight follows its share of the total performance, slowly, so that one odd window moves little, and never
 * to nothing, so that a member that was slow for a while is still measured. Plain functions on arrays, deterministic.
 * (Source: the adaptive-network article, "weight nodes by their performance and use".) */
#pragma once
#include <stdbool.h>

enum { MZ_WEIGHTS_MAX = 1024 }; /* members */

/* weights (count): 1/count each. */
void mz_weights_init(double *weights, int count);
/* An exponentially weighted step of `weights` (sum 1) towards the shares of `performance` (count, ≥ 0), such that the sum stays
 * 1, no weight falls below 0.5/count, and none changes by more than 20 % of itself. Performance is what a member could do or
 * needs (a rank: items per busy second; a pool: CPU seconds per unit of work), not what its weight made it do. One that is not
 * finite was not measured: such members keep their weights. Where none was measured, or all are 0, weights stay as they are. */
void mz_weights_update(double *weights, const double *performance, int count);
