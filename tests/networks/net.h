/* A small network on one backend, which the cases (cases.h, graph_cases.h, board_cases.h) are made of. Include after cmocka.h. */
#pragma once
#include "base/maths/digest.h"
#include "base/maths/rng.h"
#include "networks/loss.h"
#include "networks/tape/tape_state.h" /* node_count: the questions go over every value */
#include "tests/networks/check.h"
#include <string.h>

enum { NET_INPUTS_MAX = 128, NET_INDICES_MAX = 16, NET_ACTIONS = 5, NET_BINS = 21 };

typedef enum input_kind { PLAIN, TARGETS, WEIGHTS } input_kind;

typedef struct net_size {
  int width;      /* of hidden layers; of boards: channels */
  mz_board board; /* of cases on boards */
  int group;      /* rows that batch norm normalises together */
  bool bf16;      /* of the loss on boards: convolutions multiply bfloat16 */
} net_size;

/* A network on one backend with made-up parameters and inputs, the same for every backend and every number of rows. */
typedef struct net {
  mz_params params;
  float *weights; /* as initialised, params.size */
  const mz_backend *backend;
  mz_lane lane;
  mz_tape *tape;
  void *values, *gradients;  /* in the backend's elements, in the lane's memory, as are the next two */
  void *packed, *transposed; /* values as forward and as backward read them; NULL where those are the values */
  mz_value inputs[NET_INPUTS_MAX];
  input_kind kinds[NET_INPUTS_MAX];
  int columns[NET_INPUTS_MAX];
  int input_count;
  int indices[NET_INDICES_MAX];
  int limits[NET_INDICES_MAX]; /* of a list: its entries are below it, −1 among them; 0: an index input */
  int index_count;
  int actions;           /* an index is below it */
  bool bf16;             /* convolutions' weights are packed as bfloat16 */
  double scale_of_first; /* expected gradient of parameter 0 and 1 over their derivative: what SCALE_GRADIENT lets through */
  mz_model model;        /* of the cases `unrolled loss` */
} net;

/* A norm follows, with nothing but a linear map between: what is added to all rows alike has no gradient but for rounding. */
static inline bool has_no_gradient(const mz_param *param) { return strcmp(param->name, "projection.1.norm.shift") == 0; }

typedef struct net_case {
  const char *name;
  void (*define)(mz_params *params, net_size size);
  void (*record)(net *n, net_size size);
} net_case;

static inline mz_value net_input(net *n, mz_value value, int columns, input_kind kind) {
  assert_true(n->input_count < NET_INPUTS_MAX);
  n->inputs[n->input_count] = value;
  n->columns[n->input_count] = columns;
  n->kinds[n->input_count++] = kind;
  return value;
}

static inline int net_index(net *n, int index) {
  n->indices[n->index_count++] = index;
  return index;
}

/* A list of entries below `limit`, one for each of `positions`. */
static inline int net_list(net *n, int positions, int limit) {
  assert_true(n->index_count < NET_INDICES_MAX);
  n->limits[n->index_count] = limit;
  return net_index(n, mz_tape_index_list(n->tape, positions));
}

static inline void layer_params(mz_params *params, const char *name, int inputs, int outputs) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  mz_params_add(params, full, inputs, outputs, true, MZ_INIT_HE, inputs);
  snprintf(full, sizeof full, "%s.bias", name);
  mz_params_add(params, full, 1, outputs, false, MZ_INIT_HE, inputs); /* not 0, so that biases are seen */
}

/* Observations of 7 entries. */
enum { OBS = 7 };
static inline mz_value net_obs(net *n) { return net_input(n, mz_tape_input(n->tape, OBS), OBS, PLAIN); }

static inline mz_value net_loss(net *n, mz_value logits, int columns, float factor) {
  const mz_value targets = net_input(n, mz_tape_input(n->tape, columns), columns, TARGETS);
  const mz_value weights = net_input(n, mz_tape_input(n->tape, 1), 1, WEIGHTS);
  return mz_tape_softmax_xent(n->tape, logits, targets, weights, factor);
}

/* Allocates as many elements as a packed vector has, filled from `from` where it is not NULL. */
static inline void *net_elements(const net *n, const float *from) {
  void *to = NULL;
  check(mz_lane_alloc(&n->lane, &to, (size_t)mz_backend_layout(n->backend, &n->params, NULL) * n->backend->element_size));
  if (from != NULL && n->backend->element_size == sizeof(float))
    check(mz_lane_load(&n->lane, to, from, (size_t)n->params.size * sizeof *from));
  for (int64_t i = 0; from != NULL && n->backend->element_size == sizeof(double) && i < n->params.size; i++)
    ((double *)to)[i] = from[i];
  return to;
}

/* Bytes 0x5a: whatever is not written shows. */
static inline void net_spoil(const net *n, void *to, size_t bytes) {
  uint8_t pattern[1024];
  memset(pattern, 0x5a, sizeof pattern);
  for (size_t at = 0; at < bytes; at += sizeof pattern)
    check(mz_lane_load(&n->lane, (char *)to + at, pattern, bytes - at < sizeof pattern ? bytes - at : sizeof pattern));
}

static inline void net_pack(net *n) {
  const mz_backend *b = n->backend;
  if (b->pack_forward != NULL) check(mz_lane_pack(&n->lane, b->pack_forward, &n->params, n->values, n->bf16, n->packed));
  if (b->pack_backward != NULL) check(mz_lane_pack(&n->lane, b->pack_backward, &n->params, n->values, n->bf16, n->transposed));
}

static inline net *net_open(const net_case *c, const mz_backend *backend, net_size size, int rows, uint64_t seed) {
  net *n = NULL;
  check(mz_alloc(&n, 1, sizeof *n));
  n->backend = backend;
  const mz_lane where = {backend, 0, NULL};
  check(mz_lane_open(&n->lane, &where));
  n->scale_of_first = 1.0;
  n->actions = NET_ACTIONS;
  n->bf16 = size.bf16;
  c->define(&n->params, size);
  check(mz_alloc(&n->weights, (size_t)n->params.size, sizeof *n->weights));
  mz_params_init(&n->params, seed, n->weights);
  check(mz_tape_create(&n->tape, &n->lane, &n->params, rows, true));
  c->record(n, size);
  check(mz_tape_plan(n->tape));
  n->values = net_elements(n, n->weights);
  if (backend->pack_forward != NULL) n->packed = net_elements(n, NULL);
  if (backend->pack_backward != NULL) n->transposed = net_elements(n, NULL);
  n->gradients = net_elements(n, NULL);
  net_spoil(n, n->gradients, (size_t)n->params.size * backend->element_size);
  net_pack(n);
  return n;
}

static inline void net_close(net *n) {
  mz_tape_free(n->tape);
  mz_lane_free(&n->lane, n->values);
  mz_lane_free(&n->lane, n->packed);
  mz_lane_free(&n->lane, n->transposed);
  mz_lane_free(&n->lane, n->gradients);
  mz_lane_close(&n->lane);
  free(n->weights);
  free(n);
}

/* Row r of the tape becomes example `example`: a pure function of it. */
static inline void net_set_row(net *n, int r, int example) {
  for (int i = 0; i < n->input_count; i++) {
    mz_rng rng = mz_rng_at(17, MZ_RNG_TEST, (uint32_t)i, (uint64_t)example);
    float sum = 0.0f, entries[2048];
    assert_true(n->columns[i] <= 2048);
    for (int c = 0; c < n->columns[i]; c++) {
      entries[c] = n->kinds[i] == PLAIN ? mz_rng_normal(&rng) : mz_rng_f32(&rng);
      sum += entries[c];
    }
    for (int c = 0; c < n->columns[i] && n->kinds[i] == TARGETS; c++) entries[c] /= sum;
    check(mz_tape_put(n->tape, n->inputs[i], r, entries, 1));
  }
  for (int i = 0; i < n->index_count; i++) {
    mz_rng rng = mz_rng_at(18, MZ_RNG_TEST, (uint32_t)i, (uint64_t)example);
    const int list = n->indices[i], length = n->tape->index_lengths[list], limit = n->limits[i];
    int32_t to[1024];
    assert_true(length <= 1024);
    if (limit == 0) *to = (int32_t)mz_rng_below(&rng, (uint32_t)n->actions);
    for (int p = 0; p < length && limit > 0; p++) to[p] = (int32_t)mz_rng_below(&rng, (uint32_t)limit + 1) - 1;
    check(mz_tape_put_list(n->tape, list, r, to, 1));
  }
}

static inline void net_run(net *n, int rows) {
  const void *values = n->packed != NULL ? n->packed : n->values;
  check(mz_tape_forward(n->tape, values, rows));
  check(mz_tape_backward(n->tape, values, n->transposed, n->gradients, rows));
}

static inline double net_element(const net *n, const void *data, size_t at) {
  return n->backend->element_size == sizeof(double) ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

/* Which present position of a row has the largest entry of each channel. */
static inline uint64_t pool_kinks(const net *n, const mz_node *node, int r) {
  const mz_tape_value *x = &n->tape->values[node->inputs[0]];
  const int32_t *types = mz_tape_list_at(n->tape, node->index_input, r);
  const int channels = x->columns / node->positions;
  uint64_t digest = 0;
  for (int c = 0; c < channels; c++) {
    const size_t row = (size_t)(r * x->stride + c);
    int best = -1;
    for (int p = 0; p < node->positions; p++) {
      if (types[p] < 0) continue;
      const double own = net_element(n, x->data, row + (size_t)(p * channels));
      if (best < 0 || own > net_element(n, x->data, row + (size_t)(best * channels))) best = p;
    }
    digest = mz_hash_combine(digest, (uint64_t)best);
  }
  return digest;
}

/* Records which side of every kink on the tape a pass took: signs of ReLU outputs, places of minima and maxima. */
static inline uint64_t net_kinks(const net *n, int rows) {
  uint64_t digest = 0;
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_node *node = &n->tape->nodes[i];
    const bool relu = node->op == MZ_OP_RELU || node->activation == MZ_RELU;
    for (int r = 0; r < rows && node->op == MZ_OP_MASKED_POOL; r++) digest = mz_hash_combine(digest, pool_kinks(n, node, r));
    if (!relu && node->op != MZ_OP_MINMAX) continue;
    const mz_tape_value *y = &n->tape->values[i];
    for (int r = 0; r < rows; r++) {
      const size_t row = (size_t)r * (size_t)y->stride;
      size_t low = row, high = row;
      for (size_t at = row; at < row + (size_t)y->columns; at++) {
        const double x = net_element(n, y->data, at);
        if (relu) digest = mz_hash_combine(digest, x > 0.0);
        if (x < net_element(n, y->data, low)) low = at;
        if (x > net_element(n, y->data, high)) high = at;
      }
      if (!relu) digest = mz_hash_combine(mz_hash_combine(digest, low - row), high - row);
    }
  }
  return digest;
}
