#include "muzero/training/publish.h"
#include "networks/tape/backend.h"

double mz_snapshot_bytes(const mz_model *model) {
  const double folded = mz_params_convolve(&model->params) ? (double)model->params.size : 0;
  return sizeof(mz_snapshot) + ((double)model->params.packed + folded) * sizeof(float);
}

mz_status mz_snapshot_create(mz_snapshot **out, const mz_model *model, const float *values, uint64_t version) {
  mz_snapshot *snapshot;
  MZ_TRY(mz_alloc(&snapshot, 1, sizeof *snapshot));
  mz_status status = mz_alloc(&snapshot->weights, (size_t)model->params.packed, sizeof(float));
  if (status == MZ_OK) status = mz_infer_prepare(model, &mz_backend_cpu, values, snapshot->weights);
  if (status != MZ_OK) {
    free(snapshot->weights);
    free(snapshot);
    return status;
  }
  atomic_init(&snapshot->references, 1);
  snapshot->version = version;
  *out = snapshot;
  return MZ_OK;
}

void mz_snapshot_release(mz_snapshot *snapshot) {
  if (!snapshot || atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) != 1) return;
  free(snapshot->weights);
  free(snapshot);
}
