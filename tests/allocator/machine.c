/* Machines from text: what is read, what is refused and how that is said, what a machine grants. */
#include "allocator/machine/machine_spec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static mz_sim_machine parsed(const char *text) {
  mz_sim_machine machine;
  if (mz_sim_machine_parse(&machine, text) != MZ_OK) fail_msg("%s", mz_message());
  return machine;
}

static double member(const mz_sim_machine *machine, const mz_sim_key *key) {
  return *(const double *)((const char *)machine + key->offset);
}

static void test_what_is_not_named_has_its_default(void **state) {
  (void)state;
  const mz_sim_machine machine = parsed("sim:cores=64,numa=2,gpus=4,smt=0,tail=1e-4");
  assert_true(machine.cores == 64 && machine.numa == 2 && machine.gpus == 4 && machine.smt == 0 && machine.tail == 1e-4);
  const mz_sim_machine usual = parsed("sim:");
  for (int i = 0; mz_sim_key_at(i); i++) {
    const mz_sim_key *key = mz_sim_key_at(i);
    mz_sim_machine set = {0};
    assert_true(member(&usual, key) == key->fallback);
    if (mz_sim_machine_set(&set, key->name, key->fallback) != MZ_OK) fail_msg("%s: %s", key->name, mz_message());
    assert_int_equal(mz_sim_machine_set(&set, key->name, key->min), MZ_OK);
    assert_int_equal(mz_sim_machine_set(&set, key->name, key->max), MZ_OK);
    assert_true(member(&set, key) == key->max);
    assert_int_equal(mz_sim_machine_set(&set, key->name, 2 * key->max + 1), MZ_E_CONFIG);
    assert_int_equal(mz_sim_machine_set(&set, key->name, 0), key->off || key->min == 0 ? MZ_OK : MZ_E_CONFIG);
  }
}

static void test_what_cannot_be_is_named_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"cores=64", "at character 1: a simulated machine begins with 'sim:'"},
      {"sim", "at character 1: a simulated machine begins with 'sim:'"},
      {"sim:cors=64", "at character 5: there is no key 'cors'; did you mean 'cores'?"},
      {"sim:zzzzzzzz=1", "at character 5: there is no key 'zzzzzzzz'; there are cores, numa, gpus"},
      {"sim:cores", "at character 10: '=' and a number are missing, as in cores=16"},
      {"sim:cores=", "at character 11: cores takes 1 … 1024 hardware threads"},
      {"sim:cores=0", "at character 11: cores takes 1 … 1024 hardware threads; nearest valid value: 1"},
      {"sim:cores=2000", "nearest valid value: 1024"},
      {"sim:cores=2.6", "nearest valid value: 3"},
      {"sim:cores=4x", "at character 11: cores takes"},
      {"sim:cores=nan", "at character 11: cores takes"},
      {"sim:cores=-4", "nearest valid value: 1"},
      {"sim:cores=4;numa=2", "at character 11: cores takes"},
      {"sim:smt=0.9", "at character 9: smt takes 0 (off) or 1 … 2 cores; nearest valid value: 1"},
      {"sim:smt=0.1", "nearest valid value: 0"},
      {"sim:cores=4,cores=5", "at character 13: cores is there already"},
      {"sim:cores=4,", "at character 13: a key is missing"},
      {"sim:,", "at character 5: a key is missing"},
      {"sim:cores=4,numa=8", "numa: 8 nodes have no core each; nearest valid value: 4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mz_sim_machine machine = {.cores = 7};
    assert_int_equal(mz_sim_machine_parse(&machine, cases[i].text), MZ_E_CONFIG);
    if (!strstr(mz_message(), cases[i].says)) fail_msg("'%s' does not say '%s'", mz_message(), cases[i].says);
    assert_true(machine.cores == 7);
  }
}

static void test_a_member_is_changed_or_left(void **state) {
  (void)state;
  mz_sim_machine machine = parsed("sim:cores=8");
  assert_int_equal(mz_sim_machine_set(&machine, "cores", 4), MZ_OK);
  assert_int_equal(mz_sim_machine_set(&machine, "neighbour", 3), MZ_OK);
  assert_int_equal(mz_sim_machine_set(&machine, "quota", 2.5), MZ_OK);
  assert_int_equal(mz_sim_machine_cores(&machine), 2);
  assert_int_equal(mz_sim_machine_set(&machine, "quota", 0), MZ_OK);
  assert_int_equal(mz_sim_machine_cores(&machine), 4);
  assert_int_equal(mz_sim_machine_set(&machine, "core", 4), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "did you mean 'cores'?"));
  assert_int_equal(mz_sim_machine_set(&machine, "cores", 0), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "cores takes 1 … 1024 hardware threads; nearest valid value: 1"));
  assert_true(machine.cores == 4 && machine.neighbour == 3);
}

static void test_nodes_share_the_cores(void **state) {
  (void)state;
  static mz_devices devices;
  const mz_sim_machine machine = parsed("sim:cores=11,numa=3,gpus=2");
  mz_sim_machine_devices(&machine, &devices);
  assert_int_equal(devices.count, 5);
  int cores = 0;
  for (int d = 0; d < 3; d++) {
    assert_int_equal(devices.items[d].device.kind, MZ_DEVICE_CPU);
    assert_in_range(devices.items[d].device.cores, 3, 4);
    assert_int_equal(devices.items[d].core_count, devices.items[d].device.cores);
    for (int i = 0; i < devices.items[d].core_count; i++) assert_int_equal(devices.items[d].cores[i], cores++);
  }
  assert_int_equal(cores, 11);
  assert_string_equal(devices.items[2].device.name, "cpu:2");
  assert_string_equal(devices.items[4].device.name, "cuda:1");
  assert_int_equal(devices.items[4].device.kind, MZ_DEVICE_CUDA);
}

/* A scenario may take cores away until there are fewer than nodes. */
static void test_a_node_without_a_core_makes_no_device(void **state) {
  (void)state;
  static mz_devices devices;
  mz_sim_machine machine = parsed("sim:cores=8,numa=4,gpus=1");
  for (int cores = 1; cores <= 8; cores++) {
    const int nodes = cores < 4 ? cores : 4;
    int sum = 0;
    assert_int_equal(mz_sim_machine_set(&machine, "cores", cores), MZ_OK);
    mz_sim_machine_devices(&machine, &devices);
    assert_int_equal(devices.count, nodes + 1);
    for (int d = 0; d < nodes; d++) {
      assert_true(devices.items[d].core_count >= 1);
      sum += devices.items[d].core_count;
    }
    assert_int_equal(sum, cores);
    assert_string_equal(devices.items[nodes].device.name, "cuda:0");
  }
}

/* docs/simulation.md has a row for each key: | `key` | range | default | unit | … */
static void test_every_key_is_documented(void **state) {
  (void)state;
  static char page[1 << 17];
  FILE *file = fopen(TEST_DATA "/../../docs/simulation.md", "r");
  assert_non_null(file);
  page[fread(page, 1, sizeof page - 1, file)] = '\0';
  fclose(file);
  for (int i = 0; mz_sim_key_at(i); i++) {
    const mz_sim_key *key = mz_sim_key_at(i);
    char row[256];
    snprintf(row, sizeof row, "| `%s` | %s%.12g … %.12g %s | %.12g |", key->name, key->off && key->min > 0 ? "0, " : "", key->min,
             key->max, key->unit, key->fallback);
    if (!strstr(page, row)) fail_msg("docs/simulation.md lacks '%s'", row);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_not_named_has_its_default),     cmocka_unit_test(test_what_cannot_be_is_named_with_its_place),
      cmocka_unit_test(test_a_member_is_changed_or_left),           cmocka_unit_test(test_nodes_share_the_cores),
      cmocka_unit_test(test_a_node_without_a_core_makes_no_device), cmocka_unit_test(test_every_key_is_documented)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
