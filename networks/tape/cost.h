/* Cost of one run of a tape in a device's memory: each node reads its inputs and parameters and writes its output once. Caches save some of
 * it, and what a library writes in between is not counted; beside the time of the operations (mz_model_inference_flops) it gives the least
 * time that a pass can take. */
#pragma once
#include "networks/tape/tape.h"

typedef struct mz_tape_cost {
  int nodes;              /* that compute; one launch each, at the least */
  double bytes_per_row;   /* of values and gradients */
  double parameter_bytes; /* whatever the rows; backward: weights are read, their gradients written */
} mz_tape_cost;

/* Returns the cost of forward; the tape is planned. */
mz_tape_cost mz_tape_forward_cost(const mz_tape *tape);
/* Returns the cost of backward; the tape is planned with it. */
mz_tape_cost mz_tape_backward_cost(const mz_tape *tape);
