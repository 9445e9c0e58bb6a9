/* Small networks on graphs, whose lists are made up: types, sources and targets of edges, absent ones among them. Include after
 * cmocka.h. */
#pragma once
#include "tests/networks/net.h"

enum { NODES = 5, EDGES = 11, NODE_TYPES = 3, EDGE_TYPES = 2, FEATURES = 16, HEADS = 4 };

typedef struct graph_shape {
  int nodes, edges, node_types, edge_types;
} graph_shape;
static const graph_shape small_graph = {NODES, EDGES, NODE_TYPES, EDGE_TYPES};

/* Parameters that every case has, by index, each with its bias behind it. */
enum { OF_NODES = 0, OF_EDGES = 2, NODE_HEAD = 4, EDGE_HEAD = 6, MORE = 8 };

static inline int graph_channels(net_size size) { return size.width <= 16 ? 16 : size.width <= 32 ? 32 : 48; }

static inline void typed_params(mz_params *params, const char *name, int types, int inputs, int outputs) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  mz_params_add(params, full, types * inputs, outputs, true, MZ_INIT_HE, inputs);
  snprintf(full, sizeof full, "%s.bias", name);
  mz_params_add(params, full, types, outputs, false, MZ_INIT_HE, inputs);
}

static inline void stem_params(mz_params *params, graph_shape shape, int channels) {
  typed_params(params, "nodes", shape.node_types, FEATURES, channels);
  typed_params(params, "edges", shape.edge_types, FEATURES, channels);
  layer_params(params, "node_head", shape.nodes * channels, 9);
  layer_params(params, "edge_head", shape.edges * channels, 9);
}
static inline void graph_params(mz_params *params, net_size size) { stem_params(params, small_graph, graph_channels(size)); }

/* A graph's lists, and what its nodes and edges are after a layer. */
typedef struct graph {
  graph_shape shape;
  int types, edge_types, sources, targets;
  mz_value nodes, edges;
} graph;

/* Inputs 0 and 1 of the net are the features of nodes and edges. */
static inline graph stem_of(net *n, graph_shape shape) {
  graph g = {.shape = shape,
             .types = net_list(n, shape.nodes, shape.node_types),
             .edge_types = net_list(n, shape.edges, shape.edge_types),
             .sources = net_list(n, shape.edges, shape.nodes),
             .targets = net_list(n, shape.edges, shape.nodes)};
  const int of_nodes = shape.nodes * FEATURES, of_edges = shape.edges * FEATURES;
  const mz_value nodes = net_input(n, mz_tape_input(n->tape, of_nodes), of_nodes, PLAIN);
  const mz_value edges = net_input(n, mz_tape_input(n->tape, of_edges), of_edges, PLAIN);
  g.nodes = mz_tape_typed_linear(n->tape, nodes, g.types, OF_NODES, OF_NODES + 1);
  g.edges = mz_tape_typed_linear(n->tape, edges, g.edge_types, OF_EDGES, OF_EDGES + 1);
  return g;
}
static inline graph graph_stem(net *n) { return stem_of(n, small_graph); }

static inline void node_loss(net *n, mz_value nodes) {
  net_loss(n, mz_tape_linear(n->tape, nodes, NODE_HEAD, NODE_HEAD + 1, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void edge_loss(net *n, mz_value edges) {
  net_loss(n, mz_tape_linear(n->tape, edges, EDGE_HEAD, EDGE_HEAD + 1, MZ_LINEAR_ONLY), 9, 0.5f);
}

/* Here and below: values that a later node reads, too, get their gradient from both. */
static inline void record_gelu(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  const mz_value x = mz_tape_gelu(n->tape, g.nodes);
  node_loss(n, mz_tape_add(n->tape, mz_tape_gelu(n->tape, x), x));
}

static inline void layer_norm_params(mz_params *params, net_size size) {
  graph_params(params, size);
  mz_params_add(params, "norm.gamma", 1, graph_channels(size), false, MZ_INIT_HE, 4);
  mz_params_add(params, "norm.beta", 1, graph_channels(size), false, MZ_INIT_HE, 4);
}
/* One norm in three places, of nodes and of edges. */
static inline void record_layer_norm(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  const mz_value x = mz_tape_layer_norm(n->tape, g.nodes, MORE, MORE + 1);
  const mz_value y = mz_tape_layer_norm(n->tape, mz_tape_gelu(n->tape, x), MORE, MORE + 1);
  node_loss(n, mz_tape_add(n->tape, y, x));
  edge_loss(n, mz_tape_layer_norm(n->tape, g.edges, MORE, MORE + 1));
}

static inline void typed_linear_params(mz_params *params, net_size size) {
  graph_params(params, size);
  typed_params(params, "shared", NODE_TYPES, graph_channels(size), graph_channels(size));
}
/* One weight for nodes, twice, and for edges; by two lists of types. */
static inline void record_typed_linear(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  const int others = net_list(n, NODES, NODE_TYPES);
  const mz_value x = mz_tape_typed_linear(n->tape, g.nodes, g.types, MORE, MORE + 1);
  const mz_value y = mz_tape_typed_linear(n->tape, x, others, MORE, MORE + 1);
  node_loss(n, mz_tape_add(n->tape, y, x));
  edge_loss(n, mz_tape_typed_linear(n->tape, g.edges, g.edge_types, MORE, MORE + 1));
}

static inline void concat_params(mz_params *params, net_size size) {
  const int channels = graph_channels(size);
  graph_params(params, size);
  layer_params(params, "three", 3 * channels, channels);
  layer_params(params, "two", 2 * channels, channels);
}
/* Both ends of an edge and the edge; then the result with an end. */
static inline void record_concat(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  const mz_value source = mz_tape_gather(n->tape, g.nodes, NODES, g.sources);
  const mz_value target = mz_tape_gather(n->tape, g.nodes, NODES, g.targets);
  const mz_value all = mz_tape_concat(n->tape, (mz_value[]){source, target, g.edges}, 3, EDGES);
  const mz_value edges = mz_tape_pointwise(n->tape, all, EDGES, MORE, MORE + 1, MZ_LINEAR_ONLY);
  const mz_value both = mz_tape_concat(n->tape, (mz_value[]){edges, source}, 2, EDGES);
  edge_loss(n, mz_tape_pointwise(n->tape, both, EDGES, MORE + 2, MORE + 3, MZ_LINEAR_ONLY));
  node_loss(n, g.nodes);
}

/* Attention over values that nobody else reads, then over ones that others read later. */
static inline void record_edge_attention(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  const mz_value k = mz_tape_gather(n->tape, g.nodes, NODES, g.sources), v = mz_tape_gelu(n->tape, g.edges);
  const mz_value x = mz_tape_edge_attention(n->tape, mz_tape_gelu(n->tape, g.nodes), k, v, HEADS, g.targets);
  const mz_value y = mz_tape_edge_attention(n->tape, x, v, k, 2, g.targets);
  node_loss(n, mz_tape_add(n->tape, y, mz_tape_add(n->tape, x, g.nodes)));
  edge_loss(n, mz_tape_add(n->tape, k, v));
}

static inline void pooled_params(mz_params *params, net_size size) {
  graph_params(params, size);
  layer_params(params, "pooled", 4 * graph_channels(size), 9);
}
static inline mz_value pool_graph(net *n, const graph *g) {
  const mz_value parts[] = {mz_tape_masked_pool(n->tape, g->nodes, g->types),
                            mz_tape_masked_pool(n->tape, g->edges, g->edge_types)};
  return mz_tape_linear(n->tape, mz_tape_concat(n->tape, parts, 2, 1), MORE, MORE + 1, MZ_LINEAR_ONLY);
}
static inline void record_masked_pool(net *n, net_size size) {
  (void)size;
  const graph g = graph_stem(n);
  net_loss(n, pool_graph(n, &g), 9, 1.0f);
  node_loss(n, g.nodes);
}

/* Parameters of a layer; weights have their bias behind them. */
enum { LAYER = MORE + 2, QUERY = LAYER, KEY = QUERY + 2, VALUE = KEY + 2, EDGE_TERM = VALUE + 2, OUT = EDGE_TERM + 2 };
enum { WIDEN = OUT + 2, NARROW_AGAIN = WIDEN + 2, UPDATE = NARROW_AGAIN + 2, NORM = UPDATE + 2, EDGE_NORM = NORM + 2 };

static inline void network_params(mz_params *params, graph_shape shape, int channels) {
  static const char *const norms[] = {"gamma", "beta", "edge_gamma", "edge_beta"};
  static const char *const typed[] = {"query", "key", "value"};
  stem_params(params, shape, channels);
  layer_params(params, "pooled", 4 * channels, 9);
  for (int i = 0; i < 3; i++) typed_params(params, typed[i], shape.node_types, channels, channels);
  typed_params(params, "edge_term", shape.edge_types, channels, channels);
  typed_params(params, "out", shape.node_types, channels, channels);
  layer_params(params, "widen", channels, 2 * channels);
  layer_params(params, "narrow", 2 * channels, channels);
  layer_params(params, "update", 3 * channels, channels);
  for (int i = 0; i < 4; i++) mz_params_add(params, norms[i], 1, channels, false, MZ_INIT_HE, 4);
}
static inline void graph_network_params(mz_params *params, net_size size) {
  network_params(params, small_graph, graph_channels(size));
}

/* A layer of a graph network: attention, a feed-forward part and norms, for nodes and for edges. */
static inline void add_layer(net *n, graph *g) {
  mz_tape *t = n->tape;
  const graph_shape shape = g->shape;
  const mz_value h = g->nodes, u = mz_tape_typed_linear(t, g->edges, g->edge_types, EDGE_TERM, EDGE_TERM + 1);
  const mz_value q = mz_tape_typed_linear(t, h, g->types, QUERY, QUERY + 1);
  const mz_value kh = mz_tape_typed_linear(t, h, g->types, KEY, KEY + 1);
  const mz_value vh = mz_tape_typed_linear(t, h, g->types, VALUE, VALUE + 1);
  const mz_value k = mz_tape_add(t, mz_tape_gather(t, kh, shape.nodes, g->sources), u);
  const mz_value v = mz_tape_add(t, mz_tape_gather(t, vh, shape.nodes, g->sources), u);
  const mz_value z = mz_tape_edge_attention(t, q, k, v, HEADS, g->targets);
  const mz_value wide = mz_tape_gelu(t, mz_tape_pointwise(t, h, shape.nodes, WIDEN, WIDEN + 1, MZ_LINEAR_ONLY));
  const mz_value feed = mz_tape_pointwise(t, wide, shape.nodes, NARROW_AGAIN, NARROW_AGAIN + 1, MZ_LINEAR_ONLY);
  const mz_value out = mz_tape_typed_linear(t, z, g->types, OUT, OUT + 1);
  g->nodes = mz_tape_layer_norm(t, mz_tape_add(t, mz_tape_add(t, h, out), feed), NORM, NORM + 1);
  const mz_value ends[] = {mz_tape_gather(t, g->nodes, shape.nodes, g->targets),
                           mz_tape_gather(t, g->nodes, shape.nodes, g->sources), g->edges};
  const mz_value update =
      mz_tape_pointwise(t, mz_tape_concat(t, ends, 3, shape.edges), shape.edges, UPDATE, UPDATE + 1, MZ_LINEAR_ONLY);
  g->edges = mz_tape_layer_norm(t, mz_tape_add(t, g->edges, update), EDGE_NORM, EDGE_NORM + 1);
}

/* Two layers with the same parameters, pooled. Returns the outputs. */
static inline mz_value record_network(net *n, graph *g) {
  g->nodes = mz_tape_gelu(n->tape, g->nodes);
  g->edges = mz_tape_gelu(n->tape, g->edges);
  for (int i = 0; i < 2; i++) add_layer(n, g);
  const mz_value outputs = pool_graph(n, g), weights = net_input(n, mz_tape_input(n->tape, 1), 1, WEIGHTS);
  mz_tape_mse(n->tape, outputs, net_input(n, mz_tape_input(n->tape, 9), 9, PLAIN), weights, 0.5f);
  return outputs;
}
static inline void record_graph_network(net *n, net_size size) {
  (void)size;
  graph g = graph_stem(n);
  record_network(n, &g);
}
