/* An array on the host and on the device, of exactly its size. Include after cmocka.h. */
#pragma once
#include "tests/cuda/support/device_tape.cuh"

template <typename T> struct mirrored {
  std::vector<T> host;
  T *device;

  explicit mirrored(size_t count) : host(count), device(nullptr) { OK(cudaMalloc((void **)&device, count * sizeof(T))); }
  mirrored(const mirrored &) = delete;
  ~mirrored() { OK(cudaFree(device)); }
  size_t bytes() const { return host.size() * sizeof(T); }
  void upload(const mz_cuda_lane *lane) { device_upload(lane, device, host.data(), bytes()); }
  void download(const mz_cuda_lane *lane) { device_download(lane, host.data(), device, bytes()); }
  /* The host's numbers become normal ones, the same for the same stream. */
  void fill(uint32_t stream) {
    mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, stream, 0);
    for (T &x : host) x = mz_rng_normal(&rng);
  }
};
