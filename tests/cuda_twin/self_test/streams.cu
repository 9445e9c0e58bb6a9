/* Streams, events, and several host threads. */
#include "self_test.h"
#include <cstring>
#include <thread>
#include <vector>

enum { COUNT = 64 };

static __global__ void add_to_all(float *values, float what) { values[threadIdx.x] += what; }
static __global__ void copy_all(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }

/* The first stream makes what the second reads, which the first then changes; who is waited for first is for the host to choose.
 * Returns whether the second saw what it should. */
static bool pipeline_is_right(bool waits_for_maker, bool waits_for_reader, bool host_waits_for_maker, unsigned long long seed) {
  twin_seed(seed);
  fixture maker = fixture_create(COUNT), reader = fixture_create(COUNT);
  cudaEvent_t made, read;
  OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
  OK(cudaMemsetAsync(maker.device, 0, COUNT * sizeof(float), maker.stream));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, maker.stream, maker.device, 3.0f));
  OK(cudaEventRecord(made, maker.stream));
  if (waits_for_maker) OK(cudaStreamWaitEvent(reader.stream, made, 0));
  OK(mz_launch(copy_all, dim3(1), dim3(COUNT), 0, reader.stream, maker.device, reader.device));
  OK(cudaEventRecord(read, reader.stream));
  if (waits_for_reader) OK(cudaStreamWaitEvent(maker.stream, read, 0));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, maker.stream, maker.device, 4.0f));
  if (host_waits_for_maker) OK(cudaStreamSynchronize(maker.stream));
  OK(fixture_read(&reader));
  bool is_right = true;
  for (int i = 0; i < COUNT; i++) is_right = is_right && reader.pinned[i] == 3;
  OK(fixture_read(&maker));
  for (int i = 0; i < COUNT; i++) assert_true(maker.pinned[i] == 7);
  OK(cudaEventDestroy(made));
  OK(cudaEventDestroy(read));
  fixture_free(&maker);
  fixture_free(&reader);
  return is_right;
}

static void test_lost_events_are_seen(void **) {
  int right = 0, lost_made = 0, lost_read = 0;
  for (unsigned long long seed = 0; seed < SEEDS; seed++) {
    right += pipeline_is_right(true, true, seed % 2, seed);
    lost_made += pipeline_is_right(false, true, false, seed);
    lost_read += pipeline_is_right(true, false, true, seed);
  }
  assert_int_equal(right, SEEDS);
  assert_true(lost_made < SEEDS / 2);
  assert_true(lost_read < SEEDS / 2);
}

/* Returns whether the pipeline had a race, whatever it computed. */
static bool pipeline_races(bool waits_for_maker, bool waits_for_reader, unsigned long long seed) {
  twin_violations_clear();
  pipeline_is_right(waits_for_maker, waits_for_reader, seed % 2, seed);
  const bool races = twin_violations() > 0;
  if (races) assert_non_null(strstr(twin_message(), "race"));
  twin_violations_clear();
  return races;
}

static void test_races_are_always_seen(void **) {
#if !defined(__x86_64__)
  skip();
#endif
  twin_races_watch(1);
  for (unsigned long long seed = 0; seed < SEEDS; seed++) {
    assert_false(pipeline_races(true, true, seed));
    assert_true(pipeline_races(false, true, seed));
    assert_true(pipeline_races(true, false, seed));
  }
  twin_races_watch(0);
}

static void test_null_stream_is_refused(void **) {
  fixture b = fixture_create(1);
  expect_violation(cudaMemsetAsync(b.device, 0, 4, nullptr), cudaErrorInvalidResourceHandle, "null stream");
  expect_violation(cudaMemcpy(b.pinned, b.device, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidResourceHandle, "null stream");
  expect_violation(mz_launch(add_to_all, dim3(1), dim3(1), 0, nullptr, b.device, 1.0f), cudaErrorInvalidResourceHandle,
                   "null stream");
  expect_violation(cudaStreamSynchronize(cudaStreamLegacy), cudaErrorInvalidResourceHandle, "null stream");
  fixture_free(&b);
  assert_int_equal(cudaStreamSynchronize(b.stream), cudaErrorInvalidResourceHandle); /* destroyed */
}

static void test_queries_come_to_an_end(void **) {
  fixture b = fixture_create(COUNT);
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  OK(cudaEventQuery(event)); /* never recorded */
  int pending = 0;
  for (unsigned long long seed = 0; seed < SEEDS; seed++) {
    twin_seed(seed);
    OK(cudaMemsetAsync(b.device, 0, COUNT * sizeof(float), b.stream));
    for (int i = 0; i < 5; i++) OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, b.stream, b.device, 1.0f));
    OK(cudaMemcpyAsync(b.pinned, b.device, COUNT * sizeof(float), cudaMemcpyDeviceToHost, b.stream));
    OK(cudaEventRecord(event, b.stream));
    cudaError_t error;
    while ((error = seed % 2 ? cudaEventQuery(event) : cudaStreamQuery(b.stream)) == cudaErrorNotReady) pending++;
    OK(error);
    assert_true(b.pinned[0] == 5);
  }
  assert_true(pending > SEEDS);
  OK(cudaEventDestroy(event));
  fixture_free(&b);
}

static void test_destroyed_stream_finishes_its_work(void **) {
  fixture b = fixture_create(COUNT);
  cudaStream_t brief;
  cudaEvent_t event;
  float milliseconds = -1;
  OK(cudaEventCreate(&event));
  OK(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
  OK(cudaMemsetAsync(b.device, 0, COUNT * sizeof(float), brief));
  OK(cudaEventRecord(event, brief));
  OK(cudaStreamDestroy(brief));
  OK(cudaStreamWaitEvent(b.stream, event, 0));
  OK(fixture_read(&b));
  assert_true(b.pinned[COUNT - 1] == 0);
  OK(cudaEventElapsedTime(&milliseconds, event, event));
  assert_true(milliseconds == 0);
  OK(cudaEventDestroy(event));
  fixture_free(&b);
}

static void test_counters(void **) {
  twin_counters_reset();
  fixture b = fixture_create(COUNT);
  OK(cudaMemsetAsync(b.device, 0, 8, b.stream));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, b.stream, b.device, 1.0f));
  assert_int_equal(twin_counters_get().kernels, 0);
  OK(fixture_read(&b));
  fixture_free(&b);
  const twin_counters counters = twin_counters_get();
  assert_int_equal(counters.launches, 1);
  assert_int_equal(counters.kernels, 1);
  assert_int_equal(counters.fills, 1);
  assert_int_equal(counters.bytes_filled, 8);
  assert_int_equal(counters.copies_to_host, 1);
  assert_int_equal(counters.bytes_to_host, COUNT * sizeof(float));
  assert_int_equal(counters.synchronizations, 1);
  assert_int_equal(counters.device_allocations, 1);
  assert_int_equal(counters.host_allocations, 1);
  assert_int_equal(counters.frees, 2);
}

/* A worker with a stream of its own, without assertions, which belong to the main thread. */
static void work_alone(float what, bool *is_right) {
  fixture b = {nullptr, nullptr, nullptr, COUNT};
  bool ok = cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) == cudaSuccess;
  ok = ok && cudaMalloc((void **)&b.device, COUNT * sizeof(float)) == cudaSuccess;
  ok = ok && cudaMallocHost((void **)&b.pinned, COUNT * sizeof(float)) == cudaSuccess;
  for (int round = 0; ok && round < 50; round++) {
    ok = cudaMemsetAsync(b.device, 0, COUNT * sizeof(float), b.stream) == cudaSuccess;
    ok = ok && mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, b.stream, b.device, what) == cudaSuccess;
    ok = ok && fixture_read(&b) == cudaSuccess;
    for (int i = 0; ok && i < COUNT; i++) ok = b.pinned[i] == what;
  }
  ok = cudaFree(b.device) == cudaSuccess && ok;
  ok = cudaFreeHost(b.pinned) == cudaSuccess && ok;
  *is_right = cudaStreamDestroy(b.stream) == cudaSuccess && ok;
}

static void test_threads_with_streams_of_their_own(void **) {
  bool is_right[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back(work_alone, (float)(i + 1), &is_right[i]);
  for (std::thread &thread : threads) thread.join();
  for (bool right : is_right) assert_true(right);
}

static void call_back(void *stream) { *(cudaError_t *)stream = cudaStreamSynchronize(nullptr); }

static void test_work_may_not_call_cuda(void **) {
  fixture b = fixture_create(1);
  cudaError_t got = cudaSuccess;
  OK(cudaLaunchHostFunc(b.stream, call_back, &got));
  OK(cudaStreamSynchronize(b.stream));
  expect_violation(got, cudaErrorNotPermitted, "cudaStreamSynchronize");
  fixture_free(&b);
}

/* Calls as a program does that cleans up after itself; returns the first error. */
static cudaError_t small_program(void) {
  cudaStream_t stream = nullptr;
  float *device = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaMalloc((void **)&device, COUNT * sizeof(float));
  if (error == cudaSuccess) error = cudaMemsetAsync(device, 0, COUNT * sizeof(float), stream);
  if (error == cudaSuccess) error = mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, stream, device, 1.0f);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  const cudaError_t freed = device ? cudaFree(device) : cudaSuccess;
  const cudaError_t destroyed = stream ? cudaStreamDestroy(stream) : cudaSuccess;
  return error != cudaSuccess ? error : freed != cudaSuccess ? freed : destroyed;
}

static void test_each_call_fails_on_demand(void **) {
  int calls = 0;
  for (twin_fail_after(1); small_program() == cudaErrorUnknown; twin_fail_after(calls + 1)) {
    assert_false(twin_fail_pending());
    assert_non_null(strstr(twin_message(), "failed on demand"));
    cudaGetLastError();
    calls++;
  }
  assert_int_equal(calls, 7);
  assert_true(twin_fail_pending());
  twin_fail_after(1);
  assert_true(twin_fails("gemm"));
  assert_false(twin_fails("gemm"));
}

int test_streams(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_lost_events_are_seen),
      cmocka_unit_test(test_races_are_always_seen),
      cmocka_unit_test(test_null_stream_is_refused),
      cmocka_unit_test(test_queries_come_to_an_end),
      cmocka_unit_test(test_destroyed_stream_finishes_its_work),
      cmocka_unit_test(test_counters),
      cmocka_unit_test(test_threads_with_streams_of_their_own),
      cmocka_unit_test(test_work_may_not_call_cuda),
      cmocka_unit_test(test_each_call_fails_on_demand),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
