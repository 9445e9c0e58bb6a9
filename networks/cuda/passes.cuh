/* Whole passes of a tape as CUDA graphs, so that a pass costs the host one launch. The first pass of a kind runs node by node, since
 * libraries load their kernels then; the second is captured, and further ones are replayed. Inference runs as many rows as the next power
 * of two, which keeps the graphs few; rows beyond those asked for are computed and mean nothing. Training runs the rows that are asked
 * for. A graph reads weights, and writes gradients, where they were when it was captured: elsewhere, it is captured anew. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_pass_run(mz_tape *tape, bool backward, int rows);
void mz_cuda_passes_free(mz_tape *tape);
/* The rows that inference runs for `rows`. */
int mz_cuda_pass_rows(const mz_tape *tape, int rows);
