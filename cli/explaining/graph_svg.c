#include "base/text.h"
#include "cli/explaining/graph_labels.h"
#include "cli/explaining/graph_layout.h"
#include <math.h>
#include <string.h>

enum {
  TOP = 64,
  NAME_LETTERS = 19,
  LINE_LETTERS = 27,
  LEGEND_ROW = 22,
  LEGEND_GAP = 26,
  LEAST_WIDTH = 720,
  HEAD = 7,
  CORNER = 8
};
static const double LETTER = 6.1; /* mean width of a small letter */
static const char DASHES[] = " stroke-dasharray=\"5 4\"";

/* The page decides what is behind the picture; where it asks for dark pages, boxes and letters follow. */
static const char style[] = "<style>\n"
                            ".paper{fill:#ffffff}.ink{fill:#1f2933}.faint{fill:#5b6673}.frame{fill:#f6f4fb;stroke:#c9bfe0}\n"
                            ".store{fill:#fdf3d7}.workers{fill:#dfecfa}.builders{fill:#ddf3e4}.training{fill:#fde8d7}"
                            ".other{fill:#e8edf2}.network{fill:#ece4f8}.bar{fill:#00000018}\n"
                            ".small{font-size:11px}.name{font-size:14px;font-weight:bold}\n"
                            "@media (prefers-color-scheme:dark){\n"
                            ".paper{fill:#14181d}.ink{fill:#e8ecf0}.faint{fill:#a3adb8}.frame{fill:#1c1a24;stroke:#4a3f66}\n"
                            ".store{fill:#3a2e12}.workers{fill:#16304c}.builders{fill:#15372a}.training{fill:#46280f}"
                            ".other{fill:#28313b}.network{fill:#2d2344}.bar{fill:#ffffff22}\n"
                            "}\n</style>\n";

typedef struct canvas {
  mz_drawing *out;
  const mz_graph_picture *picture;
  mz_graph_layout layout;
} canvas;

/* ---- text ---- */

/* At most so many letters of it; what is cut ends in "…". */
static const char *clipped(const char *text, int letters, char out[MZ_DRAWN_SIZE]) {
  char shown[MZ_DRAWN_SIZE];
  mz_text_printable(text, shown, sizeof shown - 4);
  size_t at = 0, end = 0; /* end: behind all letters but the last one */
  uint32_t code;
  for (int i = 0; i < letters && shown[at]; i++) {
    end = at;
    at += mz_text_character(shown + at, &code);
  }
  if (shown[at]) memcpy(shown + end, "…", sizeof "…");
  return mz_drawing_xml(shown, out);
}

static int letters_of(const char *text) {
  int count = 0;
  for (; *text; text++) count += (*text & 0xC0) != 0x80;
  return count;
}

/* Text on a piece of paper, so that no arrow behind crosses it. side: −1: it ends at x, 0: x is its middle, 1: it begins there. */
static void draw_note(canvas *c, double x, double y, int side, const char *text, const char *colour) {
  static const char *const anchors[] = {"end", "middle", "start"};
  char escaped[MZ_DRAWN_SIZE];
  const double edge = 3, width = LETTER * letters_of(text) + 2 * edge,
               left = side < 0   ? x - width + edge
                      : side > 0 ? x - edge
                                 : x - width / 2;
  mz_drawing_add(c->out, "<rect class=\"paper\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\"/>", left, y - 11, width);
  mz_drawing_add(c->out, "<text class=\"small\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", colour, x, y,
                 anchors[side + 1], mz_drawing_xml(text, escaped));
}

/* ---- nodes ---- */

static void draw_frames(canvas *c) {
  const mz_pipeline *p = c->picture->situation->model->pipeline;
  for (int i = 0; i < c->layout.frame_count; i++) {
    const mz_box *box = &c->layout.frames[i].box;
    char name[MZ_DRAWN_SIZE];
    mz_drawing_add(c->out, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", box->x,
                   box->y, box->width, box->height);
    mz_drawing_add(c->out, "<text class=\"faint small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">networks on %s</text>\n",
                   box->x + box->width / 2, box->y + box->height - 11,
                   clipped(p->devices[c->layout.frames[i].device].name, NAME_LETTERS, name));
  }
}

/* A bar below the text: the stage's time, and behind it the unit's. */
static void draw_share(canvas *c, int node) {
  const double share = mz_graph_node_share(c->picture, node);
  const mz_box *box = &c->layout.nodes[node];
  const double x = box->x + 12, y = box->y + box->height - 10, width = box->width - 24;
  if (!isfinite(share)) return;
  mz_drawing_add(c->out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"4\" rx=\"2\"/>", x, y, width);
  mz_drawing_add(c->out, "<rect fill=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"4\" rx=\"2\"/>\n",
                 mz_graph_node_colour(c->picture->graph->nodes[node].kind), x, y, width * fmin(share, 1));
}

static void draw_node(canvas *c, int node) {
  const mz_graph_node *n = &c->picture->graph->nodes[node];
  const mz_box *box = &c->layout.nodes[node];
  const char *kind = mz_graph_node_kind_name(n->kind), *name = mz_graph_node_name(c->picture, node);
  char text[MZ_DRAWN_SIZE], features[MZ_FEATURES_SIZE];
  mz_label label;
  mz_graph_node_label(c->picture, node, &label);
  mz_drawing_add(c->out, "<g><title>%s (%s)\n%s</title>\n", mz_drawing_xml(name, text), kind,
                 mz_graph_node_features_text(c->picture->graph, node, features));
  mz_drawing_add(
      c->out,
      "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"7\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
      kind, box->x, box->y, box->width, box->height, mz_graph_node_colour(n->kind));
  const bool is_network = n->kind == MZ_NODE_NETWORK;
  const int first = is_network; /* a network's first line is that of its frame */
  const double x = box->x + box->width / 2;
  double y = box->y + (is_network ? 19 : 22);
  mz_drawing_add(c->out, "<text class=\"ink name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, y,
                 clipped(name, is_network ? NAME_LETTERS - 3 : NAME_LETTERS, text));
  for (int i = first; i < label.count; i++) {
    y += i == first ? MZ_LAYOUT_LINE + 3 : MZ_LAYOUT_LINE + 1;
    mz_drawing_add(c->out, "<text class=\"%s small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                   i == 0 ? "faint" : "ink", x, y, clipped(label.lines[i], LINE_LETTERS, text));
  }
  draw_share(c, node);
  mz_drawing_add(c->out, "</g>\n");
}

/* ---- arrows ---- */

/* Returns the length of an arrow's head. */
static double head_of(double width) { return 5 + 1.5 * width; }

/* dx, dy: the direction in which it points, of length 1. */
static void draw_head(canvas *c, double x, double y, double dx, double dy, double width, const char *colour) {
  const double head = head_of(width), side = head * 0.55;
  mz_drawing_add(c->out, "<polygon fill=\"%s\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n", colour, x, y,
                 x - head * dx - side * dy, y - head * dy + side * dx, x - head * dx + side * dy, y - head * dy - side * dx);
}

/* The line ends inside of the head. */
static void draw_line(canvas *c, const mz_route *r, double width) {
  const double turn = r->to_x < r->from_x ? -1 : 1, corner = fmin(CORNER, fabs(r->to_x - r->from_x) / 2),
               head = head_of(width) - 1;
  /* Near its stage, where the label is, a curve is upright for longer than near the network below. */
  const double high = fmin(r->from_y, r->to_y), tall = fabs(r->to_y - r->from_y), bend = high + 0.9 * tall,
               middle = high + 0.5 * tall;
  const bool up = r->to_y < r->from_y;
  switch (r->shape) {
    case MZ_ROUTE_STRAIGHT: mz_drawing_add(c->out, "M%.1f,%.1fH%.1f", r->from_x, r->from_y, r->to_x - head); break;
    case MZ_ROUTE_TRACK:
      mz_drawing_add(c->out, "M%.1f,%.1fV%.1fQ%.1f,%.1f %.1f,%.1f", r->from_x, r->from_y, r->track_y + corner, r->from_x,
                     r->track_y, r->from_x + turn * corner, r->track_y);
      mz_drawing_add(c->out, "H%.1fQ%.1f,%.1f %.1f,%.1fV%.1f", r->to_x - turn * corner, r->to_x, r->track_y, r->to_x,
                     r->track_y + corner, r->to_y - head);
      break;
    default:
      mz_drawing_add(c->out, "M%.1f,%.1fC%.1f,%.1f %.1f,%.1f %.1f,%.1f", r->from_x, r->from_y, r->from_x, up ? middle : bend,
                     r->to_x, up ? bend : middle, r->to_x, r->to_y + (up ? head : -head));
  }
}

static void draw_arrow(canvas *c, int edge) {
  const mz_graph_edge *e = &c->picture->graph->edges[edge];
  const mz_route *r = &c->layout.routes[edge];
  const char *colour = mz_graph_edge_colour(e->kind);
  const double attention = mz_graph_edge_attention(c->picture, edge), width = mz_graph_edge_width(c->picture, edge);
  char from[MZ_DRAWN_SIZE], to[MZ_DRAWN_SIZE], features[MZ_FEATURES_SIZE], looked[48] = "";
  if (isfinite(attention)) snprintf(looked, sizeof looked, "attention %.3f\n", attention);
  mz_drawing_add(c->out, "<g><title>%s %s %s\n%s%s</title>\n", mz_drawing_xml(mz_graph_node_name(c->picture, e->from), from),
                 mz_graph_edge_kind_name(e->kind), mz_drawing_xml(mz_graph_node_name(c->picture, e->to), to), looked,
                 mz_graph_edge_features_text(c->picture->graph, edge, features));
  mz_drawing_add(c->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.2f\"%s d=\"", colour, width,
                 e->kind == MZ_EDGE_BESIDE ? DASHES : "");
  draw_line(c, r, width);
  mz_drawing_add(c->out, "\"/>\n");
  const bool upright = r->shape != MZ_ROUTE_STRAIGHT, up = r->shape == MZ_ROUTE_CURVE && r->to_y < r->from_y;
  draw_head(c, r->to_x, r->to_y, upright ? 0 : 1, !upright ? 0 : up ? -1 : 1, width, colour);
  mz_drawing_add(c->out, "</g>\n");
}

static void label_arrow(canvas *c, int edge) {
  const mz_route *r = &c->layout.routes[edge];
  const char *colour = mz_graph_edge_colour(c->picture->graph->edges[edge].kind);
  mz_label label;
  mz_graph_edge_label(c->picture, edge, r->shape == MZ_ROUTE_CURVE, &label);
  if (r->shape == MZ_ROUTE_CURVE && r->label_side == 0) return;
  const int alone = r->shape == MZ_ROUTE_STRAIGHT ? MZ_LABEL_LINES : r->shape == MZ_ROUTE_CURVE ? 1 : 0; /* lines of their own */
  double y = r->shape == MZ_ROUTE_STRAIGHT ? r->label_y - (label.count - 1) * MZ_LAYOUT_LINE : r->label_y;
  for (int i = 0; i < alone && i < label.count; i++, y += MZ_LAYOUT_LINE)
    draw_note(c, r->label_x, y, r->label_side, label.lines[i], colour);
  char rest[MZ_LABEL_LINES * (MZ_LABEL_SIZE + 4)] = "";
  for (int i = alone; i < label.count; i++) {
    const size_t used = strlen(rest);
    snprintf(rest + used, sizeof rest - used, "%s%s", i > alone ? " · " : "", label.lines[i]);
  }
  if (rest[0]) draw_note(c, r->label_x, y, r->label_side, rest, colour);
}

/* ---- around it ---- */

static void draw_legend(canvas *c, double y) {
  const mz_graph *g = c->picture->graph;
  double x = MZ_LAYOUT_MARGIN;
  for (int kind = 0; kind < MZ_NODE_KINDS; kind++) {
    bool any = false;
    for (int n = 0; n < g->node_count; n++) any |= (int)g->nodes[n].kind == kind;
    if (!any) continue;
    const char *name = mz_graph_node_kind_name((mz_graph_node_kind)kind);
    mz_drawing_add(c->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\" rx=\"2\" stroke=\"%s\"/>", name,
                   x, y - 9, mz_graph_node_colour((mz_graph_node_kind)kind));
    mz_drawing_add(c->out, "<text class=\"ink small\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 20, y, name);
    x += 20 + LETTER * (double)strlen(name) + LEGEND_GAP;
  }
  y += LEGEND_ROW;
  x = MZ_LAYOUT_MARGIN;
  for (int kind = 0; kind < (int)MZ_EDGE_REVERSED; kind++) {
    bool any = false;
    for (int e = 0; e < g->edge_count; e++) any |= g->edges[e].kind == kind;
    if (!any) continue;
    const char *name = mz_graph_edge_kind_name(kind), *colour = mz_graph_edge_colour(kind);
    mz_drawing_add(c->out, "<path stroke=\"%s\" stroke-width=\"1.6\"%s d=\"M%.1f,%.1fh22\"/>", colour,
                   kind == MZ_EDGE_BESIDE ? DASHES : "", x, y - 4);
    draw_head(c, x + 26, y - 4, 1, 0, 1.4, colour);
    mz_drawing_add(c->out, "<text class=\"ink small\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 32, y, name);
    x += 32 + LETTER * (double)strlen(name) + LEGEND_GAP;
  }
}

static void draw_words(canvas *c, double y) {
  const char *const lines[] = {
      "An arrow is an edge and its reverse. Items and bytes are those of a unit of work. A bar is what a stage takes alone, as a "
      "share of a unit's predicted time.",
      c->picture->attention
          ? "The wider an arrow, the more the predictor looked along it (the edge or its reverse, whichever is more)."
          : "Point at a box or an arrow to see its features."};
  for (int i = 0; i < 2; i++)
    mz_drawing_add(c->out, "<text class=\"faint small\" x=\"%d\" y=\"%.1f\">%s</text>\n", MZ_LAYOUT_MARGIN, y + i * 16.0,
                   lines[i]);
}

void mz_graph_draw_svg(mz_drawing *out, const mz_graph_picture *picture) {
  const mz_graph *g = picture->graph;
  canvas *c;
  if (out->status == MZ_OK) out->status = mz_alloc(&c, 1, sizeof *c);
  if (out->status != MZ_OK) return;
  *c = (canvas){.out = out, .picture = picture};
  mz_graph_layout_init(&c->layout, g, picture->situation->model->pipeline, TOP);
  const double width = fmax(c->layout.width, LEAST_WIDTH), legend_y = c->layout.height + 34;
  char title[MZ_DRAWN_SIZE];
  const int height = (int)ceil(legend_y + 2 * LEGEND_ROW + 40);
  mz_drawing_begin_svg(out, (int)ceil(width), height);
  mz_drawing_add(out, "%s<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", style, (int)ceil(width), height);
  mz_drawing_add(out, "<text class=\"ink\" font-size=\"15\" font-weight=\"bold\" x=\"%d\" y=\"32\">%s</text>\n", MZ_LAYOUT_MARGIN,
                 mz_drawing_xml(picture->title, title));
  draw_frames(c);
  for (int e = 0; e < g->edge_count; e++)
    if (c->layout.routes[e].shape != MZ_ROUTE_NONE) draw_arrow(c, e);
  for (int e = 0; e < g->edge_count; e++)
    if (c->layout.routes[e].shape != MZ_ROUTE_NONE) label_arrow(c, e);
  for (int n = 0; n < g->node_count; n++) draw_node(c, n);
  draw_legend(c, legend_y);
  draw_words(c, legend_y + 2 * LEGEND_ROW + 4);
  mz_drawing_end_svg(out);
  free(c);
}
