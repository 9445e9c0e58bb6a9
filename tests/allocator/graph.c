/* A pipeline under a plan as a graph: which nodes and edges there are, and what their features say. */
#include "tests/allocator/graph_made.h"
#include "tests/allocator/trainer_like.h"

/* Counts the edges of a kind, reverses included. */
static int count_edges(const mz_graph *g, int kind) {
  int count = 0;
  for (int e = 0; e < g->edge_count; e++) count += g->edges[e].kind % MZ_EDGE_REVERSED == kind;
  return count;
}

static int count_nodes(const mz_graph *g, mz_graph_node_kind kind) {
  int count = 0;
  for (int n = 0; n < g->node_count; n++) count += g->nodes[n].kind == kind;
  return count;
}

static const mz_graph_node *node_of(const mz_graph *g, mz_graph_node_kind kind) {
  for (int n = 0; n < g->node_count; n++)
    if (g->nodes[n].kind == kind) return &g->nodes[n];
  fail_msg("there is no node of kind %s", mz_graph_node_kind_name(kind));
  return NULL;
}

/* ---- what there is ---- */

static void test_the_trainers_parts(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(4);
  const struct {
    mz_plan plan;
    int networks, beside; /* beside: with reverses */
  } cases[] = {{trainer_like_plan(0, 0, 0), 3, 6},
               {trainer_like_plan(0, 1, 1), 6, 2},
               {trainer_like_plan(0, 1, 3), 9, 0},
               {trainer_like_plan(2, 1, 2), 6, 2}};
  assert_int_equal(mz_pipeline_check(&p), MZ_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mz_graph g = graph_of(&p, &cases[i].plan, true, NULL);
    assert_int_equal(count_nodes(&g, MZ_NODE_STORE), 1);
    assert_int_equal(count_nodes(&g, MZ_NODE_WORKERS), 1); /* evaluation, which is apart, is not there */
    assert_int_equal(count_nodes(&g, MZ_NODE_BUILDERS), 1);
    assert_int_equal(count_nodes(&g, MZ_NODE_TRAINING), 1);
    assert_int_equal(count_nodes(&g, MZ_NODE_OTHER), 1);
    assert_int_equal(count_nodes(&g, MZ_NODE_NETWORK), cases[i].networks);
    assert_int_equal(g.node_count, 5 + cases[i].networks);
    assert_int_equal(count_edges(&g, MZ_EDGE_WRITES), 4);
    assert_int_equal(count_edges(&g, MZ_EDGE_READS), 2);
    assert_int_equal(count_edges(&g, MZ_EDGE_QUEUE), 2);
    assert_int_equal(count_edges(&g, MZ_EDGE_RUNS), 18);
    assert_int_equal(count_edges(&g, MZ_EDGE_TRAINS), 6);
    assert_int_equal(count_edges(&g, MZ_EDGE_BESIDE), cases[i].beside);
    assert_int_equal(count_edges(&g, MZ_EDGE_BEFORE), 6);
    assert_int_equal(g.edge_count, 38 + cases[i].beside);
  }
}

static void test_a_pipeline_without_stores_and_networks(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_plan plan = bakery_plan();
  mz_graph g = graph_of(&p, &plan, true, NULL);
  assert_int_equal(g.node_count, 3);
  assert_int_equal(count_nodes(&g, MZ_NODE_OTHER), 3);
  assert_int_equal(count_edges(&g, MZ_EDGE_QUEUE), 2);
  assert_int_equal(count_edges(&g, MZ_EDGE_BEFORE), 4);
  assert_int_equal(count_edges(&g, MZ_EDGE_BESIDE), 2);
  plan.values[OVEN] = 2; /* the two stages of the first step are on devices of their own */
  g = graph_of(&p, &plan, true, NULL);
  assert_int_equal(count_edges(&g, MZ_EDGE_BESIDE), 0);
  assert_int_equal(g.edge_count, 6);
  assert_int_equal(g.nodes[1].device, 2);
}

/* ---- what features say ---- */

static void test_features_follow_the_plan(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(2);
  mz_plan plan = trainer_like_plan(0, 0, 1);
  plan.values[TL_GAMES] = 16; /* 8 tasks */
  const mz_graph before = graph_of(&p, &plan, true, NULL);
  plan.values[TL_ACTORS] *= 2;
  const mz_graph after = graph_of(&p, &plan, true, NULL);
  const mz_graph_node *few = node_of(&before, MZ_NODE_WORKERS), *many = node_of(&after, MZ_NODE_WORKERS);
  assert_float_equal(node_feature(many, "threads") - node_feature(few, "threads"), 1, 1e-6);
  assert_float_equal(node_feature(few, "threads per core"), -1, 1e-6); /* 4 threads, 8 cores */
  assert_true(node_feature(many, "demand") < node_feature(few, "demand"));
  assert_float_equal(node_feature(few, "batch size"), 4, 1e-6);
  assert_float_equal(node_feature(node_of(&after, MZ_NODE_TRAINING), "cores"), 2, 1e-6);
}

static void test_what_flows_along_edges(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(1);
  const mz_plan plan = trainer_like_plan(0, 0, 0);
  const mz_graph g = graph_of(&p, &plan, true, NULL);
  double runs = 0;
  for (int e = 0; e < g.edge_count; e += 2) {
    const mz_graph_edge *edge = &g.edges[e];
    const double items = mz_graph_edge_items(edge), bytes = mz_graph_edge_bytes(edge);
    const bool from_actor = g.nodes[edge->from].kind == MZ_NODE_WORKERS;
    if (edge->kind == MZ_EDGE_WRITES) assert_float_equal(items, from_actor ? 1024 : 2048, 0.1);
    if (edge->kind == MZ_EDGE_WRITES) assert_float_equal(bytes, from_actor ? 241 << 10 : 8192, 1);
    if (edge->kind == MZ_EDGE_QUEUE) assert_float_equal(bytes, 8 * (200 << 10), 8);
    if (edge->kind == MZ_EDGE_BESIDE || edge->kind == MZ_EDGE_BEFORE) assert_true(items == 0 && bytes == 0);
    /* The actors' 16384 items are calls of 32, which read the weights each time. */
    if (edge->kind == MZ_EDGE_RUNS && g.nodes[edge->to].kind == MZ_NODE_WORKERS) runs += bytes;
  }
  assert_float_equal(runs, 16384.0 / 32 * (44100 + 51600 + 7950) * 4, 1e4);
}

static void test_large_amounts_differ(void **state) {
  (void)state;
  mz_pipeline p = trainer_like(1);
  const mz_plan plan = trainer_like_plan(0, 0, 0);
  p.stores[0].bytes = 0x1p30;
  const mz_graph small = graph_of(&p, &plan, true, NULL);
  p.stores[0].bytes = 0x1p36;
  const mz_graph large = graph_of(&p, &plan, true, NULL);
  const double difference =
      node_feature(node_of(&large, MZ_NODE_STORE), "bytes") - node_feature(node_of(&small, MZ_NODE_STORE), "bytes");
  assert_float_equal(difference, log(64), 1e-4);
}

static void test_unexplained_features_say_nothing_of_the_prediction(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(1);
  const mz_plan plan = trainer_like_plan(0, 0, 0);
  const mz_graph told = graph_of(&p, &plan, true, NULL), untold = graph_of(&p, &plan, false, NULL);
  const mz_graph_node *knows = node_of(&told, MZ_NODE_TRAINING), *learns = node_of(&untold, MZ_NODE_TRAINING);
  assert_true(node_feature(knows, "demand unknown") == 0 && node_feature(knows, "demand") < 0);
  assert_true(node_feature(knows, "predicted unit time") != 0);
  assert_true(node_feature(learns, "demand unknown") == 1 && node_feature(learns, "demand") == 0);
  assert_true(node_feature(learns, "predicted unit time") == 0);
}

/* ---- names ---- */

static void assert_distinct(const char *const *names, int count) {
  for (int i = 0; i < count; i++) {
    assert_true(names[i] && names[i][0]);
    for (int j = 0; j < i; j++) assert_string_not_equal(names[i], names[j]);
  }
}

static void test_names(void **state) {
  (void)state;
  const char *names[64];
  for (int kind = 0; kind < MZ_NODE_KINDS; kind++) {
    int count = 0;
    while (count < 64 && (names[count] = mz_graph_node_feature_name((mz_graph_node_kind)kind, count))) count++;
    assert_in_range(count, 1, MZ_GRAPH_NODE_FEATURES);
    assert_distinct(names, count);
    assert_null(mz_graph_node_feature_name((mz_graph_node_kind)kind, -1));
  }
  int count = 0;
  while (count < 64 && (names[count] = mz_graph_edge_feature_name(count))) count++;
  assert_in_range(count, 1, MZ_GRAPH_EDGE_FEATURES);
  assert_distinct(names, count);
  for (int kind = 0; kind < MZ_NODE_KINDS; kind++) names[kind] = mz_graph_node_kind_name((mz_graph_node_kind)kind);
  assert_distinct(names, MZ_NODE_KINDS);
  for (int kind = 0; kind < MZ_EDGE_KINDS; kind++) names[kind] = mz_graph_edge_kind_name(kind);
  assert_distinct(names, MZ_EDGE_KINDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_trainers_parts),
      cmocka_unit_test(test_a_pipeline_without_stores_and_networks),
      cmocka_unit_test(test_features_follow_the_plan),
      cmocka_unit_test(test_what_flows_along_edges),
      cmocka_unit_test(test_large_amounts_differ),
      cmocka_unit_test(test_unexplained_features_say_nothing_of_the_prediction),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
