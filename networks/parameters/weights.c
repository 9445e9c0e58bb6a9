#include "networks/parameters/weights.h"

#include <string.h>

mz_status mz_weights_write(const mz_params *params, const float *values, const cJSON *metadata, uint8_t **out, size_t *size) {
  mz_tensor_view *tensors = NULL;
  float *dense = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&tensors, (size_t)params->count, sizeof *tensors));
  MZ_TRY_CLEANUP(mz_alloc(&dense, (size_t)mz_params_dense(params), sizeof *dense));

  float *at = dense;
  for (int i = 0; i < params->count; i++) {
    const mz_param *param = &params->items[i];
    const size_t row_bytes = (size_t)param->columns * sizeof *dense;
    tensors[i] = (mz_tensor_view){
        .name = param->name,
        .dtype = "F32",
        .dims = 2,
        .shape = {param->rows, param->columns},
        .data = (const uint8_t *)at,
        .bytes = (size_t)param->rows * row_bytes,
    };
    for (int r = 0; r < param->rows; r++, at += param->columns)
      memcpy(at, values + param->offset + (int64_t)r * param->stride, row_bytes);
  }
  status = mz_safetensors_write(tensors, params->count, metadata, out, size);
cleanup:
  free(dense);
  free(tensors);
  return status;
}

/* "[2, 3]"; a text that does not fit is cut. */
static void shape_text(const mz_tensor_view *tensor, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "[");
  for (int d = 0; d < tensor->dims && used < size; d++)
    used += (size_t)snprintf(out + used, size - used, "%s%lld", d ? ", " : "", (long long)tensor->shape[d]);
  if (used < size) snprintf(out + used, size - used, "]");
}

static mz_status find_tensor(const mz_param *param, const mz_safetensors *file, const char *prefix, const char *name,
                             mz_status code, const mz_tensor_view **out) {
  char wanted[128];
  const int length = snprintf(wanted, sizeof wanted, "%s%s", prefix, param->name);
  MZ_ASSERT(length < (int)sizeof wanted);
  const mz_tensor_view *tensor = mz_safetensors_find(file, wanted);
  if (!tensor)
    return mz_fail(code, "%s: tensor \"%s\" is missing: the model has F32 [%d, %d]", name, wanted, param->rows, param->columns);
  if (strcmp(tensor->dtype, "F32") != 0 || tensor->dims != 2 || tensor->shape[0] != param->rows ||
      tensor->shape[1] != param->columns) {
    char found[MZ_TENSOR_DIMS * 22];
    shape_text(tensor, found, sizeof found);
    return mz_fail(code, "%s: tensor \"%s\": is %s %s, the model has F32 [%d, %d]", name, wanted, tensor->dtype, found,
                   param->rows, param->columns);
  }
  *out = tensor;
  return MZ_OK;
}

mz_status mz_weights_read(const mz_params *params, const mz_safetensors *file, const char *prefix, const char *name,
                          mz_status code, float *values) {
  const mz_tensor_view *tensors[MZ_PARAMS_MAX];
  for (int i = 0; i < params->count; i++) MZ_TRY(find_tensor(&params->items[i], file, prefix, name, code, &tensors[i]));

  memset(values, 0, (size_t)params->size * sizeof *values);
  for (int i = 0; i < params->count; i++) {
    const mz_param *param = &params->items[i];
    const size_t row_bytes = (size_t)param->columns * sizeof *values;
    for (int r = 0; r < param->rows; r++)
      memcpy(values + param->offset + (int64_t)r * param->stride, tensors[i]->data + (size_t)r * row_bytes, row_bytes);
  }
  return MZ_OK;
}
