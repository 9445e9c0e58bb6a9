#include "networks/cuda/nodes.cuh"
#include "networks/cuda/boards.cuh"
#include "networks/cuda/conv.cuh"
#include "networks/cuda/edge_attention.cuh"
#include "networks/cuda/elements.cuh"
#include "networks/cuda/graphs.cuh"
#include "networks/cuda/halving.cuh"
#include "networks/cuda/layer_norm.cuh"
#include "networks/cuda/linear.cuh"
#include "networks/cuda/logits.cuh"
#include "networks/cuda/norm.cuh"
#include "networks/cuda/rows.cuh"
#include "networks/cuda/typed_linear.cuh"

typedef mz_status pass(mz_tape *tape, mz_node *node, int rows);

typedef struct node_functions {
  pass *forward, *backward; /* NULL: there is nothing to do */
} node_functions;

static node_functions functions_of(mz_op op) {
  switch (op) {
    case MZ_OP_LINEAR: return {mz_cuda_linear_forward, mz_cuda_linear_backward};
    case MZ_OP_ADD: return {mz_cuda_add_forward, mz_cuda_add_backward};
    case MZ_OP_RELU: return {mz_cuda_relu_forward, mz_cuda_relu_backward};
    case MZ_OP_MINMAX: return {mz_cuda_minmax_forward, mz_cuda_minmax_backward};
    case MZ_OP_RMS: return {mz_cuda_rms_forward, mz_cuda_rms_backward};
    case MZ_OP_SCALE_GRADIENT: return {nullptr, mz_cuda_scale_gradient_backward};
    case MZ_OP_SOFTMAX_XENT: return {mz_cuda_softmax_xent_forward, nullptr};
    case MZ_OP_MSE: return {mz_cuda_mse_forward, mz_cuda_mse_backward};
    case MZ_OP_EXPECTATION: return {mz_cuda_expectation_forward, nullptr};
    case MZ_OP_SOFTMAX: return {mz_cuda_softmax_forward, nullptr};
    case MZ_OP_PLANES: return {mz_cuda_planes_forward, nullptr};
    case MZ_OP_CONV: return {mz_cuda_conv_forward, mz_cuda_conv_backward};
    case MZ_OP_ACTION_MAP: return {mz_cuda_action_map_forward, mz_cuda_action_map_backward};
    case MZ_OP_NORM: return {mz_cuda_norm_forward, mz_cuda_norm_backward};
    case MZ_OP_POOL: return {mz_cuda_pool_forward, mz_cuda_pool_backward};
    case MZ_OP_BROADCAST: return {mz_cuda_broadcast_forward, mz_cuda_broadcast_backward};
    case MZ_OP_TO_BF16: return {mz_cuda_to_bf16_forward, mz_cuda_to_bf16_backward};
    case MZ_OP_AFFINE: return {mz_cuda_affine_forward, nullptr};
    case MZ_OP_GELU: return {mz_cuda_gelu_forward, mz_cuda_gelu_backward};
    case MZ_OP_LAYER_NORM: return {mz_cuda_layer_norm_forward, mz_cuda_layer_norm_backward};
    case MZ_OP_TYPED_LINEAR: return {mz_cuda_typed_linear_forward, mz_cuda_typed_linear_backward};
    case MZ_OP_GATHER: return {mz_cuda_gather_forward, mz_cuda_gather_backward};
    case MZ_OP_CONCAT: return {mz_cuda_concat_forward, mz_cuda_concat_backward};
    case MZ_OP_EDGE_ATTENTION: return {mz_cuda_edge_attention_forward, mz_cuda_edge_attention_backward};
    case MZ_OP_MASKED_POOL: return {mz_cuda_masked_pool_forward, mz_cuda_masked_pool_backward};
    case MZ_OP_SCALE: return {mz_cuda_scale_forward, mz_cuda_scale_gradient_backward};
    case MZ_OP_PATCHES: return {mz_cuda_patches_forward, mz_cuda_patches_backward};
    case MZ_OP_MEAN_POOL: return {mz_cuda_mean_pool_forward, mz_cuda_mean_pool_backward};
    case MZ_OP_INPUT: break;
  }
  return {nullptr, nullptr};
}

mz_status mz_cuda_node_prepare(mz_tape *tape, mz_node *node) {
  MZ_TRY(mz_cuda_device_enter(tape->lane.device));
  switch (node->op) {
    case MZ_OP_LINEAR: return mz_cuda_linear_prepare(tape, node);
    case MZ_OP_CONV: return mz_cuda_conv_prepare(tape, node);
    case MZ_OP_NORM: return mz_cuda_norm_prepare(tape, node);
    case MZ_OP_LAYER_NORM: return mz_cuda_layer_norm_prepare(tape, node);
    case MZ_OP_EDGE_ATTENTION: return mz_cuda_edge_attention_prepare(tape, node);
    default: return MZ_OK;
  }
}

void mz_cuda_node_release(mz_tape *tape, mz_node *node) {
  (void)mz_cuda_device_enter(tape->lane.device);
  switch (node->op) {
    case MZ_OP_LINEAR: mz_cuda_linear_release(tape, node); break;
    case MZ_OP_CONV: mz_cuda_conv_release(tape, node); break;
    case MZ_OP_NORM: mz_cuda_norm_release(node); break;
    case MZ_OP_LAYER_NORM: mz_cuda_layer_norm_release(node); break;
    case MZ_OP_EDGE_ATTENTION: mz_cuda_edge_attention_release(node); break;
    default: break;
  }
}

size_t mz_cuda_node_bytes(mz_tape *tape, const mz_node *node, bool sends_gradient) {
  switch (node->op) {
    case MZ_OP_LINEAR: mz_cuda_linear_claim(tape, node); return 0;
    case MZ_OP_CONV: mz_cuda_conv_claim(tape, node, sends_gradient); return 0;
    case MZ_OP_NORM: return mz_cuda_norm_bytes(tape, node);
    case MZ_OP_LAYER_NORM: return mz_cuda_layer_norm_bytes(tape, node);
    case MZ_OP_EDGE_ATTENTION: return mz_cuda_edge_attention_bytes(tape, node);
    default: return 0;
  }
}

mz_status mz_cuda_node_forward(mz_tape *tape, mz_node *node, int rows) {
  pass *const forward = functions_of(node->op).forward;
  return forward == nullptr ? MZ_OK : forward(tape, node, rows);
}

mz_status mz_cuda_node_backward(mz_tape *tape, mz_node *node, int rows) {
  pass *const backward = functions_of(node->op).backward;
  return backward == nullptr ? MZ_OK : backward(tape, node, rows);
}
