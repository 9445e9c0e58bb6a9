#include "networks/cuda/direct_product.cuh"
#include "networks/cuda/access.cuh"
#include "networks/cuda/finish.cuh"
#include "networks/cuda/quads.cuh"

enum { THREADS = 256 };

/* result[r][c] = Σ_k a[r · a_row + k · a_step] · b[k · b_step + c · b_column]. */
typedef struct shape {
  int rows, columns, depth;
  int a_row, a_step, b_step, b_column, result_row;
} shape;

/* One element a thread. bias: NULL for none. */
static __global__ void product(shape s, const float *a, const float *b, const float *bias, bool add, bool relu, float *result) {
  const size_t i = mz_cuda_thread(), row = i / (size_t)s.columns, column = i % (size_t)s.columns;
  if (row >= (size_t)s.rows) return;
  const float *a_at = a + row * (size_t)s.a_row, *b_at = b + column * (size_t)s.b_column;
  float *to = result + row * (size_t)s.result_row + column, sum = 0.0f;
  for (size_t k = 0; k < (size_t)s.depth; k++) sum = fmaf(a_at[k * (size_t)s.a_step], b_at[k * (size_t)s.b_step], sum);
  if (add) sum = *to + sum;
  if (bias != nullptr) sum = sum + bias[column];
  *to = relu ? mz_relu_of(sum) : sum;
}

static shape shape_of(const mz_cuda_product_settings *s, int rows) {
  switch (s->kind) {
    case MZ_CUDA_PRODUCT_FORWARD: return {rows, s->y_stride, s->inputs, s->x_stride, 1, s->y_stride, 1, s->y_stride};
    case MZ_CUDA_PRODUCT_DATA: return {rows, s->inputs, s->outputs, s->y_stride, 1, 1, s->y_stride, s->x_stride};
    case MZ_CUDA_PRODUCT_WEIGHTS: break;
  }
  return {s->inputs, s->y_stride, rows, 1, s->x_stride, s->y_stride, 1, s->y_stride};
}

mz_status mz_cuda_direct_product_run(const mz_cuda_lane *lane, const mz_cuda_product_settings *settings, int rows,
                                     const mz_cuda_operands *operands) {
  const shape s = shape_of(settings, rows);
  const float *a = settings->kind == MZ_CUDA_PRODUCT_DATA ? operands->dy : operands->x;
  const float *b = settings->kind == MZ_CUDA_PRODUCT_WEIGHTS ? operands->dy : operands->w;
  const float *bias = settings->bias ? operands->bias : nullptr;
  const dim3 grid = mz_cuda_blocks((size_t)s.rows * (size_t)s.columns, THREADS);
  MZ_CUDA_TRY(
      mz_launch(product, grid, dim3(THREADS), 0, lane->stream, s, a, b, bias, operands->add, settings->relu, operands->result));
  return MZ_OK;
}

mz_status mz_cuda_direct_product_finish(const mz_cuda_lane *lane, const mz_cuda_product_settings *settings, int rows,
                                        const mz_cuda_operands *operands) {
  float *const y = operands->result;
  const mz_cuda_finish finish = {y, settings->bias ? operands->bias : nullptr, nullptr,           settings->relu, false,
                                 y, (size_t)rows * (size_t)settings->y_stride, settings->y_stride};
  return mz_cuda_finish_run(lane, &finish);
}
