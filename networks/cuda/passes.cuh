/* Whole passes of a tape as CUDA graphs (sequence.cuh), so that a pass costs the host one launch. Inference runs as many rows as the next
 * power of two, which keeps the graphs few; rows beyond those asked for are computed and mean nothing. Training runs the rows that are
 * asked for. A graph reads weights, and writes gradients, where they were when it was captured: elsewhere, it is captured anew. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_pass_run(mz_tape *tape, bool backward, int rows);
void mz_cuda_passes_free(mz_tape *tape);
/* The rows that inference runs for `rows`. */
int mz_cuda_pass_rows(const mz_tape *tape, int rows);
/* Enqueues the nodes of a pass over `rows` rows as they are, for who makes them part of a larger sequence. The fields of the tape's running
 * pass are set. */
mz_status mz_cuda_pass_enqueue(mz_tape *tape, bool backward, int rows);
