#include "networks/cpu/linear.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/onednn.h"
#include "networks/cpu/transpose.h"
#include <string.h>

/* Beyond this many inputs or outputs oneDNN's cache blocking wins. Measured on Zen 4, one thread, GF/s of ours / oneDNN, 16 rows
 * forward: 64 wide 117/92, 128 115/106, 256 117/114, 512 117/89, 1024 114/77, 2048 41/52;
 * weight gradients 117/82 at 64 to 111/100 at 1024, and 85/48 at 2048, where the two disagree. */
enum { OURS_MAX = 1024 };

typedef struct linear {
  mz_term *terms;                                       /* at first_use: inputs and output gradients of all uses */
  mz_onednn *forward, *data_gradient, *weight_gradient; /* NULL: our own kernel */
} linear;

static linear *linear_of(const mz_node *node) { return node->prepared; }

/* Input and output of a node as matrices of `rows · positions` rows. */
typedef struct matrix {
  int rows, columns, stride;
} matrix;

static matrix matrix_of(const mz_tape *tape, const mz_node *node, mz_value value, int rows) {
  const mz_tape_value *v = &tape->values[value];
  return (matrix){rows * node->positions, v->columns / node->positions, v->stride / node->positions};
}

/* The shapes of the three products, without pointers. */
static mz_product forward_shape(const mz_tape *tape, const mz_node *node, int rows) {
  const matrix x = matrix_of(tape, node, node->inputs[0], rows), y = matrix_of(tape, node, node->output, rows);
  return (mz_product){.rows = x.rows,
                      .columns = y.stride,
                      .depth = x.columns,
                      .term_count = 1,
                      .a_row = x.stride,
                      .a_step = 1,
                      .b_stride = y.stride,
                      .c_stride = y.stride,
                      .relu = node->activation == MZ_RELU};
}

static mz_product data_gradient_shape(const mz_tape *tape, const mz_node *node, int rows) {
  const matrix x = matrix_of(tape, node, node->inputs[0], rows), y = matrix_of(tape, node, node->output, rows);
  return (mz_product){.rows = x.rows,
                      .columns = x.columns,
                      .depth = y.columns,
                      .term_count = 1,
                      .a_row = y.stride,
                      .a_step = 1,
                      .b_stride = x.columns,
                      .c_stride = x.stride,
                      .add = !node->overwrites[0]};
}

static mz_product weight_gradient_shape(const mz_tape *tape, const mz_node *node, int rows) {
  const matrix x = matrix_of(tape, node, node->inputs[0], rows), y = matrix_of(tape, node, node->output, rows);
  return (mz_product){.rows = x.columns,
                      .columns = y.stride,
                      .depth = x.rows,
                      .term_count = node->use_count,
                      .a_row = 1,
                      .a_step = x.stride,
                      .b_stride = y.stride,
                      .c_stride = y.stride};
}

mz_status mz_linear_prepare(mz_tape *tape, mz_node *node) {
  linear *prepared = NULL;
  MZ_TRY(mz_alloc(&prepared, 1, sizeof *prepared));
  node->prepared = prepared;
  if (node->first_use) MZ_TRY(mz_alloc(&prepared->terms, (size_t)node->use_count, sizeof *prepared->terms));
  const matrix x = matrix_of(tape, node, node->inputs[0], tape->rows), y = matrix_of(tape, node, node->output, tape->rows);
  if (x.columns <= OURS_MAX && y.columns <= OURS_MAX) return MZ_OK;

  const mz_product forward = forward_shape(tape, node, tape->rows);
  MZ_TRY(mz_onednn_create(&prepared->forward, &forward));
  if (node->backward && tape->values[node->inputs[0]].gradient != NULL) {
    const mz_product data_gradient = data_gradient_shape(tape, node, tape->rows);
    MZ_TRY(mz_onednn_create(&prepared->data_gradient, &data_gradient));
  }
  if (node->first_use) {
    const mz_product weight_gradient = weight_gradient_shape(tape, node, tape->rows);
    MZ_TRY(mz_onednn_create(&prepared->weight_gradient, &weight_gradient));
  }
  return MZ_OK;
}

void mz_linear_release(mz_node *node) {
  linear *prepared = linear_of(node);
  mz_onednn_free(prepared->forward);
  mz_onednn_free(prepared->data_gradient);
  mz_onednn_free(prepared->weight_gradient);
  free(prepared->terms);
  free(prepared);
  node->prepared = NULL;
}

static void multiply(mz_onednn *wide, const mz_product *product) {
  if (wide != NULL) {
    mz_onednn_run(wide, product);
  } else {
    mz_kernels_get()->product(product);
  }
}

void mz_linear_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_term term = {tape->values[node->inputs[0]].data, mz_parameter(tape, tape->weights, node->weight)};
  mz_product product = forward_shape(tape, node, rows);
  product.terms = &term;
  product.c = tape->values[node->output].data;
  product.bias = mz_parameter(tape, tape->weights, node->bias);
  if (node->table >= 0) {
    product.table = mz_parameter(tape, tape->weights, node->table);
    product.table_stride = product.c_stride;
    product.index = tape->indices[node->index_input];
  }
  multiply(linear_of(node)->forward, &product);
}

/* Row i of the table's gradient: the sum of the output gradients of the rows that used it, uses and rows in order. */
static void table_gradient(mz_tape *tape, const mz_node *node, int rows) {
  const mz_param *table = &tape->params->items[node->table];
  float *gradient = mz_gradient_of(tape, node->table);
  const mz_kernels *kernels = mz_kernels_get();
  const size_t stride = (size_t)table->stride;
  memset(gradient, 0, (size_t)table->rows * stride * sizeof *gradient);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const float *dy = tape->values[use->output].gradient;
    const int32_t *index = tape->indices[use->index_input];
    for (int r = 0; r < rows; r++) {
      float *row = gradient + (size_t)index[r] * stride;
      kernels->add(row, dy + (size_t)r * stride, row, stride);
    }
  }
}

/* Visited last of all uses: their output gradients are complete, so one product per parameter sums over them in registers. */
static void parameter_gradients(mz_tape *tape, const mz_node *node, int rows) {
  linear *prepared = linear_of(node);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    prepared->terms[u] = (mz_term){tape->values[use->inputs[0]].data, tape->values[use->output].gradient};
  }
  mz_product product = weight_gradient_shape(tape, node, rows);
  product.terms = prepared->terms;
  product.c = mz_gradient_of(tape, node->weight);
  multiply(prepared->weight_gradient, &product);
  if (node->bias >= 0) {
    float *bias = mz_gradient_of(tape, node->bias);
    mz_kernels_get()->column_sums(prepared->terms, node->use_count, product.depth, product.columns, product.b_stride, bias);
  }
  if (node->table >= 0) table_gradient(tape, node, rows);
}

void mz_linear_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  if (node->activation == MZ_RELU) mz_kernels_get()->relu_mask(y->data, y->gradient, (size_t)rows * (size_t)y->stride);
  if (x->gradient != NULL) {
    const mz_term term = {y->gradient, mz_parameter(tape, tape->transposed, node->weight)};
    mz_product product = data_gradient_shape(tape, node, rows);
    product.terms = &term;
    product.c = x->gradient;
    multiply(linear_of(node)->data_gradient, &product);
  }
  if (node->first_use) parameter_gradients(tape, node, rows);
}

void mz_linear_transpose(const mz_param *param, const float *values, float *transposed) {
  mz_transpose(values, param->rows, param->columns, param->stride, transposed, param->rows);
}
