#include "dnn_program.h"
#include <cstring>

namespace {

cudnnStatus_t read_tensor(dnn_tensor *out, const dnn_descriptor *d) {
  const std::vector<int64_t> dimensions = d->values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = d->values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const cudnnDataType_t type = d->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (dimensions.size() != 4 || strides.size() != 4) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "not 4 dimensions");
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_BFLOAT16) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "type");
  const int64_t channels = dimensions[1], width = dimensions[3];
  if (strides[0] != channels * dimensions[2] * width || strides[1] != 1 || strides[2] != width * channels ||
      strides[3] != channels) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "channels are not last");
  }
  *out = {};
  out->id = d->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  out->alignment = d->value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  out->bf16 = type == CUDNN_DATA_BFLOAT16;
  out->is_virtual = d->value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  for (int i = 0; i < 4; i++) {
    if (dimensions[i] < 1) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "a dimension of %lld", (long long)dimensions[i]);
    out->dimensions[i] = dimensions[i];
  }
  return CUDNN_STATUS_SUCCESS;
}

#define DNN_TRY(expression)                                                                                                      \
  do {                                                                                                                           \
    const cudnnStatus_t dnn_status_ = (expression);                                                                              \
    if (dnn_status_ != CUDNN_STATUS_SUCCESS) return dnn_status_;                                                                 \
  } while (0)

struct names {
  cudnnBackendAttributeName_t convolution, first, second, result, alpha, beta;
};
const names directions[] = {
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

int direction_of(const dnn_descriptor *operation) {
  switch (operation->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: return DNN_FORWARD;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: return DNN_DATA;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: return DNN_FILTER;
    default: return -1;
  }
}

cudnnStatus_t check_convolution(const dnn_descriptor *c) {
  for (cudnnBackendAttributeName_t name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                                           CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    if (c->values<int64_t>(name) != std::vector<int64_t>{1, 1}) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "not all ones");
  }
  if (c->value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "dimensions");
  if (c->value<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION ||
      c->value<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a convolution that is no correlation in f32");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t read_convolution(dnn_program *p, const dnn_descriptor *operation) {
  const int direction = direction_of(operation);
  if (direction < 0) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "a graph that begins with no convolution");
  const names &n = directions[direction];
  p->direction = (dnn_direction)direction;
  DNN_TRY(check_convolution(operation->child(n.convolution)));
  DNN_TRY(read_tensor(&p->first, operation->child(n.first)));
  DNN_TRY(read_tensor(&p->second, operation->child(n.second)));
  DNN_TRY(read_tensor(&p->result, operation->child(n.result)));
  if (operation->value<float>(n.alpha) != 1.0f || operation->value<float>(n.beta) != 0.0f) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "alpha or beta");
  }
  const dnn_tensor &x = p->direction == DNN_DATA ? p->result : p->first;
  const dnn_tensor &w = p->direction == DNN_FILTER ? p->result : p->second;
  const dnn_tensor &y = p->direction == DNN_FORWARD ? p->result : p->direction == DNN_DATA ? p->first : p->second;
  const bool fits = x.dimensions[0] == y.dimensions[0] && x.dimensions[1] == w.dimensions[1] &&
                    y.dimensions[1] == w.dimensions[0] && x.dimensions[2] == y.dimensions[2] &&
                    x.dimensions[3] == y.dimensions[3] && w.dimensions[2] == 3 && w.dimensions[3] == 3;
  if (!fits) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "tensors of a convolution");
  if (p->first.bf16 != p->second.bf16) return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "two types are convolved");
  return CUDNN_STATUS_SUCCESS;
}

/* An operand has the result's shape, or one entry for each channel. */
bool can_operate(const dnn_tensor &operand, const dnn_tensor &result) {
  bool same = true, by_channel = operand.dimensions[1] == result.dimensions[1];
  for (int i = 0; i < 4; i++) {
    same = same && operand.dimensions[i] == result.dimensions[i];
    by_channel = by_channel && (i == 1 || operand.dimensions[i] == 1);
  }
  return same || by_channel;
}

cudnnStatus_t read_step(dnn_step *step, const dnn_descriptor *operation, const dnn_tensor &before) {
  if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "operation %d behind a convolution", operation->type);
  }
  const dnn_descriptor *described = operation->child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const dnn_descriptor *operand = operation->child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  dnn_tensor x;
  step->mode = described->value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  step->has_operand = operand != nullptr;
  DNN_TRY(read_tensor(&x, operation->child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)));
  DNN_TRY(read_tensor(&step->result, operation->child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)));
  if (step->has_operand) DNN_TRY(read_tensor(&step->operand, operand));
  const bool adds = step->mode == CUDNN_POINTWISE_ADD;
  if (!adds && step->mode != CUDNN_POINTWISE_RELU_FWD && step->mode != CUDNN_POINTWISE_IDENTITY) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "pointwise mode %d", step->mode);
  }
  if (adds != step->has_operand) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "operands of pointwise mode %d", step->mode);
  if (x.id != before.id || !before.is_virtual || before.bf16) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "a chain over tensor %lld", (long long)before.id);
  }
  if (memcmp(before.dimensions, step->result.dimensions, sizeof before.dimensions) != 0 ||
      (adds && (!can_operate(step->operand, step->result) || step->operand.bf16 || step->operand.is_virtual))) {
    return dnn_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "operands of pointwise mode %d", step->mode);
  }
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

cudnnStatus_t dnn_program_check(const dnn_descriptor *d) {
  dnn_tensor tensor;
  dnn_program program = {};
  if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) return read_tensor(&tensor, d);
  if (d->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) return check_convolution(d);
  return direction_of(d) >= 0 ? read_convolution(&program, d) : CUDNN_STATUS_SUCCESS;
}

std::vector<dnn_tensor> dnn_program::in_memory() const {
  std::vector<dnn_tensor> all = {first, second};
  for (const dnn_step &step : steps) {
    if (step.has_operand) all.push_back(step.operand);
  }
  all.push_back(end());
  return all;
}

cudnnStatus_t dnn_program_read(dnn_program *program, const dnn_descriptor *graph) {
  const std::vector<dnn_reference> &operations = graph->children(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  *program = {};
  program->is_dynamic = graph->value<bool>(CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED);
  DNN_TRY(read_convolution(program, operations[0].get()));
  for (size_t i = 1; i < operations.size(); i++) {
    dnn_step step = {};
    DNN_TRY(read_step(&step, operations[i].get(), program->end()));
    program->steps.push_back(step);
  }
  const std::vector<dnn_tensor> all = program->in_memory();
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i].is_virtual) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "tensor %lld is virtual", (long long)all[i].id);
    for (size_t j = 0; j < i; j++) {
      if (all[i].id == all[j].id)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "tensor %lld", (long long)all[i].id);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}
