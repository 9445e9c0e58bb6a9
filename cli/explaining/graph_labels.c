#include "cli/explaining/graph_labels.h"
#include "cli/print.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

static const mz_pipeline *pipeline_of(const mz_graph_picture *picture) { return picture->situation->model->pipeline; }

__attribute__((format(printf, 2, 3))) static void add_line(mz_label *label, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(label->lines[label->count++], MZ_LABEL_SIZE, format, arguments);
  va_end(arguments);
}

/* ---- nodes ---- */

const char *mz_graph_node_name(const mz_graph_picture *picture, int node) {
  const mz_pipeline *p = pipeline_of(picture);
  const mz_graph_node *n = &picture->graph->nodes[node];
  switch (n->kind) {
    case MZ_NODE_STORE: return p->stores[n->part].name;
    case MZ_NODE_NETWORK: return p->networks[n->part].name;
    default: return p->stages[n->part].name;
  }
}

double mz_graph_node_share(const mz_graph_picture *picture, int node) {
  const mz_graph_node *n = &picture->graph->nodes[node];
  if (n->kind == MZ_NODE_STORE || n->kind == MZ_NODE_NETWORK) return NAN;
  mz_analysis analysis;
  mz_analytic_explain(picture->situation->model, picture->plan, &analysis);
  const double share = analysis.demand_s[n->part] / mz_analytic_predict(picture->situation->model, picture->plan).unit_s;
  return isfinite(share) && share > 0 ? share : NAN;
}

static void label_stage(const mz_graph_picture *picture, int node, mz_label *out) {
  const mz_pipeline *p = pipeline_of(picture);
  const int stage = picture->graph->nodes[node].part;
  const int64_t threads = mz_stage_threads(p, stage, picture->plan);
  const double share = mz_graph_node_share(picture, node);
  char batch[48] = "";
  if (p->stages[stage].batch >= 0)
    snprintf(batch, sizeof batch, " · batch %lld", (long long)mz_stage_batch(p, stage, picture->plan));
  add_line(out, "%lld thread%s%s", (long long)threads, mz_plural(threads), batch);
  if (isfinite(share)) add_line(out, share < 0.005 ? "under 1 %% of a unit" : "%.0f %% of a unit", 100 * share);
}

static void label_network(const mz_pipeline_network *network, mz_label *out) {
  char text[MZ_TEXT_SIZE];
  add_line(out, "%s parameters", mz_text_count(network->parameters, text));
  add_line(out, "%s FLOP an item", mz_text_count(network->flops, text));
}

static void label_store(const mz_graph_picture *picture, int store, mz_label *out) {
  const mz_pipeline *p = pipeline_of(picture);
  char text[MZ_TEXT_SIZE];
  const double whole = p->stores[store].bytes, needed = mz_store_bytes(p, store, picture->plan);
  add_line(out, "%s of memory", mz_text_bytes(needed, text));
  if (needed < whole) add_line(out, "for %s unpacked", mz_text_bytes(whole, text));
}

void mz_graph_node_label(const mz_graph_picture *picture, int node, mz_label *out) {
  const mz_pipeline *p = pipeline_of(picture);
  const mz_graph_node *n = &picture->graph->nodes[node];
  const char *kind = mz_graph_node_kind_name(n->kind);
  out->count = 0;
  if (n->device >= 0)
    add_line(out, "%s · %s", kind, p->devices[n->device].name);
  else
    add_line(out, "%s", kind);
  switch (n->kind) {
    case MZ_NODE_STORE: label_store(picture, n->part, out); break;
    case MZ_NODE_NETWORK: label_network(&p->networks[n->part], out); break;
    default: label_stage(picture, node, out); break;
  }
}

/* ---- edges ---- */

/* Edges of one kind between one stage and its networks. */
static bool alike(const mz_graph_edge *a, const mz_graph_edge *b) {
  return a->kind == b->kind && (a->kind == MZ_EDGE_RUNS ? a->to == b->to : a->from == b->from);
}

/* Features are floats: what was a whole number is again one. */
static double rounded(double items) { return fabs(items - round(items)) < 1e-4 * items ? round(items) : items; }

void mz_graph_edge_label(const mz_graph_picture *picture, int edge, bool together, mz_label *out) {
  const mz_graph *g = picture->graph;
  const mz_graph_edge *e = &g->edges[edge];
  const double items = rounded(mz_graph_edge_items(e));
  double bytes = together ? 0 : mz_graph_edge_bytes(e);
  for (int i = 0; together && i < g->edge_count; i++)
    if (alike(&g->edges[i], e)) bytes += mz_graph_edge_bytes(&g->edges[i]);
  char text[MZ_TEXT_SIZE];
  out->count = 0;
  add_line(out, "%s", mz_graph_edge_kind_name(e->kind));
  if (items > 0) add_line(out, "%s item%s", mz_text_count(items, text), mz_plural(items));
  if (bytes > 0) add_line(out, "%s", mz_text_bytes(bytes, text));
}

double mz_graph_edge_attention(const mz_graph_picture *picture, int edge) {
  if (!picture->attention) return NAN;
  const double forward = (double)picture->attention[edge], back = (double)picture->attention[edge + 1];
  return fmin(fmax(fmax(forward, back), 0), 1);
}

double mz_graph_edge_width(const mz_graph_picture *picture, int edge) {
  const double attention = mz_graph_edge_attention(picture, edge), plain = 1.4, thin = 0.6, thick = 6;
  return isfinite(attention) ? thin + (thick - thin) * attention : plain;
}

/* ---- features ---- */

__attribute__((format(printf, 3, 4))) static void append(char out[MZ_FEATURES_SIZE], size_t *used, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(out + *used, MZ_FEATURES_SIZE - *used, format, arguments);
  va_end(arguments);
  *used += (size_t)length;
  MZ_ASSERT(*used < MZ_FEATURES_SIZE); /* 32 features of at most 24 letters and a number */
}

const char *mz_graph_node_features_text(const mz_graph *graph, int node, char out[MZ_FEATURES_SIZE]) {
  const mz_graph_node *n = &graph->nodes[node];
  const char *name;
  size_t used = 0;
  out[0] = '\0';
  for (int f = 0; (name = mz_graph_node_feature_name(n->kind, f)); f++)
    append(out, &used, "%s%s %.4g", f > 0 ? "\n" : "", name, (double)n->features[f]);
  return out;
}

const char *mz_graph_edge_features_text(const mz_graph *graph, int edge, char out[MZ_FEATURES_SIZE]) {
  const char *name;
  size_t used = 0;
  out[0] = '\0';
  for (int f = 0; (name = mz_graph_edge_feature_name(f)); f++)
    append(out, &used, "%s%s %.4g", f > 0 ? "\n" : "", name, (double)graph->edges[edge].features[f]);
  return out;
}

/* ---- colours ---- */

const char *mz_graph_node_colour(mz_graph_node_kind kind) {
  static const char *const colours[MZ_NODE_KINDS] = {
      [MZ_NODE_STORE] = "#b97f27",    [MZ_NODE_WORKERS] = "#3274bd", [MZ_NODE_BUILDERS] = "#2f8f60",
      [MZ_NODE_TRAINING] = "#dd6b20", [MZ_NODE_OTHER] = "#708096",   [MZ_NODE_NETWORK] = "#8458c6",
  };
  return colours[kind];
}

const char *mz_graph_edge_colour(int kind) {
  static const char *const colours[MZ_EDGE_REVERSED] = {
      [MZ_EDGE_WRITES] = "#c2418f", [MZ_EDGE_READS] = "#b97f27",  [MZ_EDGE_QUEUE] = "#2f8f60",  [MZ_EDGE_RUNS] = "#8458c6",
      [MZ_EDGE_TRAINS] = "#dd6b20", [MZ_EDGE_BESIDE] = "#8a94a0", [MZ_EDGE_BEFORE] = "#708096",
  };
  return colours[kind];
}
