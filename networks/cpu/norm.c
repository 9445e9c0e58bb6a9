#include "networks/cpu/norm.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"
#include <string.h>

typedef enum kept { MEAN, VARIANCE, INVERSE, SUM_DY, SUM_DY_X, SUMS } kept;

/* By group and channel: what backward and the parameters' gradients need of forward and of one another. */
typedef struct norm_node {
  float *sums[SUMS]; /* [groups][channels] each, in one block */
} norm_node;

static int channels_of(const mz_tape *tape, const mz_node *node) { return tape->params->items[node->norm.gamma].columns; }

/* Floats of each of the sums. */
static size_t sum_count(const mz_tape *tape, const mz_node *node) {
  return (size_t)(tape->rows / node->group_rows) * (size_t)channels_of(tape, node);
}

size_t mz_norm_bytes(const mz_tape *tape, const mz_node *node) {
  return sizeof(norm_node) + SUMS * sum_count(tape, node) * sizeof(float);
}

mz_status mz_norm_prepare(mz_tape *tape, mz_node *node) {
  norm_node *own = NULL;
  float *block = NULL;
  const size_t count = sum_count(tape, node);
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  MZ_TRY(mz_alloc(&block, SUMS * count, sizeof *block));
  for (int k = 0; k < SUMS; k++) own->sums[k] = block + (size_t)k * count;
  return MZ_OK;
}

void mz_norm_release(mz_node *node) {
  norm_node *own = node->prepared;
  free(own->sums[0]);
  free(own);
  node->prepared = NULL;
}

static mz_norm_group group_at(mz_tape *tape, mz_node *node, int group) {
  const norm_node *own = node->prepared;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const int channels = channels_of(tape, node);
  const size_t at = (size_t)group * (size_t)node->group_rows * (size_t)x->stride, at_sums = (size_t)group * (size_t)channels;
  return (mz_norm_group){.positions = node->group_rows * node->positions,
                         .channels = channels,
                         .x = (const float *)x->data + at,
                         .y = (char *)y->data + at * (y->bf16 ? sizeof(uint16_t) : sizeof(float)),
                         .bf16 = y->bf16,
                         .gamma = mz_parameter(tape, tape->weights, node->norm.gamma),
                         .beta = mz_parameter(tape, tape->weights, node->norm.beta),
                         .epsilon = MZ_NORM_EPSILON,
                         .relu = node->activation == MZ_RELU,
                         .mean = own->sums[MEAN] + at_sums,
                         .variance = own->sums[VARIANCE] + at_sums,
                         .inverse = own->sums[INVERSE] + at_sums,
                         .dy = y->gradient == NULL ? NULL : (float *)y->gradient + at,
                         .dx = x->gradient == NULL ? NULL : (float *)x->gradient + at,
                         .overwrite = node->overwrites[0],
                         .sum_dy = own->sums[SUM_DY] + at_sums,
                         .sum_dy_x = own->sums[SUM_DY_X] + at_sums};
}

void mz_norm_forward(mz_tape *tape, mz_node *node, int rows) {
  MZ_ASSERT(rows % node->group_rows == 0);
  for (int g = 0; g < rows / node->group_rows; g++) {
    const mz_norm_group group = group_at(tape, node, g);
    mz_kernels_get()->norm(&group);
  }
}

/* The gradient of `param`: Σ over groups, and over those uses of the norm that have `mean` (−1: all), of one of the sums
 * they keep, in order. Returns how many uses these are. */
static int add_up(mz_tape *tape, const mz_node *node, int mean, int groups, kept which, int param) {
  const size_t channels = (size_t)channels_of(tape, node);
  float *sum = mz_gradient_of(tape, param);
  memset(sum, 0, channels * sizeof *sum);
  int count = 0;
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const norm_node *own = use->prepared;
    if (mean >= 0 && use->norm.mean != mean) continue;
    count++;
    for (int g = 0; g < groups; g++) mz_kernels_get()->add(sum, own->sums[which] + (size_t)g * channels, sum, channels);
  }
  return count;
}

/* The same as a mean over uses and groups, times the tape's share. */
static void average(mz_tape *tape, const mz_node *node, int mean, int groups, kept which, int param) {
  const int count = add_up(tape, node, mean, groups, which, param);
  const float share = (float)(tape->share / ((double)count * groups));
  float *sum = mz_gradient_of(tape, param);
  mz_kernels_get()->scale(sum, share, sum, (size_t)channels_of(tape, node), true);
}

/* Uses that share gain and offset may have statistics of their own. */
static void parameter_gradients(mz_tape *tape, const mz_node *node, int groups) {
  add_up(tape, node, -1, groups, SUM_DY_X, node->norm.gamma);
  add_up(tape, node, -1, groups, SUM_DY, node->norm.beta);
  for (int u = 0; u < node->use_count; u++) {
    const mz_norm *norm = &tape->nodes[node->uses[u]].norm;
    bool done = false;
    for (int v = 0; v < u; v++) done = done || tape->nodes[node->uses[v]].norm.mean == norm->mean;
    if (done) continue;
    average(tape, node, norm->mean, groups, MEAN, norm->mean);
    average(tape, node, norm->mean, groups, VARIANCE, norm->variance);
  }
}

void mz_norm_backward(mz_tape *tape, mz_node *node, int rows) {
  const int groups = rows / node->group_rows;
  for (int g = 0; g < groups; g++) {
    const mz_norm_group group = group_at(tape, node, g);
    mz_kernels_get()->norm_backward(&group);
  }
  if (node->first_use) parameter_gradients(tape, node, groups);
}

void mz_affine_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  mz_kernels_get()->affine(x->data, y->data, y->bf16, rows * node->positions, tape->params->items[node->weight].columns,
                           mz_parameter(tape, tape->weights, node->weight), mz_parameter(tape, tape->weights, node->bias),
                           node->activation == MZ_RELU);
}

/* ---- layer norm ---- */

/* Floats that a node keeps: mean and 1/√(variance + ε) of every position. */
static size_t moment_count(const mz_tape *tape, const mz_node *node) { return 2 * (size_t)tape->rows * (size_t)node->positions; }

size_t mz_layer_norm_bytes(const mz_tape *tape, const mz_node *node) { return moment_count(tape, node) * sizeof(float); }

mz_status mz_layer_norm_prepare(mz_tape *tape, mz_node *node) {
  float *moments = NULL;
  MZ_TRY(mz_alloc(&moments, moment_count(tape, node), sizeof *moments));
  node->prepared = moments;
  return MZ_OK;
}

void mz_layer_norm_release(mz_node *node) {
  free(node->prepared);
  node->prepared = NULL;
}

static mz_layer_norm layer_norm_of(const mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  return (mz_layer_norm){.positions = rows * node->positions,
                         .channels = tape->params->items[node->weight].columns,
                         .x = x->data,
                         .y = y->data,
                         .gamma = mz_parameter(tape, tape->weights, node->weight),
                         .beta = mz_parameter(tape, tape->weights, node->bias),
                         .epsilon = MZ_NORM_EPSILON,
                         .mean = node->prepared,
                         .inverse = (float *)node->prepared + rows * node->positions,
                         .dy = y->gradient,
                         .dx = x->gradient,
                         .overwrite = node->overwrites[0]};
}

void mz_layer_norm_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_layer_norm norm = layer_norm_of(tape, node, rows);
  mz_kernels_get()->layer_norm(&norm);
}

void mz_layer_norm_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_layer_norm norm = layer_norm_of(tape, node, rows);
  if (norm.dx != NULL) mz_kernels_get()->layer_norm_backward(&norm);
  if (!node->first_use) return;
  float *dgamma = mz_gradient_of(tape, node->weight), *dbeta = mz_gradient_of(tape, node->bias);
  memset(dgamma, 0, (size_t)norm.channels * sizeof *dgamma);
  memset(dbeta, 0, (size_t)norm.channels * sizeof *dbeta);
  for (int u = 0; u < node->use_count; u++) {
    mz_layer_norm use = layer_norm_of(tape, &tape->nodes[node->uses[u]], rows);
    use.dgamma = dgamma;
    use.dbeta = dbeta;
    mz_kernels_get()->layer_norm_gradients(&use);
  }
}
