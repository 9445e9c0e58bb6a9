/* Ops on graphs, beyond what the list of cases asks of them: values worked out by hand, graphs whose nodes and edges are put in
 * another order or among absent ones; and the time of a network, printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "tests/networks/cases.h"

/* ---- by hand ---- */

static const mz_backend *const backends[] = {&mz_backend_ref, &mz_backend_cpu};

/* A tape without parameters. */
static mz_tape *new_tape(const mz_backend *backend, int rows) {
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &(mz_lane){.backend = backend}, NULL, rows, false));
  return tape;
}

static void expect(mz_tape *tape, mz_value value, const float *expected, int count) {
  float found[256];
  check(mz_tape_get(tape, value, 0, found, 1));
  for (int i = 0; i < count; i++) assert_true(fabsf(found[i] - expected[i]) <= 1e-6f);
}

static void gelu_by_hand(void **state) {
  (void)state;
  /* PyTorch's gelu(x, approximate="tanh") */
  static const float x[] = {-40, -3, -1, -0.5f, 0, 0.5f, 1, 3, 40};
  static const float y[] = {0, -0.0036373921f, -0.1588080094f, -0.1542859902f, 0, 0.3457140098f, 0.8411919906f, 2.9963626079f,
                            40};
  for (int b = 0; b < 2; b++) {
    mz_tape *tape = new_tape(backends[b], 1);
    const mz_value in = mz_tape_input(tape, 9), out = mz_tape_gelu(tape, in);
    check(mz_tape_plan(tape));
    check(mz_tape_put(tape, in, 0, x, 1));
    check(mz_tape_forward(tape, NULL, 1));
    expect(tape, out, y, 9);
    mz_tape_free(tape);
  }
}

/* Two heads of eight channels. Node 0 has edges 0 and 3, node 1 edge 1, node 2 none; edge 2 is absent. */
static void attention_by_hand(void **state) {
  (void)state;
  enum { CHANNELS = 16, THREE = 3 * CHANNELS, FOUR = 4 * CHANNELS };
  float q[THREE] = {0}, k[FOUR] = {0}, v[FOUR], y[THREE] = {0};
  q[0] = sqrtf(8.0f); /* head 0 of node 0: the scores are the edges' first entries; head 1: all are 0 */
  k[0] = logf(3.0f);
  k[3 * CHANNELS] = 0.0f;
  for (int i = 0; i < FOUR; i++) v[i] = (float)i;
  v[2 * CHANNELS] = NAN;
  for (int c = 0; c < CHANNELS; c++) {
    const float share = c < 8 ? 0.75f : 0.5f;
    y[c] = share * v[c] + (1.0f - share) * v[3 * CHANNELS + c];
    y[CHANNELS + c] = v[CHANNELS + c];
  }
  for (int b = 0; b < 2; b++) {
    mz_tape *tape = new_tape(backends[b], 1);
    const mz_value of_q = mz_tape_input(tape, THREE), of_k = mz_tape_input(tape, FOUR), of_v = mz_tape_input(tape, FOUR);
    const int targets = mz_tape_index_list(tape, 4);
    const mz_value out = mz_tape_edge_attention(tape, of_q, of_k, of_v, 2, targets);
    check(mz_tape_plan(tape));
    check(mz_tape_put(tape, of_q, 0, q, 1));
    check(mz_tape_put(tape, of_k, 0, k, 1));
    check(mz_tape_put(tape, of_v, 0, v, 1));
    check(mz_tape_put_list(tape, targets, 0, (int32_t[]){0, 1, -1, 0}, 1));
    check(mz_tape_forward(tape, NULL, 1));
    expect(tape, out, y, THREE);
    mz_tape_free(tape);
  }
}

static void pool_by_hand(void **state) {
  (void)state;
  float x[48], y[32];
  for (int i = 0; i < 48; i++) x[i] = i < 16 ? NAN : (float)-i;
  for (int c = 0; c < 16; c++) {
    y[c] = (x[16 + c] + x[32 + c]) / 2.0f;
    y[16 + c] = x[16 + c];
  }
  for (int b = 0; b < 2; b++) {
    mz_tape *tape = new_tape(backends[b], 1);
    const mz_value in = mz_tape_input(tape, 48);
    const int types = mz_tape_index_list(tape, 3);
    const mz_value out = mz_tape_masked_pool(tape, in, types);
    check(mz_tape_plan(tape));
    check(mz_tape_put(tape, in, 0, x, 1));
    check(mz_tape_put_list(tape, types, 0, (int32_t[]){-1, 1, 0}, 1));
    check(mz_tape_forward(tape, NULL, 1));
    expect(tape, out, y, 32);
    check(mz_tape_put_list(tape, types, 0, (int32_t[]){-1, -1, -1}, 1));
    check(mz_tape_forward(tape, NULL, 1));
    expect(tape, out, (const float[32]){0}, 32);
    mz_tape_free(tape);
  }
}

static void the_first_of_equal_maxima_gets_the_gradient(void **state) {
  (void)state;
  static const float height[] = {9, 1, 3, 3}, expected[] = {0, 0.125f, 1.125f, 0.125f};
  static const int32_t types[] = {-1, 0, 2, 1};
  float x[64], y[32], dy[32], dx[64];
  for (int i = 0; i < 64; i++) x[i] = height[i / 16];
  for (int c = 0; c < 32; c++) dy[c] = c < 16 ? 0.375f : 1.0f;
  const mz_masked_pooling pooling = {
      .positions = 4, .channels = 16, .types = types, .x = x, .y = y, .dy = dy, .dx = dx, .overwrite = true};
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_LAST; level++) {
    mz_kernels_get()->masked_pool(&pooling);
    mz_kernels_get()->masked_pool_backward(&pooling);
    for (int i = 0; i < 64; i++) assert_true(dx[i] == expected[i / 16]);
  }
  mz_kernels_select(mz_isa_level());
}

/* ---- graphs in another order, or among absent positions ---- */

enum { SOME_NODES = 7, SOME_EDGES = 19, SPARE = 5, WIDTH = 32 };

/* The network of the case at hand: net_case has no place for them. */
static graph_shape shape;
static graph recorded;
static mz_value outputs;

static void define_network(mz_params *params, net_size size) { network_params(params, shape, size.width); }
static void record(net *n, net_size size) {
  (void)size;
  recorded = stem_of(n, shape);
  outputs = record_network(n, &recorded);
}
static const net_case network = {"network", define_network, record};

static net *open_network(const mz_backend *backend, int nodes, int edges, int rows) {
  shape = (graph_shape){nodes, edges, NODE_TYPES + 1, EDGE_TYPES + 1}; /* the last types have no positions */
  return net_open(&network, backend, (net_size){.width = WIDTH}, rows, 3);
}

static void set_element(const net *n, mz_value value, int at, float x) {
  void *data = mz_tape_at(n->tape, value)->data;
  if (n->backend->element_size == sizeof(double))
    ((double *)data)[at] = x;
  else
    ((float *)data)[at] = x;
}

/* Fills positions of row r with features that are a function of their number in the graph; `at` says where they are on the tape. */
static void put_features(const net *n, int r, mz_value input, int count, const int *at) {
  const int stride = mz_tape_at(n->tape, input)->stride;
  for (int c = 0; c < stride; c++) set_element(n, input, r * stride + c, NAN); /* what is absent is not read */
  for (int i = 0; i < count; i++) {
    mz_rng rng = mz_rng_at(21, MZ_RNG_TEST, (uint32_t)input, (uint64_t)i);
    for (int c = 0; c < FEATURES; c++) set_element(n, input, r * stride + at[i] * FEATURES + c, mz_rng_normal(&rng));
  }
}

/* Row r becomes the one graph of this test, its nodes and edges at the given positions, all others absent. */
static void put_graph(net *n, int r, const int *node_at, const int *edge_at) {
  int32_t *types = mz_tape_index_at(n->tape, recorded.types) + r * shape.nodes;
  int32_t *edge_types = mz_tape_index_at(n->tape, recorded.edge_types) + r * shape.edges;
  int32_t *sources = mz_tape_index_at(n->tape, recorded.sources) + r * shape.edges;
  int32_t *targets = mz_tape_index_at(n->tape, recorded.targets) + r * shape.edges;
  net_set_row(n, r, 0);
  put_features(n, r, n->inputs[0], SOME_NODES, node_at);
  put_features(n, r, n->inputs[1], SOME_EDGES, edge_at);
  for (int i = 0; i < shape.nodes; i++) types[i] = -1;
  for (int e = 0; e < shape.edges; e++) edge_types[e] = sources[e] = targets[e] = -1;
  for (int i = 0; i < SOME_NODES; i++) types[node_at[i]] = i % NODE_TYPES;
  for (int e = 0; e < SOME_EDGES; e++) {
    edge_types[edge_at[e]] = e % EDGE_TYPES;
    sources[edge_at[e]] = node_at[(3 * e + 1) % SOME_NODES];
    targets[edge_at[e]] = node_at[e * e % SOME_NODES]; /* 0, 1, 2 and 4: the others have no edge to them */
  }
}

static void in_order(int *at, int count) {
  for (int i = 0; i < count; i++) at[i] = i;
}

static void shuffled(int *at, int count, uint32_t stream) {
  mz_rng rng = mz_rng_at(22, MZ_RNG_TEST, stream, 0);
  in_order(at, count);
  for (int i = count - 1; i > 0; i--) {
    const int j = (int)mz_rng_below(&rng, (uint32_t)i + 1), saved = at[i];
    at[i] = at[j];
    at[j] = saved;
  }
}

/* Largest difference of a position's channels in rows 0 and r. */
static double difference(const net *n, mz_value value, int position, int r, int other, int channels) {
  const mz_tape_value *v = mz_tape_at(n->tape, value);
  double largest = 0.0;
  for (int c = 0; c < channels; c++) {
    const double a = net_element(n, v->data, (size_t)(position * channels + c));
    const double b = net_element(n, v->data, (size_t)(r * v->stride + other * channels + c));
    largest = fmax(largest, fabs(a - b));
  }
  return largest;
}

static void order_does_not_matter(void **state) {
  (void)state;
  static const double tolerances[] = {1e-11, 1e-4}; /* sums run in another order */
  for (int b = 0; b < 2; b++) {
    net *n = open_network(backends[b], SOME_NODES, SOME_EDGES, 4);
    int node_at[4][SOME_NODES], edge_at[4][SOME_EDGES];
    for (int r = 0; r < 4; r++) { /* as it is; nodes; edges; both */
      in_order(node_at[r], SOME_NODES);
      in_order(edge_at[r], SOME_EDGES);
      if (r & 1) shuffled(node_at[r], SOME_NODES, (uint32_t)r);
      if (r & 2) shuffled(edge_at[r], SOME_EDGES, (uint32_t)r);
      put_graph(n, r, node_at[r], edge_at[r]);
    }
    net_run(n, 4);
    for (int r = 1; r < 4; r++) {
      assert_true(difference(n, outputs, 0, r, 0, 9) <= tolerances[b]);
      for (int i = 0; i < SOME_NODES; i++) {
        assert_true(difference(n, recorded.nodes, i, r, node_at[r][i], WIDTH) <= tolerances[b]);
      }
      for (int e = 0; e < SOME_EDGES; e++) {
        assert_true(difference(n, recorded.edges, e, r, edge_at[r][e], WIDTH) <= tolerances[b]);
      }
      assert_true(difference(n, recorded.nodes, 0, r, node_at[r][1], WIDTH) > 0.1); /* nodes differ from one another */
    }
    net_close(n);
  }
}

/* Outputs and gradients, bit for bit. */
static void absent_positions_change_nothing(void **state) {
  (void)state;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_LAST; level++) {
    int node_at[SOME_NODES], edge_at[SOME_EDGES];
    in_order(node_at, SOME_NODES);
    in_order(edge_at, SOME_EDGES);
    net *tight = open_network(&mz_backend_cpu, SOME_NODES, SOME_EDGES, 1);
    put_graph(tight, 0, node_at, edge_at);
    net_run(tight, 1);
    float expected[9], found[9];
    check(mz_tape_get(tight->tape, outputs, 0, expected, 1));
    for (int i = 0; i < SOME_NODES; i++) node_at[i] += i < 2 ? 1 : SPARE;
    for (int e = 0; e < SOME_EDGES; e++) edge_at[e] += e < 7 ? 0 : SPARE - 1;
    net *loose = open_network(&mz_backend_cpu, SOME_NODES + SPARE, SOME_EDGES + SPARE, 1);
    put_graph(loose, 0, node_at, edge_at);
    net_run(loose, 1);
    check(mz_tape_get(loose->tape, outputs, 0, found, 1));
    assert_memory_equal(found, expected, sizeof found);
    for (int p = 0; p < tight->params.count; p++) {
      const mz_param *a = &tight->params.items[p], *b = &loose->params.items[p];
      if (a->rows != b->rows) continue; /* the heads of other cases */
      const float *x = (const float *)tight->gradients + a->offset, *y = (const float *)loose->gradients + b->offset;
      for (int i = 0; i < a->rows * a->stride; i++) assert_true(x[i] == y[i]);
    }
    net_close(tight);
    net_close(loose);
  }
  mz_kernels_select(mz_isa_level());
}

static void types_without_positions_do_not_learn(void **state) {
  (void)state;
  static const int typed[] = {OF_NODES, QUERY, KEY, VALUE, OUT};
  int node_at[SOME_NODES], edge_at[SOME_EDGES];
  in_order(node_at, SOME_NODES);
  in_order(edge_at, SOME_EDGES);
  net *n = open_network(&mz_backend_cpu, SOME_NODES, SOME_EDGES, 1);
  put_graph(n, 0, node_at, edge_at);
  net_run(n, 1);
  for (int i = 0; i < 5; i++) {
    const mz_param *weight = &n->params.items[typed[i]], *bias = weight + 1;
    const float *gradient = n->gradients;
    double of_last = 0.0, of_others = 0.0;
    for (int r = 0; r < weight->rows; r++) {
      double *sum = r * (NODE_TYPES + 1) / weight->rows == NODE_TYPES ? &of_last : &of_others;
      for (int c = 0; c < weight->columns; c++) *sum += fabsf(gradient[weight->offset + r * weight->stride + c]);
    }
    for (int c = 0; c < bias->columns; c++) of_last += fabsf(gradient[bias->offset + NODE_TYPES * bias->stride + c]);
    assert_true(of_last == 0.0 && of_others > 0.0);
  }
  net_close(n);
}

static void a_graph_of_nothing_is_finite(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    net *n = open_network(backends[b], SOME_NODES, SOME_EDGES, 1);
    net_set_row(n, 0, 0);
    const int lists[] = {recorded.types, recorded.edge_types, recorded.sources, recorded.targets};
    for (int i = 0; i < 4; i++) {
      int32_t *list = mz_tape_index_at(n->tape, lists[i]);
      for (int p = 0; p < n->tape->index_lengths[lists[i]]; p++) list[p] = -1;
    }
    net_run(n, 1);
    assert_true(isfinite(tape_loss(n->tape)));
    const mz_param *bias = &n->params.items[MORE + 1];
    for (int c = 0; c < 9; c++) {
      assert_true(net_element(n, mz_tape_at(n->tape, outputs)->data, (size_t)c) == (double)n->weights[bias->offset + c]);
    }
    for (int64_t i = 0; i < n->params.size; i++) assert_true(isfinite(net_element(n, n->gradients, (size_t)i)));
    net_close(n);
  }
}

static void measuring_knows_the_scratch(void **state) {
  (void)state;
  net *n = open_network(&mz_backend_cpu, SOME_NODES, SOME_EDGES, 3);
  net measured = {.params = n->params, .backend = &mz_backend_cpu, .lane = mz_lane_cpu};
  size_t bytes = 0, lists = 0;
  check(mz_tape_create(&measured.tape, &mz_lane_cpu, &measured.params, 3, true));
  record(&measured, (net_size){.width = WIDTH});
  check(mz_tape_measure(measured.tape, &bytes));
  assert_true(measured.tape->scratch_bytes == n->tape->scratch_bytes && measured.tape->bytes == n->tape->bytes);
  for (int i = 0; i < n->tape->index_count; i++) lists += 3 * (size_t)n->tape->index_lengths[i] * sizeof(int32_t);
  assert_true(bytes > mz_tape_bytes(n->tape) + lists); /* lists sorted by type, and attention's weights */
  mz_tape_free(measured.tape);
  net_close(n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gelu_by_hand),
      cmocka_unit_test(attention_by_hand),
      cmocka_unit_test(pool_by_hand),
      cmocka_unit_test(the_first_of_equal_maxima_gets_the_gradient),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(absent_positions_change_nothing),
      cmocka_unit_test(types_without_positions_do_not_learn),
      cmocka_unit_test(a_graph_of_nothing_is_finite),
      cmocka_unit_test(measuring_knows_the_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
