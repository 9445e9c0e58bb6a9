/* The cpu backend: floats, kernels chosen at run time, oneDNN for wide layers. */
#include "networks/tape/backend.h"
#include "networks/cpu/conv.h"
#include "networks/cpu/graph.h"
#include "networks/cpu/halving.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/linear.h"
#include "networks/cpu/norm.h"
#include "networks/cpu/planes.h"
#include "networks/cpu/pooling.h"
#include "networks/cpu/typed_linear.h"
#include "networks/cpu/update.h"
#include "networks/math/value.h"
#include "networks/tape/tape_state.h"
#include <string.h>

/* Ops that take more than a kernel over rows. */
typedef struct node_functions {
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_node *node);
  void (*forward)(mz_tape *tape, mz_node *node, int rows);
  void (*backward)(mz_tape *tape, mz_node *node, int rows);
} node_functions;

static const node_functions *functions_of(const mz_node *node) {
  static const node_functions table[] = {
      [MZ_OP_LINEAR] = {mz_linear_prepare, mz_linear_release, mz_linear_forward, mz_linear_backward},
      [MZ_OP_CONV] = {mz_conv_node_prepare, mz_conv_node_release, mz_conv_node_forward, mz_conv_node_backward},
      [MZ_OP_NORM] = {mz_norm_prepare, mz_norm_release, mz_norm_forward, mz_norm_backward},
      [MZ_OP_ACTION_MAP] = {NULL, NULL, mz_action_map_forward, mz_action_map_backward},
      [MZ_OP_PLANES] = {NULL, NULL, mz_planes_forward, NULL},
      [MZ_OP_POOL] = {NULL, NULL, mz_pool_forward, mz_pool_backward},
      [MZ_OP_BROADCAST] = {NULL, NULL, mz_broadcast_forward, mz_broadcast_backward},
      [MZ_OP_AFFINE] = {NULL, NULL, mz_affine_forward, NULL},
      [MZ_OP_LAYER_NORM] = {mz_layer_norm_prepare, mz_layer_norm_release, mz_layer_norm_forward, mz_layer_norm_backward},
      [MZ_OP_TYPED_LINEAR] = {mz_typed_linear_prepare, mz_typed_linear_release, mz_typed_linear_forward,
                              mz_typed_linear_backward},
      [MZ_OP_GATHER] = {NULL, NULL, mz_gather_forward, mz_gather_backward},
      [MZ_OP_CONCAT] = {NULL, NULL, mz_concat_forward, mz_concat_backward},
      [MZ_OP_EDGE_ATTENTION] = {mz_edge_attention_prepare, mz_edge_attention_release, mz_edge_attention_forward,
                                mz_edge_attention_backward},
      [MZ_OP_MASKED_POOL] = {NULL, NULL, mz_masked_pool_forward, mz_masked_pool_backward},
      [MZ_OP_PATCHES] = {NULL, NULL, mz_patches_forward, mz_patches_backward},
      [MZ_OP_MEAN_POOL] = {NULL, NULL, mz_mean_pool_forward, mz_mean_pool_backward},
  };
  return (size_t)node->op < sizeof table / sizeof *table && table[node->op].forward ? &table[node->op] : NULL;
}

static mz_status prepare(mz_tape *tape, mz_node *node) {
  const node_functions *own = functions_of(node);
  return own && own->prepare ? own->prepare(tape, node) : MZ_OK;
}

static void release(mz_tape *tape, mz_node *node) {
  (void)tape;
  functions_of(node)->release(node);
}

static mz_logits logits_of(const mz_tape_value *x, int rows) {
  return (mz_logits){.x = x->data, .rows = rows, .columns = x->columns, .stride = x->stride};
}

static mz_status forward(mz_tape *tape, mz_node *node, int rows) {
  const node_functions *own = functions_of(node);
  if (own) {
    own->forward(tape, node, rows);
    return MZ_OK;
  }
  const mz_kernels *kernels = mz_kernels_get();
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const size_t count = (size_t)rows * (size_t)y->stride;
  const mz_logits logits = logits_of(x, rows);
  switch (node->op) {
    case MZ_OP_TO_BF16: kernels->to_bf16(x->data, y->data, count); break;
    case MZ_OP_ADD: kernels->add(x->data, tape->values[node->inputs[1]].data, y->data, count); break;
    case MZ_OP_RELU: kernels->relu(x->data, y->data, count); break;
    case MZ_OP_GELU: kernels->gelu(x->data, y->data, count); break;
    case MZ_OP_SCALE: kernels->scale(x->data, node->factor, y->data, count, true); break;
    case MZ_OP_MINMAX: kernels->minmax(x->data, y->data, rows, x->columns, x->stride); break;
    case MZ_OP_RMS: kernels->rms(x->data, y->data, rows, x->columns, x->stride); break;
    case MZ_OP_MSE: kernels->mse(x->data, tape->values[node->inputs[1]].data, y->data, rows, x->columns, x->stride); break;
    case MZ_OP_SOFTMAX: kernels->softmax(&logits, y->data); break;
    case MZ_OP_EXPECTATION: {
      const float step = mz_bin_step_inline(node->support_min, node->support_max, x->columns);
      kernels->expectation(&logits, node->support_min, step, node->transform, y->data, y->stride);
      break;
    }
    case MZ_OP_SOFTMAX_XENT: /* the gradient comes for little here, while the exponentials are at hand: backward has nothing left */
      kernels->softmax_xent(&logits, tape->values[node->inputs[1]].data, tape->values[node->inputs[2]].data, node->factor,
                            y->data, x->gradient);
      break;
    default: break;
  }
  return MZ_OK;
}

static mz_status backward(mz_tape *tape, mz_node *node, int rows) {
  const node_functions *own = functions_of(node);
  if (own) {
    if (own->backward) own->backward(tape, node, rows);
    return MZ_OK;
  }
  const mz_kernels *kernels = mz_kernels_get();
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const size_t count = (size_t)rows * (size_t)y->stride;
  const bool overwrite = node->overwrites[0];
  switch (node->op) {
    case MZ_OP_ADD:
      for (int k = 0; k < node->input_count; k++) {
        float *dx = tape->values[node->inputs[k]].gradient;
        if (dx != NULL) kernels->scale(y->gradient, 1.0f, dx, count, node->overwrites[k]);
      }
      break;
    case MZ_OP_RELU: kernels->relu_backward(y->data, y->gradient, x->gradient, count, overwrite); break;
    case MZ_OP_GELU: kernels->gelu_backward(x->data, y->gradient, x->gradient, count, overwrite); break;
    case MZ_OP_TO_BF16: kernels->scale(y->gradient, 1.0f, x->gradient, count, overwrite); break;
    case MZ_OP_SCALE:
    case MZ_OP_SCALE_GRADIENT: kernels->scale(y->gradient, node->factor, x->gradient, count, overwrite); break;
    case MZ_OP_MINMAX:
      kernels->minmax_backward(x->data, y->data, y->gradient, x->gradient, rows, x->columns, x->stride, overwrite);
      break;
    case MZ_OP_MSE:
      kernels->mse_backward(x->data, tape->values[node->inputs[1]].data, tape->values[node->inputs[2]].data, node->factor,
                            x->gradient, rows, x->columns, x->stride, overwrite);
      break;
    case MZ_OP_RMS:
      kernels->rms_backward(x->data, y->data, y->gradient, x->gradient, rows, x->columns, x->stride, overwrite);
      break;
    default: break;
  }
  return MZ_OK;
}

static mz_status pack_forward(const mz_lane *lane, const mz_param *param, const void *values, bool bf16, void *out) {
  (void)lane;
  if (param->conv.height > 0) return mz_conv_pack_param(param, MZ_CONV_FORWARD, bf16, values, out);
  memcpy(out, values, (size_t)param->rows * (size_t)param->stride * sizeof(float));
  return MZ_OK;
}

static mz_status pack_backward(const mz_lane *lane, const mz_param *param, const void *values, bool bf16, void *out) {
  (void)lane;
  if (param->conv.height > 0) return mz_conv_pack_param(param, MZ_CONV_DATA, bf16, values, out);
  mz_linear_transpose(param, values, out);
  return MZ_OK;
}

static int64_t packed_size(const mz_param *param) {
  return param->conv.height > 0 ? mz_conv_packed(param) : (int64_t)param->rows * param->stride;
}

static bool halves(const mz_lane *lane) {
  (void)lane;
  return mz_isa_has_bf16();
}

static size_t node_bytes(mz_tape *tape, const mz_node *node, bool sends_gradient) {
  enum { SMALL = 256 }; /* of a linear map: what it knows of itself */
  switch (node->op) {
    case MZ_OP_CONV: return mz_conv_node_bytes(tape, node, sends_gradient);
    case MZ_OP_NORM: return mz_norm_bytes(tape, node);
    case MZ_OP_LINEAR: return SMALL;
    case MZ_OP_LAYER_NORM: return mz_layer_norm_bytes(tape, node);
    case MZ_OP_TYPED_LINEAR: return mz_typed_linear_bytes(tape, node);
    case MZ_OP_EDGE_ATTENTION: return mz_edge_attention_bytes(tape, node);
    default: return 0;
  }
}

const mz_lane mz_lane_cpu = {.backend = &mz_backend_cpu};

const mz_backend mz_backend_cpu = {
    .name = "cpu",
    .element_size = sizeof(float),
    .halves = halves,
    .prepare = prepare,
    .release = release,
    .node_bytes = node_bytes,
    .forward = forward,
    .backward = backward,
    .pack_forward = pack_forward,
    .pack_backward = pack_backward,
    .packed_size = packed_size,
    .updater = &mz_cpu_updater,
};
