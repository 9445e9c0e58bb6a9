#include "blas_product.h"
#include "library.h"
#include <cstdlib>
#include <cstring>
#include <vector>

static const uint64_t F32 =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
static const uint64_t TF32 =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32;

static const uint32_t FEW = 200, ANY = UINT32_MAX;

const blas_algorithm blas_algorithms[BLAS_ALGORITHMS] = {
    {BLAS_ALGORITHM, 1, 1, CUBLASLT_REDUCTION_SCHEME_NONE, TF32, 1, 0, ANY},
    {BLAS_ALGORITHM, 2, 4, CUBLASLT_REDUCTION_SCHEME_INPLACE, F32, 1, 0, ANY},
    {BLAS_ALGORITHM, 3, 3, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, F32, 1, 1, ANY},
    {BLAS_ALGORITHM, 4, 1, CUBLASLT_REDUCTION_SCHEME_NONE, F32, 1, 1 << 20, ANY},
    {BLAS_ALGORITHM, 5, 1, CUBLASLT_REDUCTION_SCHEME_NONE, F32, 2, 0, ANY},
    {BLAS_ALGORITHM, 6, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, F32, 1, 1, ANY},
    {BLAS_ALGORITHM, 8, 1, CUBLASLT_REDUCTION_SCHEME_NONE, F32, 1, 0, FEW},
    {BLAS_ALGORITHM, 7, 1, CUBLASLT_REDUCTION_SCHEME_NONE, F32, 1, 0, ANY},
};

bool blas_product::is_consistent() const {
  const uint64_t rows_a = op.a == CUBLAS_OP_N ? a.rows : a.columns;
  const uint64_t rows_b = op.b == CUBLAS_OP_N ? b.rows : b.columns, columns_b = op.b == CUBLAS_OP_N ? b.columns : b.rows;
  for (const blas_layout *l : {&a, &b, &c, &d}) {
    if (l->rows == 0 || l->columns == 0 || l->stride < (int64_t)l->rows) return false;
  }
  return rows_a == m() && rows_b == k() && columns_b == n() && c.rows == m() && c.columns == n();
}

/* The stride of every matrix must keep its columns aligned. */
bool blas_product::can_run(const blas_algorithm &algorithm) const {
  for (const blas_layout *l : {&a, &b, &c, &d}) {
    if (l->stride * (int64_t)sizeof(float) % BLAS_ALIGNMENT != 0) return false;
  }
  const char *mode = getenv("MUZERO_TWIN_BLAS");
  if (mode != nullptr && strcmp(mode, "none") == 0) return false;
  if (mode != nullptr && strcmp(mode, "plain") == 0 && op.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return false;
  return b.columns >= algorithm.columns_min;
}

static float to_tf32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1fffu;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float element(const blas_task &task, const float *x, const blas_layout &l, cublasOperation_t how, uint64_t row,
                     uint64_t column) {
  const float value = how == CUBLAS_OP_N ? x[row + column * (uint64_t)l.stride] : x[column + row * (uint64_t)l.stride];
  return task.algorithm.arithmetic == TF32 ? to_tf32(value) : value;
}

/* One column of op(a) op(b). left: op(a) [k][m]. Parts of the sum are added in order, or from the last to the first. */
static void sum_column(const blas_task &task, const std::vector<float> &left, uint64_t j, bool backwards,
                       std::vector<float> &sums) {
  const blas_product &p = task.product;
  const uint64_t m = p.m(), k = p.k(), parts = (uint64_t)task.algorithm.parts, step = (k + parts - 1) / parts;
  std::vector<float> part_sums(m);
  sums.assign(m, 0.0f);
  for (uint64_t i = 0; i < parts; i++) {
    const uint64_t first = (backwards ? parts - 1 - i : i) * step, end = first + step < k ? first + step : k;
    part_sums.assign(m, 0.0f);
    for (uint64_t n = first; n < end; n++) {
      const uint64_t l = task.algorithm.is_of_few() ? first + end - 1 - n : n;
      const float right = element(task, task.b, p.b, p.op.b, l, j), *column = &left[l * m];
      for (uint64_t r = 0; r < m; r++) part_sums[r] = part_sums[r] + column[r] * right;
    }
    for (uint64_t r = 0; r < m; r++) sums[r] = sums[r] + part_sums[r];
  }
}

void blas_task::run() const {
  const blas_product &p = product;
  const uint64_t m = p.m(), k = p.k();
  std::vector<float> left(k * m), sums;
  for (uint64_t l = 0; l < k; l++) {
    for (uint64_t i = 0; i < m; i++) left[l * m + i] = element(*this, a, p.a, p.op.a, i, l);
  }
  const bool backwards = algorithm.reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE && twin_library_toss(); /* as parts come */
  for (uint64_t j = 0; j < p.n(); j++) {
    sum_column(*this, left, j, backwards, sums);
    for (uint64_t i = 0; i < m; i++) {
      float value = alpha * sums[i];
      if (beta != 0.0f) value = value + beta * c[i + j * (uint64_t)p.c.stride];
      if ((p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) value = value + p.op.bias[i];
      if ((p.op.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && value < 0.0f) value = 0.0f;
      d[i + j * (uint64_t)p.d.stride] = value;
    }
  }
}
