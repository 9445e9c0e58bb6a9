/* The layout of a pipeline's graph: places of boxes and arrows in pixels, x to the right and y down. Stages and stores stand in one row
 * from left to right: stages in the order of their steps, a store behind the first stage that writes it. Networks stand below, in a frame
 * for each device, near the stages that run them. An edge and its reverse are one arrow. Arrows between the row's neighbours are
 * straight; the others go over the row, each on a track of its own height where they would meet; those between networks and stages are
 * curves. No two boxes, and no box and label, overlap. A pure function of the graph. */
#pragma once
#include "allocator/graph/graph.h"

enum {
  MZ_LAYOUT_MARGIN = 24,
  MZ_LAYOUT_NODE_WIDTH = 176,
  MZ_LAYOUT_NODE_HEIGHT = 88,
  MZ_LAYOUT_NETWORK_WIDTH = 148,
  MZ_LAYOUT_NETWORK_HEIGHT = 64,
  MZ_LAYOUT_LINE = 14 /* from one line of small text to the next */
};

typedef struct mz_box {
  double x, y, width, height; /* x, y: of the upper left corner */
} mz_box;

typedef enum mz_route_shape {
  MZ_ROUTE_NONE,     /* of a reverse: drawn with its edge */
  MZ_ROUTE_STRAIGHT, /* to the right; its label ends above the middle, or stands between the boxes */
  MZ_ROUTE_TRACK,    /* up, along the track, down */
  MZ_ROUTE_CURVE     /* begins and ends upright */
} mz_route_shape;

typedef struct mz_route {
  mz_route_shape shape;
  double from_x, from_y, to_x, to_y;
  double track_y;          /* MZ_ROUTE_TRACK */
  double label_x, label_y; /* of the label's last line (STRAIGHT, TRACK: centred) or first line (CURVE) */
  /* CURVE: arrows of one kind meet at their stage, and the first of them has the label of all. −1: it ends at label_x, 1: begins there;
   * 0: another one has it. */
  int label_side;
} mz_route;

typedef struct mz_graph_frame {
  mz_box box;
  int device;
} mz_graph_frame;

typedef struct mz_graph_layout {
  double width, height;                  /* of the picture */
  mz_box nodes[MZ_GRAPH_NODES_MAX];      /* by node */
  mz_route routes[MZ_GRAPH_EDGES_MAX];   /* by edge */
  mz_graph_frame frames[MZ_DEVICES_MAX]; /* of networks */
  int frame_count;
} mz_graph_layout;

/* Places all parts. top: pixels to leave free, for a title. */
void mz_graph_layout_init(mz_graph_layout *layout, const mz_graph *graph, const mz_pipeline *pipeline, double top);
