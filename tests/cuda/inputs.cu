/* A batch's rows into the inputs of a tape: against plain loops and the cpu's targets. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/inputs.cuh"
#include "tests/cuda/support/mirrored.cuh"

static const mz_support supports[] = {{21, -10.0f, 10.0f, true}, {2, -1.0f, 1.0f, false}, {33, -3.0f, 7.0f, false}};
enum { SUPPORTS = 3, ROWS = 300, COLUMNS = 37, ENTRIES = 5, MANY = 70 };

static mz_cuda_source two_hot_source(const mz_support *support, const float *scalars, float *targets) {
  return {MZ_CUDA_TWO_HOT, support->bins, scalars, targets, support->min, support->max, support->transform};
}

/* Scalars at and beyond the ends, between bins and on them, and those that are none. */
static void make_scalars(mirrored<float> *scalars) {
  const float edges[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.31f, 9.99f, -300.0f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN, 7.0f, -3.0f};
  scalars->fill(1);
  for (float &x : scalars->host) x *= 5.0f;
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) scalars->host[20 * i] = edges[i];
}

static void all_kinds_together(void **) {
  mz_cuda_lane lane = device_lane_open();
  const size_t stride = (size_t)mz_padded(COLUMNS);
  mirrored<float> scalars(ROWS), dense(ROWS * COLUMNS), value(ROWS * stride);
  mirrored<float> targets[SUPPORTS] = {mirrored<float>(ROWS * 32), mirrored<float>(ROWS * 16), mirrored<float>(ROWS * 48)};
  mirrored<int32_t> entries(ROWS * ENTRIES), list(ROWS * ENTRIES);
  make_scalars(&scalars);
  dense.fill(2);
  for (size_t i = 0; i < entries.host.size(); i++) entries.host[i] = (int32_t)i - 7;
  scalars.upload(&lane);
  dense.upload(&lane);
  entries.upload(&lane);
  mz_cuda_source sources[SUPPORTS + 2] = {{MZ_CUDA_DENSE, COLUMNS, dense.device, value.device, 0.0f, 0.0f, false},
                                          {MZ_CUDA_LIST, ENTRIES, entries.device, list.device, 0.0f, 0.0f, false}};
  for (size_t i = 0; i < SUPPORTS; i++) sources[i + 2] = two_hot_source(&supports[i], scalars.device, targets[i].device);
  check(mz_cuda_inputs_put(&lane, sources, SUPPORTS + 2, ROWS));
  value.download(&lane);
  list.download(&lane);
  assert_memory_equal(list.host.data(), entries.host.data(), list.bytes());
  for (size_t at = 0; at < value.host.size(); at++) {
    const size_t r = at / stride, c = at % stride;
    assert_true(value.host[at] == (c < COLUMNS ? dense.host[r * COLUMNS + c] : 0.0f));
  }
  for (size_t i = 0; i < SUPPORTS; i++) {
    const size_t width = (size_t)mz_padded(supports[i].bins);
    targets[i].download(&lane);
    for (size_t r = 0; r < ROWS; r++) {
      std::vector<float> wanted(width, 0.0f);
      mz_two_hot(&supports[i], scalars.host[r], wanted.data());
      assert_memory_equal(&targets[i].host[r * width], wanted.data(), width * sizeof(float));
    }
  }
  device_lane_close(&lane);
}

/* More than one launch takes: every one arrives. */
static void many_sources(void **) {
  mz_cuda_lane lane = device_lane_open();
  const size_t stride = (size_t)mz_padded(3);
  mirrored<float> dense(MANY * 2 * 3), values(MANY * 2 * stride);
  dense.fill(3);
  dense.upload(&lane);
  std::vector<mz_cuda_source> sources;
  for (size_t i = 0; i < MANY; i++)
    sources.push_back({MZ_CUDA_DENSE, 3, dense.device + i * 2 * 3, values.device + i * 2 * stride, 0.0f, 0.0f, false});
  check(mz_cuda_inputs_put(&lane, sources.data(), MANY, 2));
  values.download(&lane);
  for (size_t at = 0; at < values.host.size(); at++) {
    const size_t r = at / stride, c = at % stride;
    assert_true(values.host[at] == (c < 3 ? dense.host[r * 3 + c] : 0.0f));
  }
  device_lane_close(&lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds_together), cmocka_unit_test(many_sources)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
