#include "networks/cuda/backend.cuh"
#include "networks/cuda/conv.cuh"
#include "networks/cuda/losses.cuh"
#include "networks/cuda/memory.cuh"
#include "networks/cuda/nodes.cuh"
#include "networks/cuda/passes.cuh"
#include "networks/cuda/updater.cuh"

static mz_status pack_forward(const mz_lane *lane, const mz_param *param, const void *values, bool bf16, void *out) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  if (param->conv.height > 0) return mz_cuda_conv_pack(own, param, (const float *)values, bf16, (float *)out);
  const size_t bytes = (size_t)param->rows * (size_t)param->stride * sizeof(float);
  MZ_CUDA_TRY(cudaMemcpyAsync(out, values, bytes, cudaMemcpyDeviceToDevice, own->stream));
  return MZ_OK;
}

static mz_status loss(mz_tape *tape, double *out) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const int count = mz_cuda_loss_count(tape);
  double sums[MZ_LOSSES_MAX];
  void *place;
  MZ_ASSERT(count <= MZ_LOSSES_MAX);
  MZ_TRY(mz_cuda_staging_scratch(&own->staging, own->stream, (size_t)count * sizeof *sums, &place));
  MZ_TRY(mz_cuda_loss_sums(tape, tape->live_rows, (double *)place));
  MZ_TRY(mz_cuda_staging_receive(&own->staging, own->stream, sums, place, (size_t)count * sizeof *sums));
  MZ_TRY(mz_cuda_staging_sync(&own->staging, own->stream));
  *out = mz_cuda_loss_total(tape, sums);
  return MZ_OK;
}

static mz_backend backend_of_cuda(void) {
  mz_backend b = {};
  b.name = "cuda";
  b.element_size = sizeof(float);
  b.open = mz_cuda_lane_open;
  b.close = mz_cuda_lane_close;
  b.halves = mz_cuda_lane_halves;
  b.memory = &mz_cuda_memory;
  b.prepare = mz_cuda_node_prepare;
  b.release = mz_cuda_node_release;
  b.node_bytes = mz_cuda_node_bytes;
  b.forward = mz_cuda_node_forward;
  b.backward = mz_cuda_node_backward;
  b.run = mz_cuda_pass_run;
  b.forget = mz_cuda_passes_free;
  b.loss = loss;
  b.pack_forward = pack_forward;
  b.updater = &mz_cuda_updater;
  return b;
}

const mz_backend mz_backend_cuda = backend_of_cuda();
