/* Searches by trees of the device. */
#pragma once
#include "networks/cuda/backend.cuh"
#include "selfplay/cuda/search.cuh"
#include "tests/cuda/search/subject.h"

/* A search on the device, with its network. */
struct device_search {
  const subject &s;
  network net;
  mz_device_search *search = nullptr;

  /* small: all simulations in one kernel, else by passes. */
  device_search(const subject &of, const mz_search_settings &settings, int slots, bool small = false)
      : s(of), net(of, &mz_backend_cuda, settings, slots) {
    mz_cuda_small_model model;
    assert_true(!small || mz_cuda_small_model_describe(&model, net.infer));
    check(mz_cuda_search_create(&search, net.infer, &s.spec, &settings, 0.97, slots, small ? &model : nullptr));
  }
  ~device_search() { mz_cuda_search_free(search); }

  /* Roots first … first + n − 1, and all trees. */
  findings run(const positions &p, int first, int n, int simulations) {
    findings found(n, s.spec.actions);
    check(mz_cuda_search_run(search, n, &p.roots[(size_t)first], simulations, found.results.data()));
    const mz_tree *tree = mz_cuda_search_tree(search);
    found.trees.resize((size_t)tree->slots * (size_t)tree->nodes * tree->node_bytes);
    check(mz_lane_fetch(&net.lane, found.trees.data(), tree->records, found.trees.size()));
    check(mz_lane_sync(&net.lane));
    return found;
  }
};
