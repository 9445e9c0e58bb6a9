#include "allocator/graph/graph_features.h"
#include <string.h>

static mz_graph_node_kind kind_of(const mz_pipeline_stage *stage) {
  switch (stage->work) {
    case MZ_WORK_SELFPLAY: return MZ_NODE_WORKERS;
    case MZ_WORK_REANALYZE: return MZ_NODE_BUILDERS;
    case MZ_WORK_TRAINING: return MZ_NODE_TRAINING;
    default: return MZ_NODE_OTHER;
  }
}

/* No pipeline has more (mz_graph_size): every stage and store once, networks on as many devices as there are stages; links, queues,
 * two edges for each use of a network, one for each pair of stages, all with their reverses. */
_Static_assert(MZ_GRAPH_NODES_MAX >= MZ_STORES_MAX + MZ_STAGES_MAX + MZ_NETWORKS_MAX * MZ_STAGES_MAX, "nodes fit");
_Static_assert(MZ_GRAPH_EDGES_MAX >= 2 * (MZ_LINKS_MAX + MZ_QUEUES_MAX + 2 * MZ_NETWORKS_MAX * MZ_STAGES_MAX +
                                          MZ_STAGES_MAX * (MZ_STAGES_MAX - 1) / 2),
               "edges fit");

static int add_node(mz_graph *g, mz_graph_node_kind kind, int part, int device) {
  g->nodes[g->node_count] = (mz_graph_node){.kind = kind, .part = part, .device = device};
  return g->node_count++;
}

/* An edge and its reverse, with the same features. */
static void add_edge(mz_graph *g, mz_graph_edge_kind kind, int from, int to, const mz_graph_edge *like) {
  if (from < 0 || to < 0) return;
  for (int reversed = 0; reversed < 2; reversed++) {
    mz_graph_edge *e = &g->edges[g->edge_count++];
    *e = *like;
    e->kind = (int)kind + reversed * MZ_EDGE_REVERSED;
    e->from = reversed ? to : from;
    e->to = reversed ? from : to;
  }
}

/* ---- nodes ---- */

typedef struct places { /* of parts among the nodes; −1: none */
  int stage[MZ_STAGES_MAX], store[MZ_STORES_MAX], network[MZ_NETWORKS_MAX][MZ_DEVICES_MAX];
} places;

static void add_stages(mz_graph *g, const mz_pipeline *p, const mz_plan *plan, places *at) {
  for (int i = 0; i < p->store_count; i++) at->store[i] = add_node(g, MZ_NODE_STORE, i, -1);
  for (int s = 0; s < p->stage_count; s++) {
    const mz_pipeline_stage *stage = &p->stages[s];
    at->stage[s] = stage->apart ? -1 : add_node(g, kind_of(stage), s, mz_stage_device(p, s, plan));
  }
}

/* A network is there once on every device on which some stage runs it. */
static void add_networks(mz_graph *g, const mz_pipeline *p, const mz_plan *plan, places *at) {
  for (int n = 0; n < p->network_count; n++) {
    for (int s = 0; s < p->stage_count; s++) {
      const int device = mz_stage_device(p, s, plan);
      if (at->stage[s] < 0 || !(p->networks[n].users >> s & 1) || at->network[n][device] >= 0) continue;
      at->network[n][device] = add_node(g, MZ_NODE_NETWORK, n, device);
    }
  }
}

/* ---- edges ---- */

static void add_flows(mz_graph *g, const mz_graph_costs *costs, const places *at) {
  const mz_pipeline *p = costs->pipeline;
  mz_graph_edge like;
  for (int i = 0; i < p->link_count; i++) {
    const mz_pipeline_link *link = &p->links[i];
    const int stage = at->stage[link->stage], store = at->store[link->store];
    mz_graph_link_features(&like, costs, link);
    if (link->writes)
      add_edge(g, MZ_EDGE_WRITES, stage, store, &like);
    else
      add_edge(g, MZ_EDGE_READS, store, stage, &like);
  }
  for (int q = 0; q < p->queue_count; q++) {
    mz_graph_queue_features(&like, costs, q);
    add_edge(g, MZ_EDGE_QUEUE, at->stage[p->queues[q].from], at->stage[p->queues[q].to], &like);
  }
}

static void add_uses(mz_graph *g, const mz_graph_costs *costs, const places *at) {
  const mz_pipeline *p = costs->pipeline;
  for (int n = 0; n < p->network_count; n++) {
    for (int s = 0; s < p->stage_count; s++) {
      if (at->stage[s] < 0 || !(p->networks[n].users >> s & 1)) continue;
      const int network = at->network[n][mz_stage_device(p, s, costs->plan)];
      mz_graph_edge like;
      mz_graph_use_features(&like, costs, s, n);
      add_edge(g, MZ_EDGE_RUNS, network, at->stage[s], &like);
      if (p->stages[s].work == MZ_WORK_TRAINING) add_edge(g, MZ_EDGE_TRAINS, at->stage[s], network, &like);
    }
  }
}

static void add_meetings(mz_graph *g, const mz_graph_costs *costs, const places *at) {
  const mz_pipeline *p = costs->pipeline;
  for (int a = 0; a < p->stage_count; a++) {
    for (int b = 0; b < p->stage_count; b++) {
      const int step = p->stages[b].step - p->stages[a].step;
      const bool together = mz_stage_device(p, a, costs->plan) == mz_stage_device(p, b, costs->plan);
      mz_graph_edge like;
      if (at->stage[a] < 0 || at->stage[b] < 0) continue;
      mz_graph_pair_features(&like, costs, a, b);
      if (step == 0 && a < b && together) add_edge(g, MZ_EDGE_BESIDE, at->stage[a], at->stage[b], &like);
      if (step == 1) add_edge(g, MZ_EDGE_BEFORE, at->stage[a], at->stage[b], &like);
    }
  }
}

void mz_graph_init(mz_graph *g, const mz_graph_situation *situation, const mz_plan *plan) {
  mz_graph_costs costs;
  places at;
  g->node_count = g->edge_count = 0;
  memset(&at, -1, sizeof at);
  mz_graph_costs_init(&costs, situation, plan);
  add_stages(g, costs.pipeline, plan, &at);
  add_networks(g, costs.pipeline, plan, &at);
  for (int i = 0; i < g->node_count; i++) mz_graph_node_features(&g->nodes[i], &costs);
  add_flows(g, &costs, &at);
  add_uses(g, &costs, &at);
  add_meetings(g, &costs, &at);
}

static int least(int a, int b) { return a < b ? a : b; }

void mz_graph_size(const mz_pipeline *p, int *nodes, int *edges) {
  int stages = 0, of_networks = 0, uses = 0, meetings = 0;
  for (int s = 0; s < p->stage_count; s++) {
    stages += !p->stages[s].apart;
    for (int b = 0; b < p->stage_count; b++) {
      const int step = p->stages[b].step - p->stages[s].step;
      meetings += !p->stages[s].apart && !p->stages[b].apart && (step == 1 || (step == 0 && s < b));
    }
  }
  for (int n = 0; n < p->network_count; n++) {
    int users = 0;
    for (int s = 0; s < p->stage_count; s++) {
      if (p->stages[s].apart || !(p->networks[n].users >> s & 1)) continue;
      users++;
      uses += p->stages[s].work == MZ_WORK_TRAINING ? 2 : 1;
    }
    of_networks += least(users, p->device_count);
  }
  *nodes = p->store_count + stages + of_networks;
  *edges = 2 * (p->link_count + p->queue_count + uses + meetings);
}

/* ---- names ---- */

const char *mz_graph_node_kind_name(mz_graph_node_kind kind) {
  static const char *const names[MZ_NODE_KINDS] = {"store", "workers", "builders", "training", "other", "network"};
  return names[kind];
}

const char *mz_graph_edge_kind_name(int kind) {
  static const char *const names[MZ_EDGE_KINDS] = {"writes", "read by",    "feeds",        "run by", "trains",
                                                   "beside", "before",     "written by",   "reads",  "fed by",
                                                   "runs",   "trained by", "beside, back", "after"};
  return names[kind];
}
