/* Properties of the graph of any pipeline under any plan. */
#include "tests/allocator/graph_made.h"

enum { PIPELINES = 300, PLANS = 8 };

static mz_observation draw_observation(mz_rng *rng, const mz_pipeline *p) {
  mz_observation o = {.plan = draw_plan(rng, p), .unit_s = 0.01 + mz_rng_f64(rng)};
  for (int s = 0; s < p->stage_count; s++) {
    const double wall = (double)mz_stage_threads(p, s, &o.plan) * o.unit_s, busy = draw(rng, 0, 3) ? mz_rng_f64(rng) : 0;
    o.stages[s] = (mz_stage_sample){
        .items = 1, .busy_s = busy * wall, .wait_in_s = (1 - busy) * wall / 2, .wait_out_s = (1 - busy) * wall / 2};
  }
  o.others = draw(rng, 0, 1) ? mz_rng_f64(rng) : NAN;
  o.waiting = draw(rng, 0, 1) ? mz_rng_f64(rng) : NAN;
  o.throttled = draw(rng, 0, 1) ? mz_rng_f64(rng) : NAN;
  o.training = (mz_training_stage){.replay_fill = draw(rng, 0, 1) ? mz_rng_f64(rng) : NAN,
                                   .episode_length = draw(rng, 0, 1) ? 1 + 500 * mz_rng_f64(rng) : NAN,
                                   .horizon = draw(rng, 0, 1) ? mz_rng_f64(rng) : NAN,
                                   .score_slope = draw(rng, 0, 1) ? 9 * (mz_rng_f64(rng) - 0.5) : NAN};
  return o;
}

/* A kind of edge joins kinds of nodes. */
static bool joins(const mz_graph *g, const mz_graph_edge *e) {
  const mz_graph_node_kind from = g->nodes[e->from].kind, to = g->nodes[e->to].kind;
  const bool to_stage = to != MZ_NODE_STORE && to != MZ_NODE_NETWORK,
             from_stage = from != MZ_NODE_STORE && from != MZ_NODE_NETWORK;
  switch (e->kind) {
    case MZ_EDGE_WRITES: return from_stage && to == MZ_NODE_STORE;
    case MZ_EDGE_READS: return from == MZ_NODE_STORE && to_stage;
    case MZ_EDGE_RUNS: return from == MZ_NODE_NETWORK && to_stage && g->nodes[e->from].device == g->nodes[e->to].device;
    case MZ_EDGE_TRAINS:
      return from == MZ_NODE_TRAINING && to == MZ_NODE_NETWORK && g->nodes[e->from].device == g->nodes[e->to].device;
    default: return from_stage && to_stage;
  }
}

static void assert_edges(const mz_graph *g) {
  assert_int_equal(g->edge_count % 2, 0);
  for (int e = 0; e < g->edge_count; e += 2) {
    const mz_graph_edge *edge = &g->edges[e], *reverse = &g->edges[e + 1];
    assert_in_range(edge->from, 0, g->node_count - 1);
    assert_in_range(edge->to, 0, g->node_count - 1);
    assert_in_range(edge->kind, 0, MZ_EDGE_REVERSED - 1);
    assert_int_equal(reverse->kind, edge->kind + (int)MZ_EDGE_REVERSED);
    assert_int_equal(reverse->from, edge->to);
    assert_int_equal(reverse->to, edge->from);
    assert_memory_equal(reverse->features, edge->features, sizeof edge->features);
    assert_true(joins(g, edge));
  }
}

static void assert_nodes(const mz_graph *g, const mz_pipeline *p) {
  for (int n = 0; n < g->node_count; n++) {
    const mz_graph_node *node = &g->nodes[n];
    const bool store = node->kind == MZ_NODE_STORE, network = node->kind == MZ_NODE_NETWORK;
    assert_in_range(node->part, 0, (store ? p->store_count : network ? p->network_count : p->stage_count) - 1);
    if (store)
      assert_int_equal(node->device, -1);
    else
      assert_in_range(node->device, 0, p->device_count - 1);
    if (!store && !network) assert_false(p->stages[node->part].apart);
    for (int other = 0; other < n; other++) /* no part twice; a network not twice on a device */
      assert_false(g->nodes[other].part == node->part && g->nodes[other].device == node->device &&
                   (g->nodes[other].kind == MZ_NODE_NETWORK) == network && (g->nodes[other].kind == MZ_NODE_STORE) == store);
    bool used = !network;
    for (int e = 0; e < g->edge_count; e++) used |= g->edges[e].kind == MZ_EDGE_RUNS && g->edges[e].from == n;
    assert_true(used);
  }
}

/* A feature that is missing is 0, whatever its bit is called. */
static void assert_missing(const mz_graph_node *node, const char *bit, const char *value) {
  const double missing = node_feature(node, bit);
  assert_true(missing == 0 || missing == 1);
  if (missing == 1) assert_true(node_feature(node, value) == 0);
}

static void assert_features(const mz_graph *g, const mz_observation *newest) {
  for (int n = 0; n < g->node_count; n++) {
    const mz_graph_node *node = &g->nodes[n];
    for (int f = 0; f < MZ_GRAPH_NODE_FEATURES; f++) {
      assert_true(isfinite(node->features[f]) && fabsf(node->features[f]) <= 50);
      if (!mz_graph_node_feature_name(node->kind, f)) assert_true(node->features[f] == 0);
    }
    if (node->kind == MZ_NODE_STORE) {
      assert_missing(node, "fill unknown", "fill");
      assert_true((node_feature(node, "fill unknown") == 0) == (newest && isfinite(newest->training.replay_fill)));
    }
    if (node->kind == MZ_NODE_STORE || node->kind == MZ_NODE_NETWORK) continue;
    assert_missing(node, "episode length unknown", "episode length");
    assert_missing(node, "share of the run to come unknown", "share of the run to come");
    assert_missing(node, "slope of the score unknown", "slope of the score");
    assert_true((node_feature(node, "episode length unknown") == 0) == (newest && isfinite(newest->training.episode_length)));
    assert_true((node_feature(node, "share of the run to come unknown") == 0) == (newest && isfinite(newest->training.horizon)));
    assert_true((node_feature(node, "slope of the score unknown") == 0) == (newest && isfinite(newest->training.score_slope)));
    assert_missing(node, "demand unknown", "demand");
    assert_missing(node, "tasks unbounded", "tasks per thread");
    assert_missing(node, "other processes unknown", "cores of other processes");
    assert_missing(node, "CPU pressure unknown", "CPU pressure");
    assert_missing(node, "throttling unknown", "throttled share");
    assert_missing(node, "window unknown", "busy share");
    assert_true((node_feature(node, "other processes unknown") == 0) == (newest && isfinite(newest->others)));
    assert_true((node_feature(node, "CPU pressure unknown") == 0) == (newest && isfinite(newest->waiting)));
    assert_true((node_feature(node, "throttling unknown") == 0) == (newest && isfinite(newest->throttled)));
    assert_true((node_feature(node, "window unknown") == 0) == (newest && newest->stages[node->part].busy_s > 0));
  }
  for (int e = 0; e < g->edge_count; e++) {
    for (int f = 0; f < MZ_GRAPH_EDGE_FEATURES; f++) {
      assert_true(isfinite(g->edges[e].features[f]) && fabsf(g->edges[e].features[f]) <= 50);
      if (!mz_graph_edge_feature_name(f)) assert_true(g->edges[e].features[f] == 0);
    }
  }
}

static void assert_same(const mz_graph *a, const mz_graph *b) {
  assert_int_equal(a->node_count, b->node_count);
  assert_int_equal(a->edge_count, b->edge_count);
  assert_memory_equal(a->nodes, b->nodes, (size_t)a->node_count * sizeof *a->nodes);
  assert_memory_equal(a->edges, b->edges, (size_t)a->edge_count * sizeof *a->edges);
}

static void test_graphs_of_random_pipelines(void **state) {
  (void)state;
  int largest = 0;
  for (uint64_t seed = 0; seed < PIPELINES; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
    mz_pipeline p;
    draw_pipeline(&rng, &p);
    draw_uses(&rng, &p);
    assert_int_equal(mz_pipeline_check(&p), MZ_OK);
    int nodes_most, edges_most;
    mz_graph_size(&p, &nodes_most, &edges_most);
    for (int i = 0; i < PLANS; i++) {
      const mz_plan plan = draw_plan(&rng, &p);
      const mz_observation newest = draw_observation(&rng, &p), *seen = i % 2 ? &newest : NULL;
      const mz_graph g = graph_of(&p, &plan, i % 4 < 2, seen), again = graph_of(&p, &plan, i % 4 < 2, seen);
      assert_true(g.node_count <= nodes_most && nodes_most <= MZ_GRAPH_NODES_MAX);
      assert_true(g.edge_count <= edges_most && edges_most <= MZ_GRAPH_EDGES_MAX);
      assert_nodes(&g, &p);
      assert_edges(&g);
      assert_features(&g, seen);
      assert_same(&g, &again);
      if (g.node_count > largest) largest = g.node_count;
    }
  }
  assert_true(largest > 25);
}

/* Every stage runs and trains every network on a device of its own: as many nodes as there can be, and as many edges. */
static void test_the_largest_graph_fits(void **state) {
  (void)state;
  mz_pipeline p = {.name = "large",
                   .stage_count = MZ_STAGES_MAX,
                   .queue_count = MZ_QUEUES_MAX,
                   .store_count = MZ_STORES_MAX,
                   .network_count = MZ_NETWORKS_MAX,
                   .link_count = MZ_LINKS_MAX,
                   .device_count = MZ_STAGES_MAX,
                   .knob_count = MZ_STAGES_MAX};
  mz_plan plan = {0};
  for (int s = 0; s < MZ_STAGES_MAX; s++) {
    p.stages[s] = (mz_pipeline_stage){.work = MZ_WORK_TRAINING, .threads = -1, .batch = -1, .device = s, .items = 1};
    p.devices[s] = (mz_device){.cores = 1};
    p.knobs[s] = (mz_knob){.scale = MZ_SCALE_CHOICE, .max = MZ_STAGES_MAX - 1};
    snprintf(p.stages[s].name, MZ_NAME_MAX, "s%d", s);
    snprintf(p.devices[s].name, MZ_NAME_MAX, "cpu:%d", s);
    snprintf(p.knobs[s].name, MZ_NAME_MAX, "k%d", s);
    plan.values[s] = s;
    p.links[s % MZ_LINKS_MAX] = (mz_pipeline_link){.stage = s, .store = s % MZ_STORES_MAX, .writes = true};
  }
  for (int i = 0; i < MZ_QUEUES_MAX; i++) {
    p.queues[i] = (mz_pipeline_queue){.from = i, .to = i + 1, .capacity = -1};
    snprintf(p.queues[i].name, MZ_NAME_MAX, "q%d", i);
  }
  for (int i = 0; i < MZ_STORES_MAX; i++) snprintf(p.stores[i].name, MZ_NAME_MAX, "t%d", i);
  for (int i = 0; i < MZ_NETWORKS_MAX; i++) {
    p.networks[i].users = (1u << MZ_STAGES_MAX) - 1;
    snprintf(p.networks[i].name, MZ_NAME_MAX, "n%d", i);
  }
  assert_int_equal(mz_pipeline_check(&p), MZ_OK);
  int nodes, edges;
  mz_graph_size(&p, &nodes, &edges);
  mz_graph g = graph_of(&p, &plan, true, NULL);
  assert_int_equal(g.node_count, MZ_GRAPH_NODES_MAX);
  assert_int_equal(nodes, MZ_GRAPH_NODES_MAX);
  assert_edges(&g);
  for (int s = 0; s < MZ_STAGES_MAX; s++) plan.values[s] = 0; /* together on one device, all are beside one another */
  g = graph_of(&p, &plan, true, NULL);
  assert_int_equal(g.node_count, MZ_STORES_MAX + MZ_STAGES_MAX + MZ_NETWORKS_MAX);
  assert_int_equal(g.edge_count, edges);
  assert_edges(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graphs_of_random_pipelines),
      cmocka_unit_test(test_the_largest_graph_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
