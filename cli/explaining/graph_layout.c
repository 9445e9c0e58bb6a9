#include "cli/explaining/graph_layout.h"
#include <math.h>
#include <string.h>

enum {
  COLUMN_GAP = 128,
  TRACK = 22,       /* between tracks */
  FIRST_TRACK = 26, /* the lowest one over the row */
  CURVES = 140,     /* height between the row and the networks */
  NETWORK_GAP = 18,
  FRAME_PAD = 14,
  FRAME_LABEL = 20,
  FRAME_GAP = 28,
  PORT = 30, /* from a stage's middle to where arrows of networks meet it */
  BESIDE_PORT = 10,
  LABEL_ROOM = 48 /* beside the row, for labels of curves that are wider than half a box */
};

/* An arrow over the row, from the one to the other of two columns. */
typedef struct arc {
  int edge, low, high;
  int track; /* 0: the lowest */
} arc;

typedef struct arrangement {
  mz_graph_layout *out;
  const mz_graph *graph;
  const mz_pipeline *pipeline;
  int row[MZ_GRAPH_NODES_MAX], row_count; /* nodes, from left to right */
  int column[MZ_GRAPH_NODES_MAX];         /* of nodes; −1: networks */
  arc arcs[MZ_GRAPH_EDGES_MAX];
  int arc_count, track_count;
} arrangement;

static bool is_stage(const mz_graph_node *node) { return node->kind != MZ_NODE_STORE && node->kind != MZ_NODE_NETWORK; }
static double middle(const mz_box *box) { return box->x + box->width / 2; }
static bool is_forward(const mz_graph_edge *edge) { return edge->kind < (int)MZ_EDGE_REVERSED; }

/* ---- the row ---- */

static void push(arrangement *p, int node) {
  p->column[node] = p->row_count;
  p->row[p->row_count++] = node;
}

/* Stores that the stage is joined to by edges of the kind, and that have no place yet. */
static void push_stores(arrangement *p, int stage, mz_graph_edge_kind kind, bool unwritten) {
  const mz_graph *g = p->graph;
  for (int e = 0; e < g->edge_count; e++) {
    const mz_graph_edge *edge = &g->edges[e];
    const int store = kind == MZ_EDGE_WRITES ? edge->to : edge->from;
    if (edge->kind != (int)kind || (kind == MZ_EDGE_WRITES ? edge->from : edge->to) != stage || p->column[store] >= 0) continue;
    bool written = false;
    for (int i = 0; i < g->edge_count; i++) written |= g->edges[i].kind == MZ_EDGE_WRITES && g->edges[i].to == store;
    if (!unwritten || !written) push(p, store);
  }
}

static void order_row(arrangement *p) {
  const mz_graph *g = p->graph;
  memset(p->column, -1, sizeof p->column);
  for (int step = 0; step < MZ_STAGES_MAX; step++) {
    for (int n = 0; n < g->node_count; n++) {
      if (!is_stage(&g->nodes[n]) || p->pipeline->stages[g->nodes[n].part].step != step) continue;
      push_stores(p, n, MZ_EDGE_READS, true);
      push(p, n);
      push_stores(p, n, MZ_EDGE_WRITES, false);
    }
  }
  for (int n = 0; n < g->node_count; n++) /* stores that nobody uses */
    if (g->nodes[n].kind == MZ_NODE_STORE && p->column[n] < 0) push(p, n);
}

/* ---- arrows over the row ---- */

static bool shorter(const arc *a, const arc *b) {
  const int of_a = a->high - a->low, of_b = b->high - b->low;
  return of_a != of_b ? of_a < of_b : a->edge < b->edge;
}

static bool meet(const arc *a, const arc *b) {
  const bool loops = a->low == a->high || b->low == b->high; /* a loop stands over the middle of its column */
  return loops ? a->low <= b->high && b->low <= a->high : a->low < b->high && b->low < a->high;
}

/* Short arrows take the lowest tracks that are free: those of long ones then pass over them. */
static void assign_tracks(arrangement *p) {
  for (int i = 1; i < p->arc_count; i++) {
    const arc moved = p->arcs[i];
    int at = i;
    for (; at > 0 && shorter(&moved, &p->arcs[at - 1]); at--) p->arcs[at] = p->arcs[at - 1];
    p->arcs[at] = moved;
  }
  for (int i = 0; i < p->arc_count; i++) {
    arc *a = &p->arcs[i];
    bool taken = true;
    for (a->track = -1; taken;) {
      taken = false;
      a->track++;
      for (int b = 0; b < i; b++) taken |= p->arcs[b].track == a->track && meet(a, &p->arcs[b]);
    }
    if (a->track >= p->track_count) p->track_count = a->track + 1;
  }
}

static void add_arcs(arrangement *p) {
  const mz_graph *g = p->graph;
  bool joined[MZ_GRAPH_NODES_MAX] = {false}; /* a column to the next, by a straight arrow */
  for (int e = 0; e < g->edge_count; e++) {
    const mz_graph_edge *edge = &g->edges[e];
    const int from = p->column[edge->from], to = p->column[edge->to];
    if (!is_forward(edge) || from < 0 || to < 0) continue;
    if (to == from + 1 && !joined[from] && edge->kind != MZ_EDGE_BESIDE) {
      joined[from] = true;
      p->out->routes[e].shape = MZ_ROUTE_STRAIGHT;
      continue;
    }
    p->out->routes[e].shape = MZ_ROUTE_TRACK;
    p->arcs[p->arc_count++] = (arc){.edge = e, .low = from < to ? from : to, .high = from < to ? to : from};
  }
  assign_tracks(p);
}

/* An arrow's end at the top of a node. */
typedef struct port {
  double *x;
  int order;
} port;

/* Ends that come from the left stand left of those from the right, and among both the higher tracks further inside: so no arrow crosses
 * another one of the same node. */
static int order_of(const arrangement *p, const arc *a, int column, bool is_end) {
  const bool from_left = a->low == a->high ? is_end : a->high == column;
  return from_left ? a->track : 2 * p->track_count - a->track;
}

static void spread_ports(port *ports, int count, const mz_box *box) {
  for (int i = 1; i < count; i++) {
    const port moved = ports[i];
    int at = i;
    for (; at > 0 && moved.order < ports[at - 1].order; at--) ports[at] = ports[at - 1];
    ports[at] = moved;
  }
  for (int i = 0; i < count; i++) *ports[i].x = box->x + box->width * (i + 1) / (count + 1);
}

static void route_row(arrangement *p) {
  const mz_graph *g = p->graph;
  for (int n = 0; n < g->node_count; n++) {
    port ports[MZ_GRAPH_EDGES_MAX];
    int count = 0;
    for (int i = 0; i < p->arc_count; i++) {
      const arc *a = &p->arcs[i];
      mz_route *r = &p->out->routes[a->edge];
      if (g->edges[a->edge].from == n) ports[count++] = (port){&r->from_x, order_of(p, a, p->column[n], false)};
      if (g->edges[a->edge].to == n) ports[count++] = (port){&r->to_x, order_of(p, a, p->column[n], true)};
    }
    spread_ports(ports, count, &p->out->nodes[n]);
  }
  const double row_y = p->row_count > 0 ? p->out->nodes[p->row[0]].y : 0;
  for (int i = 0; i < p->arc_count; i++) {
    mz_route *r = &p->out->routes[p->arcs[i].edge];
    r->from_y = r->to_y = row_y;
    r->track_y = row_y - FIRST_TRACK - p->arcs[i].track * TRACK;
    r->label_x = (r->from_x + r->to_x) / 2;
    r->label_y = r->track_y + 4;
  }
  for (int e = 0; e < g->edge_count; e++) {
    mz_route *r = &p->out->routes[e];
    const mz_box *from = &p->out->nodes[g->edges[e].from], *to = &p->out->nodes[g->edges[e].to];
    if (r->shape != MZ_ROUTE_STRAIGHT) continue;
    r->from_x = from->x + from->width;
    r->to_x = to->x;
    r->from_y = r->to_y = from->y + from->height / 2;
    r->label_x = (r->from_x + r->to_x) / 2;
    r->label_y = r->from_y - 8;
  }
}

/* ---- networks ---- */

/* Middle of the stages that run networks of the device. */
static double wanted_x(const arrangement *p, int device) {
  double sum = 0;
  int count = 0;
  for (int e = 0; e < p->graph->edge_count; e++) {
    const mz_graph_edge *edge = &p->graph->edges[e];
    if (edge->kind != MZ_EDGE_RUNS || p->graph->nodes[edge->from].device != device) continue;
    sum += middle(&p->out->nodes[edge->to]);
    count++;
  }
  return count > 0 ? sum / count : 0;
}

static int count_networks(const mz_graph *g, int device) {
  int count = 0;
  for (int n = 0; n < g->node_count; n++) count += g->nodes[n].kind == MZ_NODE_NETWORK && g->nodes[n].device == device;
  return count;
}

static void add_frames(arrangement *p, double y) {
  mz_graph_layout *out = p->out;
  double wanted[MZ_DEVICES_MAX];
  for (int d = 0; d < p->pipeline->device_count; d++) {
    const int count = count_networks(p->graph, d);
    if (count == 0) continue;
    const double width = count * MZ_LAYOUT_NETWORK_WIDTH + (count - 1) * NETWORK_GAP + 2 * FRAME_PAD, x = wanted_x(p, d);
    int at = out->frame_count++;
    for (; at > 0 && x < wanted[at - 1]; at--) {
      wanted[at] = wanted[at - 1];
      out->frames[at] = out->frames[at - 1];
    }
    wanted[at] = x;
    out->frames[at] = (mz_graph_frame){
        .device = d,
        .box = {.y = y, .width = width, .height = MZ_LAYOUT_NETWORK_HEIGHT + 2 * FRAME_PAD + FRAME_LABEL},
    };
  }
  double next = -INFINITY, off = 0;
  for (int i = 0; i < out->frame_count; i++) {
    mz_box *box = &out->frames[i].box;
    box->x = fmax(next, wanted[i] - box->width / 2);
    next = box->x + box->width + FRAME_GAP;
    off += (box->x + box->width / 2 - wanted[i]) / out->frame_count;
  }
  for (int i = 0; i < out->frame_count; i++) out->frames[i].box.x -= off; /* pushed aside to both sides alike */
}

static void place_networks(arrangement *p) {
  for (int i = 0; i < p->out->frame_count; i++) {
    const mz_graph_frame *frame = &p->out->frames[i];
    double x = frame->box.x + FRAME_PAD;
    for (int n = 0; n < p->graph->node_count; n++) {
      const mz_graph_node *node = &p->graph->nodes[n];
      if (node->kind != MZ_NODE_NETWORK || node->device != frame->device) continue;
      p->out->nodes[n] = (mz_box){x, frame->box.y + FRAME_PAD, MZ_LAYOUT_NETWORK_WIDTH, MZ_LAYOUT_NETWORK_HEIGHT};
      x += MZ_LAYOUT_NETWORK_WIDTH + NETWORK_GAP;
    }
  }
}

static bool has_edge(const mz_graph *g, int kind, int from, int to, int before) {
  for (int e = 0; e < before; e++)
    if (g->edges[e].kind == kind && (from < 0 || g->edges[e].from == from) && (to < 0 || g->edges[e].to == to)) return true;
  return false;
}

/* Arrows "run by" meet the stage left of its middle, arrows "trains" leave it on the right. Returns the arrow's x at its network, which is
 * still to be set. */
static double *route_use(arrangement *p, int e) {
  const mz_graph *g = p->graph;
  const mz_graph_edge *edge = &g->edges[e];
  const bool trains = edge->kind == MZ_EDGE_TRAINS;
  const int stage = trains ? edge->from : edge->to;
  const mz_box *box = &p->out->nodes[stage];
  const double side = trains                                                  ? PORT
                      : has_edge(g, MZ_EDGE_TRAINS, stage, -1, g->edge_count) ? -PORT
                                                                              : 0,
               stage_x = middle(box) + side, stage_y = box->y + box->height;
  const bool labelled = trains ? has_edge(g, MZ_EDGE_TRAINS, stage, -1, e) : has_edge(g, MZ_EDGE_RUNS, -1, stage, e);
  mz_route *r = &p->out->routes[e];
  *r = (mz_route){.shape = MZ_ROUTE_CURVE,
                  .label_x = stage_x + (trains ? BESIDE_PORT : -BESIDE_PORT),
                  .label_y = stage_y + MZ_LAYOUT_LINE + 2,
                  .label_side = labelled ? 0
                                : trains ? 1
                                         : -1};
  *(trains ? &r->from_x : &r->to_x) = stage_x;
  *(trains ? &r->from_y : &r->to_y) = stage_y;
  *(trains ? &r->to_y : &r->from_y) = p->out->nodes[trains ? edge->to : edge->from].y;
  return trains ? &r->to_x : &r->from_x;
}

static void route_networks(arrangement *p) {
  const mz_graph *g = p->graph;
  for (int n = 0; n < g->node_count; n++) {
    port ports[MZ_GRAPH_EDGES_MAX];
    int count = 0;
    if (g->nodes[n].kind != MZ_NODE_NETWORK) continue;
    for (int e = 0; e < g->edge_count; e++) {
      const mz_graph_edge *edge = &g->edges[e];
      const bool runs = edge->kind == MZ_EDGE_RUNS && edge->from == n, trains = edge->kind == MZ_EDGE_TRAINS && edge->to == n;
      if (!runs && !trains) continue;
      double *x = route_use(p, e);
      const mz_route *r = &p->out->routes[e];
      ports[count++] = (port){x, (int)lround(trains ? r->from_x : r->to_x)};
    }
    spread_ports(ports, count, &p->out->nodes[n]);
  }
}

/* ---- the whole ---- */

/* Moves all boxes so far that the leftmost stands at the margin. */
static void move_into_page(arrangement *p) {
  mz_graph_layout *out = p->out;
  const double room = out->frame_count > 0 ? LABEL_ROOM : 0;
  double least = INFINITY, most = 0;
  for (int i = 0; i < p->row_count; i++) least = fmin(least, out->nodes[p->row[i]].x - room);
  for (int i = 0; i < out->frame_count; i++) least = fmin(least, out->frames[i].box.x);
  for (int i = 0; i < out->frame_count; i++) {
    mz_box *box = &out->frames[i].box;
    box->x += MZ_LAYOUT_MARGIN - least;
    most = fmax(most, box->x + box->width);
  }
  for (int i = 0; i < p->row_count; i++) {
    mz_box *box = &out->nodes[p->row[i]];
    box->x += MZ_LAYOUT_MARGIN - least;
    most = fmax(most, box->x + box->width + room);
  }
  out->width = most + MZ_LAYOUT_MARGIN;
}

void mz_graph_layout_init(mz_graph_layout *out, const mz_graph *graph, const mz_pipeline *pipeline, double top) {
  *out = (mz_graph_layout){0};
  arrangement p = {.out = out, .graph = graph, .pipeline = pipeline};
  order_row(&p);
  add_arcs(&p);
  const double row_y = top + (p.track_count > 0 ? FIRST_TRACK + p.track_count * TRACK : 0);
  for (int i = 0; i < p.row_count; i++)
    out->nodes[p.row[i]] =
        (mz_box){i * (double)(MZ_LAYOUT_NODE_WIDTH + COLUMN_GAP), row_y, MZ_LAYOUT_NODE_WIDTH, MZ_LAYOUT_NODE_HEIGHT};
  const double networks_y = row_y + MZ_LAYOUT_NODE_HEIGHT + CURVES;
  add_frames(&p, networks_y);
  move_into_page(&p);
  place_networks(&p);
  route_row(&p);
  route_networks(&p);
  out->height = out->frame_count > 0 ? networks_y + out->frames[0].box.height : row_y + MZ_LAYOUT_NODE_HEIGHT;
}
