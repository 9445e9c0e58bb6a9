#include "networks/prepared.h"
#include <stdatomic.h>

struct mz_prepared {
  _Atomic int references;
  mz_lane home; /* not open: says whose memory `values` is */
  void *values;
  size_t size; /* bytes */
  uint64_t number;
};

static bool packs(const mz_model *model, const mz_lane *lane) {
  return lane->backend->pack_forward != NULL && mz_params_convolve(&model->params);
}

static size_t packed_bytes(const mz_model *model, const mz_lane *lane) {
  const int64_t elements = packs(model, lane) ? mz_backend_layout(lane->backend, &model->params, NULL) : model->params.size;
  return (size_t)elements * lane->backend->element_size;
}

/* Allocates `folded` as elements of the backend in the lane's memory. */
static mz_status bring(const mz_lane *lane, const float *folded, int64_t size, void **out) {
  const size_t count = (size_t)size;
  MZ_TRY(mz_lane_alloc(lane, out, count * lane->backend->element_size));
  if (lane->backend->element_size == sizeof(float)) return mz_lane_load(lane, *out, folded, count * sizeof *folded);
  for (size_t i = 0; i < count; i++) ((double *)*out)[i] = folded[i];
  return MZ_OK;
}

static mz_status fill(const mz_lane *lane, const mz_model *model, const float *values, mz_prepared *prepared) {
  mz_status status;
  float *folded = NULL;
  void *plain = NULL;
  MZ_TRY_CLEANUP(mz_alloc(&folded, (size_t)model->params.size, sizeof *folded));
  mz_model_fold(model, values, folded);
  MZ_TRY_CLEANUP(bring(lane, folded, model->params.size, &plain));
  if (packs(model, lane)) {
    MZ_TRY_CLEANUP(mz_lane_alloc(lane, &prepared->values, packed_bytes(model, lane)));
    MZ_TRY_CLEANUP(mz_lane_pack(lane, lane->backend->pack_forward, &model->params, plain, model->infer_bf16, prepared->values));
  } else {
    prepared->values = plain;
    plain = NULL;
  }
  MZ_TRY_CLEANUP(mz_lane_sync(lane));
cleanup:
  mz_lane_free(lane, plain);
  free(folded);
  return status;
}

mz_status mz_prepared_create(mz_prepared **out, const mz_model *model, const mz_lane *where, const float *values) {
  mz_prepared *prepared = NULL;
  mz_lane lane = {0};
  mz_status status;
  MZ_TRY(mz_alloc(&prepared, 1, sizeof *prepared));
  prepared->home = (mz_lane){.backend = where->backend, .device = where->device};
  static _Atomic uint64_t made;
  atomic_init(&prepared->references, 1);
  prepared->number = 1 + atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
  prepared->size = packed_bytes(model, where);
  MZ_TRY_CLEANUP(mz_lane_open(&lane, where));
  MZ_TRY_CLEANUP(mz_model_check(model, &lane, false));
  MZ_TRY_CLEANUP(fill(&lane, model, values, prepared));
  *out = prepared;
  prepared = NULL;
cleanup:
  mz_prepared_release(prepared);
  mz_lane_close(&lane);
  return status;
}

mz_prepared *mz_prepared_share(mz_prepared *prepared) {
  atomic_fetch_add_explicit(&prepared->references, 1, memory_order_relaxed);
  return prepared;
}

void mz_prepared_release(mz_prepared *prepared) {
  if (prepared == NULL || atomic_fetch_sub_explicit(&prepared->references, 1, memory_order_acq_rel) != 1) return;
  mz_lane_free(&prepared->home, prepared->values);
  free(prepared);
}

const void *mz_prepared_values(const mz_prepared *prepared) { return prepared->values; }

size_t mz_prepared_size(const mz_prepared *prepared) { return prepared->size; }

uint64_t mz_prepared_number(const mz_prepared *prepared) { return prepared->number; }

double mz_prepared_bytes(const mz_model *model, const mz_lane *where, double *making) {
  const double plain = (double)model->params.size;
  if (making != NULL) *making = plain * sizeof(float) + (packs(model, where) ? plain * (double)where->backend->element_size : 0);
  return (double)sizeof(mz_prepared) + (double)packed_bytes(model, where);
}
