/* Products too wide for our own kernel, by oneDNN's matmul. The one file that knows its C API (2.6). A plan belongs to one
 * thread; oneDNN runs on the calling thread alone. */
#pragma once
#include "base/status.h"
#include "networks/cpu/kernels.h"

typedef struct mz_onednn mz_onednn;

/* For products of this shape, pointers apart, with `rows` (a_step = 1: forward and data gradients) or `depth` (a_row = 1: weight
 * gradients) anywhere from 1 to the given one. Work is cut into blocks of that most or a power of two, each with its own
 * primitive, and a row has the same bits in every block: where oneDNN would not promise that (padded matrices, processors below
 * AVX-512: a general gemm), *out is NULL. */
mz_status mz_onednn_create(mz_onednn **out, const mz_product *shape);
void mz_onednn_free(mz_onednn *plan);
void mz_onednn_run(mz_onednn *plan, const mz_product *product);
