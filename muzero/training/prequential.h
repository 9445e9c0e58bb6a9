/* The prequential loss (Dawid 1984): that of rows from segments which no update has been trained on yet, just before the first one is;
 * and beside it that of rows from segments which were, by how often. It costs eight bytes per segment, draws nothing and touches no state.
 * One thread drives it. */
#pragma once
#include "replay/batches/batch.h"

typedef struct mz_segment_draws {
  uint32_t moves, rows; /* of the segment; that updates were trained on so far */
} mz_segment_draws;

typedef struct mz_prequential { /* zeroed: nothing is known yet */
  bool begun;
  uint64_t first;          /* serial of the segment that draws[0] is of */
  int64_t count, capacity; /* segments that are known */
  mz_segment_draws *draws; /* [capacity] */
} mz_prequential;

/* Passes over a segment: rows drawn from it so far, over its moves. The first group has none; the others end at 1/4, 1/2, 1, 2, 4, 8,
 * 16 passes, and the last one does not end. */
enum { MZ_PASS_GROUPS = 9 };

typedef struct mz_prequential_stats { /* sums over updates, by passes before the update */
  int64_t rows[MZ_PASS_GROUPS];
  double passes[MZ_PASS_GROUPS];
  double
      loss[MZ_PASS_GROUPS]; /* policy, value and reward loss, as mz_learner_row_losses has it; loss[0] is the prequential loss */
} mz_prequential_stats;

/* Returns the bytes that it takes at the most for a buffer of so many segments. */
double mz_prequential_bytes(double segments);
void mz_prequential_deinit(mz_prequential *prequential);
/* Takes in the segments that the buffer has now, between rounds. Those it has at the first call are left out of all sums: nobody knows
 * how often updates were trained on them. MZ_E_MEMORY. */
mz_status mz_prequential_follow(mz_prequential *prequential, const mz_buffer *buffer);
/* Adds an update's rows, losses [batch rows]; then they count as trained on. */
void mz_prequential_update(mz_prequential *prequential, const mz_batch *batch, const float *losses, mz_prequential_stats *stats);
