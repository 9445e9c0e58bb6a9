/* Parameters ↔ safetensors: float32 tensors of shape [rows, columns] (a bias is [1, columns]), dense: the padding of the flat
 * vector is dropped on writing and zero on reading. */
#pragma once
#include "networks/parameters/params.h"
#include "networks/parameters/safetensors.h"

/* *out: free(). `metadata` may be NULL. */
mz_status mz_weights_write(const mz_params *params, const float *values, const cJSON *metadata, uint8_t **out, size_t *size);

/* Reads the tensor `prefix` + parameter name for every parameter ("" for no prefix); other tensors of the file are left alone.
 * A missing tensor, another dtype or a wrong shape is `code`, both shapes shown; `values` are then untouched. `name` is the
 * file's, for messages. */
mz_status mz_weights_read(const mz_params *params, const mz_safetensors *file, const char *prefix, const char *name,
                          mz_status code, float *values);
