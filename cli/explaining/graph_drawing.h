/* Pictures of a pipeline under a plan, as the graph that predictors read (allocator/graph/graph.h). An edge and its reverse, which have
 * the same features, are one arrow in the direction in which things flow. Names are shown as mz_text_printable has them. */
#pragma once
#include "allocator/graph/graph.h"
#include "cli/explaining/drawing.h"

typedef struct mz_graph_picture {
  const mz_graph *graph;
  const mz_graph_situation *situation; /* that the graph was made from … */
  const mz_plan *plan;                 /* … with this plan */
  /* [edge_count], 0 … 1: how much a predictor looked along each edge, which is how wide arrows are drawn (that of the edge or of its
   * reverse, whichever is more). NULL: no predictor over graphs was asked, and all arrows are of one width. */
  const float *attention;
  const char *title;
} mz_graph_picture;

/* Draws by a layout of our own (graph_layout.h), for light and for dark pages. Nodes and arrows have their features as tooltips. */
void mz_graph_draw_svg(mz_drawing *out, const mz_graph_picture *picture);
/* Writes the graph for Graphviz, networks in a cluster for each device. */
void mz_graph_draw_dot(mz_drawing *out, const mz_graph_picture *picture);
