#include "networks/cuda/products.cuh"
#include "networks/cuda/arithmetic.cuh"
#include "networks/cuda/check.cuh"
#include "networks/cuda/direct_product.cuh"
#include "networks/cuda/forms.cuh"

enum { CHOICES_MAX = 32, ALIGNMENT = 16 };

/* The library's matrices are column-major, so that it sees ours transposed: yᵀ = Wᵀ xᵀ and so on. d = op(a) op(b). */
struct mz_cuda_product {
  mz_cuda_product_settings settings;
  mz_cuda_product_form form;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulAlgo_t algorithm;
};

static mz_status set_operation(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const void *value,
                               size_t bytes) {
  MZ_CUBLAS_TRY(cublasLtMatmulDescSetAttribute(operation, attribute, value, bytes));
  return MZ_OK;
}

static mz_status describe_operation(mz_cuda_product *product) {
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasComputeType_t arithmetic = mz_cuda_allows_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const void *const aligned = (const void *)ALIGNMENT; /* the heuristics take a bias to be aligned as this pointer is */
  MZ_CUBLAS_TRY(cublasLtMatmulDescCreate(&product->operation, arithmetic, CUDA_R_32F));
  cublasLtMatmulDesc_t operation = product->operation;
  if (product->settings.kind == MZ_CUDA_PRODUCT_DATA) {
    MZ_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  }
  if (product->settings.kind == MZ_CUDA_PRODUCT_WEIGHTS) {
    MZ_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof transposed));
  }
  return set_operation(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &aligned, sizeof aligned);
}

static bool has_rest(const mz_cuda_product_settings *settings) { return settings->bias || settings->relu; }

static mz_status set_last_steps(const mz_cuda_product *product) {
  const mz_cuda_product_settings *settings = &product->settings;
  const cublasLtEpilogue_t epilogues[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS,
                                          CUBLASLT_EPILOGUE_RELU_BIAS};
  const bool fused = product->form == MZ_CUDA_PRODUCT_FUSED;
  const cublasLtEpilogue_t epilogue = epilogues[fused ? 2 * settings->bias + settings->relu : 0];
  return set_operation(product->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
}

/* Columns, of which each begins `stride` behind the one before. */
static mz_status describe_matrix(cublasLtMatrixLayout_t *out, int column, int columns, int stride) {
  MZ_CUBLAS_TRY(cublasLtMatrixLayoutCreate(out, CUDA_R_32F, (uint64_t)column, (uint64_t)columns, stride));
  return MZ_OK;
}

static mz_status describe_matrices(mz_cuda_product *product) {
  const mz_cuda_product_settings *s = &product->settings;
  switch (s->kind) {
    case MZ_CUDA_PRODUCT_FORWARD:
      MZ_TRY(describe_matrix(&product->a, s->y_stride, s->inputs, s->y_stride));
      MZ_TRY(describe_matrix(&product->b, s->inputs, s->rows, s->x_stride));
      return describe_matrix(&product->d, s->y_stride, s->rows, s->y_stride);
    case MZ_CUDA_PRODUCT_DATA:
      MZ_TRY(describe_matrix(&product->a, s->outputs, s->inputs, s->y_stride));
      MZ_TRY(describe_matrix(&product->b, s->outputs, s->rows, s->y_stride));
      return describe_matrix(&product->d, s->inputs, s->rows, s->x_stride);
    case MZ_CUDA_PRODUCT_WEIGHTS:
      MZ_TRY(describe_matrix(&product->a, s->y_stride, s->rows, s->y_stride));
      MZ_TRY(describe_matrix(&product->b, s->inputs, s->rows, s->x_stride));
      return describe_matrix(&product->d, s->y_stride, s->inputs, s->y_stride);
  }
  return MZ_OK;
}

static mz_status set_columns(cublasLtMatrixLayout_t layout, int columns) {
  const uint64_t count = (uint64_t)columns;
  MZ_CUBLAS_TRY(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &count, sizeof count));
  return MZ_OK;
}

static mz_status set_rows(mz_cuda_product *product, int rows) {
  const bool sums_rows = product->settings.kind == MZ_CUDA_PRODUCT_WEIGHTS;
  MZ_TRY(set_columns(product->b, rows));
  return set_columns(sums_rows ? product->a : product->d, rows);
}

/* ---- choosing ---- */

static uint32_t allowed_reduction(const mz_cuda_product *product) {
  return product->settings.kind == MZ_CUDA_PRODUCT_WEIGHTS ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                           : CUBLASLT_REDUCTION_SCHEME_NONE;
}

static mz_status prefer(cublasLtMatmulPreference_t preference, const mz_cuda_product *product, const mz_cuda_lane *lane) {
  const uint64_t workspace = lane->workspace_bytes;
  const uint32_t reduction = allowed_reduction(product), alignment = ALIGNMENT;
  const struct {
    cublasLtMatmulPreferenceAttributes_t attribute;
    const void *value;
    size_t bytes;
  } wishes[] = {
      {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
      {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment, sizeof alignment},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignment, sizeof alignment},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment, sizeof alignment},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignment, sizeof alignment},
  };
  for (const auto &wish : wishes) {
    MZ_CUBLAS_TRY(cublasLtMatmulPreferenceSetAttribute(preference, wish.attribute, wish.value, wish.bytes));
  }
  return MZ_OK;
}

/* The heuristics may disregard the preferences, so the algorithm itself is asked. */
static mz_status keeps_rules(const mz_cuda_product *product, const cublasLtMatmulAlgo_t *algorithm, bool *keeps) {
  uint64_t arithmetic = 0;
  uint32_t reduction = 0;
  int32_t parts = 0;
  size_t written = 0;
  MZ_CUBLAS_TRY(cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &arithmetic,
                                                  sizeof arithmetic, &written));
  MZ_CUBLAS_TRY(cublasLtMatmulAlgoConfigGetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction,
                                                     sizeof reduction, &written));
  MZ_CUBLAS_TRY(cublasLtMatmulAlgoConfigGetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written));
  const uint32_t repeatable = parts > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_NONE;
  const bool repeats = reduction == repeatable && (parts <= 1 || reduction == allowed_reduction(product));
  *keeps = repeats && (mz_cuda_allows_tf32 || (arithmetic & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) == 0);
  return MZ_OK;
}

static mz_status runs_with(mz_cuda_product *product, const mz_cuda_lane *lane, const cublasLtMatmulAlgo_t *algorithm, int rows,
                           bool *runs) {
  cublasLtMatmulHeuristicResult_t result = {};
  MZ_TRY(set_rows(product, rows));
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(lane->blas, product->operation, product->a, product->b, product->d, product->d, algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) {
    return mz_cublas_failed(status, "cublasLtMatmulAlgoCheck");
  }
  *runs = status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= lane->workspace_bytes;
  return MZ_OK;
}

static int choice_rows(const mz_cuda_product *product) {
  return product->settings.choice_rows > 0 ? product->settings.choice_rows : product->settings.rows;
}

/* Every power of two stands for the numbers below it; an odd number of rows asks no more of an algorithm than one row does. */
static mz_status serves(mz_cuda_product *product, const mz_cuda_lane *lane, const cublasLtMatmulAlgo_t *algorithm, bool *does) {
  const int chosen = choice_rows(product), most = product->settings.rows > chosen ? product->settings.rows : chosen;
  MZ_TRY(keeps_rules(product, algorithm, does));
  for (int rows = 1; *does && rows < most; rows *= 2) MZ_TRY(runs_with(product, lane, algorithm, rows, does));
  return *does ? runs_with(product, lane, algorithm, most, does) : MZ_OK;
}

static mz_status choose(mz_cuda_product *product, const mz_cuda_lane *lane, const cublasLtMatmulHeuristicResult_t *results,
                        int count, bool *found) {
  *found = false;
  for (int i = 0; i < count && !*found; i++) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    MZ_TRY(serves(product, lane, &results[i].algo, found));
    product->algorithm = results[i].algo;
  }
  return MZ_OK;
}

static mz_status ask_heuristics(mz_cuda_product *product, const mz_cuda_lane *lane, cublasLtMatmulPreference_t preference,
                                bool *found) {
  mz_status status = MZ_OK;
  cublasLtMatmulHeuristicResult_t *results = nullptr;
  int count = 0;
  MZ_TRY(set_last_steps(product));
  MZ_TRY(set_rows(product, choice_rows(product)));
  MZ_TRY(mz_alloc(&results, CHOICES_MAX, sizeof *results));
  const cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(lane->blas, product->operation, product->a, product->b, product->d,
                                                               product->d, preference, CHOICES_MAX, results, &count);
  if (answer != CUBLAS_STATUS_SUCCESS && answer != CUBLAS_STATUS_NOT_SUPPORTED) {
    status = mz_cublas_failed(answer, "cublasLtMatmulAlgoGetHeuristic");
  } else {
    status = choose(product, lane, results, answer == CUBLAS_STATUS_SUCCESS ? count : 0, found);
  }
  free(results);
  return status;
}

static mz_status choose_form(mz_cuda_product *product, const mz_cuda_lane *lane) {
  mz_status status = MZ_OK;
  cublasLtMatmulPreference_t preference = nullptr;
  bool found = false;
  product->form = MZ_CUDA_PRODUCT_DIRECT;
  if (mz_cuda_leaves_libraries_out()) return MZ_OK;
  MZ_CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference));
  MZ_TRY_CLEANUP(prefer(preference, product, lane));
  product->form = MZ_CUDA_PRODUCT_FUSED;
  MZ_TRY_CLEANUP(ask_heuristics(product, lane, preference, &found));
  if (!found && has_rest(&product->settings)) {
    product->form = MZ_CUDA_PRODUCT_SEPARATE;
    MZ_TRY_CLEANUP(ask_heuristics(product, lane, preference, &found));
  }
  if (!found) product->form = MZ_CUDA_PRODUCT_DIRECT;
cleanup:
  cublasLtMatmulPreferenceDestroy(preference);
  return status;
}

/* ---- life and use ---- */

mz_status mz_cuda_product_create(mz_cuda_product **out, const mz_cuda_lane *lane, const mz_cuda_product_settings *settings) {
  mz_status status = MZ_OK;
  mz_cuda_product *product = nullptr;
  MZ_TRY(mz_alloc(&product, 1, sizeof *product));
  product->settings = *settings;
  MZ_TRY_CLEANUP(describe_operation(product));
  MZ_TRY_CLEANUP(describe_matrices(product));
  MZ_TRY_CLEANUP(choose_form(product, lane));
  *out = product;
  product = nullptr;
cleanup:
  mz_cuda_product_free(product);
  return status;
}

void mz_cuda_product_free(mz_cuda_product *product) {
  if (product == nullptr) return;
  if (product->operation != nullptr) cublasLtMatmulDescDestroy(product->operation);
  for (cublasLtMatrixLayout_t layout : {product->a, product->b, product->d}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  free(product);
}

mz_cuda_product_form mz_cuda_product_form_of(const mz_cuda_product *product) { return product->form; }

static mz_status multiply(mz_cuda_product *product, const mz_cuda_lane *lane, int rows, const mz_cuda_operands *operands) {
  const mz_cuda_product_kind kind = product->settings.kind;
  const float one = 1.0f, beta = operands->add ? 1.0f : 0.0f;
  const float *a = kind == MZ_CUDA_PRODUCT_WEIGHTS ? operands->dy : operands->w;
  const float *b = kind == MZ_CUDA_PRODUCT_DATA ? operands->dy : operands->x;
  MZ_TRY(set_rows(product, rows));
  if (product->settings.bias && product->form == MZ_CUDA_PRODUCT_FUSED) {
    MZ_TRY(set_operation(product->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &operands->bias, sizeof operands->bias));
  }
  MZ_CUBLAS_TRY(cublasLtMatmul(lane->blas, product->operation, &one, a, product->a, b, product->b, &beta, operands->result,
                               product->d, operands->result, product->d, &product->algorithm, lane->workspace,
                               lane->workspace_bytes, lane->stream));
  return MZ_OK;
}

mz_status mz_cuda_product_run(mz_cuda_product *product, const mz_cuda_lane *lane, int rows, const mz_cuda_operands *operands) {
  const mz_cuda_product_settings *settings = &product->settings;
  MZ_ASSERT(rows >= 1 && rows <= settings->rows);
  if (product->form == MZ_CUDA_PRODUCT_DIRECT) return mz_cuda_direct_product_run(lane, settings, rows, operands);
  MZ_TRY(multiply(product, lane, rows, operands));
  return product->form == MZ_CUDA_PRODUCT_SEPARATE ? mz_cuda_direct_product_finish(lane, settings, rows, operands) : MZ_OK;
}
