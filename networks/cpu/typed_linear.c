#include "networks/cpu/typed_linear.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"

enum { CHUNK = 64 }; /* positions copied together at a time, which stay in the first cache */

/* Positions of all rows by type, in order within each; written by forward, read by backward. */
typedef struct sorting {
  int32_t *order; /* [rows · positions] the present ones, by type */
  int32_t *first; /* [types + 1] where a type's begin in `order` */
} sorting;

static int inputs_of(const mz_tape *tape, const mz_node *node) { return tape->values[node->inputs[0]].columns / node->positions; }

static int outputs_of(const mz_tape *tape, const mz_node *node) { return tape->params->items[node->weight].columns; }

static int types_of(const mz_tape *tape, const mz_node *node) {
  return tape->params->items[node->weight].rows / inputs_of(tape, node);
}

/* Entries of `order` and `first`. */
static size_t entry_count(const mz_tape *tape, const mz_node *node) {
  return (size_t)tape->rows * (size_t)node->positions + (size_t)types_of(tape, node) + 1;
}

/* Floats of both sides of a chunk, with a row for a bias's sums. */
static size_t chunk_floats(const mz_tape *tape, const mz_node *node) {
  return (CHUNK + 1) * (size_t)(inputs_of(tape, node) + outputs_of(tape, node));
}

size_t mz_typed_linear_bytes(mz_tape *tape, const mz_node *node) {
  mz_tape_claim_scratch(tape, chunk_floats(tape, node) * sizeof(float));
  return sizeof(sorting) + entry_count(tape, node) * sizeof(int32_t);
}

mz_status mz_typed_linear_prepare(mz_tape *tape, mz_node *node) {
  sorting *own = NULL;
  mz_tape_claim_scratch(tape, chunk_floats(tape, node) * sizeof(float));
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  MZ_TRY(mz_alloc(&own->order, entry_count(tape, node), sizeof *own->order));
  own->first = own->order + (size_t)tape->rows * (size_t)node->positions;
  return MZ_OK;
}

void mz_typed_linear_release(mz_node *node) {
  sorting *own = node->prepared;
  free(own->order);
  free(own);
  node->prepared = NULL;
}

/* A counting sort. Rows of the list lie behind one another, as those of the values do. */
static void sort_positions(const mz_tape *tape, const mz_node *node, int count) {
  const sorting *own = node->prepared;
  const int32_t *type = tape->indices[node->index_input];
  const int types = types_of(tape, node);
  memset(own->first, 0, ((size_t)types + 1) * sizeof *own->first);
  for (int p = 0; p < count; p++) {
    MZ_ASSERT(type[p] < types);
    if (type[p] >= 0) own->first[type[p] + 1]++;
  }
  for (int t = 0; t < types; t++) own->first[t + 1] += own->first[t];
  for (int p = 0; p < count; p++) {
    if (type[p] >= 0) own->order[own->first[type[p]]++] = p;
  }
  for (int t = types; t > 0; t--) own->first[t] = own->first[t - 1]; /* each has become the next one's */
  own->first[0] = 0;
}

/* Calls `run` for each chunk of each type in order; `at`: the chunk's positions. */
typedef void run_chunk(mz_tape *tape, const mz_node *node, int type, const int32_t *at, int count);
static void for_each_chunk(mz_tape *tape, const mz_node *node, run_chunk *run) {
  const sorting *own = node->prepared;
  for (int t = 0; t < types_of(tape, node); t++) {
    for (int32_t from = own->first[t]; from < own->first[t + 1]; from += CHUNK) {
      const int32_t left = own->first[t + 1] - from;
      run(tape, node, t, own->order + from, left < CHUNK ? left : CHUNK);
    }
  }
}

/* Copies positions together. Returns them. */
static const float *collect(const float *from, const int32_t *at, int count, int channels, float *to) {
  const size_t width = (size_t)channels;
  for (int i = 0; i < count; i++) mz_copy_channels(from + (size_t)at[i] * width, to + (size_t)i * width, width);
  return to;
}

static void clear_absent(const mz_tape *tape, const mz_node *node, int count, float *values, int channels) {
  const int32_t *type = tape->indices[node->index_input];
  for (int p = 0; p < count; p++) {
    if (type[p] < 0) memset(values + (size_t)p * (size_t)channels, 0, (size_t)channels * sizeof *values);
  }
}

static void forward_chunk(mz_tape *tape, const mz_node *node, int type, const int32_t *at, int count) {
  const int inputs = inputs_of(tape, node), outputs = outputs_of(tape, node);
  const float *bias = mz_parameter(tape, tape->weights, node->bias);
  float *x = tape->scratch, *y = x + CHUNK * inputs, *to = tape->values[node->output].data;
  const mz_term term = {collect(tape->values[node->inputs[0]].data, at, count, inputs, x),
                        mz_parameter(tape, tape->weights, node->weight) + type * inputs * outputs};
  const mz_product product = {.rows = count,
                              .columns = outputs,
                              .depth = inputs,
                              .term_count = 1,
                              .terms = &term,
                              .a_row = inputs,
                              .a_step = 1,
                              .b_stride = outputs,
                              .c = y,
                              .c_stride = outputs,
                              .bias = bias == NULL ? NULL : bias + type * outputs};
  mz_kernels_get()->product(&product);
  for (int i = 0; i < count; i++) mz_copy_channels(y + i * outputs, to + at[i] * outputs, (size_t)outputs);
}

void mz_typed_linear_forward(mz_tape *tape, mz_node *node, int rows) {
  const int count = rows * node->positions;
  sort_positions(tape, node, count);
  clear_absent(tape, node, count, tape->values[node->output].data, outputs_of(tape, node));
  for_each_chunk(tape, node, forward_chunk);
}

/* dx (+)= dy Wᵀ. Wᵀ of all types lies side by side: [outputs][types · inputs]. */
static void data_gradient_chunk(mz_tape *tape, const mz_node *node, int type, const int32_t *at, int count) {
  const int inputs = inputs_of(tape, node), outputs = outputs_of(tape, node);
  float *dx = tape->scratch, *dy = dx + CHUNK * inputs, *to = tape->values[node->inputs[0]].gradient;
  const mz_term term = {collect(tape->values[node->output].gradient, at, count, outputs, dy),
                        mz_parameter(tape, tape->transposed, node->weight) + type * inputs};
  if (!node->overwrites[0]) collect(to, at, count, inputs, dx);
  const mz_product product = {.rows = count,
                              .columns = inputs,
                              .depth = outputs,
                              .term_count = 1,
                              .terms = &term,
                              .a_row = outputs,
                              .a_step = 1,
                              .b_stride = tape->params->items[node->weight].rows,
                              .c = dx,
                              .c_stride = inputs,
                              .add = !node->overwrites[0]};
  mz_kernels_get()->product(&product);
  for (int i = 0; i < count; i++) mz_copy_channels(dx + i * inputs, to + at[i] * inputs, (size_t)inputs);
}

/* Adds a chunk's part to the type's gradients. */
static void parameter_gradient_chunk(mz_tape *tape, const mz_node *use, int type, const int32_t *at, int count) {
  const int inputs = inputs_of(tape, use), outputs = outputs_of(tape, use);
  float *x = tape->scratch, *dy = x + CHUNK * inputs, *sums = dy + CHUNK * outputs;
  const mz_term term = {collect(tape->values[use->inputs[0]].data, at, count, inputs, x),
                        collect(tape->values[use->output].gradient, at, count, outputs, dy)};
  const mz_product product = {.rows = inputs,
                              .columns = outputs,
                              .depth = count,
                              .term_count = 1,
                              .terms = &term,
                              .a_row = 1,
                              .a_step = inputs,
                              .b_stride = outputs,
                              .c = mz_gradient_of(tape, use->weight) + type * inputs * outputs,
                              .c_stride = outputs,
                              .add = true};
  mz_kernels_get()->product(&product);
  if (use->bias < 0) return;
  const mz_term gradients = {NULL, dy};
  float *bias = mz_gradient_of(tape, use->bias) + type * outputs;
  mz_kernels_get()->column_sums(&gradients, 1, count, outputs, outputs, sums);
  mz_kernels_get()->add(bias, sums, bias, (size_t)outputs);
}

static void clear_gradient(mz_tape *tape, int param) {
  const mz_param *item = &tape->params->items[param];
  memset(mz_gradient_of(tape, param), 0, (size_t)item->rows * (size_t)item->stride * sizeof(float));
}

void mz_typed_linear_backward(mz_tape *tape, mz_node *node, int rows) {
  float *dx = tape->values[node->inputs[0]].gradient;
  if (dx != NULL) {
    if (node->overwrites[0]) clear_absent(tape, node, rows * node->positions, dx, inputs_of(tape, node));
    for_each_chunk(tape, node, data_gradient_chunk);
  }
  if (!node->first_use) return;
  clear_gradient(tape, node->weight);
  if (node->bias >= 0) clear_gradient(tape, node->bias);
  for (int u = 0; u < node->use_count; u++) for_each_chunk(tape, &tape->nodes[node->uses[u]], parameter_gradient_chunk);
}
