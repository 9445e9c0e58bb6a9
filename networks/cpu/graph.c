#include "networks/cpu/graph.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"

/* Row r of a value, and of its gradient (NULL where none is wanted). */
static float *data_at(const mz_tape *tape, mz_value value, int r) {
  const mz_tape_value *v = &tape->values[value];
  return (float *)v->data + (size_t)r * (size_t)v->stride;
}

static float *gradient_at(const mz_tape *tape, mz_value value, int r) {
  const mz_tape_value *v = &tape->values[value];
  return v->gradient == NULL ? NULL : (float *)v->gradient + (size_t)r * (size_t)v->stride;
}

/* Channels of a value of `positions`. */
static size_t channels_of(const mz_tape *tape, mz_value value, int positions) {
  return (size_t)(tape->values[value].columns / positions);
}

/* ---- gather, concat ---- */

void mz_gather_forward(mz_tape *tape, mz_node *node, int rows) {
  const size_t channels = channels_of(tape, node->output, node->positions);
  const int columns = tape->values[node->inputs[0]].columns;
  for (int r = 0; r < rows; r++) {
    const int32_t *index = mz_tape_list_at(tape, node->index_input, r);
    const float *x = data_at(tape, node->inputs[0], r);
    float *y = data_at(tape, node->output, r);
    for (int p = 0; p < node->positions; p++, y += channels) {
      if (index[p] < 0) {
        memset(y, 0, channels * sizeof *y);
      } else {
        MZ_ASSERT(index[p] < columns / (int)channels);
        mz_copy_channels(x + (size_t)index[p] * channels, y, channels);
      }
    }
  }
}

void mz_gather_backward(mz_tape *tape, mz_node *node, int rows) {
  const size_t channels = channels_of(tape, node->output, node->positions);
  const mz_tape_value *x = &tape->values[node->inputs[0]];
  for (int r = 0; r < rows; r++) {
    const int32_t *index = mz_tape_list_at(tape, node->index_input, r);
    const float *dy = gradient_at(tape, node->output, r);
    float *dx = gradient_at(tape, node->inputs[0], r);
    if (node->overwrites[0]) memset(dx, 0, (size_t)x->stride * sizeof *dx);
    for (int p = 0; p < node->positions; p++, dy += channels) {
      if (index[p] < 0) continue;
      float *to = dx + (size_t)index[p] * channels;
      mz_kernels_get()->add(to, dy, to, channels);
    }
  }
}

/* Rows lie behind one another without gaps, so that positions do, too. */
void mz_concat_forward(mz_tape *tape, mz_node *node, int rows) {
  const size_t positions = (size_t)rows * (size_t)node->positions, width = channels_of(tape, node->output, node->positions);
  float *y = tape->values[node->output].data;
  for (int k = 0; k < node->input_count; k++) {
    const size_t channels = channels_of(tape, node->inputs[k], node->positions);
    const float *x = tape->values[node->inputs[k]].data;
    for (size_t p = 0; p < positions; p++) mz_copy_channels(x + p * channels, y + p * width, channels);
    y += channels;
  }
}

void mz_concat_backward(mz_tape *tape, mz_node *node, int rows) {
  const size_t positions = (size_t)rows * (size_t)node->positions, width = channels_of(tape, node->output, node->positions);
  const float *dy = tape->values[node->output].gradient;
  for (int k = 0; k < node->input_count; k++) {
    const size_t channels = channels_of(tape, node->inputs[k], node->positions);
    float *dx = tape->values[node->inputs[k]].gradient;
    for (size_t p = 0; p < positions && dx != NULL; p++) {
      mz_kernels_get()->scale(dy + p * width, 1.0f, dx + p * channels, channels, node->overwrites[k]);
    }
    dy += channels;
  }
}

/* ---- attention ---- */

static int edges_of(const mz_tape *tape, const mz_node *node) { return tape->index_lengths[node->index_input]; }

/* Floats of a graph's attention weights. */
static size_t weight_count(const mz_tape *tape, const mz_node *node) {
  return (size_t)mz_padded(edges_of(tape, node) * node->heads);
}

size_t mz_edge_attention_bytes(mz_tape *tape, const mz_node *node) {
  const size_t by_node = 2 * (size_t)(node->positions * node->heads);
  mz_tape_claim_scratch(tape, (by_node + weight_count(tape, node)) * sizeof(float));
  return (size_t)tape->rows * weight_count(tape, node) * sizeof(float);
}

mz_status mz_edge_attention_prepare(mz_tape *tape, mz_node *node) {
  return mz_alloc(&node->prepared, mz_edge_attention_bytes(tape, node), 1);
}

void mz_edge_attention_release(mz_node *node) {
  free(node->prepared);
  node->prepared = NULL;
}

static mz_edge_attention attention_at(const mz_tape *tape, const mz_node *node, int r) {
  float *scratch = tape->scratch;
  return (mz_edge_attention){.nodes = node->positions,
                             .edges = edges_of(tape, node),
                             .channels = (int)channels_of(tape, node->output, node->positions),
                             .heads = node->heads,
                             .targets = mz_tape_list_at(tape, node->index_input, r),
                             .q = data_at(tape, node->inputs[0], r),
                             .k = data_at(tape, node->inputs[1], r),
                             .v = data_at(tape, node->inputs[2], r),
                             .y = data_at(tape, node->output, r),
                             .weights = (float *)node->prepared + (size_t)r * weight_count(tape, node),
                             .dy = gradient_at(tape, node->output, r),
                             .dq = gradient_at(tape, node->inputs[0], r),
                             .dk = gradient_at(tape, node->inputs[1], r),
                             .dv = gradient_at(tape, node->inputs[2], r),
                             .overwrite = {node->overwrites[0], node->overwrites[1], node->overwrites[2]},
                             .by_node = scratch,
                             .by_edge = scratch + 2 * node->positions * node->heads};
}

void mz_edge_attention_forward(mz_tape *tape, mz_node *node, int rows) {
  for (int r = 0; r < rows; r++) {
    const mz_edge_attention attention = attention_at(tape, node, r);
    for (int e = 0; e < attention.edges; e++) MZ_ASSERT(attention.targets[e] < attention.nodes);
    mz_kernels_get()->edge_attention(&attention);
  }
}

void mz_edge_attention_backward(mz_tape *tape, mz_node *node, int rows) {
  for (int r = 0; r < rows; r++) {
    const mz_edge_attention attention = attention_at(tape, node, r);
    mz_kernels_get()->edge_attention_backward(&attention);
  }
}

/* ---- pool ---- */

static mz_masked_pooling pooling_at(const mz_tape *tape, const mz_node *node, int r) {
  return (mz_masked_pooling){.positions = node->positions,
                             .channels = (int)channels_of(tape, node->inputs[0], node->positions),
                             .types = mz_tape_list_at(tape, node->index_input, r),
                             .x = data_at(tape, node->inputs[0], r),
                             .y = data_at(tape, node->output, r),
                             .dy = gradient_at(tape, node->output, r),
                             .dx = gradient_at(tape, node->inputs[0], r),
                             .overwrite = node->overwrites[0]};
}

void mz_masked_pool_forward(mz_tape *tape, mz_node *node, int rows) {
  for (int r = 0; r < rows; r++) {
    const mz_masked_pooling pooling = pooling_at(tape, node, r);
    mz_kernels_get()->masked_pool(&pooling);
  }
}

void mz_masked_pool_backward(mz_tape *tape, mz_node *node, int rows) {
  for (int r = 0; r < rows; r++) {
    const mz_masked_pooling pooling = pooling_at(tape, node, r);
    mz_kernels_get()->masked_pool_backward(&pooling);
  }
}
