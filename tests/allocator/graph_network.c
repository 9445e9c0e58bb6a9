/* Both networks over graphs against PyTorch (tests/data/allocator/make_graph_network.py): outputs, loss and every gradient; against central
 * differences; and what must not matter: the order of nodes and edges, how much room a tape has, how many rows it runs. */
#include "allocator/graph/graph_network.h"
#include "base/file/file.h"
#include "base/json/json.h"
#include "base/maths/rng.h"
#include "networks/lane.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { GRAPHS = 4, ROOM_NODES = 12, ROOM_EDGES = 32 };

static void ok(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

/* The script's: a number in [-1, 1). */
static double hashed(uint32_t stream, uint32_t index) {
  uint32_t x = stream * 0x9E3779B1u + index * 0x85EBCA6Bu + 0x27D4EB2Fu;
  x ^= x >> 15;
  x *= 0x2C1B3C6Du;
  x ^= x >> 12;
  x *= 0x297A2D39u;
  x ^= x >> 15;
  return (x >> 9) / (double)(1 << 22) - 1;
}

typedef struct subject {
  mz_graph_form form;
  cJSON *torch;
  const cJSON *wanted; /* of the form */
  mz_params params;
  mz_graph_scaling scaling;
  float *values, *transposed, *gradient;
  mz_graph graphs[GRAPHS];
  double targets[GRAPHS];
} subject;

static bool ends_in(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

static void fill_values(subject *s) {
  for (int p = 0; p < s->params.count; p++) {
    const mz_param *param = &s->params.items[p];
    const float scale = ends_in(param->name, "weight") ? (float)(0.5 * sqrt(3.0 / param->rows)) : 0.25f;
    for (int r = 0; r < param->rows; r++)
      for (int c = 0; c < param->columns; c++)
        s->values[param->offset + (int64_t)r * param->stride + c] =
            (float)((ends_in(param->name, "gamma") ? 1 : 0) + scale * hashed((uint32_t)p, (uint32_t)(r * param->columns + c)));
  }
}

static void fill_graph(mz_graph *g, uint32_t number, const cJSON *json) {
  memset(g, 0, sizeof *g);
  for (const cJSON *node = cJSON_GetObjectItem(json, "nodes")->child; node; node = node->next) {
    mz_graph_node *n = &g->nodes[g->node_count];
    n->kind = (mz_graph_node_kind)node->valueint;
    for (int k = 0; k < MZ_GRAPH_NODE_FEATURES; k++)
      n->features[k] = (float)hashed(1000 + number, (uint32_t)(g->node_count * MZ_GRAPH_NODE_FEATURES + k));
    g->node_count++;
  }
  for (const cJSON *edge = cJSON_GetObjectItem(json, "edges")->child; edge; edge = edge->next) {
    mz_graph_edge *e = &g->edges[g->edge_count];
    e->kind = cJSON_GetArrayItem(edge, 0)->valueint;
    e->from = cJSON_GetArrayItem(edge, 1)->valueint;
    e->to = cJSON_GetArrayItem(edge, 2)->valueint;
    for (int k = 0; k < MZ_GRAPH_EDGE_FEATURES; k++)
      e->features[k] = (float)hashed(2000 + number, (uint32_t)(g->edge_count * MZ_GRAPH_EDGE_FEATURES + k));
    g->edge_count++;
  }
}

static void set_all(float *values, size_t count, float value) {
  for (size_t i = 0; i < count; i++) values[i] = value;
}

static void subject_open(subject *s, mz_graph_form form) {
  uint8_t *text;
  size_t size;
  memset(s, 0, sizeof *s);
  s->form = form;
  ok(mz_file_read(TEST_DATA "/allocator/graph_network.json", 0, &text, &size));
  ok(mz_json_parse((const char *)text, size, "graph_network.json", false, MZ_E_IO, &s->torch));
  free(text);
  s->wanted = cJSON_GetObjectItem(s->torch, form == MZ_FORM_FLAT ? "flat" : "attention");
  mz_graph_network_params(&s->params, form);
  ok(mz_alloc(&s->values, (size_t)s->params.size, sizeof *s->values));
  ok(mz_alloc(&s->gradient, (size_t)s->params.size, sizeof *s->gradient));
  ok(mz_alloc(&s->transposed, (size_t)mz_backend_layout(&mz_backend_cpu, &s->params, NULL), sizeof *s->transposed));
  fill_values(s);
  set_all(s->scaling.node_scale[0], sizeof s->scaling.node_scale / sizeof(float), 1);
  set_all(s->scaling.edge_scale[0], sizeof s->scaling.edge_scale / sizeof(float), 1);
  s->scaling.target_mean = 0.5f;
  s->scaling.target_scale = 2;
  const cJSON *graphs = cJSON_GetObjectItem(s->torch, "graphs");
  assert_int_equal(cJSON_GetArraySize(graphs), GRAPHS);
  for (int g = 0; g < GRAPHS; g++) {
    fill_graph(&s->graphs[g], (uint32_t)g, cJSON_GetArrayItem(graphs, g));
    s->targets[g] = cJSON_GetObjectItem(cJSON_GetArrayItem(graphs, g), "target")->valuedouble;
  }
}

static void subject_close(subject *s) {
  cJSON_Delete(s->torch);
  free(s->values);
  free(s->gradient);
  free(s->transposed);
}

static void open_tape(const subject *s, int rows, bool trains, mz_graph_tape *tape) {
  ok(mz_graph_tape_init(tape, s->form, &s->params, &s->scaling, rows, ROOM_NODES, ROOM_EDGES, trains));
}

static double one_output(const subject *s, const mz_graph *graph, int nodes, int edges) {
  mz_graph_tape tape;
  double y;
  ok(mz_graph_tape_init(&tape, s->form, &s->params, &s->scaling, 1, nodes, edges, false));
  mz_graph_tape_put(&tape, 0, graph, 0);
  mz_graph_tape_run(&tape, s->values, 1, &y);
  mz_graph_tape_deinit(&tape);
  return y;
}

/* ---- PyTorch ---- */

static double run_all(subject *s) {
  mz_graph_tape tape;
  open_tape(s, GRAPHS, true, &tape);
  for (int g = 0; g < GRAPHS; g++) mz_graph_tape_put(&tape, g, &s->graphs[g], s->targets[g]);
  ok(mz_tape_forward(tape.tape, s->values, GRAPHS));
  ok(mz_lane_pack(&mz_lane_cpu, mz_backend_cpu.pack_backward, &s->params, s->values, false, s->transposed));
  ok(mz_tape_backward(tape.tape, s->values, s->transposed, s->gradient, GRAPHS));
  double loss;
  ok(mz_tape_loss(tape.tape, &loss));
  mz_graph_tape_deinit(&tape);
  return loss;
}

static void compare_gradients(const subject *s) {
  const cJSON *gradients = cJSON_GetObjectItem(s->wanted, "gradients");
  assert_int_equal(cJSON_GetArraySize(gradients), s->params.count);
  for (int p = 0; p < s->params.count; p++) {
    const mz_param *param = &s->params.items[p];
    const cJSON *wanted = cJSON_GetObjectItem(gradients, param->name);
    assert_non_null(wanted);
    const double norm = cJSON_GetArrayItem(wanted, 0)->valuedouble, product = cJSON_GetArrayItem(wanted, 1)->valuedouble;
    double squares = 0, along = 0;
    for (int r = 0; r < param->rows; r++) {
      for (int c = 0; c < param->columns; c++) {
        const double g = s->gradient[param->offset + (int64_t)r * param->stride + c];
        squares += g * g;
        along += g * hashed(3000 + (uint32_t)p, (uint32_t)(r * param->columns + c));
      }
    }
    /* Both norms: the product of a vector of n numbers in [-1, 1) with one of norm 1 is below √n. */
    if (fabs(sqrt(squares) - norm) > 1e-5 * norm + 1e-6 || fabs(along - product) > 1e-4 * norm + 1e-6)
      fail_msg("%s: gradient's norm %.8g instead of %.8g, its product %.8g instead of %.8g", param->name, sqrt(squares), norm,
               along, product);
  }
}

static void is_what_pytorch_computes(mz_graph_form form) {
  subject s;
  subject_open(&s, form);
  for (int g = 0; g < GRAPHS; g++) {
    const double wanted = cJSON_GetArrayItem(cJSON_GetObjectItem(s.wanted, "outputs"), g)->valuedouble;
    assert_true(fabs(one_output(&s, &s.graphs[g], ROOM_NODES, ROOM_EDGES) - wanted) < 2e-6);
  }
  const double loss = run_all(&s), wanted = cJSON_GetObjectItem(s.wanted, "loss")->valuedouble;
  assert_true(fabs(loss - wanted) < 1e-5 * wanted);
  compare_gradients(&s);
  subject_close(&s);
}

static void test_attention_is_what_pytorch_computes(void **state) {
  (void)state;
  is_what_pytorch_computes(MZ_FORM_ATTENTION);
}

static void test_flat_is_what_pytorch_computes(void **state) {
  (void)state;
  is_what_pytorch_computes(MZ_FORM_FLAT);
}

/* ---- central differences ---- */

static double loss_of(const subject *s) {
  double loss = 0;
  for (int g = 0; g < GRAPHS; g++) {
    const double y = (one_output(s, &s->graphs[g], ROOM_NODES, ROOM_EDGES) - s->scaling.target_mean) * s->scaling.target_scale,
                 target = (s->targets[g] - s->scaling.target_mean) * s->scaling.target_scale;
    loss += (y - target) * (y - target) / GRAPHS;
  }
  return loss;
}

/* Changes the element of every parameter whose gradient is largest: float32 resolves no smaller ones. */
static void test_gradients_are_central_differences(void **state) {
  (void)state;
  const float step = 1e-2f;
  subject s;
  subject_open(&s, MZ_FORM_ATTENTION);
  run_all(&s);
  for (int p = 0; p < s.params.count; p++) {
    const mz_param *param = &s.params.items[p];
    int64_t at = param->offset;
    for (int64_t i = at; i < param->offset + (int64_t)param->rows * param->stride; i++)
      if (fabsf(s.gradient[i]) > fabsf(s.gradient[at])) at = i;
    const float value = s.values[at];
    s.values[at] = value + step;
    const double above = loss_of(&s);
    s.values[at] = value - step;
    const double below = loss_of(&s);
    s.values[at] = value;
    const double difference = (above - below) / (2 * (double)step);
    if (fabs(difference - s.gradient[at]) > 0.02 * fabs(difference) + 2e-3)
      fail_msg("%s: %.6g by differences, %.6g by the tape", param->name, difference, s.gradient[at]);
  }
  subject_close(&s);
}

/* ---- what must not matter ---- */

static void test_the_order_of_nodes_and_edges_does_not_matter(void **state) {
  (void)state;
  subject s;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  subject_open(&s, MZ_FORM_ATTENTION);
  for (int g = 0; g < GRAPHS; g++) {
    const mz_graph *from = &s.graphs[g];
    mz_graph shuffled = *from;
    int node[MZ_GRAPH_NODES_MAX], edge[MZ_GRAPH_EDGES_MAX];
    mz_rng_permutation(&rng, from->node_count, node);
    mz_rng_permutation(&rng, from->edge_count, edge);
    for (int i = 0; i < from->node_count; i++) shuffled.nodes[node[i]] = from->nodes[i];
    for (int i = 0; i < from->edge_count; i++) {
      shuffled.edges[edge[i]] = from->edges[i];
      shuffled.edges[edge[i]].from = node[from->edges[i].from];
      shuffled.edges[edge[i]].to = node[from->edges[i].to];
    }
    assert_true(fabs(one_output(&s, &shuffled, ROOM_NODES, ROOM_EDGES) - one_output(&s, from, ROOM_NODES, ROOM_EDGES)) < 1e-6);
  }
  subject_close(&s);
}

static void test_room_and_rows_do_not_matter(void **state) {
  (void)state;
  subject s;
  mz_graph_tape tape;
  double together[GRAPHS];
  for (int form = 0; form <= MZ_FORM_ATTENTION; form++) {
    subject_open(&s, (mz_graph_form)form);
    open_tape(&s, GRAPHS, false, &tape);
    for (int g = 0; g < GRAPHS; g++) mz_graph_tape_put(&tape, g, &s.graphs[g], 0);
    mz_graph_tape_run(&tape, s.values, GRAPHS, together);
    for (int g = 0; g < GRAPHS; g++) {
      const double alone = one_output(&s, &s.graphs[g], s.graphs[g].node_count, s.graphs[g].edge_count);
      assert_true(fabs(alone - together[g]) < 1e-6);
    }
    mz_graph_tape_deinit(&tape);
    subject_close(&s);
  }
}

static void test_what_is_beyond_a_tapes_room_is_left_out(void **state) {
  (void)state;
  subject s;
  subject_open(&s, MZ_FORM_ATTENTION);
  mz_graph *g = &s.graphs[3], fewer = *g;
  fewer.node_count = 4;
  fewer.edge_count = 0;
  for (int i = 0; i < 10; i++) /* those among the first ten that stay within the nodes */
    if (g->edges[i].from < 4 && g->edges[i].to < 4) fewer.edges[fewer.edge_count++] = g->edges[i];
  assert_true(fabs(one_output(&s, g, 4, 10) - one_output(&s, &fewer, ROOM_NODES, ROOM_EDGES)) < 1e-6);
  subject_close(&s);
}

/* ---- attention ---- */

static void test_attention_is_shared_out_at_every_node(void **state) {
  (void)state;
  subject s;
  mz_graph_tape tape;
  double y;
  float weight[MZ_GRAPH_EDGES_MAX];
  bool uneven = false;
  subject_open(&s, MZ_FORM_ATTENTION);
  open_tape(&s, 1, false, &tape);
  for (int g = 0; g < GRAPHS; g++) {
    const mz_graph *graph = &s.graphs[g];
    mz_graph_tape_put(&tape, 0, graph, 0);
    mz_graph_tape_run(&tape, s.values, 1, &y);
    mz_graph_tape_attention(&tape, 0, graph, weight);
    for (int i = 0; i < graph->node_count; i++) {
      double sum = 0;
      int edges = 0;
      for (int e = 0; e < graph->edge_count; e++) {
        if (graph->edges[e].to != i) continue;
        assert_true(weight[e] >= 0 && weight[e] <= 1 + 1e-6);
        sum += weight[e];
        edges++;
      }
      for (int e = 0; e < graph->edge_count && edges > 1; e++)
        uneven = uneven || (graph->edges[e].to == i && fabs((double)weight[e] - 1.0 / edges) > 0.01);
      if (edges > 0) assert_true(fabs(sum - 1) < 1e-6);
    }
  }
  assert_true(uneven);
  mz_graph_tape_deinit(&tape);
  subject_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention_is_what_pytorch_computes),
      cmocka_unit_test(test_flat_is_what_pytorch_computes),
      cmocka_unit_test(test_gradients_are_central_differences),
      cmocka_unit_test(test_the_order_of_nodes_and_edges_does_not_matter),
      cmocka_unit_test(test_room_and_rows_do_not_matter),
      cmocka_unit_test(test_what_is_beyond_a_tapes_room_is_left_out),
      cmocka_unit_test(test_attention_is_shared_out_at_every_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
