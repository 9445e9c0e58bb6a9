/* 3 × 3 convolutions of boards by kernels of ours, as simple as the formula: for devices and libraries for which cuDNN knows
 * no engine that keeps the rules (convolutions.cuh). Sums are f32 in a fixed order: a row's bits depend on nothing but the
 * row. */
#pragma once
#include "networks/cuda/access.cuh"
#include "networks/cuda/convolutions.cuh"

/* Convolves the first `rows` boards on the lane's stream; the result is f32. Of the settings bias, add, relu and bf16_out are
 * not read, as of `data` the tensors that belong to them. */
mz_status mz_cuda_direct_conv_run(const mz_cuda_lane *lane, const mz_cuda_conv_graph_settings *settings, int rows,
                                  const mz_cuda_conv_data *data);
