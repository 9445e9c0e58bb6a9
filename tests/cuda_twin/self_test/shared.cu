/* Shared memory, barriers and shuffles. */
#include "self_test.h"
#include <cmath>
#include <cstring>

/* out[block] = the sum of the block's inputs, by halves; the planted bug leaves out the barrier between halves. */
template <bool HAS_BARRIERS> static __global__ void sum_by_halves(const float *in, float *out) {
  MZ_SHARED_ARRAY(float, partial);
  partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    if (HAS_BARRIERS) __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

/* The same with a static array and shuffles. */
static __global__ void sum_by_shuffles(const float *in, float *out) {
  __shared__ float of_warp[32];
  float sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  for (unsigned lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

enum { BLOCKS = 8, THREADS = 128 };

/* Runs a sum with each seed; returns how often all blocks' sums were right. */
static int count_right(void (*kernel)(const float *, float *), size_t shared_bytes) {
  fixture b = fixture_create(BLOCKS * THREADS);
  float *sums;
  OK(cudaMalloc((void **)&sums, BLOCKS * sizeof(float)));
  for (size_t i = 0; i < b.count; i++) b.pinned[i] = (float)i;
  OK(cudaMemcpyAsync(b.device, b.pinned, b.count * sizeof(float), cudaMemcpyHostToDevice, b.stream));
  int right = 0;
  for (int seed = 0; seed < SEEDS; seed++) {
    twin_seed((unsigned long long)seed);
    float got[BLOCKS];
    OK(mz_launch(kernel, dim3(BLOCKS), dim3(THREADS), shared_bytes, b.stream, b.device, sums));
    OK(cudaMemcpyAsync(got, sums, sizeof got, cudaMemcpyDeviceToHost, b.stream));
    bool is_right = true;
    for (int block = 0; block < BLOCKS; block++)
      is_right = is_right && got[block] == (float)(THREADS * block * THREADS + THREADS * (THREADS - 1) / 2);
    right += is_right;
  }
  OK(cudaFree(sums));
  fixture_free(&b);
  return right;
}

static void test_sums_are_right(void **) {
  assert_int_equal(count_right(sum_by_halves<true>, THREADS * sizeof(float)), SEEDS);
  assert_int_equal(count_right(sum_by_shuffles, 0), SEEDS);
}

static void test_lost_barrier_is_always_seen(void **) {
  assert_int_equal(count_right(sum_by_halves<false>, THREADS * sizeof(float)), 0);
}

/* out[2 * block]: a static array as the block finds it, out[2 * block + 1]: a dynamic one. */
static __global__ void read_unwritten(float *out) {
  __shared__ float fixed[4];
  MZ_SHARED_ARRAY(float, dynamic);
  out[2 * blockIdx.x] = fixed[3];
  out[2 * blockIdx.x + 1] = dynamic[1];
  fixed[3] = dynamic[1] = 1;
}

static void test_shared_memory_is_new_for_each_block(void **) {
  fixture b = fixture_create(16);
  OK(mz_launch(read_unwritten, dim3(8), dim3(1), 8, b.stream, b.device));
  OK(fixture_read(&b));
  for (size_t i = 0; i < b.count; i++) assert_true(std::isnan(b.pinned[i]));
  fixture_free(&b);
}

static __global__ void write_shared(float *out, int index) {
  MZ_SHARED_ARRAY(float, values);
  values[index] = 1;
  out[0] = values[index];
}

static void test_dynamic_size_is_exact(void **) {
  fixture b = fixture_create(1);
  OK(mz_launch(write_shared, dim3(1), dim3(1), 64, b.stream, b.device, 15));
  OK(cudaStreamSynchronize(b.stream));
  OK(mz_launch(write_shared, dim3(1), dim3(1), 64, b.stream, b.device, 16));
  expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "shared memory");
  fixture_free(&b);
}

/* Half of what a block has without asking. */
static __global__ void use_static(float *out) {
  __shared__ float large[6 << 10];
  large[threadIdx.x] = 1;
  out[0] = large[threadIdx.x];
}

static void test_static_and_dynamic_share_the_limit(void **) {
  fixture b = fixture_create(1);
  OK(mz_launch(use_static, dim3(1), dim3(1), 24 << 10, b.stream, b.device));
  assert_int_equal(mz_launch(use_static, dim3(1), dim3(1), (24 << 10) + 1, b.stream, b.device), cudaErrorInvalidValue);
  assert_int_equal(cudaFuncSetAttribute(use_static, cudaFuncAttributeMaxDynamicSharedMemorySize, (203 << 10) + 1),
                   cudaErrorInvalidValue);
  OK(cudaStreamSynchronize(b.stream));
  fixture_free(&b);
}

static __global__ void barrier_for_some(float *out) {
  if (threadIdx.x < 40) __syncthreads();
  out[threadIdx.x] = 1;
}
static __global__ void barriers_in_branches(float *out) {
  if (threadIdx.x < 40)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
static __global__ void shuffle_for_some(float *out) {
  float value = 1;
  if (threadIdx.x % 32 < 16) value = __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}
static __global__ void shuffle_named_lanes(float *out) { out[threadIdx.x] = __shfl_sync(0xffffu, 1.0f, 0); }
static __global__ void shuffle_all(float *out) { out[threadIdx.x] = (float)__shfl_sync(0xffffffffu, threadIdx.x, 3); }

static void test_divergence_is_reported(void **) {
  fixture b = fixture_create(64);
  static const struct {
    void (*kernel)(float *);
    unsigned threads;
    const char *text;
  } planted[] = {{barrier_for_some, 64, "40 of 64 threads"},
                 {barriers_in_branches, 64, "divergent barriers"},
                 {shuffle_for_some, 64, "16 of 32 lanes"},
                 {shuffle_named_lanes, 64, "all 32"},
                 {shuffle_all, 48, "16 lanes"}};
  for (int seed = 0; seed < SEEDS; seed++)
    for (const auto &bug : planted) {
      twin_seed((unsigned long long)seed);
      OK(mz_launch(bug.kernel, dim3(2), dim3(bug.threads), 0, b.stream, b.device));
      expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, bug.text);
    }
  OK(mz_launch(shuffle_all, dim3(1), dim3(64), 0, b.stream, b.device));
  OK(fixture_read(&b));
  for (size_t i = 0; i < b.count; i++) assert_true(b.pinned[i] == (float)(i / 32 * 32 + 3));
  fixture_free(&b);
}

/* Segments of 8 lanes: xor, down and an index each stay within them. */
static __global__ void shuffle_segments(float *out) {
  const int lane = (int)threadIdx.x;
  out[lane] = (float)__shfl_xor_sync(0xffffffffu, lane, 1, 8);
  out[32 + lane] = (float)__shfl_down_sync(0xffffffffu, lane, 3u, 8);
  out[64 + lane] = (float)__shfl_sync(0xffffffffu, (double)lane, 2, 8);
}

static void test_shuffles_within_segments(void **) {
  fixture b = fixture_create(96);
  OK(mz_launch(shuffle_segments, dim3(1), dim3(32), 0, b.stream, b.device));
  OK(fixture_read(&b));
  for (int lane = 0; lane < 32; lane++) {
    assert_true(b.pinned[lane] == (float)(lane ^ 1));
    assert_true(b.pinned[32 + lane] == (float)(lane % 8 < 5 ? lane + 3 : lane));
    assert_true(b.pinned[64 + lane] == (float)(lane / 8 * 8 + 2));
  }
  fixture_free(&b);
}

int test_shared(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_are_right),
      cmocka_unit_test(test_lost_barrier_is_always_seen),
      cmocka_unit_test(test_shared_memory_is_new_for_each_block),
      cmocka_unit_test(test_dynamic_size_is_exact),
      cmocka_unit_test(test_static_and_dynamic_share_the_limit),
      cmocka_unit_test(test_divergence_is_reported),
      cmocka_unit_test(test_shuffles_within_segments),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
