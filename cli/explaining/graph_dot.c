#include "cli/explaining/graph_labels.h"
#include <math.h>
#include <string.h>

/* Lines, which have no line breaks of their own, become lines of a DOT string. */
static void add_lines(mz_drawing *out, const mz_label *label, int first) {
  char text[MZ_DRAWN_SIZE];
  for (int i = first; i < label->count; i++)
    mz_drawing_add(out, "%s%s", i > first ? "\\n" : "", mz_drawing_dot(label->lines[i], text));
}

static void add_tooltip(mz_drawing *out, const char *features) {
  mz_drawing_add(out, "tooltip=\"");
  for (const char *at = features; *at; at++) {
    if (*at == '\n')
      mz_drawing_add(out, "\\n");
    else
      mz_drawing_add(out, "%c", *at);
  }
  mz_drawing_add(out, "\"");
}

static void add_node(mz_drawing *out, const mz_graph_picture *picture, int node) {
  const mz_graph_node_kind kind = picture->graph->nodes[node].kind;
  const char *colour = mz_graph_node_colour(kind);
  char name[MZ_DRAWN_SIZE], features[MZ_FEATURES_SIZE];
  mz_label label;
  mz_graph_node_label(picture, node, &label);
  mz_drawing_add(out, "  n%d [label=\"%s\\n", node, mz_drawing_dot(mz_graph_node_name(picture, node), name));
  add_lines(out, &label, 0);
  mz_drawing_add(out, "\", color=\"%s\", fillcolor=\"%s30\", ", colour, colour);
  add_tooltip(out, mz_graph_node_features_text(picture->graph, node, features));
  mz_drawing_add(out, "];\n");
}

static void add_networks(mz_drawing *out, const mz_graph_picture *picture) {
  const mz_graph *g = picture->graph;
  const mz_pipeline *p = picture->situation->model->pipeline;
  for (int d = 0; d < p->device_count; d++) {
    bool any = false;
    for (int n = 0; n < g->node_count; n++) {
      if (g->nodes[n].kind != MZ_NODE_NETWORK || g->nodes[n].device != d) continue;
      char name[MZ_DRAWN_SIZE];
      if (!any)
        mz_drawing_add(out, "  subgraph cluster_%d {\n  label=\"networks on %s\"; color=\"#c9bfe0\"; fontsize=11;\n", d,
                       mz_drawing_dot(p->devices[d].name, name));
      any = true;
      add_node(out, picture, n);
    }
    if (any) mz_drawing_add(out, "  }\n");
  }
}

static void add_edge(mz_drawing *out, const mz_graph_picture *picture, int edge) {
  const mz_graph_edge *e = &picture->graph->edges[edge];
  const char *colour = mz_graph_edge_colour(e->kind);
  char features[MZ_FEATURES_SIZE];
  mz_label label;
  mz_graph_edge_label(picture, edge, false, &label);
  mz_drawing_add(out, "  n%d -> n%d [label=\"", e->from, e->to);
  add_lines(out, &label, 0);
  mz_drawing_add(out, "\", color=\"%s\", fontcolor=\"%s\", penwidth=%.2f, %s", colour, colour, mz_graph_edge_width(picture, edge),
                 e->kind == MZ_EDGE_BESIDE ? "style=dashed, constraint=false, " : "");
  add_tooltip(out, mz_graph_edge_features_text(picture->graph, edge, features));
  mz_drawing_add(out, "];\n");
}

void mz_graph_draw_dot(mz_drawing *out, const mz_graph_picture *picture) {
  const mz_graph *g = picture->graph;
  char title[MZ_DRAWN_SIZE];
  mz_drawing_add(
      out,
      "digraph pipeline {\n  rankdir=LR; label=\"%s\"; labelloc=t; fontname=\"sans-serif\"; nodesep=0.35; ranksep=0.7;\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9, arrowsize=0.7];\n",
      mz_drawing_dot(picture->title, title));
  for (int n = 0; n < g->node_count; n++)
    if (g->nodes[n].kind != MZ_NODE_NETWORK) add_node(out, picture, n);
  add_networks(out, picture);
  for (int e = 0; e < g->edge_count; e++)
    if (g->edges[e].kind < (int)MZ_EDGE_REVERSED) add_edge(out, picture, e);
  mz_drawing_add(out, "}\n");
}
