#include "networks/tape/backend.h"

int64_t mz_backend_packed(const mz_backend *backend, const mz_param *param) {
  return backend->packed_size == NULL ? (int64_t)param->rows * param->stride : backend->packed_size(param);
}

int64_t mz_backend_layout(const mz_backend *backend, const mz_params *params, int64_t *offsets) {
  int64_t size = 0;
  for (int i = 0; i < params->count; i++) {
    if (offsets != NULL) offsets[i] = size;
    size += mz_backend_packed(backend, &params->items[i]);
  }
  return size;
}
