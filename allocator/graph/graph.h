/* A pipeline under a plan as a heterogeneous graph: what a graph network predicts its time from. Nodes are the instances that work:
 * stores, pools of self-play workers, pools that build batches, training loops, other stages, and each network once for every device
 * on which some stage runs it. Edges are what flows between them, each with its reverse. Stages that are apart are left out.
 *
 * Features are what is known before the plan runs: its knobs, the devices, the pipeline's amounts, what the analytic model makes of the
 * stages' costs, and how the newest window went (under whatever plan). They are logarithms and shares of order one; one that may be
 * missing has a bit beside it that says so, and is 0 then. (Patent, graph of components; the features are our choice.)
 * Plain structs, no memory of their own, deterministic. */
#pragma once
#include "allocator/model/analytic.h"

enum { MZ_GRAPH_NODES_MAX = 64, MZ_GRAPH_EDGES_MAX = 384, MZ_GRAPH_NODE_FEATURES = 48, MZ_GRAPH_EDGE_FEATURES = 16 };

typedef enum mz_graph_node_kind {
  MZ_NODE_STORE,
  MZ_NODE_WORKERS,  /* of self-play */
  MZ_NODE_BUILDERS, /* of batches, searching anew */
  MZ_NODE_TRAINING,
  MZ_NODE_OTHER, /* stages of no known kind */
  MZ_NODE_NETWORK,
  MZ_NODE_KINDS
} mz_graph_node_kind;

/* Kinds of edges; + MZ_EDGE_REVERSED: from its end to its beginning. An edge is followed by its reverse. */
typedef enum mz_graph_edge_kind {
  MZ_EDGE_WRITES, /* stage → store */
  MZ_EDGE_READS,  /* store → stage */
  MZ_EDGE_QUEUE,  /* producer → consumer */
  MZ_EDGE_RUNS,   /* network → stage that runs it */
  MZ_EDGE_TRAINS, /* training loop → network */
  MZ_EDGE_BESIDE, /* stages of one step on one device: the cores of one are not the other's */
  MZ_EDGE_BEFORE, /* stage → stage of the next step */
  MZ_EDGE_REVERSED,
  MZ_EDGE_KINDS = 2 * MZ_EDGE_REVERSED
} mz_graph_edge_kind;

typedef struct mz_graph_node {
  mz_graph_node_kind kind;
  int part, device; /* index of the store, stage or network; of the device it runs on, −1: none */
  float features[MZ_GRAPH_NODE_FEATURES];
} mz_graph_node;

typedef struct mz_graph_edge {
  int kind; /* mz_graph_edge_kind, reversed or not */
  int from, to;
  float features[MZ_GRAPH_EDGE_FEATURES];
} mz_graph_edge;

typedef struct mz_graph {
  int node_count, edge_count;
  mz_graph_node nodes[MZ_GRAPH_NODES_MAX];
  mz_graph_edge edges[MZ_GRAPH_EDGES_MAX];
} mz_graph;

/* All that is known besides the plan. */
typedef struct mz_graph_situation {
  const mz_analytic *model; /* of the pipeline, fitted to what was measured or to probes alone */
  bool explained; /* features say what T_ana predicts; false: only what its stages cost, nothing of how they go together */
  const mz_observation *newest; /* NULL: nothing was measured yet */
} mz_graph_situation;

void mz_graph_init(mz_graph *graph, const mz_graph_situation *situation, const mz_plan *plan);
/* Gives numbers of nodes and edges that no plan of the pipeline exceeds. */
void mz_graph_size(const mz_pipeline *pipeline, int *nodes, int *edges);

/* Return what flows along an edge in a unit of work, from its features: 0 where nothing does. */
double mz_graph_edge_items(const mz_graph_edge *edge);
double mz_graph_edge_bytes(const mz_graph_edge *edge);

const char *mz_graph_node_kind_name(mz_graph_node_kind kind); /* "store", "workers", … */
/* Returns what an edge's beginning is or does to its end: a stage "writes" a store, a network is "run by" a stage; reversed, the store
 * is "written by" the stage, the stage "runs" the network. All differ. */
const char *mz_graph_edge_kind_name(int kind);
/* Return the name of a feature; NULL past the last one of the kind. */
const char *mz_graph_node_feature_name(mz_graph_node_kind kind, int feature);
const char *mz_graph_edge_feature_name(int feature);
