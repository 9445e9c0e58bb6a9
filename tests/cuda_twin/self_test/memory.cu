/* Memory of devices and pinned memory: bounds, who may touch it, and when. */
#include "self_test.h"
#include <cstdio>
#include <cstring>
#include <sys/wait.h>

static void read_device_memory(void) {
  fixture b = fixture_create(4);
  fprintf(stderr, "%f\n", (double)*(volatile float *)b.device);
}
static void write_freed_pinned_memory(void) {
  fixture b = fixture_create(4);
  float *const stale = b.pinned;
  fixture_free(&b);
  *(volatile float *)stale = 1;
}

static void test_host_access_ends_the_process(void **) {
  char text[8192];
  for (void (*body)(void) : {read_device_memory, write_freed_pinned_memory}) {
    const int status = run_child(body, text, sizeof text);
    assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    assert_non_null(strstr(text, "the host accessed device memory"));
  }
}

/* Kernels have run and made memory readable; afterwards the host is kept out again. */
static void read_after_work(void) {
  fixture b = fixture_create(4);
  OK(cudaMemsetAsync(b.device, 0, 16, b.stream));
  OK(fixture_read(&b));
  fprintf(stderr, "%f\n", (double)*(volatile float *)b.device);
}

static void test_host_is_kept_out_after_work(void **) {
  char text[8192];
  const int status = run_child(read_after_work, text, sizeof text);
  assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  assert_non_null(strstr(text, "the host accessed device memory"));
}

static void test_freed_twice(void **) {
  void *memory, *pinned;
  OK(cudaMalloc(&memory, 100));
  OK(cudaMallocHost(&pinned, 100));
  expect_violation(cudaFree((char *)memory + 4), cudaErrorInvalidValue, "not allocated");
  expect_violation(cudaFree(pinned), cudaErrorInvalidValue, "not allocated");
  expect_violation(cudaFreeHost(memory), cudaErrorInvalidValue, "not allocated");
  OK(cudaFree(memory));
  OK(cudaFreeHost(pinned));
  expect_violation(cudaFree(memory), cudaErrorInvalidValue, "freed");
  expect_violation(cudaFreeHost(pinned), cudaErrorInvalidValue, "freed");
  OK(cudaFree(nullptr));
}

static __global__ void write_one(float *out) { out[threadIdx.x] = 1; }

static void test_use_after_free(void **) {
  fixture b = fixture_create(1);
  float *stale;
  OK(cudaMalloc((void **)&stale, 4096));
  OK(mz_launch(write_one, dim3(1), dim3(1), 0, b.stream, stale));
  OK(cudaFree(stale)); /* waits for the kernel, as CUDA's does */
  assert_int_equal(cudaMemsetAsync(stale, 0, 4, b.stream), cudaErrorInvalidValue);
  OK(mz_launch(write_one, dim3(1), dim3(1), 0, b.stream, stale));
  expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "write_one");
  fixture_free(&b);
}

static void test_copies_stay_in_bounds(void **) {
  fixture b = fixture_create(10);
  float on_host[10] = {0};
  OK(cudaMemcpyAsync(b.device, on_host, 40, cudaMemcpyHostToDevice, b.stream));
  assert_int_equal(cudaMemcpyAsync(b.device, on_host, 41, cudaMemcpyHostToDevice, b.stream), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(b.device + 1, b.pinned, 40, cudaMemcpyHostToDevice, b.stream), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(b.pinned + 1, b.device, 40, cudaMemcpyDeviceToHost, b.stream), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(b.device, b.pinned, 40, cudaMemcpyDeviceToHost, b.stream), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(b.device, on_host, 40, cudaMemcpyDeviceToDevice, b.stream), cudaErrorInvalidValue);
  assert_int_equal(cudaMemsetAsync(b.device, 0, 44, b.stream), cudaErrorInvalidValue);
  expect_violation(cudaMemcpyAsync(b.device, b.device + 1, 8, cudaMemcpyDeviceToDevice, b.stream), cudaErrorInvalidValue,
                   "overlap");
  OK(cudaStreamSynchronize(b.stream));
  fixture_free(&b);
}

static void test_pinned_memory_is_read_when_the_copy_runs(void **) {
  fixture b = fixture_create(1);
  float pageable = 1;
  b.pinned[0] = 1;
  OK(cudaMemcpyAsync(b.device, b.pinned, 4, cudaMemcpyHostToDevice, b.stream));
  b.pinned[0] = 2; /* too early */
  OK(fixture_read(&b));
  assert_true(b.pinned[0] == 2);
  OK(cudaMemcpyAsync(b.device, &pageable, 4, cudaMemcpyHostToDevice, b.stream));
  pageable = 3; /* the copy has read it */
  OK(fixture_read(&b));
  assert_true(b.pinned[0] == 1);
  fixture_free(&b);
}

static void test_copies_to_the_host(void **) {
  fixture b = fixture_create(1);
  float pageable = 0;
  b.pinned[0] = 5;
  OK(cudaMemsetAsync(b.device, 0, 4, b.stream));
  OK(cudaMemcpyAsync(b.pinned, b.device, 4, cudaMemcpyDeviceToHost, b.stream));
  assert_true(b.pinned[0] == 5); /* arrives with the synchronisation */
  OK(cudaStreamSynchronize(b.stream));
  assert_true(b.pinned[0] == 0);
  pageable = 5;
  OK(cudaMemcpyAsync(&pageable, b.device, 4, cudaMemcpyDeviceToHost, b.stream));
  assert_true(pageable == 0);
  fixture_free(&b);
}

static void test_pinned_memory_freed_too_early(void **) {
  fixture b = fixture_create(1);
  OK(cudaMemcpyAsync(b.device, b.pinned, 4, cudaMemcpyHostToDevice, b.stream));
  expect_violation(cudaFreeHost(b.pinned), cudaSuccess, "while a copy of it waits");
  OK(cudaFree(b.device));
  OK(cudaStreamDestroy(b.stream));
}

static void test_memory_is_bounded(void **) {
  size_t free_before, free_after, total;
  void *half, *more = &half;
  OK(cudaMemGetInfo(&free_before, &total));
  assert_int_equal(total, 64 << 20);
  OK(cudaMalloc(&half, 40 << 20));
  OK(cudaMemGetInfo(&free_after, &total));
  assert_int_equal(free_before - free_after, 40 << 20);
  assert_int_equal(cudaMalloc(&more, 40 << 20), cudaErrorMemoryAllocation);
  assert_ptr_equal(more, &half); /* left as it was */
  assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
  OK(cudaGetLastError());
  OK(cudaFree(half));
  OK(cudaMalloc(&half, 40 << 20));
  OK(cudaFree(half));
}

static void leak(void) {
  fixture b = fixture_create(3);
  OK(cudaMemsetAsync(b.device, 0, 4, b.stream));
}

static void test_leaks_are_listed_at_exit(void **) {
  char text[4096];
  const int status = run_child(leak, text, sizeof text);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), TWIN_EXIT_VIOLATION);
  assert_non_null(strstr(text, "12 bytes of device memory"));
  assert_non_null(strstr(text, "12 bytes of pinned memory"));
  assert_non_null(strstr(text, "a stream, with 1 operations that never ran"));
}

static void test_pointers_are_described(void **) {
  fixture b = fixture_create(100);
  const twin_memory inside = twin_memory_at(b.device + 1), pinned = twin_memory_at(b.pinned), host = twin_memory_at(&b);
  assert_int_equal(inside.kind, TWIN_DEVICE);
  assert_int_equal(inside.device, 0);
  assert_int_equal(inside.bytes_behind, 396);
  assert_int_equal(inside.alignment, 4);
  assert_int_equal(pinned.kind, TWIN_PINNED);
  assert_int_equal(pinned.alignment, 256);
  assert_int_equal(host.kind, TWIN_PAGEABLE);
  fixture_free(&b);
}

static void test_library_work_touches_what_it_told(void **) {
  fixture b = fixture_create(4);
  float *other;
  OK(cudaMalloc((void **)&other, 16));
  float *const device = b.device;
  OK(twin_enqueue(b.stream, "gemm", {{device, 16}}, [device] { device[3] = 7; }));
  OK(fixture_read(&b));
  assert_true(b.pinned[3] == 7);
  assert_int_equal(twin_enqueue(b.stream, "gemm", {{device + 1, 16}}, [] {}), cudaErrorInvalidValue);
  assert_int_equal(twin_enqueue(b.stream, "gemm", {{&b, 16}}, [] {}), cudaErrorInvalidValue);
  OK(twin_enqueue(b.stream, "gemm", {{device, 16}}, [other] { other[0] = 7; }));
  expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "gemm");
  OK(twin_enqueue(b.stream, "gemm", {{other, 16}}, [] {}));
  OK(cudaFree(other));
  fixture_free(&b);
}

int test_memory(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_host_access_ends_the_process),
      cmocka_unit_test(test_host_is_kept_out_after_work),
      cmocka_unit_test(test_freed_twice),
      cmocka_unit_test(test_use_after_free),
      cmocka_unit_test(test_copies_stay_in_bounds),
      cmocka_unit_test(test_pinned_memory_is_read_when_the_copy_runs),
      cmocka_unit_test(test_copies_to_the_host),
      cmocka_unit_test(test_pinned_memory_freed_too_early),
      cmocka_unit_test(test_memory_is_bounded),
      cmocka_unit_test(test_leaks_are_listed_at_exit),
      cmocka_unit_test(test_pointers_are_described),
      cmocka_unit_test(test_library_work_touches_what_it_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
