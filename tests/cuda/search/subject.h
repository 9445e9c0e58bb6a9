/* Small networks, positions, and what searches find at them by trees of the CPU over any backend's inference. */
#pragma once
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "tests/base/defaults.h"
extern "C" {
#include "selfplay/search/network_search.h"
}
#include <cmath>
#include <cstring>
#include <vector>

static inline void check(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

template <typename T> static inline T defaults_of(const mz_settings_table &table) {
  T values;
  test_defaults(table, &values);
  return values;
}

static inline mz_search_settings search_settings_of(mz_algorithm algorithm, int simulations) {
  mz_search_settings settings = defaults_of<mz_search_settings>(mz_search_table);
  settings.algorithm = algorithm;
  settings.simulations = simulations;
  return settings;
}

/* A network with opinions: its heads are large. */
struct subject {
  mz_spec spec;
  mz_model model;
  std::vector<float> values;

  subject(const mz_spec &of, const mz_network_settings &settings) : spec(of) {
    check(mz_model_init(&model, &settings, &spec));
    values.resize((size_t)model.params.size);
    mz_params_init(&model.params, 3, values.data());
    for (int p = 0; p < model.params.count; p++) {
      const mz_param &param = model.params.items[p];
      for (int64_t i = 0; param.init == MZ_INIT_SMALL && i < (int64_t)param.rows * param.stride; i++)
        values[(size_t)(param.offset + i)] *= 200;
    }
  }
};

static inline mz_spec vector_spec(int actions, mz_turns turns) {
  mz_spec spec = {};
  spec.obs_kind = MZ_OBS_F32;
  spec.obs_size = spec.obs_shape[2] = 7;
  spec.obs_shape[0] = spec.obs_shape[1] = 1;
  spec.actions = actions;
  spec.players = turns == MZ_TURNS_ALONE ? 1 : 2;
  spec.turns = turns;
  spec.reward_max = 1;
  spec.return_max = 10;
  return spec;
}

static inline subject mlp_subject(int actions, mz_turns turns, int width = 24, int depth = 1, int scaling = MZ_SCALING_MINMAX) {
  mz_network_settings settings = defaults_of<mz_network_settings>(mz_network_table);
  settings.width = width;
  settings.depth = depth;
  settings.latent = width - 3;
  settings.scaling = scaling;
  return subject(vector_spec(actions, turns), settings);
}

static inline subject conv_subject(mz_turns turns = MZ_TURNS_ALTERNATE) {
  mz_spec spec = vector_spec(10, turns);
  mz_network_settings settings = defaults_of<mz_network_settings>(mz_network_table);
  settings.kind = MZ_MODEL_CONV;
  settings.channels = 16;
  settings.blocks = 1;
  spec.obs_kind = MZ_OBS_U8;
  spec.action_kind = MZ_ACTIONS_CELLS_PASS;
  spec.obs_shape[0] = spec.obs_shape[1] = spec.obs_shape[2] = 3;
  spec.obs_size = 27;
  return subject(spec, settings);
}

/* Roots with masks (two of three) and noise (three of four). */
struct positions {
  std::vector<unsigned char> observations, legal;
  std::vector<mz_root> roots;

  positions(const mz_spec &spec, int count) {
    const size_t bytes = mz_spec_obs_bytes(&spec), actions = (size_t)spec.actions;
    mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 0, 0);
    observations.resize((size_t)count * bytes);
    legal.resize((size_t)count * actions);
    for (size_t i = 0; i < (size_t)count * (size_t)spec.obs_size; i++) {
      const float entry = spec.obs_kind == MZ_OBS_F32 ? 2 * mz_rng_f32(&rng) - 1 : 0.0f;
      if (spec.obs_kind == MZ_OBS_F32)
        memcpy(&observations[i * sizeof entry], &entry, sizeof entry);
      else
        observations[i] = (unsigned char)mz_rng_below(&rng, 2);
    }
    for (size_t i = 0; i < (size_t)count; i++) {
      for (size_t a = 0; a < actions; a++) legal[i * actions + a] = a == i % actions || mz_rng_below(&rng, 2) == 0;
      roots.push_back({&observations[i * bytes], i % 3 == 0 ? nullptr : &legal[i * actions], i % 4 != 3,
                       mz_rng_at(9, MZ_RNG_NOISE, (uint32_t)i, 4)});
    }
  }
};

/* Results of searches, by root. */
struct findings {
  size_t actions;
  std::vector<mz_root_result> results;
  std::vector<float> policy, prior;
  std::vector<int32_t> visits;
  std::vector<unsigned char> trees; /* the device's: [slots][nodes]; the CPU's: [roots][nodes] */

  findings(int roots, int of_actions)
      : actions((size_t)of_actions), policy((size_t)roots * actions), prior(policy.size()), visits(policy.size()) {
    for (size_t at = 0; at < policy.size(); at += actions) results.push_back({0, 0, 0, &policy[at], &visits[at], &prior[at]});
  }
};

/* Expects roots `a_at` … of `a` to have the results of `b`'s roots b_at …, bit for bit. */
static inline void expect_same(const findings &a, size_t a_at, const findings &b, size_t b_at, size_t count) {
  const size_t entries = count * a.actions;
  for (size_t i = 0; i < count; i++) {
    const mz_root_result &one = a.results[a_at + i], &other = b.results[b_at + i];
    assert_int_equal(one.selected, other.selected);
    assert_memory_equal(&one.value, &other.value, sizeof one.value);
    assert_memory_equal(&one.raw_value, &other.raw_value, sizeof one.raw_value);
  }
  assert_memory_equal(&a.policy[a_at * a.actions], &b.policy[b_at * a.actions], entries * sizeof(float));
  assert_memory_equal(&a.prior[a_at * a.actions], &b.prior[b_at * a.actions], entries * sizeof(float));
  assert_memory_equal(&a.visits[a_at * a.actions], &b.visits[b_at * a.actions], entries * sizeof(int32_t));
}

/* Expects the results of trees over answers that are rounded otherwise: they take the same edges where no choice is close. */
static inline void expect_near(const findings &found, const findings &wanted) {
  for (size_t i = 0; i < found.results.size(); i++) {
    const mz_root_result &one = found.results[i], &other = wanted.results[i];
    assert_int_equal(one.selected, other.selected);
    assert_memory_equal(one.visits, other.visits, found.actions * sizeof *one.visits);
    assert_true(fabsf(one.value - other.value) <= 1e-5f * fmaxf(1.0f, fabsf(other.value)));
    assert_true(fabsf(one.raw_value - other.raw_value) <= 1e-5f * fmaxf(1.0f, fabsf(other.raw_value)));
    for (size_t a = 0; a < found.actions; a++) assert_true(fabsf(one.policy[a] - other.policy[a]) <= 1e-4f);
  }
}

/* A network on a lane, with its weights. */
struct network {
  mz_lane lane;
  mz_prepared *weights = nullptr;
  mz_infer *infer = nullptr;

  network(const subject &s, const mz_backend *backend, const mz_search_settings &settings, int slots) {
    mz_lane where = {};
    where.backend = backend;
    check(mz_lane_open(&lane, &where));
    check(mz_infer_create(&infer, &s.model, &lane, slots, slots * ((int)settings.simulations + 1)));
    check(mz_prepared_create(&weights, &s.model, &lane, s.values.data()));
    check(mz_infer_set_weights(infer, weights));
  }
  ~network() {
    mz_infer_free(infer);
    mz_prepared_release(weights);
    mz_lane_close(&lane);
  }
  network(const network &) = delete;
};

/* Searches by trees of the CPU, each tile in trees that are new. */
static inline findings search_on_cpu(const subject &s, const mz_backend *backend, const mz_search_settings &settings,
                                     const positions &p, int simulations) {
  const int n = (int)p.roots.size(), actions = s.spec.actions, stride = mz_infer_latent_stride(&s.model);
  const int tile = mz_search_tile(&settings, actions, stride, n);
  network net(s, backend, settings, tile);
  bool *away = nullptr;
  if (s.model.tells_turns) check(mz_alloc(&away, (size_t)tile * (size_t)(settings.simulations + 1), sizeof *away));
  mz_infer_model adapter = {net.infer, s.spec.obs_kind, away, 0.97f};
  const mz_search_model model = mz_search_model_of_infer(&adapter, &s.model);
  findings found(n, actions);
  for (int at = 0; at < n; at += tile) {
    const int count = n - at < tile ? n - at : tile;
    mz_search *search;
    check(mz_search_create(&search, &settings, actions, stride, 0.97, s.spec.turns, tile));
    check(mz_search_run(search, &model, count, &p.roots[(size_t)at], simulations, &found.results[(size_t)at]));
    const mz_tree *tree = mz_search_tree(search);
    found.trees.insert(found.trees.end(), tree->records, tree->records + (size_t)count * (size_t)tree->nodes * tree->node_bytes);
    mz_search_free(search);
  }
  free(away);
  return found;
}
