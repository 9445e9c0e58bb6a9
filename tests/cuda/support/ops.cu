#include "tests/cuda/support/ops.cuh"
#include "networks/cuda/boards.cuh"
#include "networks/cuda/edge_attention.cuh"
#include "networks/cuda/elements.cuh"
#include "networks/cuda/graphs.cuh"
#include "networks/cuda/halving.cuh"
#include "networks/cuda/layer_norm.cuh"
#include "networks/cuda/logits.cuh"
#include "networks/cuda/norm.cuh"
#include "networks/cuda/rows.cuh"
#include "networks/cuda/typed_linear.cuh"

const cuda_op *cuda_op_of(mz_op op) {
  static const struct {
    mz_op op;
    cuda_op functions;
  } table[] = {
      {MZ_OP_ADD, {nullptr, nullptr, mz_cuda_add_forward, mz_cuda_add_backward, true, true}},
      {MZ_OP_RELU, {nullptr, nullptr, mz_cuda_relu_forward, mz_cuda_relu_backward, true, true}},
      {MZ_OP_GELU, {nullptr, nullptr, mz_cuda_gelu_forward, mz_cuda_gelu_backward, true, true}},
      {MZ_OP_TO_BF16, {nullptr, nullptr, mz_cuda_to_bf16_forward, mz_cuda_to_bf16_backward, true, true}},
      {MZ_OP_SCALE_GRADIENT, {nullptr, nullptr, nullptr, mz_cuda_scale_gradient_backward, true, true}},
      {MZ_OP_MINMAX, {nullptr, nullptr, mz_cuda_minmax_forward, mz_cuda_minmax_backward, true, true}},
      {MZ_OP_RMS, {nullptr, nullptr, mz_cuda_rms_forward, mz_cuda_rms_backward, true, true}},
      {MZ_OP_SOFTMAX, {nullptr, nullptr, mz_cuda_softmax_forward, nullptr, true, true}},
      {MZ_OP_EXPECTATION, {nullptr, nullptr, mz_cuda_expectation_forward, nullptr, true, true}},
      {MZ_OP_SOFTMAX_XENT, {nullptr, nullptr, mz_cuda_softmax_xent_forward, nullptr, true, true}},
      {MZ_OP_MSE, {nullptr, nullptr, mz_cuda_mse_forward, mz_cuda_mse_backward, true, true}},
      {MZ_OP_NORM, {mz_cuda_norm_prepare, mz_cuda_norm_release, mz_cuda_norm_forward, mz_cuda_norm_backward, false, false}},
      {MZ_OP_AFFINE, {nullptr, nullptr, mz_cuda_affine_forward, nullptr, true, true}},
      {MZ_OP_LAYER_NORM,
       {mz_cuda_layer_norm_prepare, mz_cuda_layer_norm_release, mz_cuda_layer_norm_forward, mz_cuda_layer_norm_backward, true,
        true}},
      {MZ_OP_PLANES, {nullptr, nullptr, mz_cuda_planes_forward, nullptr, true, true}},
      {MZ_OP_ACTION_MAP, {nullptr, nullptr, mz_cuda_action_map_forward, mz_cuda_action_map_backward, true, true}},
      {MZ_OP_POOL, {nullptr, nullptr, mz_cuda_pool_forward, mz_cuda_pool_backward, true, true}},
      {MZ_OP_BROADCAST, {nullptr, nullptr, mz_cuda_broadcast_forward, mz_cuda_broadcast_backward, true, true}},
      {MZ_OP_TYPED_LINEAR, {nullptr, nullptr, mz_cuda_typed_linear_forward, mz_cuda_typed_linear_backward, false, false}},
      {MZ_OP_GATHER, {nullptr, nullptr, mz_cuda_gather_forward, mz_cuda_gather_backward, true, true}},
      {MZ_OP_CONCAT, {nullptr, nullptr, mz_cuda_concat_forward, mz_cuda_concat_backward, true, true}},
      {MZ_OP_EDGE_ATTENTION,
       {mz_cuda_edge_attention_prepare, mz_cuda_edge_attention_release, mz_cuda_edge_attention_forward,
        mz_cuda_edge_attention_backward, true, true}},
      {MZ_OP_MASKED_POOL, {nullptr, nullptr, mz_cuda_masked_pool_forward, mz_cuda_masked_pool_backward, true, true}},
      {MZ_OP_SCALE, {nullptr, nullptr, mz_cuda_scale_forward, mz_cuda_scale_gradient_backward, true, true}},
      {MZ_OP_PATCHES, {nullptr, nullptr, mz_cuda_patches_forward, mz_cuda_patches_backward, true, true}},
      {MZ_OP_MEAN_POOL, {nullptr, nullptr, mz_cuda_mean_pool_forward, mz_cuda_mean_pool_backward, true, true}},
  };
  for (const auto &row : table) {
    if (row.op == op) return &row.functions;
  }
  return nullptr;
}
