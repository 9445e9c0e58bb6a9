#include "allocator/graph/graph_network.h"
#include "base/arena.h"
#include "networks/lane.h"
#include <math.h>
#include <string.h>

enum {
  D = MZ_GRAPH_WIDTH,
  N = MZ_NODE_KINDS,
  E = MZ_EDGE_KINDS,
  F = MZ_GRAPH_NODE_FEATURES,
  G = MZ_GRAPH_EDGE_FEATURES,
  FLAT = MZ_GRAPH_FLAT_WIDTH
};

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

static void add_attention(mz_params *params) {
  char name[32];
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

static void add_flat(mz_params *params) {
  add(params, "first", 1, N * F, FLAT, MZ_INIT_HE);
  add(params, "second", 1, FLAT, FLAT, MZ_INIT_HE);
  add(params, "head", 1, FLAT, 1, MZ_INIT_SMALL);
}

void mz_graph_network_params(mz_params *params, mz_graph_form form) {
  memset(params, 0, sizeof *params);
  if (form == MZ_FORM_ATTENTION)
    add_attention(params);
  else
    add_flat(params);
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

static vectors layer(mz_graph_tape *t, vectors x, int number) {
  mz_tape *tape = t->tape;
  const int first = LAYER + number * OF_LAYER;
  const mz_value on_edges = typed(t, x.edges, t->edge_kinds, first + ON_EDGES);
  const mz_value q = typed(t, x.nodes, t->node_kinds, first + QUERY);
  const mz_value keys = typed(t, x.nodes, t->node_kinds, first + KEY), values = typed(t, x.nodes, t->node_kinds, first + VALUE);
  const mz_value k = mz_tape_add(tape, mz_tape_gather(tape, keys, t->nodes, t->from), on_edges);
  const mz_value v = mz_tape_add(tape, mz_tape_gather(tape, values, t->nodes, t->from), on_edges);
  t->query[number] = q;
  t->key[number] = k;
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

static mz_value record_attention(mz_graph_tape *t) {
  mz_tape *tape = t->tape;
  t->node_kinds = mz_tape_index_list(tape, t->nodes);
  t->edge_kinds = mz_tape_index_list(tape, t->edges);
  t->from = mz_tape_index_list(tape, t->edges);
  t->to = mz_tape_index_list(tape, t->edges);
  t->node_features = mz_tape_input(tape, t->nodes * F);
  t->edge_features = mz_tape_input(tape, t->edges * G);
  vectors x = {mz_tape_gelu(tape, typed(t, t->node_features, t->node_kinds, NODES)),
               mz_tape_gelu(tape, typed(t, t->edge_features, t->edge_kinds, EDGES))};
  for (int l = 0; l < MZ_GRAPH_LAYERS; l++) x = layer(t, x, l);
  const mz_value pooled[] = {mz_tape_masked_pool(tape, x.nodes, t->node_kinds),
                             mz_tape_masked_pool(tape, x.edges, t->edge_kinds)};
  return mz_tape_linear(tape, mz_tape_concat(tape, pooled, 2, 1), HEAD, HEAD + 1, MZ_LINEAR_ONLY);
}

static mz_value record_flat(mz_graph_tape *t) {
  t->node_features = mz_tape_input(t->tape, N * F);
  const mz_value first = mz_tape_linear(t->tape, t->node_features, 0, 1, MZ_RELU);
  const mz_value second = mz_tape_linear(t->tape, first, 2, 3, MZ_RELU);
  return mz_tape_linear(t->tape, second, 4, 5, MZ_LINEAR_ONLY);
}

/* Floats of the widest row that goes in or out: features, or queries and keys. */
static int widest(const mz_graph_tape *t) {
  const int nodes = t->nodes * (F > D ? F : D), edges = t->edges * (G > D ? G : D);
  return t->form != MZ_FORM_ATTENTION ? N * F : nodes > edges ? nodes : edges;
}

static mz_status make_rows(mz_graph_tape *t) {
  const size_t longest = (size_t)(t->nodes > t->edges ? t->nodes : t->edges);
  mz_carver carver = {0};
  for (int i = 0; i < 2; i++) mz_carve(&carver, &t->row[i], (size_t)widest(t), sizeof *t->row[i]);
  for (int i = 0; i < 3; i++) mz_carve(&carver, &t->list[i], longest, sizeof *t->list[i]);
  return mz_carve_commit(&carver, &t->block);
}

mz_status mz_graph_tape_init(mz_graph_tape *t, mz_graph_form form, const mz_params *params, const mz_graph_scaling *scaling,
                             int rows, int nodes, int edges, bool trains) {
  mz_status status;
  *t = (mz_graph_tape){.form = form, .params = params, .scaling = scaling, .rows = rows, .nodes = nodes};
  t->edges = edges > 0 ? edges : 1;
  MZ_TRY_CLEANUP(make_rows(t));
  MZ_TRY_CLEANUP(mz_tape_create(&t->tape, &mz_lane_cpu, params, rows, trains));
  t->output = form == MZ_FORM_ATTENTION ? record_attention(t) : record_flat(t);
  if (trains) {
    t->target = mz_tape_input(t->tape, 1);
    t->weight = mz_tape_input(t->tape, 1);
    t->loss = mz_tape_mse(t->tape, t->output, t->target, t->weight, 1);
  }
  MZ_TRY_CLEANUP(mz_tape_plan(t->tape));
cleanup:
  if (status != MZ_OK) mz_graph_tape_deinit(t);
  return status;
}

void mz_graph_tape_deinit(mz_graph_tape *t) {
  mz_tape_free(t->tape);
  free(t->block);
  t->tape = NULL;
  t->block = NULL;
}

/* ---- running ---- */

/* On CPUs nothing fails once it is planned. */
static void sure(mz_status status) { MZ_ASSERT(status == MZ_OK); }

static int least(int a, int b) { return a < b ? a : b; }

static void scale(float *out, const float *in, const float *mean, const float *factor, int count) {
  for (int i = 0; i < count; i++) out[i] = (in[i] - mean[i]) * factor[i];
}

static void put_flat(mz_graph_tape *t, int row, const mz_graph *g) {
  float *out = t->row[0], scaled[F];
  int count[N] = {0};
  memset(out, 0, N * F * sizeof *out);
  for (int i = 0; i < g->node_count; i++) count[g->nodes[i].kind]++;
  for (int i = 0; i < g->node_count; i++) {
    const mz_graph_node_kind kind = g->nodes[i].kind;
    scale(scaled, g->nodes[i].features, t->scaling->node_mean[kind], t->scaling->node_scale[kind], F);
    for (int k = 0; k < F; k++) out[(int)kind * F + k] += scaled[k] / (float)count[kind];
  }
  sure(mz_tape_put(t->tape, t->node_features, row, out, 1));
}

static void put_nodes(mz_graph_tape *t, int row, const mz_graph *g) {
  float *out = t->row[0];
  int32_t *kinds = t->list[0];
  for (int i = 0; i < t->nodes; i++) {
    kinds[i] = i < g->node_count ? (int32_t)g->nodes[i].kind : -1;
    if (kinds[i] < 0) continue;
    scale(out + i * F, g->nodes[i].features, t->scaling->node_mean[kinds[i]], t->scaling->node_scale[kinds[i]], F);
  }
  sure(mz_tape_put(t->tape, t->node_features, row, out, 1));
  sure(mz_tape_put_list(t->tape, t->node_kinds, row, kinds, 1));
}

static void put_edges(mz_graph_tape *t, int row, const mz_graph *g) {
  float *out = t->row[0];
  int32_t *kinds = t->list[0], *from = t->list[1], *to = t->list[2];
  for (int i = 0; i < t->edges; i++) {
    const mz_graph_edge *e = &g->edges[i];
    const bool present = i < g->edge_count && e->from < t->nodes && e->to < t->nodes;
    kinds[i] = present ? e->kind : -1;
    from[i] = present ? e->from : -1;
    to[i] = present ? e->to : -1;
    if (present) scale(out + i * G, e->features, t->scaling->edge_mean[e->kind], t->scaling->edge_scale[e->kind], G);
  }
  sure(mz_tape_put(t->tape, t->edge_features, row, out, 1));
  sure(mz_tape_put_list(t->tape, t->edge_kinds, row, kinds, 1));
  sure(mz_tape_put_list(t->tape, t->from, row, from, 1));
  sure(mz_tape_put_list(t->tape, t->to, row, to, 1));
}

void mz_graph_tape_put(mz_graph_tape *t, int row, const mz_graph *g, double target) {
  MZ_ASSERT(row < t->rows);
  if (t->form == MZ_FORM_ATTENTION) {
    put_nodes(t, row, g);
    put_edges(t, row, g);
  } else {
    put_flat(t, row, g);
  }
  if (!mz_tape_trains(t->tape)) return;
  const float wanted = ((float)target - t->scaling->target_mean) * t->scaling->target_scale, weight = 1 / (float)t->rows;
  sure(mz_tape_put(t->tape, t->target, row, &wanted, 1));
  sure(mz_tape_put(t->tape, t->weight, row, &weight, 1));
}

void mz_graph_tape_run(mz_graph_tape *t, const float *values, int rows, double *out) {
  sure(mz_tape_forward(t->tape, values, rows));
  for (int i = 0; i < rows; i++) {
    float y;
    sure(mz_tape_get(t->tape, t->output, i, &y, 1));
    out[i] = t->scaling->target_mean + y / (double)t->scaling->target_scale;
  }
}

/* ---- what attention looked at ---- */

/* t->row: a layer's queries and keys. */
static void add_attended(const mz_graph_tape *t, int head, const mz_graph *g, int edges, float *out) {
  enum { OF_HEAD = D / MZ_GRAPH_HEADS };
  const float *queries = t->row[0] + head * OF_HEAD, *keys = t->row[1] + head * OF_HEAD;
  double score[MZ_GRAPH_EDGES_MAX], most[MZ_GRAPH_NODES_MAX], sum[MZ_GRAPH_NODES_MAX] = {0};
  for (int i = 0; i < g->node_count; i++) most[i] = -INFINITY;
  for (int e = 0; e < edges; e++) {
    const int to = g->edges[e].to;
    score[e] = 0;
    for (int k = 0; k < OF_HEAD; k++) score[e] += queries[to * D + k] * (double)keys[e * D + k];
    score[e] /= sqrt(OF_HEAD);
    most[to] = fmax(most[to], score[e]);
  }
  for (int e = 0; e < edges; e++) sum[g->edges[e].to] += score[e] = exp(score[e] - most[g->edges[e].to]);
  for (int e = 0; e < edges; e++) out[e] += (float)(score[e] / sum[g->edges[e].to] / (MZ_GRAPH_LAYERS * MZ_GRAPH_HEADS));
}

void mz_graph_tape_attention(mz_graph_tape *t, int row, const mz_graph *g, float *out) {
  MZ_ASSERT(t->form == MZ_FORM_ATTENTION && g->node_count <= t->nodes);
  const int edges = least(g->edge_count, t->edges);
  for (int e = 0; e < g->edge_count; e++) out[e] = 0;
  for (int l = 0; l < MZ_GRAPH_LAYERS; l++) {
    sure(mz_tape_get(t->tape, t->query[l], row, t->row[0], 1));
    sure(mz_tape_get(t->tape, t->key[l], row, t->row[1], 1));
    for (int head = 0; head < MZ_GRAPH_HEADS; head++) add_attended(t, head, g, edges, out);
  }
}
