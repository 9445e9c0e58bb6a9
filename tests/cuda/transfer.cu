/* Rows into a tape and out of it, against plain loops. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/transfer.cuh"
#include "tests/cuda/support/mirrored.cuh"

static const int shapes[][2] = {{1, 1}, {7, 3}, {70, 16}, {5, 17}, {33, 100}}; /* rows, columns */

static void latents_by_index(void **) {
  mz_cuda_lane lane = device_lane_open();
  for (const auto &shape : shapes) {
    const int rows = shape[0], stride = mz_padded(shape[1]), slots = 2 * rows + 1;
    const size_t width = (size_t)stride;
    mirrored<float> pool((size_t)slots * width), value((size_t)rows * width), other((size_t)slots * width);
    mirrored<int32_t> index((size_t)rows);
    pool.fill(1);
    for (int i = 0; i < rows; i++)
      index.host[(size_t)i] = (i * 2 + rows) % slots; /* all different: 2 and an odd number of slots */
    pool.upload(&lane);
    index.upload(&lane);
    check(mz_cuda_latents_gather(&lane, pool.device, index.device, rows, stride, value.device));
    check(mz_cuda_clear(&lane, other.device, other.host.size() * sizeof(float)));
    check(mz_cuda_latents_scatter(&lane, value.device, rows, stride, index.device, other.device));
    value.download(&lane);
    other.download(&lane);
    std::vector<float> wanted(other.host.size(), 0.0f);
    for (size_t i = 0; i < (size_t)rows; i++) {
      const float *latent = &pool.host[(size_t)index.host[i] * width];
      assert_memory_equal(&value.host[i * width], latent, width * sizeof(float));
      memcpy(&wanted[(size_t)index.host[i] * width], latent, width * sizeof(float));
    }
    assert_memory_equal(other.host.data(), wanted.data(), wanted.size() * sizeof(float));
  }
  device_lane_close(&lane);
}

static void dense_rows(void **) {
  mz_cuda_lane lane = device_lane_open();
  for (const auto &shape : shapes) {
    const int rows = shape[0], columns = shape[1];
    const size_t stride = (size_t)mz_padded(columns), dense = (size_t)rows * (size_t)columns;
    mirrored<float> floats(dense), back(dense), value((size_t)rows * stride), of_bytes((size_t)rows * stride);
    mirrored<uint8_t> numbers(dense);
    floats.fill(2);
    for (size_t i = 0; i < dense; i++) numbers.host[i] = (uint8_t)(i * 37);
    floats.upload(&lane);
    numbers.upload(&lane);
    check(mz_cuda_rows_from_dense(&lane, floats.device, rows, columns, value.device));
    check(mz_cuda_rows_from_bytes(&lane, numbers.device, rows, columns, of_bytes.device));
    check(mz_cuda_rows_to_dense(&lane, value.device, rows, columns, back.device));
    value.download(&lane);
    of_bytes.download(&lane);
    back.download(&lane);
    assert_memory_equal(back.host.data(), floats.host.data(), dense * sizeof(float));
    for (size_t at = 0; at < value.host.size(); at++) {
      const size_t r = at / stride, c = at % stride, from = r * (size_t)columns + c;
      const bool inside = c < (size_t)columns;
      assert_true(value.host[at] == (inside ? floats.host[from] : 0.0f));
      assert_true(of_bytes.host[at] == (inside ? (float)numbers.host[from] : 0.0f));
    }
  }
  device_lane_close(&lane);
}

/* Pinned memory is never more than is foretold of what was moved, also where all comes back. */
static void pinned_memory_is_foretold(void **) {
  mz_cuda_lane lane = device_lane_open();
  const size_t sizes[] = {1, 1000, (size_t)300 << 10, (size_t)5 << 20, (size_t)90 << 20};
  for (const size_t bytes : sizes) {
    mz_cuda_staging staging = {};
    std::vector<unsigned char> host(bytes);
    void *device = nullptr;
    size_t moved = 0;
    assert_int_equal(cudaMalloc(&device, bytes), cudaSuccess);
    for (int round = 0; round < 3; round++) {
      moved = 0;
      for (int i = 0; i < 2; i++, moved += 2 * bytes) {
        check(mz_cuda_staging_send(&staging, lane.stream, device, host.data(), bytes));
        check(mz_cuda_staging_receive(&staging, lane.stream, host.data(), device, bytes));
      }
      check(mz_cuda_staging_sync(&staging, lane.stream));
    }
    assert_true((double)staging.size <= mz_cuda_staging_pinned((double)moved));
    assert_true(bytes < 1 << 20 || (double)staging.size > mz_cuda_staging_pinned((double)moved) / 4);
    mz_cuda_staging_free(&staging);
    assert_int_equal(cudaFree(device), cudaSuccess);
  }
  device_lane_close(&lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(latents_by_index), cmocka_unit_test(dense_rows),
                                     cmocka_unit_test(pinned_memory_is_foretold)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
