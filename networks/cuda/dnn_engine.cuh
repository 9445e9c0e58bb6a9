/* Engines of cuDNN that may run a convolution's graph: found by the library's heuristics, kept by what they are (an index and
 * the values of knobs), planned for graphs of any number of rows. */
#pragma once
#include "networks/cuda/descriptors.cuh"
#include "networks/cuda/lane.cuh"

/* A device as the library knows it, and the workspace it may count on. */
typedef struct mz_cuda_conv_target {
  cudnnBackendDescriptor_t properties; /* finalized CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR */
  size_t workspace_bytes;
} mz_cuda_conv_target;

/* `properties` belongs to `owner`. */
mz_status mz_cuda_conv_target_init(mz_cuda_conv_target *target, mz_cudnn_descriptors *owner, const mz_cuda_lane *lane);

enum { MZ_CUDA_CONV_KNOBS = 24 };

typedef struct mz_cuda_conv_engine {
  int64_t index;
  int knob_count;
  cudnnBackendKnobType_t knobs[MZ_CUDA_CONV_KNOBS];
  int64_t values[MZ_CUDA_CONV_KNOBS];
} mz_cuda_conv_engine;

/* Lists those of the engines that the heuristics name which keep the rules (convolutions.cuh), in their order, `most` at most.
 * bf16: the graph convolves bf16, so that tensor cores are welcome; with f32 they would round to TF32. */
mz_status mz_cuda_conv_engines_find(mz_cudnn_descriptors *owner, const mz_cuda_conv_target *target,
                                    cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode, bool bf16,
                                    mz_cuda_conv_engine *engines, int most, int *count);

/* Compiled kernels that plans of graphs with `any_rows` share. *accepted: the library knows such. */
typedef struct mz_cuda_conv_kernels {
  cudnnBackendDescriptor_t cache; /* NULL: none */
} mz_cuda_conv_kernels;
mz_status mz_cuda_conv_kernels_init(mz_cuda_conv_kernels *kernels, mz_cudnn_descriptors *owner, cudnnBackendDescriptor_t graph,
                                    bool *accepted);

/* *built: the engine can run the graph within the target's workspace. */
mz_status mz_cuda_conv_engine_plan(const mz_cuda_conv_engine *engine, mz_cudnn_descriptors *owner,
                                   const mz_cuda_conv_target *target, cudnnBackendDescriptor_t graph,
                                   const mz_cuda_conv_kernels *kernels, cudnnBackendDescriptor_t *plan, bool *built);
