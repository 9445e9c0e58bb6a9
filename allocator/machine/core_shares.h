/* Sharing cores by weight: processor sharing in which no thread has more than a core. */
#pragma once

/* Threads that are alike. */
typedef struct mz_core_claim {
  double threads; /* fractions of one, too: of a process that is on several devices in turn */
  double weight;  /* of each, against others' */
} mz_core_claim;

/* Computes the share of a core that each thread of a claim gets, 0 … 1; what those with a whole core leave is shared by the rest. */
void mz_core_shares(double cores, const mz_core_claim *claims, int count, double *shares);
