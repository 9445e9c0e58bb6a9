/* Threads, blocks, limits of launches, and accesses that no device allows. */
#include "self_test.h"
#include <cmath>
#include <cstring>
#include <vector>

static __global__ void fill_index(float *out) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned index = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[index] = (float)index;
}

static void test_each_thread_once(void **) {
  fixture b = fixture_create(2 * 3 * 4 * 5 * 3 * 2);
  for (int seed = 0; seed < SEEDS; seed++) {
    twin_seed((unsigned long long)seed);
    OK(mz_launch(fill_index, dim3(2, 3, 4), dim3(5, 3, 2), 0, b.stream, b.device));
    OK(fixture_read(&b));
    for (size_t i = 0; i < b.count; i++) assert_true(b.pinned[i] == (float)i);
  }
  fixture_free(&b);
}

/* Every thread takes the next place: who runs when shows. */
static __global__ void take_places(float *out, int *places) {
  out[atomicAdd(places, 1)] = (float)(blockIdx.x * blockDim.x + threadIdx.x);
}

static void test_order_is_random_and_follows_from_the_seed(void **) {
  const size_t count = 4 * 64;
  fixture b = fixture_create(count);
  int *places;
  OK(cudaMalloc((void **)&places, sizeof *places));
  std::vector<float> first;
  for (int run = 0; run < 3; run++) {
    twin_seed(run == 2 ? 8 : 7);
    OK(cudaMemsetAsync(places, 0, sizeof *places, b.stream));
    OK(mz_launch(take_places, dim3(4), dim3(64), 0, b.stream, b.device, places));
    OK(fixture_read(&b));
    if (run == 0) first.assign(b.pinned, b.pinned + count);
    const bool is_same = memcmp(first.data(), b.pinned, count * sizeof(float)) == 0;
    assert_true(is_same == (run < 2));
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += b.pinned[i];
    assert_true(sum == (double)(count * (count - 1) / 2));
  }
  OK(cudaFree(places));
  fixture_free(&b);
}

static __global__ void copy_floats(const float *from, float *to, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = from[i];
}

static void test_memory_that_nobody_wrote_is_nan(void **) {
  fixture b = fixture_create(1000);
  float *never;
  OK(cudaMalloc((void **)&never, b.count * sizeof(float)));
  OK(mz_launch(copy_floats, dim3(8), dim3(128), 0, b.stream, never, b.device, 1000));
  OK(fixture_read(&b));
  for (size_t i = 0; i < b.count; i++) assert_true(std::isnan(b.pinned[i]));
  OK(cudaFree(never));
  fixture_free(&b);
}

static __global__ void write_at(float *out, long index) { out[index] = 1; }

static void test_access_out_of_range_is_sticky(void **) {
  fixture b = fixture_create(1024);
  OK(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, b.device, 1024L));
  assert_int_equal(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress);
  assert_non_null(strstr(twin_message(), "write_at"));
  assert_non_null(strstr(twin_message(), "4096 bytes"));
  assert_int_equal(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, b.device, 0L), cudaErrorIllegalAddress);
  void *more;
  assert_int_equal(cudaMalloc(&more, 16), cudaErrorIllegalAddress);
  expect_violation(cudaGetLastError(), cudaErrorIllegalAddress, "access");
  for (long index : {-1024L * 1024, 1L << 20}) {
    OK(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, b.device, index));
    expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "write_at");
  }
  OK(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, b.device, 1023L));
  OK(cudaStreamSynchronize(b.stream));
  fixture_free(&b);
}

/* Four bytes behind an allocation that ends within a page, which no page guards: seen at the next synchronisation. */
static void write_behind(void) {
  fixture b = fixture_create(10);
  OK(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, b.device, 10L));
  cudaStreamSynchronize(b.stream);
}

static void test_small_overrun_is_seen(void **) {
  char text[4096];
  assert_int_not_equal(run_child(write_behind, text, sizeof text), 0);
  assert_true(strstr(text, "1 bytes behind an allocation of 40 bytes") || strstr(text, "AddressSanitizer"));
}

static __global__ void overflow(float *out, int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  if (depth > 0) overflow(out, depth - 1);
  out[0] = frame[0];
}

static void test_stack_overflow(void **) {
  fixture b = fixture_create(1);
  OK(mz_launch(overflow, dim3(1), dim3(1), 0, b.stream, b.device, 10));
  OK(cudaStreamSynchronize(b.stream));
  OK(mz_launch(overflow, dim3(1), dim3(1), 0, b.stream, b.device, 100));
  expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "stack");
  fixture_free(&b);
}

static void test_limits_of_launches(void **) {
  fixture b = fixture_create(1);
  const dim3 one(1);
  OK(mz_launch(write_at, one, one, 48 << 10, b.stream, b.device, 0L));
  for (const dim3 &bad : {dim3(0), dim3(1, 0), dim3(1, 65536), dim3(1, 1, 65536), dim3(1u << 31)})
    assert_int_equal(mz_launch(write_at, bad, one, 0, b.stream, b.device, 0L), cudaErrorInvalidConfiguration);
  for (const dim3 &bad : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65)})
    assert_int_equal(mz_launch(write_at, one, bad, 0, b.stream, b.device, 0L), cudaErrorInvalidConfiguration);
  assert_int_equal(mz_launch(write_at, one, one, (48 << 10) + 1, b.stream, b.device, 0L), cudaErrorInvalidValue);
  assert_int_equal(cudaFuncSetAttribute(write_at, cudaFuncAttributeMaxDynamicSharedMemorySize, (227 << 10) + 1),
                   cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(write_at, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  OK(mz_launch(write_at, one, one, 227 << 10, b.stream, b.device, 0L));
  assert_int_equal(mz_launch(write_at, one, one, (227 << 10) + 1, b.stream, b.device, 0L), cudaErrorInvalidValue);
  OK(cudaStreamSynchronize(b.stream));
  fixture_free(&b);
}

struct two_pointers {
  int count;
  float *first, *second;
};
static __global__ void write_both(two_pointers both) { both.first[0] = both.second[0] = 1; }

struct many_numbers {
  int numbers[64];
  float *out;
};
static __global__ void write_number(many_numbers all) { all.out[0] = (float)all.numbers[63]; }

struct two_numbers {
  int low, high;
};
static __global__ void write_low(two_numbers both, float *out) { out[0] = (float)(both.low & 0xff); }

static void test_a_struct_of_numbers_holds_no_pointers(void **) {
  fixture b = fixture_create(1);
  float on_host = 0;
  const float *const pointer = &on_host;
  two_numbers both;
  memcpy(&both, &pointer, sizeof both);
  OK(mz_launch(write_low, dim3(1), dim3(1), 0, b.stream, both, b.device));
  OK(fixture_read(&b));
  assert_true(b.pinned[0] == (float)(both.low & 0xff));
  fixture_free(&b);
}

static void test_numbers_are_no_pointers(void **) {
  fixture b = fixture_create(1);
  many_numbers all;
  for (int shift = 0; shift < 31; shift++) {
    for (int i = 0; i < 64; i++) all.numbers[i] = i % 2 ? (1 << shift) + i : 16 * i;
    all.out = b.device;
    OK(mz_launch(write_number, dim3(1), dim3(1), 0, b.stream, all));
    OK(fixture_read(&b));
    assert_true(b.pinned[0] == (float)((1 << shift) + 63));
  }
  fixture_free(&b);
}

static void test_pointers_to_the_host_are_refused(void **) {
  fixture b = fixture_create(1);
  float on_host = 0;
  assert_int_equal(mz_launch(write_at, dim3(1), dim3(1), 0, b.stream, &on_host, 0L), cudaErrorInvalidValue);
  assert_non_null(strstr(twin_message(), "memory of the host"));
  assert_int_equal(mz_launch(write_both, dim3(1), dim3(1), 0, b.stream, two_pointers{1, b.device, &on_host}),
                   cudaErrorInvalidValue);
  OK(mz_launch(write_both, dim3(1), dim3(1), 0, b.stream, two_pointers{1, b.device, b.pinned}));
  OK(cudaStreamSynchronize(b.stream));
  assert_true(b.pinned[0] == 1);
  fixture_free(&b);
}

int test_kernels(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_each_thread_once),
      cmocka_unit_test(test_order_is_random_and_follows_from_the_seed),
      cmocka_unit_test(test_memory_that_nobody_wrote_is_nan),
      cmocka_unit_test(test_access_out_of_range_is_sticky),
      cmocka_unit_test(test_small_overrun_is_seen),
      cmocka_unit_test(test_stack_overflow),
      cmocka_unit_test(test_limits_of_launches),
      cmocka_unit_test(test_numbers_are_no_pointers),
      cmocka_unit_test(test_a_struct_of_numbers_holds_no_pointers),
      cmocka_unit_test(test_pointers_to_the_host_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
