/* A 3 × 3 convolution of boards in one of its three directions, as one of cuDNN's operation graphs: the convolution in f32,
 * then a chain of pointwise operations, of which only the last one's result reaches memory. Boards are NHWC, filters KRSC
 * (output, kernel row, kernel column, input), both f32 or bf16. Where the result has another type than what is convolved, an
 * identity ends the chain: without it the library takes the graph for one of its older fusions, which know one type. */
#pragma once
#include "networks/cuda/descriptors.cuh"
extern "C" {
#include "networks/parameters/params.h"
}

typedef enum mz_cuda_direction { MZ_CUDA_CONV_FORWARD, MZ_CUDA_CONV_DATA, MZ_CUDA_CONV_WEIGHTS } mz_cuda_direction;

typedef struct mz_cuda_conv_graph_settings {
  mz_cuda_direction direction;
  mz_board board;
  int inputs, outputs;  /* channels: multiples of 16 */
  bool bf16;            /* what is convolved: x and filters, dy and filters, or x and dy */
  bool bf16_out;        /* FORWARD: the result; otherwise it is f32 */
  bool bias, add, relu; /* FORWARD: result = relu?(conv + bias? + add?) */
} mz_cuda_conv_graph_settings;

/* Names of tensors, in a graph and where data are given for it. */
enum { MZ_CUDA_CONV_X = 1, MZ_CUDA_CONV_FILTERS, MZ_CUDA_CONV_DY, MZ_CUDA_CONV_BIAS, MZ_CUDA_CONV_ADD, MZ_CUDA_CONV_RESULT };

/* The graph for `rows` boards. any_rows: its kernels serve graphs of other numbers of rows, too. *accepted: the library knows
 * such graphs; which engines run them is another question. Descriptors belong to `owner`. */
mz_status mz_cuda_conv_graph_create(mz_cudnn_descriptors *owner, const mz_cuda_conv_graph_settings *settings, int rows,
                                    bool any_rows, cudnnBackendDescriptor_t *out, bool *accepted);
