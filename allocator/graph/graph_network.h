/* A graph network from a graph to one number, on the tapes that train agents. With h the nodes' and e the edges' vectors, d =
 * MZ_GRAPH_WIDTH, τ kinds of nodes, r kinds of edges, gelu, LN (layer norm, Ba et al. 2016) by position:
 *   h⁰_i = gelu(W_τ(i) x_i + b_τ(i))        e⁰_ij = gelu(W_r f_ij + b_r)
 *   a^m_ij = softmax over j → i of (Q^m_τ(i) h_i)ᵀ (K^m_τ(j) h_j + U^m_r e_ij) / √(d / heads)
 *   z_i = ‖_m Σ_j a^m_ij (V^m_τ(j) h_j + U^m_r e_ij)
 *   h'_i = LN(h_i + O_τ(i) z_i + B gelu(A h_i))      e'_ij = LN(e_ij + W [h'_i ‖ h'_j ‖ e_ij])
 *   y = W_h [mean ‖ max of h] + W_e [mean ‖ max of e] + b
 * Biases are left out of the formulas where every map has one. (Patent, graph attention over nodes and edges; Veličković et al., Graph
 * attention networks, ICLR 2018; Hu et al., Heterogeneous graph transformer, WWW 2020.) Its loss is the mean over graphs of (y − target)². */
#pragma once
#include "allocator/graph/graph.h"
#include "networks/parameters/params.h"
#include "networks/tape/tape.h"

enum { MZ_GRAPH_WIDTH = 32, MZ_GRAPH_LAYERS = 2, MZ_GRAPH_HEADS = 4 };

/* The parameters, in their order. */
void mz_graph_network_params(mz_params *params);

/* A tape for graphs of at most so many nodes and edges. Its owner is one thread. */
typedef struct mz_graph_tape {
  const mz_params *params;
  mz_tape *tape;
  int rows, nodes, edges;
  mz_value node_features, edge_features, target, weight, output, loss; /* target, weight: of tapes that train */
  int node_kinds, edge_kinds, from, to;                                /* index lists */
} mz_graph_tape;

/* rows: graphs at once. params (mz_graph_network_params) stays alive. MZ_E_MEMORY. */
mz_status mz_graph_tape_init(mz_graph_tape *tape, const mz_backend *backend, const mz_params *params, int rows, int nodes,
                             int edges, bool trains);
void mz_graph_tape_deinit(mz_graph_tape *tape);
/* Nodes and edges that are more than the tape has room for are left out. target: of tapes that train. */
void mz_graph_tape_put(mz_graph_tape *tape, int row, const mz_graph *graph, double target);
/* Runs the first `rows` graphs; values: of mz_backend_cpu's tapes, mz_params' flat vector. */
void mz_graph_tape_run(mz_graph_tape *tape, const float *values, int rows, float *out);
