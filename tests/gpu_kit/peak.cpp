/* Measures the peak of a GPU: products of bf16 and of f32 by cuBLASLt, and a copy in its memory. Prints a JSON object. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <functional>
#include <vector>

static void check(bool fine, const char *what) {
  if (fine) return;
  fprintf(stderr, "peak: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(6);
}

/* Returns the median seconds of a call, of `repeats` that are timed one by one. */
static double seconds_of(const std::function<void()> &call, int repeats) {
  cudaEvent_t from, to;
  std::vector<double> all;
  check(cudaEventCreate(&from) == cudaSuccess && cudaEventCreate(&to) == cudaSuccess, "cudaEventCreate");
  for (int i = 0; i < repeats + 3; i++) {
    float ms = 0;
    check(cudaEventRecord(from) == cudaSuccess, "cudaEventRecord");
    call();
    check(cudaEventRecord(to) == cudaSuccess && cudaEventSynchronize(to) == cudaSuccess, "cudaEventSynchronize");
    check(cudaEventElapsedTime(&ms, from, to) == cudaSuccess, "cudaEventElapsedTime");
    if (i >= 3) all.push_back(ms * 1e-3); /* the first ones warm up */
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/* Random bits would be NaNs; equal small numbers draw less power than what is computed in earnest, but these are not equal. */
static void *fill(size_t bytes, bool bf16) {
  std::vector<unsigned char> host(bytes);
  void *device = nullptr;
  unsigned state = 1;
  for (size_t i = 0; i < bytes / (bf16 ? 2 : 4); i++) {
    state = state * 1664525u + 1013904223u;
    const float x = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    unsigned bits;
    std::copy_n((const unsigned char *)&x, sizeof bits, (unsigned char *)&bits);
    std::copy_n((const unsigned char *)&bits + (bf16 ? 2 : 0), bf16 ? 2 : 4, &host[i * (bf16 ? 2 : 4)]);
  }
  check(cudaMalloc(&device, bytes) == cudaSuccess, "cudaMalloc");
  check(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
  return device;
}

/* Operations a second of a square product. */
static double product(cublasLtHandle_t handle, int n, bool bf16) {
  const cudaDataType_t type = bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const size_t element = bf16 ? 2 : 4, entries = (size_t)n * (size_t)n, workspace_bytes = 32 << 20;
  const float one = 1, zero = 0;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found = {};
  void *workspace = nullptr, *a = fill(entries * element, bf16), *b = fill(entries * element, bf16),
       *d = fill(entries * element, bf16);
  int count = 0;
  check(cudaMalloc(&workspace, workspace_bytes) == cudaSuccess, "cudaMalloc");
  check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS,
        "cublasLtMatmulDescCreate");
  check(cublasLtMatrixLayoutCreate(&layout, type, n, n, n) == CUBLAS_STATUS_SUCCESS, "cublasLtMatrixLayoutCreate");
  check(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS, "cublasLtMatmulPreferenceCreate");
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                       sizeof workspace_bytes);
  check(cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1, &found, &count) ==
                CUBLAS_STATUS_SUCCESS &&
            count == 1,
        "cublasLtMatmulAlgoGetHeuristic");
  const double seconds = seconds_of(
      [&] {
        check(cublasLtMatmul(handle, operation, &one, a, layout, b, layout, &zero, d, layout, d, layout, &found.algo, workspace,
                             workspace_bytes, nullptr) == CUBLAS_STATUS_SUCCESS,
              "cublasLtMatmul");
      },
      11);
  for (void *memory : {workspace, a, b, d}) cudaFree(memory);
  return 2.0 * n * n * n / seconds;
}

static double copy(void) {
  const size_t bytes = (size_t)1 << 30;
  void *from = nullptr, *to = nullptr;
  check(cudaMalloc(&from, bytes) == cudaSuccess && cudaMalloc(&to, bytes) == cudaSuccess, "cudaMalloc");
  const double seconds = seconds_of(
      [&] { check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess, "cudaMemcpyAsync"); }, 11);
  cudaFree(from), cudaFree(to);
  return 2.0 * (double)bytes / seconds; /* read and written */
}

int main() {
  cublasLtHandle_t handle;
  check(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasLtCreate");
  const double bf16 = product(handle, 8192, true), f32 = product(handle, 8192, false), bytes = copy();
  printf("{\"bf16_tflops\": %.1f, \"f32_tflops\": %.1f, \"copy_gb_per_s\": %.0f}\n", bf16 * 1e-12, f32 * 1e-12, bytes * 1e-9);
}
