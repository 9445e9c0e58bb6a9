/* Trees of the device are the CPU's, bit for bit, where both ask the device's network. */
#include "tests/cuda/search/device_search.cuh"

static void expect_same_search(const subject &s, const mz_search_settings &settings, int slots, int simulations) {
  const positions p(s.spec, slots);
  const findings cpu = search_on_cpu(s, &mz_backend_cuda, settings, p, simulations);
  device_search device(s, settings, slots);
  const findings found = device.run(p, 0, slots, simulations);
  expect_same(found, 0, cpu, 0, (size_t)slots);
  assert_int_equal(found.trees.size(), cpu.trees.size());
  assert_memory_equal(found.trees.data(), cpu.trees.data(), cpu.trees.size());
}

/* Every number of actions with its share of slots, players and depths. */
static void searches_of(mz_algorithm algorithm, void (*change)(mz_search_settings *settings)) {
  static const int actions[] = {1, 2, 3, 4, 5, 9, 82}, slots[] = {1, 3, 17, 40};
  for (int i = 0; i < 7; i++) {
    mz_search_settings settings = search_settings_of(algorithm, 12);
    settings.max_depth = i % 2 == 0 ? 0 : 3;
    change(&settings);
    expect_same_search(mlp_subject(actions[i], (mz_turns)(i % 3)), settings, slots[i % 4], 0);
    expect_same_search(mlp_subject(actions[i], MZ_TURNS_TOLD), settings, slots[(i + 1) % 4], 0);
  }
}

static void puct(void **) {
  searches_of(MZ_PUCT, [](mz_search_settings *) {});
  searches_of(MZ_PUCT, [](mz_search_settings *settings) {
    settings->q_transform = MZ_Q_MIN_MAX;
    settings->min_value = -2;
    settings->max_value = 3;
    settings->prior_min = 0.3;
  });
}

static void gumbel(void **) {
  searches_of(MZ_GUMBEL, [](mz_search_settings *) {});
  searches_of(MZ_GUMBEL, [](mz_search_settings *settings) {
    settings->rescale_values = !settings->rescale_values;
    settings->considered = 4;
    settings->prior_min = 0.3;
  });
}

/* At max_depth 1 and 2 most simulations evaluate nothing new. */
static void shallow(void **) {
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    for (int depth = 1; depth <= 2; depth++) {
      mz_search_settings settings = search_settings_of((mz_algorithm)algorithm, 20);
      settings.max_depth = depth;
      expect_same_search(mlp_subject(2, MZ_TURNS_ALONE), settings, 3, 0);
      expect_same_search(mlp_subject(2, MZ_TURNS_TOLD), settings, 3, 0);
    }
  }
}

static void fewer_simulations(void **) {
  const subject s = mlp_subject(4, MZ_TURNS_ALTERNATE);
  for (const int simulations : {1, 2, 7}) {
    expect_same_search(s, search_settings_of(MZ_GUMBEL, 12), 3, simulations);
    expect_same_search(s, search_settings_of(MZ_PUCT, 12), 3, simulations);
  }
}

static void boards(void **) {
  for (const mz_turns turns : {MZ_TURNS_ALTERNATE, MZ_TURNS_TOLD}) {
    const subject s = conv_subject(turns);
    for (const int slots : {3, 17}) {
      expect_same_search(s, search_settings_of(MZ_GUMBEL, 8), slots, 0);
      expect_same_search(s, search_settings_of(MZ_PUCT, 8), slots, 0);
    }
  }
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(puct), cmocka_unit_test(gumbel), cmocka_unit_test(shallow),
                              cmocka_unit_test(fewer_simulations), cmocka_unit_test(boards)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
