#include "networks/cpu/conv.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/winograd.h"
#include <string.h>

typedef struct conv_node {
  mz_term *terms; /* at first_use: inputs and output gradients of all uses */
  /* floats: */
  mz_winograd shape, turned; /* of the data gradient: inputs and outputs exchanged */
  /* bf16, otherwise NULL: */
  mz_conv *forward, *data, *weights;
  float *apart; /* the data gradient, where it is to be added to what is there */
  uint16_t *dy; /* the output's gradient */
} conv_node;

static int inputs_of(const mz_param *param) { return param->rows / (MZ_KERNEL * MZ_KERNEL); }

static mz_winograd winograd_of(const mz_param *param) { return mz_winograd_of(param->conv, inputs_of(param), param->columns); }

static mz_conv_shape half_shape_of(const mz_param *param) {
  return (mz_conv_shape){param->conv, inputs_of(param), param->columns};
}

static bool multiplies_bf16(const mz_tape *tape, const mz_node *node) { return tape->values[node->inputs[0]].bf16; }

static bool sends_gradient(const mz_tape *tape, const mz_node *node) {
  return node->backward && tape->values[node->inputs[0]].gradient != NULL;
}

static mz_status create(mz_tape *tape, mz_node *node, mz_conv_direction direction, mz_conv **out) {
  mz_conv_settings settings = {
      .shape = half_shape_of(&tape->params->items[node->weight]), .rows = tape->rows, .direction = direction};
  if (direction == MZ_CONV_FORWARD) {
    settings.bf16_out = tape->values[node->output].bf16;
    settings.bias = node->bias >= 0;
    settings.add = node->input_count > 1;
    settings.relu = node->activation == MZ_RELU;
  }
  return mz_conv_create(out, &settings);
}

static mz_status prepare_bf16(mz_tape *tape, mz_node *node, conv_node *own) {
  const size_t rows = (size_t)tape->rows;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  MZ_TRY(create(tape, node, MZ_CONV_FORWARD, &own->forward));
  if (node->backward) MZ_TRY(mz_alloc(&own->dy, rows * (size_t)y->stride, sizeof *own->dy));
  if (sends_gradient(tape, node)) {
    MZ_TRY(create(tape, node, MZ_CONV_DATA, &own->data));
    if (!node->overwrites[0]) MZ_TRY(mz_alloc(&own->apart, rows * (size_t)x->stride, sizeof *own->apart));
  }
  return node->first_use ? create(tape, node, MZ_CONV_WEIGHTS, &own->weights) : MZ_OK;
}

static void claim_scratch(mz_tape *tape, const mz_node *node, const mz_winograd *shape) {
  mz_tape_claim_scratch(tape, mz_winograd_forward_scratch(shape) * sizeof(float));
  if (node->first_use) mz_tape_claim_scratch(tape, mz_winograd_weights_scratch(shape) * sizeof(float));
}

static void prepare_floats(mz_tape *tape, mz_node *node, conv_node *own) {
  const mz_param *param = &tape->params->items[node->weight];
  own->shape = winograd_of(param);
  own->turned = mz_winograd_of(param->conv, param->columns, inputs_of(param));
  claim_scratch(tape, node, &own->shape);
}

size_t mz_conv_node_bytes(mz_tape *tape, const mz_node *node, bool sends_gradient) {
  const mz_param *param = &tape->params->items[node->weight];
  const size_t rows = (size_t)tape->rows, terms = node->first_use ? (size_t)node->use_count * sizeof(mz_term) : 0;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  size_t bytes = sizeof(conv_node) + terms;
  if (!multiplies_bf16(tape, node)) {
    const mz_winograd shape = winograd_of(param);
    claim_scratch(tape, node, &shape);
    return bytes;
  }
  const size_t weights = (size_t)param->rows * (size_t)param->columns * sizeof(float);
  bytes += rows * (size_t)x->stride * sizeof(float); /* what the library packs for itself, or `apart` */
  if (node->backward) bytes += rows * (size_t)y->stride * sizeof(uint16_t);
  if (sends_gradient && !node->overwrites[0]) bytes += rows * (size_t)x->stride * sizeof(float);
  return bytes + (node->first_use ? 2 : 1) * weights;
}

mz_status mz_conv_node_prepare(mz_tape *tape, mz_node *node) {
  conv_node *own = NULL;
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  if (multiplies_bf16(tape, node)) {
    MZ_TRY(prepare_bf16(tape, node, own));
  } else {
    prepare_floats(tape, node, own);
  }
  return node->first_use ? mz_alloc(&own->terms, (size_t)node->use_count, sizeof *own->terms) : MZ_OK;
}

void mz_conv_node_release(mz_node *node) {
  conv_node *own = node->prepared;
  mz_conv_free(own->forward);
  mz_conv_free(own->data);
  mz_conv_free(own->weights);
  free(own->terms);
  free(own->apart);
  free(own->dy);
  free(own);
  node->prepared = NULL;
}

void mz_conv_node_forward(mz_tape *tape, mz_node *node, int rows) {
  const conv_node *own = node->prepared;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const float *weights = mz_parameter(tape, tape->weights, node->weight), *bias = mz_parameter(tape, tape->weights, node->bias);
  const void *add = node->input_count > 1 ? tape->values[node->inputs[1]].data : NULL;
  if (own->forward == NULL) {
    const mz_tile_finish finish = {bias, add, node->activation == MZ_RELU};
    mz_winograd_forward(&own->shape, rows, x->data, weights, &finish, y->data, tape->scratch);
    return;
  }
  if (add != NULL && add != y->data) memcpy(y->data, add, (size_t)rows * (size_t)y->stride * sizeof(float));
  mz_conv_forward(own->forward, rows, x->data, weights, bias, y->data);
}

static void half_weight_gradient(mz_tape *tape, const mz_node *node, int rows) {
  const conv_node *own = node->prepared;
  mz_conv_weights_begin(own->weights);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    mz_conv_weights_add(own->weights, rows, tape->values[use->inputs[0]].data, ((const conv_node *)use->prepared)->dy);
  }
  mz_conv_weights_end(own->weights, mz_gradient_of(tape, node->weight));
}

static void parameter_gradients(mz_tape *tape, const mz_node *node, int rows) {
  const conv_node *own = node->prepared;
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    own->terms[u] = (mz_term){tape->values[use->inputs[0]].data, tape->values[use->output].gradient};
  }
  if (own->weights != NULL) {
    half_weight_gradient(tape, node, rows);
  } else {
    mz_winograd_weights(&own->shape, rows, own->terms, node->use_count, tape->scratch, mz_gradient_of(tape, node->weight));
  }
  if (node->bias < 0) return;
  const int channels = tape->params->items[node->bias].stride;
  mz_kernels_get()->column_sums(own->terms, node->use_count, rows * node->positions, channels, channels,
                                mz_gradient_of(tape, node->bias));
}

static void data_gradient(mz_tape *tape, const mz_node *node, int rows) {
  const conv_node *own = node->prepared;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const float *weights = mz_parameter(tape, tape->transposed, node->weight);
  const bool add = !node->overwrites[0];
  if (own->data == NULL) {
    const mz_tile_finish finish = {.add = add ? x->gradient : NULL};
    mz_winograd_forward(&own->turned, rows, y->gradient, weights, &finish, x->gradient, tape->scratch);
    return;
  }
  mz_conv_data(own->data, rows, own->dy, weights, add ? own->apart : x->gradient);
  if (add) mz_kernels_get()->add(x->gradient, own->apart, x->gradient, (size_t)rows * (size_t)x->stride);
}

void mz_conv_node_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_kernels *kernels = mz_kernels_get();
  const conv_node *own = node->prepared;
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const size_t count = (size_t)rows * (size_t)y->stride;
  if (node->activation == MZ_RELU) kernels->relu_mask(y->data, y->gradient, count);
  if (node->input_count > 1) {
    float *dadd = tape->values[node->inputs[1]].gradient;
    if (dadd != NULL && dadd != y->gradient) kernels->scale(y->gradient, 1.0f, dadd, count, node->overwrites[1]);
  }
  if (own->dy != NULL) kernels->to_bf16(y->gradient, own->dy, count);
  if (x->gradient != NULL) data_gradient(tape, node, rows);
  if (node->first_use) parameter_gradients(tape, node, rows);
}

int64_t mz_conv_packed(const mz_param *param) { return (int64_t)MZ_CONV_PACKED * inputs_of(param) * param->columns; }

mz_status mz_conv_pack_param(const mz_param *param, mz_conv_direction direction, bool bf16, const float *values, float *out) {
  if (bf16) {
    const mz_conv_shape shape = half_shape_of(param);
    return mz_conv_pack(&shape, direction, values, out);
  }
  const mz_winograd shape = winograd_of(param);
  (direction == MZ_CONV_DATA ? mz_winograd_pack_data : mz_winograd_pack)(&shape, values, out);
  return MZ_OK;
}
