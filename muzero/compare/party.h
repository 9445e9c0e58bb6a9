/* One arm with one seed: a run, or several at once that share the machine (compare --together), each a cell of its own. */
#pragma once
#include "muzero/compare/cell.h"

enum { MZ_TOGETHER_MAX = 8 };

typedef struct mz_party {
  mz_cell cells[MZ_TOGETHER_MAX];
  int count;
  bool ended;               /* its runs reached their limit, or one crashed */
  bool refused;             /* it did not begin, for it cannot keep its limits */
  char why[MZ_MESSAGE_MAX]; /* of a crash, or why it was refused; "" otherwise */
  cJSON
      *blocks; /* of the cells, joined: seconds until the last has finished; sums of what they used; digests combined; the rest is
                    the first one's */
} mz_party;

/* Starts `count` runs: the first with the seed and directory of `options`, the others with seeds and directories beside them. As
 * mz_cell_start; but one run alone that has no plan for its limits is no failure: the party is refused. */
mz_status mz_party_start(mz_party *party, const mz_run_options *options, const mz_limits *limits, int count);
/* Sends all on and receives their replies (cell.h), at once. Where one ends before the others, its part of the block is over earlier. */
mz_status mz_party_advance(mz_party *party, int phases, uint64_t memory);
/* Ends the processes and waits for them. */
void mz_party_end(mz_party *party);
void mz_party_deinit(mz_party *party); /* frees all blocks; zeroed is fine */
/* Writes the processes of its runs, 0 for one that has ended. Returns how many. */
int mz_party_pids(const mz_party *party, pid_t out[MZ_TOGETHER_MAX]);
