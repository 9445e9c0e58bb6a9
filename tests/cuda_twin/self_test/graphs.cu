/* Captures and replays. */
#include "self_test.h"
#include <thread>

enum { COUNT = 32 };

static __global__ void add_to_all(float *values, float what) { values[threadIdx.x] += what; }
static __global__ void sum_of_two(const float *a, const float *b, float *out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

static void begin(const fixture &b) { OK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal)); }

static cudaGraphExec_t instantiate(const fixture &b) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamEndCapture(b.stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphDestroy(graph));
  return executable;
}

static void test_replays_read_what_is_there_then(void **) {
  fixture b = fixture_create(COUNT);
  twin_counters_reset();
  for (int i = 0; i < COUNT; i++) b.pinned[i] = 1;
  begin(b);
  OK(cudaMemcpyAsync(b.device, b.pinned, COUNT * sizeof(float), cudaMemcpyHostToDevice, b.stream));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, b.stream, b.device, 2.0f));
  OK(cudaMemcpyAsync(b.pinned, b.device, COUNT * sizeof(float), cudaMemcpyDeviceToHost, b.stream));
  cudaGraphExec_t executable = instantiate(b);
  OK(cudaStreamSynchronize(b.stream));
  assert_true(b.pinned[0] == 1); /* nothing ran */
  for (int replay = 1; replay <= 3; replay++) {
    OK(cudaGraphLaunch(executable, b.stream));
    OK(cudaStreamSynchronize(b.stream));
    assert_true(b.pinned[COUNT - 1] == (float)(1 + 2 * replay));
  }
  OK(cudaGraphLaunch(executable, b.stream));
  OK(cudaGraphExecDestroy(executable)); /* what is launched runs nevertheless */
  OK(cudaStreamSynchronize(b.stream));
  assert_true(b.pinned[0] == 9);
  assert_int_equal(twin_counters_get().launches, 0);
  assert_int_equal(twin_counters_get().kernels, 4);
  assert_int_equal(twin_counters_get().graph_launches, 4);
  fixture_free(&b);
}

/* Two branches that may run in any order, or one after the other where an event is lost. */
static void test_branches_join(void **) {
  fixture b = fixture_create(COUNT), side = fixture_create(COUNT);
  cudaEvent_t forked, joined;
  OK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  begin(b);
  OK(cudaMemsetAsync(b.device, 0, COUNT * sizeof(float), b.stream));
  OK(cudaMemsetAsync(side.device, 0, COUNT * sizeof(float), b.stream));
  OK(cudaEventRecord(forked, b.stream));
  OK(cudaStreamWaitEvent(side.stream, forked, 0));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, side.stream, side.device, 1.0f));
  OK(mz_launch(add_to_all, dim3(1), dim3(COUNT), 0, b.stream, b.device, 2.0f));
  OK(cudaEventRecord(joined, side.stream));
  OK(cudaStreamWaitEvent(b.stream, joined, 0));
  OK(mz_launch(sum_of_two, dim3(1), dim3(COUNT), 0, b.stream, b.device, side.device, b.device));
  cudaGraphExec_t executable = instantiate(b);
  for (unsigned long long seed = 0; seed < SEEDS; seed++) {
    twin_seed(seed);
    OK(cudaGraphLaunch(executable, b.stream));
    OK(fixture_read(&b));
    for (int i = 0; i < COUNT; i++) assert_true(b.pinned[i] == 3);
  }
  OK(cudaStreamSynchronize(side.stream)); /* no longer part of a capture */
  OK(cudaGraphExecDestroy(executable));
  OK(cudaEventDestroy(forked));
  OK(cudaEventDestroy(joined));
  fixture_free(&b);
  fixture_free(&side);
}

static void test_branch_that_is_not_joined(void **) {
  fixture b = fixture_create(COUNT), side = fixture_create(COUNT);
  cudaEvent_t forked;
  cudaGraph_t graph;
  OK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  begin(b);
  OK(cudaEventRecord(forked, b.stream));
  OK(cudaStreamWaitEvent(side.stream, forked, 0));
  OK(cudaMemsetAsync(side.device, 0, 4, side.stream));
  assert_int_equal(cudaEventSynchronize(forked), cudaErrorCapturedEvent);
  assert_int_equal(cudaStreamEndCapture(b.stream, &graph), cudaErrorStreamCaptureInvalidated);
  begin(b);
  OK(cudaEventRecord(forked, b.stream));
  OK(cudaStreamWaitEvent(side.stream, forked, 0));
  OK(cudaMemsetAsync(side.device, 0, 4, side.stream));
  assert_int_equal(cudaStreamEndCapture(side.stream, &graph), cudaErrorStreamCaptureUnmatched);
  assert_int_equal(cudaStreamEndCapture(b.stream, &graph), cudaErrorStreamCaptureInvalidated);
  begin(b);
  OK(cudaEventRecord(forked, b.stream));
  OK(cudaStreamWaitEvent(side.stream, forked, 0));
  OK(cudaMemsetAsync(side.device, 0, 4, side.stream));
  assert_int_equal(cudaStreamEndCapture(b.stream, &graph), cudaErrorStreamCaptureUnjoined);
  OK(cudaEventDestroy(forked));
  fixture_free(&b);
  fixture_free(&side);
}

static cudaError_t call_malloc(const fixture &) {
  void *memory;
  return cudaMalloc(&memory, 4);
}
static cudaError_t call_free(const fixture &b) { return cudaFree(b.device); }
static cudaError_t call_stream_synchronize(const fixture &b) { return cudaStreamSynchronize(b.stream); }
static cudaError_t call_stream_query(const fixture &b) { return cudaStreamQuery(b.stream); }
static cudaError_t call_device_synchronize(const fixture &) { return cudaDeviceSynchronize(); }
static cudaError_t call_pageable_copy(const fixture &b) {
  static const float value = 1;
  return cudaMemcpyAsync(b.device, &value, 4, cudaMemcpyHostToDevice, b.stream);
}

static void test_forbidden_calls_invalidate(void **) {
  fixture b = fixture_create(COUNT);
  cudaGraph_t graph;
  for (auto call :
       {call_malloc, call_free, call_stream_synchronize, call_stream_query, call_device_synchronize, call_pageable_copy}) {
    cudaStreamCaptureStatus status;
    begin(b);
    OK(cudaMemsetAsync(b.device, 0, 4, b.stream));
    assert_int_equal(call(b), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaMemsetAsync(b.device, 0, 4, b.stream), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamIsCapturing(b.stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    assert_int_equal(cudaStreamEndCapture(b.stream, &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    OK(cudaStreamSynchronize(b.stream));
  }
  begin(b); /* another thread may allocate meanwhile */
  cudaError_t elsewhere = cudaErrorUnknown;
  std::thread([&elsewhere] {
    void *memory = nullptr;
    elsewhere = cudaMalloc(&memory, 4);
    if (elsewhere == cudaSuccess) elsewhere = cudaFree(memory);
  }).join();
  OK(elsewhere);
  OK(cudaGraphExecDestroy(instantiate(b)));
  fixture_free(&b);
}

static void test_replay_on_freed_memory(void **) {
  fixture b = fixture_create(COUNT);
  float *brief;
  OK(cudaMalloc((void **)&brief, 4));
  begin(b);
  OK(cudaMemsetAsync(brief, 0, 4, b.stream));
  cudaGraphExec_t executable = instantiate(b);
  OK(cudaFree(brief));
  OK(cudaGraphLaunch(executable, b.stream));
  expect_violation(cudaStreamSynchronize(b.stream), cudaErrorIllegalAddress, "cudaMemsetAsync");
  OK(cudaGraphExecDestroy(executable));
  fixture_free(&b);
}

int test_graphs(void) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_replays_read_what_is_there_then), cmocka_unit_test(test_branches_join),
      cmocka_unit_test(test_branch_that_is_not_joined),       cmocka_unit_test(test_forbidden_calls_invalidate),
      cmocka_unit_test(test_replay_on_freed_memory),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
