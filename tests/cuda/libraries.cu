/* The twins of cuBLASLt and cuDNN refuse what the libraries refuse, or would do wrong in silence. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/convolutions.cuh"
#include "networks/cuda/dnn_engine.cuh"
#include "tests/cuda/support/pair.cuh"
#include "twin.h"

enum { N = 16, BYTES = N * N * 4 };

/* ---- cuBLASLt ---- */

/* A product of two squares, ready to run. */
struct square_product {
  mz_cuda_lane lane;
  float *a, *b, *d;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t square;
  cublasLtMatmulAlgo_t algorithm;
};

static void square_open(square_product *p) {
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t results[8];
  int count = 0;
  pair_lane_open(&p->lane, 1 << 20);
  for (float **matrix : {&p->a, &p->b, &p->d}) OK(cudaMalloc((void **)matrix, BYTES));
  assert_int_equal(cublasLtMatmulDescCreate(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  assert_int_equal(cublasLtMatrixLayoutCreate(&p->square, CUDA_R_32F, N, N, N), CUBLAS_STATUS_SUCCESS);
  assert_int_equal(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  assert_int_equal(cublasLtMatmulAlgoGetHeuristic(p->lane.blas, p->operation, p->square, p->square, p->square, p->square,
                                                  preference, 8, results, &count),
                   CUBLAS_STATUS_SUCCESS);
  assert_true(count > 1 && results[count - 1].workspaceSize == 0);
  p->algorithm = results[count - 1].algo;
  cublasLtMatmulPreferenceDestroy(preference);
}

static void square_close(square_product *p) {
  for (float *matrix : {p->a, p->b, p->d}) OK(cudaFree(matrix));
  cublasLtMatrixLayoutDestroy(p->square);
  cublasLtMatmulDescDestroy(p->operation);
  pair_lane_close(&p->lane);
}

static cublasStatus_t square_run(const square_product *p, const float *a, const float *alpha,
                                 const cublasLtMatmulAlgo_t *algorithm) {
  const float zero = 0.0f;
  return cublasLtMatmul(p->lane.blas, p->operation, alpha, a, p->square, p->b, p->square, &zero, p->d, p->square, p->d, p->square,
                        algorithm, p->lane.workspace, p->lane.workspace_bytes, p->lane.stream);
}

static void products_are_refused(void **state) {
  (void)state;
  square_product p = {};
  const float one = 1.0f;
  float on_host[N * N] = {};
  square_open(&p);
  assert_int_equal(square_run(&p, p.a, &one, &p.algorithm), CUBLAS_STATUS_SUCCESS);
  OK(cudaStreamSynchronize(p.lane.stream));
  assert_int_equal(square_run(&p, on_host, &one, &p.algorithm), CUBLAS_STATUS_INVALID_VALUE);
  assert_int_equal(square_run(&p, p.a + 1, &one, &p.algorithm), CUBLAS_STATUS_INVALID_VALUE); /* misaligned */
  assert_int_equal(square_run(&p, p.a + 4, &one, &p.algorithm), CUBLAS_STATUS_INVALID_VALUE); /* beyond the end */
  assert_int_equal(square_run(&p, p.a, p.b, &p.algorithm), CUBLAS_STATUS_INVALID_VALUE);      /* alpha on the device */
  assert_int_equal(square_run(&p, p.a, &one, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  const uint64_t columns = N - 1;
  assert_int_equal(cublasLtMatrixLayoutSetAttribute(p.square, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns),
                   CUBLAS_STATUS_SUCCESS);
  assert_int_equal(square_run(&p, p.a, &one, &p.algorithm), CUBLAS_STATUS_INVALID_VALUE); /* 15 columns, 16 rows */
  assert_int_equal(cublasLtMatrixLayoutSetAttribute(p.square, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, 4),
                   CUBLAS_STATUS_INVALID_VALUE);
  square_close(&p);
}

/* ---- cuDNN ---- */

static cudnnBackendDescriptor_t descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  assert_int_equal(cudnnBackendCreateDescriptor(type, &made), CUDNN_STATUS_SUCCESS);
  return made;
}

static void attributes_are_refused(void **state) {
  (void)state;
  cudnnBackendDescriptor_t tensor = descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  cudnnBackendDescriptor_t operation = descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const int64_t four[] = {1, 16, 3, 4}, rows_first[] = {192, 12, 4, 1}, channels_last[] = {192, 1, 64, 16}, id = 1,
                alignment = 16;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t of, int64_t count, const void *values) {
    return cudnnBackendSetAttribute(tensor, name, of, count, values);
  };
  assert_int_equal(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 4, four), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, four), CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
  assert_int_equal(set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, four), CUDNN_STATUS_BAD_PARAM);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, four), CUDNN_STATUS_SUCCESS);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, rows_first), CUDNN_STATUS_SUCCESS);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id), CUDNN_STATUS_SUCCESS);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendFinalize(tensor), CUDNN_STATUS_BAD_PARAM); /* the type is missing */
  assert_int_equal(set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendFinalize(tensor), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
  assert_int_equal(
      cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor),
      CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, channels_last), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendFinalize(tensor), CUDNN_STATUS_SUCCESS);
  assert_int_equal(set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id), CUDNN_STATUS_BAD_PARAM); /* finalized */
  assert_int_equal(cudnnBackendDestroyDescriptor(tensor), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendDestroyDescriptor(tensor), CUDNN_STATUS_BAD_PARAM);
  assert_int_equal(cudnnBackendDestroyDescriptor(operation), CUDNN_STATUS_SUCCESS);
}

/* A convolution of one row in f32 that has been planned, and data for it. */
struct planned {
  mz_cuda_lane lane;
  mz_cudnn_descriptors owner;
  mz_cuda_convolution *convolution;
  mz_cuda_conv_data data;
};
enum { X_BYTES = 12 * N * 4, FILTER_BYTES = 9 * N * N * 4 };

static void planned_open(planned *p) {
  mz_cuda_conv_target target;
  mz_cuda_convolution_settings settings = {};
  settings.rows = 1;
  settings.graph = {MZ_CUDA_CONV_FORWARD, {3, 4}, N, N, false, false, false, false, false};
  pair_lane_open(&p->lane, 1 << 20);
  assert_int_equal(mz_cuda_conv_target_init(&target, &p->owner, &p->lane), MZ_OK);
  assert_int_equal(mz_cuda_convolution_create(&p->convolution, &target, &settings), MZ_OK);
  for (int id : {MZ_CUDA_CONV_X, MZ_CUDA_CONV_FILTERS, MZ_CUDA_CONV_RESULT}) {
    OK(cudaMalloc(&p->data.tensors[id], id == MZ_CUDA_CONV_FILTERS ? FILTER_BYTES : X_BYTES));
  }
}

static void planned_close(planned *p) {
  for (void *tensor : p->data.tensors) OK(cudaFree(tensor));
  mz_cuda_convolution_free(p->convolution);
  mz_cudnn_descriptors_free(&p->owner);
  pair_lane_close(&p->lane);
}

static mz_status run_with(const planned *p, int id, void *tensor) {
  mz_cuda_conv_data data = p->data;
  data.tensors[id] = tensor;
  return mz_cuda_convolution_run(p->convolution, &p->lane, 1, &data);
}

static void data_are_refused(void **state) {
  (void)state;
  planned p = {};
  float on_host[12 * N] = {};
  planned_open(&p);
  assert_int_equal(mz_cuda_convolution_run(p.convolution, &p.lane, 1, &p.data), MZ_OK);
  assert_int_equal(run_with(&p, MZ_CUDA_CONV_X, on_host), MZ_E_DEVICE);
  assert_int_equal(run_with(&p, MZ_CUDA_CONV_X, (float *)p.data.tensors[MZ_CUDA_CONV_X] + 4), MZ_E_DEVICE); /* beyond the end */
  assert_int_equal(run_with(&p, MZ_CUDA_CONV_FILTERS, nullptr), MZ_E_DEVICE);
  assert_int_equal(run_with(&p, MZ_CUDA_CONV_BIAS, p.data.tensors[MZ_CUDA_CONV_X]), MZ_E_DEVICE);   /* one too many */
  assert_int_equal(run_with(&p, MZ_CUDA_CONV_RESULT, p.data.tensors[MZ_CUDA_CONV_X]), MZ_E_DEVICE); /* over its input */
  mz_cuda_lane small = p.lane;
  OK(cudaMalloc(&small.workspace, 16));
  assert_int_equal(mz_cuda_convolution_run(p.convolution, &small, 1, &p.data), MZ_E_DEVICE);
  OK(cudaFree(small.workspace));
  OK(cudaStreamSynchronize(p.lane.stream));
  planned_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_refused),
      cmocka_unit_test(attributes_are_refused),
      cmocka_unit_test(data_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
