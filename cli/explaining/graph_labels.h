/* The words on pictures of a pipeline's graph, as plain text: names are as the pipeline has them, and are yet to be made fit for the
 * language of the picture (drawing.h). */
#pragma once
#include "cli/explaining/graph_drawing.h"

enum { MZ_LABEL_LINES = 3, MZ_LABEL_SIZE = 96, MZ_FEATURES_SIZE = 2048 };

typedef struct mz_label {
  int count;
  char lines[MZ_LABEL_LINES][MZ_LABEL_SIZE];
} mz_label;

/* Returns the name of the store, stage or network. */
const char *mz_graph_node_name(const mz_graph_picture *picture, int node);
/* Writes the lines below the name: kind and device; threads, batch, bytes, parameters …; a stage's share of the unit's time. */
void mz_graph_node_label(const mz_graph_picture *picture, int node, mz_label *out);
/* Returns the time that a stage takes alone, over the unit's, by the analytic model; NAN: unknown, or no stage. */
double mz_graph_node_share(const mz_graph_picture *picture, int node);
/* Writes the lines kind, items and bytes per unit of work. together: bytes of all networks that the edge's stage runs (or trains), in
 * sum. */
void mz_graph_edge_label(const mz_graph_picture *picture, int edge, bool together, mz_label *out);
/* Returns how wide the arrow of an edge and its reverse is, in pixels: by attention, where there is any. */
double mz_graph_edge_width(const mz_graph_picture *picture, int edge);
/* Returns the attention along an edge or its reverse, whichever is more; NAN without attention. */
double mz_graph_edge_attention(const mz_graph_picture *picture, int edge);
/* Writes all features of a node or an edge as "NAME VALUE", a line each. Returns out. */
const char *mz_graph_node_features_text(const mz_graph *graph, int node, char out[MZ_FEATURES_SIZE]);
const char *mz_graph_edge_features_text(const mz_graph *graph, int edge, char out[MZ_FEATURES_SIZE]);
/* Return the colours that all pictures use: "#3274bd". */
const char *mz_graph_node_colour(mz_graph_node_kind kind); /* of its border */
const char *mz_graph_edge_colour(int kind);                /* of one that is not reversed */
