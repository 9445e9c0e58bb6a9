/* One round (docs/architecture.md, "The round"): self-play, batch building and learning at once, each from the state at the
 * round's start; then, always in the same order, what they made is folded into the next state. The result is a pure function of
 * state and settings. */
#pragma once
#include "muzero/training/workers.h"

/* Statistics of a round; sums, so that rounds add up to phases. Telemetry only. */
typedef struct mz_round_stats {
  int64_t rounds, moves, simulations, episodes;
  double return_sum, policy_entropy_sum, root_value_sum;
  int64_t length_sum;
  uint64_t wall_ns, batch_wait_ns, learner_wait_ns; /* batch: for room in the queue; learner: for a batch */
  uint64_t learn_ns, fold_ns;                       /* inside updates; in folding the round into the next state */
  uint64_t learn_cpu_ns;                            /* inside updates, of the driving thread */
  mz_learning_stats learning;
  mz_prequential_stats prequential;
} mz_round_stats;

/* On failure the state is not to be used or saved any more (the last checkpoint is good). Adds to *stats. */
mz_status mz_round_play(mz_state *state, mz_workers *workers, mz_round_stats *stats);
