/* Weights as inference on one device reads them: batch norm folded into the convolutions, parameters packed by the backend, in the
 * device's memory. Immutable and counted: made once for each published set of weights, shared by any number of threads. */
#pragma once
#include "networks/lane.h"
#include "networks/model/model.h"

typedef struct mz_prepared mz_prepared;

/* values: [params.size], copied. One reference for the caller. */
mz_status mz_prepared_create(mz_prepared **out, const mz_model *model, const mz_lane *where, const float *values);
mz_prepared *mz_prepared_share(mz_prepared *prepared); /* returns it */
void mz_prepared_release(mz_prepared *prepared);       /* frees at 0; NULL is fine; from any thread */
/* Returns what forward passes read, in the device's memory, and its size. */
const void *mz_prepared_values(const mz_prepared *prepared);
size_t mz_prepared_size(const mz_prepared *prepared);
/* Returns a number that no other in this process has, from 1 on. */
uint64_t mz_prepared_number(const mz_prepared *prepared);
/* Returns the bytes that it takes; making: what create takes besides, for a moment; may be NULL. */
double mz_prepared_bytes(const mz_model *model, const mz_lane *where, double *making);
