/* The features of a graph's nodes and edges. Shared by graph*.c. */
#pragma once
#include "allocator/graph/graph.h"
#include "allocator/model/analytic_parts.h"

/* All features of a plan are computed from this. */
typedef struct mz_graph_costs {
  const mz_graph_situation *situation;
  const mz_pipeline *pipeline;
  const mz_plan *plan;
  mz_analytic_parts parts;
  double unit_s;                 /* T_ana; 1 where the model does not explain */
  double busy_s[MZ_DEVICES_MAX]; /* by device: CPU seconds of all stages whose threads run there, or seconds of a GPU */
} mz_graph_costs;

void mz_graph_costs_init(mz_graph_costs *costs, const mz_graph_situation *situation, const mz_plan *plan);
void mz_graph_node_features(mz_graph_node *node, const mz_graph_costs *costs);
/* Fill in an edge but its kind and its ends. */
void mz_graph_link_features(mz_graph_edge *edge, const mz_graph_costs *costs, const mz_pipeline_link *link);
void mz_graph_queue_features(mz_graph_edge *edge, const mz_graph_costs *costs, int queue);
void mz_graph_use_features(mz_graph_edge *edge, const mz_graph_costs *costs, int stage, int network);
void mz_graph_pair_features(mz_graph_edge *edge, const mz_graph_costs *costs, int from, int to);
