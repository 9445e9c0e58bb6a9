/* A convolution's operation graph as cuDNN's twin understands it: a 3 × 3 convolution with padding 1 in one direction, and a
 * chain of pointwise operations behind it. Sums are f32 in a fixed order, results are rounded where they are stored. */
#pragma once
#include "dnn_descriptor.h"

struct dnn_tensor {
  int64_t id, dimensions[4] /* rows, channels, height, width, or outputs, inputs, 3, 3 */, alignment;
  bool bf16, is_virtual;
  size_t count() const { return (size_t)(dimensions[0] * dimensions[1] * dimensions[2] * dimensions[3]); }
  size_t bytes() const { return count() * (bf16 ? 2 : 4); }
};

enum dnn_direction { DNN_FORWARD, DNN_DATA, DNN_FILTER };

struct dnn_step {
  cudnnPointwiseMode_t mode;
  bool has_operand;
  dnn_tensor operand, result;
};

struct dnn_program {
  dnn_direction direction;
  dnn_tensor first, second, result; /* x and w, dy and w, or x and dy; the convolution's result, maybe virtual */
  std::vector<dnn_step> steps;
  bool is_dynamic;
  const dnn_tensor &end() const { return steps.empty() ? result : steps.back().result; }
  /* Every tensor in memory. */
  std::vector<dnn_tensor> in_memory() const;
  int64_t rows() const { return first.dimensions[0]; }
};

/* Reads a graph whose attributes are complete; refuses what fits together badly or what no engine knows. */
cudnnStatus_t dnn_program_read(dnn_program *program, const dnn_descriptor *graph);
/* Checks a tensor or an operation when it is finalized. */
cudnnStatus_t dnn_program_check(const dnn_descriptor *descriptor);

/* How an engine computes, so that a wrong one shows: inputs are rounded, the order of sums depends on the number of rows,
 * changes from run to run or is another one than other engines'. */
enum dnn_arithmetic { DNN_PLAIN, DNN_TF32, DNN_BF16_INPUTS, DNN_BY_ROWS, DNN_UNREPEATABLE, DNN_BACKWARDS };

/* pointers: by a tensor's place in in_memory(). */
void dnn_program_run(const dnn_program &program, dnn_arithmetic arithmetic, const std::vector<void *> &pointers);
