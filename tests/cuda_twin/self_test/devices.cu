/* Two devices: what they are, and that nothing of one is the other's. */
#include "self_test.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

static __global__ void write_one(float *out) { out[0] = 1; }
static __global__ void write_through(float *const *where) { where[0][0] = 1; }

static void test_properties(void **) {
  int count, value;
  cudaDeviceProp first, second;
  char bus[32];
  OK(cudaGetDeviceCount(&count));
  assert_int_equal(count, 2);
  OK(cudaGetDeviceProperties(&first, 0));
  OK(cudaGetDeviceProperties(&second, 1));
  assert_string_equal(first.name, "NVIDIA Twin");
  assert_int_equal(first.major * 10 + first.minor, 90);
  assert_int_equal(first.totalGlobalMem, 64 << 20);
  assert_memory_not_equal(first.uuid.bytes, second.uuid.bytes, sizeof first.uuid.bytes);
  assert_int_equal(cudaGetDeviceProperties(&first, 2), cudaErrorInvalidDevice);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1));
  assert_int_equal(value, first.multiProcessorCount);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  assert_int_equal(value, 227 << 10);
  OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
  assert_string_equal(bus, "0000:02:00.0");
  OK(cudaRuntimeGetVersion(&value));
  assert_int_equal(value, CUDART_VERSION);
  assert_string_equal(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  cudaGetLastError();
}

/* The process once more, which reads its environment anew (print_environment). */
static void restart(void) {
  setenv("MUZERO_TWIN_DEVICES", "3", 1);
  setenv("MUZERO_TWIN_MEMORY", "1048576", 1);
  setenv("MUZERO_TWIN_FAIL", "3", 1);
  setenv("MUZERO_TWIN_BUSY", "1", 1);
  execl("/proc/self/exe", "test", "environment", nullptr);
}

void print_environment(void) {
  int count = 0;
  size_t free_bytes = 0, total = 0;
  cudaGetDeviceCount(&count);
  cudaMemGetInfo(&free_bytes, &total);
  const cudaError_t third = cudaSetDevice(2), fourth = cudaSetDevice(2);
  const cudaError_t second = cudaSetDevice(1);
  fprintf(stderr, "%d devices of %zu bytes, %s, %s, %s", count, total, cudaGetErrorName(third), cudaGetErrorName(fourth),
          cudaGetErrorName(second));
}

static void test_environment(void **) {
  char text[1024];
  assert_int_equal(run_child(restart, text, sizeof text), 0);
  assert_string_equal(text, "3 devices of 1048576 bytes, cudaErrorUnknown, cudaSuccess, cudaErrorDevicesUnavailable");
}

static void test_current_device_is_of_the_thread(void **) {
  int here = -1, elsewhere = -1;
  OK(cudaSetDevice(1));
  std::thread([&elsewhere] { cudaGetDevice(&elsewhere); }).join();
  OK(cudaGetDevice(&here));
  assert_int_equal(here, 1);
  assert_int_equal(elsewhere, 0);
  assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
  OK(cudaSetDevice(0));
  cudaGetLastError();
}

static void test_devices_are_apart(void **) {
  fixture first = fixture_create(1);
  float **hidden; /* a pointer that no argument shows */
  OK(cudaMalloc((void **)&hidden, sizeof *hidden));
  OK(cudaSetDevice(1));
  fixture second = fixture_create(1);
  OK(cudaSetDevice(0));
  assert_int_equal(mz_launch(write_one, dim3(1), dim3(1), 0, second.stream, second.device), cudaErrorInvalidResourceHandle);
  assert_int_equal(mz_launch(write_one, dim3(1), dim3(1), 0, first.stream, second.device), cudaErrorInvalidValue);
  assert_int_equal(cudaMemsetAsync(second.device, 0, 4, first.stream), cudaErrorInvalidValue);
  OK(cudaMemcpyAsync(hidden, &second.device, sizeof second.device, cudaMemcpyHostToDevice, first.stream));
  OK(mz_launch(write_through, dim3(1), dim3(1), 0, first.stream, (float *const *)hidden));
  expect_violation(cudaStreamSynchronize(first.stream), cudaErrorIllegalAddress, "on device 1");
  OK(cudaFree(hidden));
  fixture_free(&first);
  fixture_free(&second);
}

static void test_fault_concerns_its_device(void **) {
  fixture first = fixture_create(1);
  OK(cudaSetDevice(1));
  fixture second = fixture_create(1);
  OK(cudaSetDevice(0));
  OK(mz_launch(write_one, dim3(1), dim3(1), 0, first.stream, first.device + 1024));
  assert_int_equal(cudaStreamSynchronize(first.stream), cudaErrorIllegalAddress);
  OK(cudaSetDevice(1));
  OK(mz_launch(write_one, dim3(1), dim3(1), 0, second.stream, second.device));
  OK(fixture_read(&second));
  assert_true(second.pinned[0] == 1);
  OK(cudaSetDevice(0));
  expect_violation(cudaStreamSynchronize(first.stream), cudaErrorIllegalAddress, "write_one");
  fixture_free(&first);
  fixture_free(&second);
}

int test_devices(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_properties),
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_current_device_is_of_the_thread),
      cmocka_unit_test(test_devices_are_apart),
      cmocka_unit_test(test_fault_concerns_its_device),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
