#include "allocator/graph/graph_network.h"
#include <stdlib.h>
#include <string.h>

enum { D = MZ_GRAPH_WIDTH, N = MZ_NODE_KINDS, E = MZ_EDGE_KINDS, F = MZ_GRAPH_NODE_FEATURES, G = MZ_GRAPH_EDGE_FEATURES };

/* First parameters: each with its bias behind it; norms: gamma, beta. */
enum { NODES = 0, EDGES = 2, LAYER = 4 };
enum {
  QUERY = 0,
  KEY = 2,
  VALUE = 4,
  ON_EDGES = 6,
  OUT = 8,
  WIDEN = 10,
  NARROW = 12,
  UPDATE = 14,
  NORM = 16,
  EDGE_NORM = 18,
  OF_LAYER = 20
};
enum { HEAD = LAYER + MZ_GRAPH_LAYERS * OF_LAYER };

/* ---- parameters ---- */

static void add(mz_params *params, const char *name, int types, int inputs, int outputs, mz_init init) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  mz_params_add(params, full, types * inputs, outputs, true, init, inputs);
  snprintf(full, sizeof full, "%s.bias", name);
  mz_params_add(params, full, types, outputs, false, MZ_INIT_ZERO, 0);
}

static void add_norm(mz_params *params, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "%s.gamma", name);
  mz_params_add(params, full, 1, D, false, MZ_INIT_ONE, 0);
  snprintf(full, sizeof full, "%s.beta", name);
  mz_params_add(params, full, 1, D, false, MZ_INIT_ZERO, 0);
}

static void add_in_layer(mz_params *params, int layer, const char *part, int types, int inputs, int outputs) {
  char name[32];
  snprintf(name, sizeof name, "layer%d.%s", layer, part);
  add(params, name, types, inputs, outputs, MZ_INIT_GLOROT);
}

void mz_graph_network_params(mz_params *params) {
  char name[32];
  memset(params, 0, sizeof *params);
  add(params, "nodes", N, F, D, MZ_INIT_HE);
  add(params, "edges", E, G, D, MZ_INIT_HE);
  for (int l = 0; l < MZ_GRAPH_LAYERS; l++) {
    add_in_layer(params, l, "query", N, D, D);
    add_in_layer(params, l, "key", N, D, D);
    add_in_layer(params, l, "value", N, D, D);
    add_in_layer(params, l, "on_edges", E, D, D);
    add_in_layer(params, l, "out", N, D, D);
    add_in_layer(params, l, "widen", 1, D, 2 * D);
    add_in_layer(params, l, "narrow", 1, 2 * D, D);
    add_in_layer(params, l, "update", 1, 3 * D, D);
    snprintf(name, sizeof name, "layer%d.norm", l);
    add_norm(params, name);
    snprintf(name, sizeof name, "layer%d.edge_norm", l);
    add_norm(params, name);
  }
  add(params, "head", 1, 4 * D, 1, MZ_INIT_SMALL);
}

/* ---- the network ---- */

typedef struct vectors {
  mz_value nodes, edges;
} vectors;

static mz_value typed(const mz_graph_tape *t, mz_value x, int kinds, int weight) {
  return mz_tape_typed_linear(t->tape, x, kinds, weight, weight + 1);
}

static mz_value by_position(const mz_graph_tape *t, mz_value x, int positions, int weight) {
  return mz_tape_pointwise(t->tape, x, positions, weight, weight + 1, MZ_LINEAR_ONLY);
}

static vectors layer(const mz_graph_tape *t, vectors x, int first) {
  mz_tape *tape = t->tape;
  const mz_value on_edges = typed(t, x.edges, t->edge_kinds, first + ON_EDGES);
  const mz_value q = typed(t, x.nodes, t->node_kinds, first + QUERY);
  const mz_value keys = typed(t, x.nodes, t->node_kinds, first + KEY), values = typed(t, x.nodes, t->node_kinds, first + VALUE);
  const mz_value k = mz_tape_add(tape, mz_tape_gather(tape, keys, t->nodes, t->from), on_edges);
  const mz_value v = mz_tape_add(tape, mz_tape_gather(tape, values, t->nodes, t->from), on_edges);
  const mz_value z = mz_tape_edge_attention(tape, q, k, v, MZ_GRAPH_HEADS, t->to);
  const mz_value wide = mz_tape_gelu(tape, by_position(t, x.nodes, t->nodes, first + WIDEN));
  const mz_value feed = by_position(t, wide, t->nodes, first + NARROW);
  const mz_value sum = mz_tape_add(tape, mz_tape_add(tape, x.nodes, typed(t, z, t->node_kinds, first + OUT)), feed);
  const mz_value nodes = mz_tape_layer_norm(tape, sum, first + NORM, first + NORM + 1);
  const mz_value ends[] = {mz_tape_gather(tape, nodes, t->nodes, t->to), mz_tape_gather(tape, nodes, t->nodes, t->from), x.edges};
  const mz_value update = by_position(t, mz_tape_concat(tape, ends, 3, t->edges), t->edges, first + UPDATE);
  const mz_value edges = mz_tape_layer_norm(tape, mz_tape_add(tape, x.edges, update), first + EDGE_NORM, first + EDGE_NORM + 1);
  return (vectors){nodes, edges};
}

static void record(mz_graph_tape *t, bool trains) {
  mz_tape *tape = t->tape;
  t->node_kinds = mz_tape_index_list(tape, t->nodes);
  t->edge_kinds = mz_tape_index_list(tape, t->edges);
  t->from = mz_tape_index_list(tape, t->edges);
  t->to = mz_tape_index_list(tape, t->edges);
  t->node_features = mz_tape_input(tape, t->nodes * F);
  t->edge_features = mz_tape_input(tape, t->edges * G);
  vectors x = {mz_tape_gelu(tape, typed(t, t->node_features, t->node_kinds, NODES)),
               mz_tape_gelu(tape, typed(t, t->edge_features, t->edge_kinds, EDGES))};
  for (int l = 0; l < MZ_GRAPH_LAYERS; l++) x = layer(t, x, LAYER + l * OF_LAYER);
  const mz_value pooled[] = {mz_tape_masked_pool(tape, x.nodes, t->node_kinds),
                             mz_tape_masked_pool(tape, x.edges, t->edge_kinds)};
  t->output = mz_tape_linear(tape, mz_tape_concat(tape, pooled, 2, 1), HEAD, HEAD + 1, MZ_LINEAR_ONLY);
  if (!trains) return;
  t->target = mz_tape_input(tape, 1);
  t->weight = mz_tape_input(tape, 1);
  t->loss = mz_tape_mse(tape, t->output, t->target, t->weight, 1);
}

mz_status mz_graph_tape_init(mz_graph_tape *t, const mz_backend *backend, const mz_params *params, int rows, int nodes, int edges,
                             bool trains) {
  *t = (mz_graph_tape){.params = params, .rows = rows, .nodes = nodes, .edges = edges > 0 ? edges : 1};
  MZ_TRY(mz_tape_create(&t->tape, backend, params, rows, trains));
  record(t, trains);
  const mz_status status = mz_tape_plan(t->tape);
  if (status != MZ_OK) mz_graph_tape_deinit(t);
  return status;
}

void mz_graph_tape_deinit(mz_graph_tape *t) {
  mz_tape_free(t->tape);
  t->tape = NULL;
}

/* ---- running ---- */

static int least(int a, int b) { return a < b ? a : b; }

void mz_graph_tape_put(mz_graph_tape *t, int row, const mz_graph *g, double target) {
  MZ_ASSERT(row < t->rows);
  const int nodes = least(g->node_count, t->nodes), edges = least(g->edge_count, t->edges);
  float *node_features = (float *)mz_tape_at(t->tape, t->node_features)->data + (size_t)row * (size_t)(t->nodes * F);
  float *edge_features = (float *)mz_tape_at(t->tape, t->edge_features)->data + (size_t)row * (size_t)(t->edges * G);
  int32_t *node_kinds = mz_tape_index_at(t->tape, t->node_kinds) + (size_t)row * (size_t)t->nodes;
  int32_t *edge_kinds = mz_tape_index_at(t->tape, t->edge_kinds) + (size_t)row * (size_t)t->edges;
  int32_t *from = mz_tape_index_at(t->tape, t->from) + (size_t)row * (size_t)t->edges;
  int32_t *to = mz_tape_index_at(t->tape, t->to) + (size_t)row * (size_t)t->edges;
  for (int i = 0; i < t->nodes; i++) {
    node_kinds[i] = i < nodes ? (int32_t)g->nodes[i].kind : -1;
    if (i < nodes) memcpy(node_features + i * F, g->nodes[i].features, F * sizeof *node_features);
  }
  for (int i = 0; i < t->edges; i++) {
    const bool present = i < edges && g->edges[i].from < nodes && g->edges[i].to < nodes;
    edge_kinds[i] = present ? g->edges[i].kind : -1;
    from[i] = present ? g->edges[i].from : -1;
    to[i] = present ? g->edges[i].to : -1;
    if (present) memcpy(edge_features + i * G, g->edges[i].features, G * sizeof *edge_features);
  }
  if (!mz_tape_trains(t->tape)) return;
  *((float *)mz_tape_at(t->tape, t->target)->data + (size_t)row * (size_t)mz_padded(1)) = (float)target;
  *((float *)mz_tape_at(t->tape, t->weight)->data + (size_t)row * (size_t)mz_padded(1)) = 1;
}

void mz_graph_tape_run(mz_graph_tape *t, const float *values, int rows, float *out) {
  mz_tape_forward(t->tape, values, rows);
  mz_tape_read(t->tape, t->output, out, rows);
}
