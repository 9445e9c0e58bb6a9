/* A search as a GPU runs it, compiled as C++: every slot has a thread of its own, whose row of the batch is the slot's number and
 * whose scratch is its own. Trees and results have the bits of mz_search_run's. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
#include <cmocka.h>
#include "selfplay/search/search_state.h"
#include "tests/selfplay/table_model.h"
}

enum { ROOTS = 13, SIMULATIONS = 24, ACTIONS_MAX = 82 };

struct settings_case {
  mz_search_settings settings;
  int actions;
  mz_turns turns;
};

/* What is searched: observations (keys), masks and streams. */
struct positions {
  uint32_t observations[ROOTS];
  uint8_t legal[ROOTS][ACTIONS_MAX];
  mz_root roots[ROOTS];
};

struct outcome {
  int selected;
  float value, raw_value, policy[ACTIONS_MAX], prior[ACTIONS_MAX];
  int32_t visits[ACTIONS_MAX];
};

/* A search's memory, arrays over slots. */
struct slots_memory {
  std::vector<unsigned char> records;
  std::vector<float> logits, gumbel_logits, score, policy, value, reward, discount;
  std::vector<int32_t> first, considered, schedules;
  std::vector<uint32_t> keys; /* latents: [slots][nodes] */
  std::vector<mz_selection> selections;
  mz_tree tree;
  mz_roots roots;
  mz_scorer scorer;
};

static void open_memory(slots_memory *m, const settings_case &c) {
  const size_t actions = (size_t)c.actions, nodes = SIMULATIONS + 1;
  const mz_search_settings &settings = c.settings;
  m->records.resize(ROOTS * nodes * mz_tree_node_bytes(c.actions));
  for (auto *array : {&m->logits, &m->gumbel_logits, &m->score, &m->policy}) array->resize(ROOTS * actions);
  for (auto *array : {&m->value, &m->reward}) array->resize(ROOTS);
  for (auto *array : {&m->first, &m->considered}) array->resize(ROOTS);
  m->keys.resize(ROOTS * nodes);
  if (c.turns == MZ_TURNS_TOLD) m->discount.resize(ROOTS * nodes);
  m->selections.resize(ROOTS);
  m->roots = {};
  mz_roots_configure(&m->roots, &settings, c.actions);
  for (int considered = 0; considered <= m->roots.considered_max; considered++) {
    int32_t schedule[SIMULATIONS];
    mz_halving_schedule(considered, SIMULATIONS, schedule);
    m->schedules.insert(m->schedules.end(), schedule, schedule + SIMULATIONS);
  }
  m->tree = {ROOTS, (int)nodes, c.actions, mz_tree_node_bytes(c.actions), m->records.data()};
  m->roots.logits = m->logits.data();
  m->roots.gumbel_logits = m->gumbel_logits.data();
  m->roots.first = m->first.data();
  m->roots.considered = m->considered.data();
  m->roots.schedules = m->schedules.data();
  m->roots.schedule_simulations = SIMULATIONS;
  assert_int_equal(mz_scorer_init(&m->scorer, &settings, c.turns == MZ_TURNS_ALTERNATE ? -0.97f : 0.97f, SIMULATIONS + 1), MZ_OK);
}

static mz_slot slot_of(slots_memory *m, const settings_case &c, int index) {
  return {index,
          mz_tree_at(&m->tree, index, 0),
          c.actions,
          c.settings.algorithm == MZ_GUMBEL,
          &m->scorer,
          &m->score[(size_t)(index * c.actions)],
          m->discount.empty() ? nullptr : &m->discount[(size_t)(index * m->tree.nodes)]};
}

static uint32_t *key_of(slots_memory *m, int slot, int node) { return &m->keys[(size_t)(slot * m->tree.nodes + node)]; }

/* Answers row `slot`, also where nothing was asked. */
static void ask_model(slots_memory *m, const hash_model &model, int slot) {
  const mz_selection &selection = m->selections[(size_t)slot];
  if (selection.parent == MZ_NO_NODE) {
    hash_answer(&model, 0xBADBADu, slot, m->policy.data(), m->value.data());
    m->reward[(size_t)slot] = 1e9f;
    return;
  }
  const uint32_t key = hash_mix(*key_of(m, slot, selection.parent) ^ hash_mix((uint32_t)selection.action + 77));
  *key_of(m, slot, selection.leaf) = key;
  hash_answer(&model, key, slot, m->policy.data(), m->value.data());
  m->reward[(size_t)slot] = hash_unit(key, 1);
  if (!m->discount.empty()) m->discount[(size_t)(slot * m->tree.nodes + selection.leaf)] = hash_discount(key);
}

/* A thread's work before and after the model's; `simulation` is the one that was selected last. */
static void begin_slot(slots_memory *m, const settings_case &c, int index, const mz_root &root, int depth_max) {
  const mz_slot slot = slot_of(m, c, index);
  mz_roots_init(&m->roots, slot, &m->policy[(size_t)(index * c.actions)], m->value[(size_t)index], root.legal, root.noise,
                root.rng);
  m->selections[(size_t)index] = mz_simulation_select(slot, 1, depth_max);
}

static void finish_slot(slots_memory *m, const settings_case &c, int index, int simulation, int depth_max) {
  const mz_slot slot = slot_of(m, c, index);
  mz_selection *selection = &m->selections[(size_t)index];
  if (selection->parent != MZ_NO_NODE)
    mz_simulation_expand(slot, selection->leaf, &m->policy[(size_t)(index * c.actions)], m->value[(size_t)index],
                         m->reward[(size_t)index]);
  mz_simulation_back_up(slot, selection->leaf);
  if (simulation == SIMULATIONS) return;
  mz_roots_choose(&m->roots, slot);
  *selection = mz_simulation_select(slot, simulation + 1, depth_max);
}

static void search_by_slots(slots_memory *m, const settings_case &c, const positions &p, outcome *out) {
  const hash_model model = {c.actions, 0, 0, {}};
  const int depth_max = c.settings.max_depth > 0 ? (int)c.settings.max_depth : INT32_MAX;
  for (int i = 0; i < ROOTS; i++) {
    *key_of(m, i, 0) = p.observations[i];
    hash_answer(&model, p.observations[i], i, m->policy.data(), m->value.data());
    begin_slot(m, c, i, p.roots[i], depth_max);
  }
  for (int simulation = 1; simulation <= SIMULATIONS; simulation++) {
    for (int i = 0; i < ROOTS; i++) ask_model(m, model, i);
    for (int i = ROOTS - 1; i >= 0; i--) finish_slot(m, c, i, simulation, depth_max); /* threads have no order */
  }
  for (int i = 0; i < ROOTS; i++) {
    const mz_slot slot = slot_of(m, c, i);
    out[i].value = slot.root->value;
    out[i].raw_value = slot.root->raw_value;
    out[i].selected = mz_roots_result(&m->roots, slot, out[i].policy, out[i].visits, out[i].prior);
  }
}

static void search_by_library(mz_search *search, const settings_case &c, const positions &p, outcome *out) {
  hash_model model = {c.actions, 0, 0, {}};
  const mz_search_model searched = hash_search_model(&model);
  mz_root_result results[ROOTS];
  for (int i = 0; i < ROOTS; i++) results[i] = {0, 0, 0, out[i].policy, out[i].visits, out[i].prior};
  table_run(search, &searched, ROOTS, p.roots, 0, results);
  for (int i = 0; i < ROOTS; i++) {
    out[i].selected = results[i].selected;
    out[i].value = results[i].value;
    out[i].raw_value = results[i].raw_value;
  }
}

static void set_positions(positions *p, int actions) {
  for (uint32_t i = 0; i < ROOTS; i++) {
    p->observations[i] = hash_mix(i + 1);
    for (uint32_t a = 0; a < (uint32_t)actions; a++)
      p->legal[i][a] = a == i % (uint32_t)actions || hash_mix(i * 128 + a) % 2 != 0;
    p->roots[i] = {&p->observations[i], i % 3 == 0 ? nullptr : p->legal[i], i % 4 != 3, mz_rng_at(9, MZ_RNG_NOISE, i, 4)};
  }
}

static void expect_same_search(const settings_case &c) {
  static positions p;
  static outcome by_slots[ROOTS], by_library[ROOTS];
  memset(by_slots, 0, sizeof by_slots);
  memset(by_library, 0, sizeof by_library);
  set_positions(&p, c.actions);
  slots_memory m;
  open_memory(&m, c);
  search_by_slots(&m, c, p, by_slots);
  mz_search *search = table_search(&c.settings, c.actions, 0.97, c.turns, ROOTS);
  search_by_library(search, c, p, by_library);
  assert_memory_equal(by_slots, by_library, sizeof by_library);
  const mz_tree *tree = mz_search_tree(search);
  assert_true(tree->slots == ROOTS && tree->nodes == m.tree.nodes && tree->node_bytes == m.tree.node_bytes);
  assert_memory_equal(m.records.data(), tree->records, m.records.size());
  mz_search_free(search);
  mz_scorer_deinit(&m.scorer);
}

static void searches_of(mz_algorithm algorithm, void (*change)(mz_search_settings *settings)) {
  const int action_counts[] = {1, 2, 3, 4, 5, 9, ACTIONS_MAX};
  for (const int actions : action_counts) {
    for (const int max_depth : {0, 3}) {
      for (const mz_turns turns : {MZ_TURNS_ALONE, MZ_TURNS_ALTERNATE, MZ_TURNS_TOLD}) {
        settings_case c = {table_defaults(algorithm, SIMULATIONS), actions, turns};
        c.settings.max_depth = max_depth;
        change(&c.settings);
        expect_same_search(c);
      }
    }
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
    settings->prior_min = 0.3;
  });
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(puct), cmocka_unit_test(gumbel)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
