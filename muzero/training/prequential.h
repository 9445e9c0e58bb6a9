/* The prequential loss (Dawid 1984): that of rows from segments which no update has been trained on yet, just before the first one is.
 * It costs one byte per segment, draws nothing and touches no state. One thread drives it. */
#pragma once
#include "replay/batches/batch.h"

typedef struct mz_prequential { /* zeroed: nothing is known yet */
  bool begun;
  uint64_t first;          /* serial of the segment that trained[0] is of */
  int64_t count, capacity; /* segments that are known */
  bool *trained;           /* [capacity]: an update has been trained on the segment */
} mz_prequential;

typedef struct mz_prequential_stats { /* sums over updates */
  int64_t rows;
  double loss; /* policy, value and reward loss of those rows, as mz_learner_row_losses has it */
} mz_prequential_stats;

/* Returns the bytes that it takes at the most for a buffer of so many segments. */
double mz_prequential_bytes(double segments);
void mz_prequential_deinit(mz_prequential *prequential);
/* Takes in the segments that the buffer has now, between rounds. Those it has at the first call count as trained on: nobody knows
 * whether they were. MZ_E_MEMORY. */
mz_status mz_prequential_follow(mz_prequential *prequential, const mz_buffer *buffer);
/* Adds an update's rows whose segments no earlier update was trained on; then their segments count as trained on. losses [batch
 * rows]. */
void mz_prequential_update(mz_prequential *prequential, const mz_batch *batch, const float *losses, mz_prequential_stats *stats);
