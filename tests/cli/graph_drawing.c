/* Pictures of pipelines' graphs: their layout, and what is written. */
#include "cli/explaining/graph_drawing.h"
#include "cli/explaining/graph_layout.h"
#include "tests/allocator/graph_made.h"
#include "tests/allocator/trainer_like.h"
#include "tests/cli/support/xml.h"

enum { PIPELINES = 60, TITLE_HEIGHT = 50 };

typedef void (*painter)(mz_drawing *drawing, const mz_graph_picture *picture);

/* free(). */
static char *paint(painter draw_it, const mz_pipeline *pipeline, const mz_plan *plan, const float *attention) {
  mz_analytic model;
  mz_analytic_init(&model, pipeline, mz_pipeline_cores(pipeline));
  const mz_graph_situation situation = {.model = &model, .explained = true};
  mz_graph graph;
  mz_graph_init(&graph, &situation, plan);
  const mz_graph_picture picture = {
      .graph = &graph, .situation = &situation, .plan = plan, .attention = attention, .title = "a \"title\" <with> & all"};
  mz_drawing drawing = {0};
  draw_it(&drawing, &picture);
  assert_int_equal(drawing.status, MZ_OK);
  assert_int_equal(strlen(drawing.text), drawing.used);
  return drawing.text;
}

/* ---- the layout ---- */

static bool overlap(const mz_box *a, const mz_box *b) {
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

static bool within(const mz_box *inner, const mz_box *outer) {
  return inner->x >= outer->x && inner->y >= outer->y && inner->x + inner->width <= outer->x + outer->width &&
         inner->y + inner->height <= outer->y + outer->height;
}

static void assert_boxes(const mz_graph_layout *l, const mz_graph *g) {
  const mz_box page = {0, TITLE_HEIGHT, l->width, l->height - TITLE_HEIGHT};
  for (int i = 0; i < l->frame_count; i++) {
    assert_true(within(&l->frames[i].box, &page));
    for (int j = 0; j < i; j++) assert_false(overlap(&l->frames[i].box, &l->frames[j].box));
  }
  for (int n = 0; n < g->node_count; n++) {
    assert_true(within(&l->nodes[n], &page));
    for (int other = 0; other < n; other++) assert_false(overlap(&l->nodes[n], &l->nodes[other]));
    int frames = 0;
    for (int i = 0; i < l->frame_count; i++) {
      const bool is_inside = within(&l->nodes[n], &l->frames[i].box);
      frames += is_inside;
      assert_int_equal(is_inside, overlap(&l->nodes[n], &l->frames[i].box));
      if (is_inside) assert_int_equal(g->nodes[n].device, l->frames[i].device);
    }
    assert_int_equal(frames, g->nodes[n].kind == MZ_NODE_NETWORK);
  }
}

static bool is_on_border(double x, double y, const mz_box *box) {
  const bool upright =
                 (fabs(x - box->x) < 0.01 || fabs(x - box->x - box->width) < 0.01) && y >= box->y && y <= box->y + box->height,
             level =
                 (fabs(y - box->y) < 0.01 || fabs(y - box->y - box->height) < 0.01) && x >= box->x && x <= box->x + box->width;
  return upright || level;
}

/* A track lies over all boxes of the row and below the title, and apart from other tracks where they have a stretch in common. */
static void assert_track(const mz_graph_layout *l, const mz_graph *g, int edge) {
  const mz_route *r = &l->routes[edge];
  assert_true(r->track_y > TITLE_HEIGHT - 1 && r->track_y + 10 < r->from_y);
  for (int e = 0; e < edge; e++) {
    const mz_route *other = &l->routes[e];
    if (other->shape != MZ_ROUTE_TRACK || fabs(other->track_y - r->track_y) > 12) continue;
    assert_true(fmax(r->from_x, r->to_x) < fmin(other->from_x, other->to_x) ||
                fmax(other->from_x, other->to_x) < fmin(r->from_x, r->to_x));
  }
  for (int e = 0; e < g->edge_count; e++) /* ends at the top of a box are apart */
    if (e != edge && l->routes[e].shape == MZ_ROUTE_TRACK)
      assert_true(fabs(l->routes[e].to_x - r->to_x) > 1 && fabs(l->routes[e].from_x - r->from_x) > 1);
}

static void assert_routes(const mz_graph_layout *l, const mz_graph *g) {
  for (int e = 0; e < g->edge_count; e++) {
    const mz_route *r = &l->routes[e];
    if (g->edges[e].kind >= (int)MZ_EDGE_REVERSED) {
      assert_int_equal(r->shape, MZ_ROUTE_NONE);
      continue;
    }
    assert_true(r->shape != MZ_ROUTE_NONE);
    assert_true(is_on_border(r->from_x, r->from_y, &l->nodes[g->edges[e].from]));
    assert_true(is_on_border(r->to_x, r->to_y, &l->nodes[g->edges[e].to]));
    if (r->shape == MZ_ROUTE_STRAIGHT) { /* nothing stands between its ends */
      const mz_box between = {r->from_x + 1, r->from_y - 40, r->to_x - r->from_x - 2, 80};
      assert_true(r->to_x > r->from_x && r->to_y == r->from_y);
      for (int n = 0; n < g->node_count; n++) assert_false(overlap(&between, &l->nodes[n]));
    }
    if (r->shape == MZ_ROUTE_TRACK) assert_track(l, g, e);
    if (r->shape == MZ_ROUTE_CURVE) assert_true(g->edges[e].kind == MZ_EDGE_RUNS || g->edges[e].kind == MZ_EDGE_TRAINS);
  }
}

static void assert_layout(const mz_pipeline *pipeline, const mz_plan *plan) {
  const mz_graph g = graph_of(pipeline, plan, true, NULL);
  mz_graph_layout *l;
  assert_int_equal(mz_alloc(&l, 1, sizeof *l), MZ_OK);
  mz_graph_layout_init(l, &g, pipeline, TITLE_HEIGHT);
  assert_boxes(l, &g);
  assert_routes(l, &g);
  free(l);
}

static void test_nothing_overlaps_on_any_devices(void **state) {
  (void)state;
  for (int devices = 1; devices <= 4; devices++) {
    const mz_pipeline p = trainer_like(devices);
    for (int i = 0; i < devices * devices * devices; i++) {
      const mz_plan plan = trainer_like_plan(i % devices, i / devices % devices, i / devices / devices);
      assert_layout(&p, &plan);
    }
  }
}

static void test_the_row_follows_the_work(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(1);
  const mz_plan plan = trainer_like_plan(0, 0, 0);
  const mz_graph g = graph_of(&p, &plan, true, NULL);
  static const mz_graph_node_kind order[] = {MZ_NODE_WORKERS, MZ_NODE_STORE, MZ_NODE_BUILDERS, MZ_NODE_TRAINING, MZ_NODE_OTHER};
  mz_graph_layout *l;
  assert_int_equal(mz_alloc(&l, 1, sizeof *l), MZ_OK);
  mz_graph_layout_init(l, &g, &p, TITLE_HEIGHT);
  double x = 0;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    int node = 0;
    while (g.nodes[node].kind != order[i]) node++;
    assert_true(l->nodes[node].x > x);
    x = l->nodes[node].x;
  }
  free(l);
}

/* ---- what is written ---- */

static void test_a_picture_has_all_parts(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(4);
  const mz_plan plan = trainer_like_plan(0, 1, 3);
  char *svg = paint(mz_graph_draw_svg, &p, &plan, NULL);
  assert_well_formed(svg);
  static const char *const words[] = {">actor<",
                                      ">replay<",
                                      ">batch<",
                                      ">learner<",
                                      ">fold<",
                                      ">representation<",
                                      "networks on cuda:0",
                                      "training · cuda:0",
                                      "4 threads · batch 32",
                                      "writes",
                                      "feeds",
                                      "run by",
                                      "trains",
                                      "1.02k items",
                                      "241 KiB",
                                      "a &quot;title&quot; &lt;with&gt; &amp; all",
                                      "threads per core -1"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strstr(svg, words[i])) fail_msg("the picture does not say %s", words[i]);
  assert_null(strstr(svg, ">evaluate<"));
  assert_int_equal(xml_count(svg, "<title>"), 14 + 19); /* nodes, edges without their reverses */
  assert_int_equal(xml_count(svg, "stroke-width=\"1.40\""), 19);
  free(svg);
}

/* Appends the boxes of rectangles that begin as `mark` says and have what `has` says. */
static int find_boxes(const char *svg, const char *mark, const char *has, mz_box *out, int most) {
  int count = 0;
  for (const char *at = svg; (at = strstr(at, mark)); at++) {
    const char *x = strstr(at, " x=\""), *end = strstr(at, ">");
    const char *found = strstr(at, has);
    if (!x || x > end || !found || found > end) continue;
    assert_true(count < most);
    mz_box *b = &out[count++];
    assert_int_equal(sscanf(x, " x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &b->x, &b->y, &b->width, &b->height), 4);
  }
  return count;
}

/* Labels are on the page, and cover neither boxes nor one another. */
static void test_labels_have_room(void **state) {
  (void)state;
  for (int i = 0; i < 64; i++) {
    const mz_pipeline p = trainer_like(4);
    const mz_plan plan = trainer_like_plan(i % 4, i / 4 % 4, i / 16);
    char *svg = paint(mz_graph_draw_svg, &p, &plan, NULL);
    mz_box notes[128], boxes[64], page = {0};
    assert_int_equal(
        sscanf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lf\" height=\"%lf\"", &page.width, &page.height), 2);
    const int note_count = find_boxes(svg, "<rect class=\"paper\"", "", notes, 128),
              box_count = find_boxes(svg, "<rect class=\"", "rx=\"7\"", boxes, 64);
    assert_true(note_count > 20);
    assert_in_range(box_count, 8, 14);
    for (int n = 0; n < note_count; n++) {
      assert_true(within(&notes[n], &page));
      for (int b = 0; b < box_count; b++) assert_false(overlap(&notes[n], &boxes[b]));
      for (int other = 0; other < n; other++) assert_false(overlap(&notes[n], &notes[other]));
    }
    free(svg);
  }
}

/* The widest arrow is the one that was looked along most, in either direction. */
static void test_attention_widens_arrows(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(1);
  const mz_plan plan = trainer_like_plan(0, 0, 0);
  float attention[MZ_GRAPH_EDGES_MAX] = {0};
  attention[3] = 1; /* the reverse of the second edge */
  attention[4] = 0.5F;
  char *svg = paint(mz_graph_draw_svg, &p, &plan, attention);
  assert_well_formed(svg);
  assert_int_equal(xml_count(svg, "stroke-width=\"6.00\""), 1);
  assert_int_equal(xml_count(svg, "stroke-width=\"3.30\""), 1);
  assert_int_equal(xml_count(svg, "stroke-width=\"0.60\""), 20);
  assert_int_equal(xml_count(svg, "attention 1.000"), 1);
  assert_non_null(strstr(svg, "the more the predictor looked along it"));
  free(svg);
  char *dot = paint(mz_graph_draw_dot, &p, &plan, attention);
  assert_int_equal(xml_count(dot, "penwidth=6.00"), 1);
  free(dot);
}

/* Quotes are balanced, braces outside of them nest, and nothing else breaks a line in a string. */
static void assert_dot(const char *text, int arrows) {
  int depth = 0, found = 0;
  bool quoted = false;
  assert_int_equal(strncmp(text, "digraph ", 8), 0);
  for (const char *at = text; *at; at++) {
    if (quoted && *at == '\\') {
      at++;
      assert_true(*at == 'n' || *at == '"' || *at == '\\');
    } else if (*at == '"') {
      quoted = !quoted;
    } else if (quoted) {
      assert_true((unsigned char)*at >= 0x20);
    } else {
      depth += (*at == '{') - (*at == '}');
      found += at[0] == '-' && at[1] == '>';
    }
  }
  assert_false(quoted);
  assert_int_equal(depth, 0);
  assert_int_equal(found, arrows);
}

static void test_text_for_graphviz(void **state) {
  (void)state;
  const mz_pipeline p = trainer_like(4);
  const mz_plan plan = trainer_like_plan(0, 1, 1);
  char *dot = paint(mz_graph_draw_dot, &p, &plan, NULL);
  assert_dot(dot, 20);
  assert_int_equal(xml_count(dot, "subgraph cluster_"), 2);
  assert_non_null(strstr(dot, "a \\\"title\\\" <with> & all"));
  free(dot);
}

/* Draws pipelines with names that hold quotes, tabs and more, stages in any order, networks anywhere; loops among queues. */
static void test_random_pipelines_are_drawn(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PIPELINES; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 1, 0);
    mz_pipeline p;
    draw_pipeline(&rng, &p);
    draw_uses(&rng, &p);
    strcpy(p.stages[0].name, "<a>&amp;\"\x01\xff\n");
    const mz_plan plan = draw_plan(&rng, &p);
    const mz_graph g = graph_of(&p, &plan, true, NULL);
    assert_layout(&p, &plan);
    char *svg = paint(mz_graph_draw_svg, &p, &plan, NULL), *again = paint(mz_graph_draw_svg, &p, &plan, NULL),
         *dot = paint(mz_graph_draw_dot, &p, &plan, NULL);
    assert_well_formed(svg);
    assert_string_equal(svg, again);
    assert_int_equal(xml_count(svg, "<title>"), g.node_count + g.edge_count / 2);
    assert_dot(dot, g.edge_count / 2);
    free(svg);
    free(again);
    free(dot);
  }
}

static void test_the_reader_of_xml_finds_faults(void **state) {
  (void)state;
  static const char *const wrong[] = {"",           "<a>",        "<a></b>",     "<a b=c/>",      "<a b=\"1\" b=\"2\"/>",
                                      "<a>&x;</a>", "<a/><b/>",   "<a>\x01</a>", "<a>\xff</a>",   "<a b=\"<\"/>",
                                      "text<a/>",   "<a b=\"1/>", "</a>",        "<a><b></a></b>"};
  const char *at;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (!xml_fault(wrong[i], &at)) fail_msg("nothing is said against %s", wrong[i]);
  assert_well_formed("<?xml version=\"1.0\"?>\n<!-- c --><a b=\"&lt;\" c='é'>x &#233;<d/></a>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_overlaps_on_any_devices), cmocka_unit_test(test_the_row_follows_the_work),
      cmocka_unit_test(test_a_picture_has_all_parts),         cmocka_unit_test(test_labels_have_room),
      cmocka_unit_test(test_attention_widens_arrows),         cmocka_unit_test(test_text_for_graphviz),
      cmocka_unit_test(test_random_pipelines_are_drawn),      cmocka_unit_test(test_the_reader_of_xml_finds_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
