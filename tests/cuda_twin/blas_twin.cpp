/* The twin of cuBLASLt: the calls that networks/cuda/products.cu makes, for f32 alone. Descriptors are obeyed to the letter
 * and refused where the library refuses them. Its heuristics name algorithms of all kinds, the forbidden ones first
 * (blas_product.h), as far as preferences allow. MUZERO_TWIN_BLAS=careless: they disregard the preferences; =plain: no
 * algorithm has an epilogue; =none: there is no algorithm. */
#include "blas_product.h"
#include "library.h"
#include <cstdlib>
#include <cstring>

namespace {

enum { CONTEXT = 0x626c6173, OPERATION, LAYOUT, PREFERENCE };

struct context {
  uint32_t kind;
};

struct preference {
  uint32_t kind;
  uint64_t workspace;
  uint32_t reduction, alignment[4]; /* of a, b, c, d */
};

template <typename T> T *object(void *handle, uint32_t kind) {
  T *found = static_cast<T *>(handle);
  return found != nullptr && found->kind == kind ? found : nullptr;
}

template <typename T> cublasStatus_t destroy(T *found) {
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  found->kind = 0;
  delete found;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T> bool put(T *to, const void *from, size_t bytes) {
  if (from == nullptr || bytes != sizeof *to) return false;
  memcpy(to, from, bytes);
  return true;
}

template <typename T> cublasStatus_t give(T value, void *to, size_t bytes, size_t *written) {
  if (to == nullptr || bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(to, &value, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

bool describe(blas_product *p, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  const blas_operation *described = object<blas_operation>(op, OPERATION);
  blas_layout *const places[] = {&p->a, &p->b, &p->c, &p->d};
  const cublasLtMatrixLayout_t handles[] = {a, b, c, d};
  if (described == nullptr) return false;
  p->op = *described;
  for (int i = 0; i < 4; i++) {
    const blas_layout *l = object<blas_layout>(handles[i], LAYOUT);
    if (l == nullptr) return false;
    *places[i] = *l;
  }
  return p->is_consistent();
}

const blas_algorithm *read(const cublasLtMatmulAlgo_t *algo) {
  const blas_algorithm *found = reinterpret_cast<const blas_algorithm *>(algo);
  return found != nullptr && found->kind == BLAS_ALGORITHM ? found : nullptr;
}

bool is_wished(const blas_algorithm &a, const preference &wish) {
  const char *mode = getenv("MUZERO_TWIN_BLAS");
  if (mode != nullptr && strcmp(mode, "careless") == 0) return true;
  for (uint32_t alignment : wish.alignment) {
    if (alignment < BLAS_ALIGNMENT) return false;
  }
  return (a.reduction & ~wish.reduction) == 0 && a.workspace_bytes() <= wish.workspace;
}

bool is_aligned(const void *pointer) {
  const twin_memory memory = twin_memory_at(pointer);
  return memory.kind == TWIN_DEVICE && memory.alignment >= BLAS_ALIGNMENT;
}

size_t bytes_of(const blas_layout &l) { return ((size_t)(l.columns - 1) * (size_t)l.stride + (size_t)l.rows) * sizeof(float); }

bool is_on_host(const void *pointer) { return pointer != nullptr && twin_memory_at(pointer).kind != TWIN_DEVICE; }

cublasStatus_t refuse(const char *why) {
  twin_library_refuses("cublasLtMatmul", why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

} // namespace

/* Begins a function of the library. */
#define BLAS_CALL                                                                                                                \
  if (twin_fails(__func__)) return CUBLAS_STATUS_EXECUTION_FAILED

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
  BLAS_CALL;
  *out = reinterpret_cast<cublasLtHandle_t>(new context{CONTEXT});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(object<context>(handle, CONTEXT)); }

size_t cublasLtGetVersion(void) { return 130000; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the GPU program failed to execute";
    default: return "unknown";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale) {
  BLAS_CALL;
  const bool known = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!known || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *out = reinterpret_cast<cublasLtMatmulDesc_t>(
      new blas_operation{OPERATION, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(object<blas_operation>(desc, OPERATION)); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
  BLAS_CALL;
  blas_operation *op = object<blas_operation>(desc, OPERATION);
  if (op == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  bool known = false;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: known = put(&op->a, value, bytes); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: known = put(&op->b, value, bytes); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      known = put(&op->epilogue, value, bytes) && op->epilogue >= CUBLASLT_EPILOGUE_DEFAULT &&
              op->epilogue <= CUBLASLT_EPILOGUE_RELU_BIAS && op->epilogue != 3;
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: known = put(&op->bias, value, bytes); break;
    default: break;
  }
  return known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t stride) {
  BLAS_CALL;
  if (type != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *out = reinterpret_cast<cublasLtMatrixLayout_t>(new blas_layout{LAYOUT, rows, columns, stride});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return destroy(object<blas_layout>(l, LAYOUT)); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t bytes) {
  BLAS_CALL;
  blas_layout *l = object<blas_layout>(handle, LAYOUT);
  if (l == nullptr || attribute != CUBLASLT_MATRIX_LAYOUT_COLS) return CUBLAS_STATUS_INVALID_VALUE;
  return put(&l->columns, value, bytes) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  BLAS_CALL;
  *out = reinterpret_cast<cublasLtMatmulPreference_t>(
      new preference{PREFERENCE, 0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  return destroy(object<preference>(p, PREFERENCE));
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes) {
  BLAS_CALL;
  preference *p = object<preference>(handle, PREFERENCE);
  if (p == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  bool known = false;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: known = put(&p->workspace, value, bytes); break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: known = put(&p->reduction, value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: known = put(&p->alignment[0], value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: known = put(&p->alignment[1], value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: known = put(&p->alignment[2], value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: known = put(&p->alignment[3], value, bytes); break;
    default: break;
  }
  return known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* The first result is one whose state tells that it failed, as the library's may be. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wish, int most, cublasLtMatmulHeuristicResult_t *results,
                                              int *count) {
  BLAS_CALL;
  blas_product p = {};
  const preference *wished = object<preference>(wish, PREFERENCE);
  if (object<context>(handle, CONTEXT) == nullptr || wished == nullptr || most <= 0 || !describe(&p, op, a, b, c, d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *count = 0;
  results[*count] = {};
  results[(*count)++].state = CUBLAS_STATUS_NOT_SUPPORTED;
  for (const blas_algorithm &algo : blas_algorithms) {
    if (*count == most || !p.can_run(algo) || !is_wished(algo, *wished) || p.b.columns > algo.columns_named) continue;
    cublasLtMatmulHeuristicResult_t *result = &results[(*count)++];
    *result = {};
    memcpy(&result->algo, &algo, sizeof algo);
    result->workspaceSize = algo.workspace_bytes();
    result->state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result) {
  BLAS_CALL;
  blas_product p = {};
  const blas_algorithm *found = read(algo);
  if (object<context>(handle, CONTEXT) == nullptr || found == nullptr || !describe(&p, op, a, b, c, d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!p.can_run(*found)) return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = found->workspace_bytes();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoCapAttributes_t attribute,
                                                 void *value, size_t bytes, size_t *written) {
  BLAS_CALL;
  const blas_algorithm *found = read(algo);
  if (found == nullptr || attribute != CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS) return CUBLAS_STATUS_INVALID_VALUE;
  return give(found->arithmetic, value, bytes, written);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *value, size_t bytes,
                                                    size_t *written) {
  BLAS_CALL;
  const blas_algorithm *found = read(algo);
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) return give(found->parts, value, bytes, written);
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) return give(found->reduction, value, bytes, written);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes, cudaStream_t stream) {
  BLAS_CALL;
  blas_product p = {};
  const blas_algorithm *found = read(algo);
  if (object<context>(handle, CONTEXT) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!describe(&p, desc, a_layout, b_layout, c_layout, d_layout)) return refuse("matrices that do not fit each other");
  if (found == nullptr) return refuse("no algorithm: the library would look for one at every call");
  if (!p.can_run(*found)) return refuse("an algorithm that cannot run this product");
  if (!is_on_host(alpha) || !is_on_host(beta)) return refuse("alpha and beta are read on the host");
  for (const void *pointer : {a, b, c, static_cast<const void *>(d)}) {
    if (!is_aligned(pointer)) return refuse("a matrix is not device memory aligned to 16 bytes");
  }
  if (c == d && p.c.stride != p.d.stride) return refuse("c is d with another layout");
  const bool biased = (p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if (biased && !is_aligned(p.op.bias)) return refuse("the bias is not device memory aligned to 16 bytes");
  if (found->workspace_bytes() > workspace_bytes || (found->workspace_bytes() > 0 && !is_aligned(workspace))) {
    return refuse("too little workspace");
  }
  const blas_task t = {
      p, *found, *(const float *)alpha, *(const float *)beta, (const float *)a, (const float *)b, (const float *)c, (float *)d};
  std::vector<twin_range> ranges = {
      {a, bytes_of(p.a)}, {b, bytes_of(p.b)}, {d, bytes_of(p.d)}, {workspace, found->workspace_bytes()}};
  if (t.beta != 0.0f) ranges.push_back({c, bytes_of(p.c)});
  if (biased) ranges.push_back({p.op.bias, p.m() * sizeof(float)});
  const cudaError_t error = twin_enqueue(stream, "cublasLtMatmul", ranges, [t] { t.run(); });
  if (error == cudaErrorInvalidValue) return CUBLAS_STATUS_INVALID_VALUE;
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
