/* Networks from a graph to one number, on the tapes that train agents. With h the nodes' and e the edges' vectors, d = MZ_GRAPH_WIDTH,
 * τ kinds of nodes, r kinds of edges, gelu, LN (layer norm, Ba et al. 2016) by position, MZ_FORM_ATTENTION is
 *   h⁰_i = gelu(W_τ(i) x_i + b_τ(i))        e⁰_ij = gelu(W_r f_ij + b_r)
 *   a^m_ij = softmax over j → i of (Q^m_τ(i) h_i)ᵀ (K^m_τ(j) h_j + U^m_r e_ij) / √(d / heads)
 *   z_i = ‖_m Σ_j a^m_ij (V^m_τ(j) h_j + U^m_r e_ij)
 *   h'_i = LN(h_i + O_τ(i) z_i + B gelu(A h_i))      e'_ij = LN(e_ij + W [h'_i ‖ h'_j ‖ e_ij])
 *   y = W_h [mean ‖ max of h] + W_e [mean ‖ max of e] + b
 * Biases are left out of the formulas where every map has one. (Patent, graph attention over nodes and edges; Veličković et al., Graph
 * attention networks, ICLR 2018; Hu et al., Heterogeneous graph transformer, WWW 2020.)
 * MZ_FORM_FLAT reads the mean features of each kind of node and no edge, through two layers of rectified units: beside it one sees what
 * the edges are worth. The loss of both is Σ (y − target)² / rows of the tape, features and targets standardised. */
#pragma once
#include "allocator/graph/graph.h"
#include "networks/parameters/params.h"
#include "networks/tape/tape.h"

enum { MZ_GRAPH_WIDTH = 16, MZ_GRAPH_LAYERS = 2, MZ_GRAPH_HEADS = 4, MZ_GRAPH_FLAT_WIDTH = 64 };

typedef enum mz_graph_form { MZ_FORM_FLAT, MZ_FORM_ATTENTION } mz_graph_form;

/* Adds the parameters, in their order, to an empty list. */
void mz_graph_network_params(mz_params *params, mz_graph_form form);

/* Features and targets less their means, times scales: what networks read and give. */
typedef struct mz_graph_scaling {
  float node_mean[MZ_NODE_KINDS][MZ_GRAPH_NODE_FEATURES], node_scale[MZ_NODE_KINDS][MZ_GRAPH_NODE_FEATURES];
  float edge_mean[MZ_EDGE_KINDS][MZ_GRAPH_EDGE_FEATURES], edge_scale[MZ_EDGE_KINDS][MZ_GRAPH_EDGE_FEATURES];
  float target_mean, target_scale;
} mz_graph_scaling;

/* A tape on CPUs for graphs of at most so many nodes and edges. Its owner is one thread. */
typedef struct mz_graph_tape {
  mz_graph_form form;
  const mz_params *params;
  const mz_graph_scaling *scaling;
  mz_tape *tape;
  int rows, nodes, edges;
  mz_value node_features, edge_features, target, weight, output, loss; /* target, weight: of tapes that train */
  mz_value query[MZ_GRAPH_LAYERS], key[MZ_GRAPH_LAYERS];
  int node_kinds, edge_kinds, from, to; /* index lists */
  float *row[2];                        /* a row of the widest value each, on its way in or out */
  int32_t *list[3];                     /* a row of the longest list each */
  void *block;
} mz_graph_tape;

/* rows: graphs at once. params (mz_graph_network_params) and scaling stay alive. MZ_E_MEMORY. */
mz_status mz_graph_tape_init(mz_graph_tape *tape, mz_graph_form form, const mz_params *params, const mz_graph_scaling *scaling,
                             int rows, int nodes, int edges, bool trains);
void mz_graph_tape_deinit(mz_graph_tape *tape);
/* Makes a graph a row. Nodes and edges that are more than the tape has room for are left out. target: of tapes that train. */
void mz_graph_tape_put(mz_graph_tape *tape, int row, const mz_graph *graph, double target);
/* Runs the first `rows` graphs; values: mz_params' flat vector; out[rows]: y in the targets' unit. */
void mz_graph_tape_run(mz_graph_tape *tape, const float *values, int rows, double *out);
/* After a run, of an attention tape: how much each edge of the row's graph was looked at by the node it leads to, the mean over layers and
 * heads; out[graph's edges], the edges that lead to one node sum to 1. */
void mz_graph_tape_attention(mz_graph_tape *tape, int row, const mz_graph *graph, float *out);
