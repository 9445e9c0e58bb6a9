#include "networks/cuda/dnn_graph.cuh"

enum { DIMENSIONS = 4, OPERATIONS_MAX = 5, FIRST_VIRTUAL = 100, ALIGNMENT = 16 };

/* A graph while it grows: `last` is what the next operation reads. */
typedef struct graph {
  mz_cudnn_descriptors *owner;
  const mz_cuda_conv_graph_settings *settings;
  int rows;
  cudnnBackendDescriptor_t operations[OPERATIONS_MAX], last;
  int operation_count;
  int steps; /* pointwise operations that are still to come */
} graph;

typedef struct shape {
  int64_t dimensions[DIMENSIONS]; /* as the library orders them: rows, channels, height, width */
} shape;

static cudnnDataType_t type_of(bool bf16) { return bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }

static shape boards(const graph *g, int channels) {
  return {{g->rows, channels, g->settings->board.height, g->settings->board.width}};
}

static shape filters(const graph *g) { return {{g->settings->outputs, g->settings->inputs, MZ_KERNEL, MZ_KERNEL}}; }

/* The direction's result. */
static shape result_of(const graph *g) {
  switch (g->settings->direction) {
    case MZ_CUDA_CONV_FORWARD: return boards(g, g->settings->outputs);
    case MZ_CUDA_CONV_DATA: return boards(g, g->settings->inputs);
    case MZ_CUDA_CONV_WEIGHTS: break;
  }
  return filters(g);
}

static mz_status tensor(graph *g, int64_t id, const shape *s, bool bf16, bool reaches_memory, cudnnBackendDescriptor_t *out) {
  const int64_t *d = s->dimensions, strides[DIMENSIONS] = {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}; /* channels last */
  MZ_TRY(mz_cudnn_create(g->owner, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
  MZ_TRY(mz_cudnn_set_type(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(bf16)));
  MZ_TRY(mz_cudnn_set(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, DIMENSIONS, d));
  MZ_TRY(mz_cudnn_set(*out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, DIMENSIONS, strides));
  MZ_TRY(mz_cudnn_set_integer(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
  MZ_TRY(mz_cudnn_set_integer(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT));
  MZ_TRY(mz_cudnn_set_flag(*out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, !reaches_memory));
  return mz_cudnn_finalize(*out);
}

/* The next operation's result: in f32 inside the graph, as it was asked for where it ends. */
static mz_status next_result(graph *g, cudnnBackendDescriptor_t *out) {
  const bool ends = g->steps == 0;
  const shape s = result_of(g);
  return tensor(g, ends ? MZ_CUDA_CONV_RESULT : FIRST_VIRTUAL + g->steps, &s, ends && g->settings->bf16_out, ends, out);
}

static mz_status append(graph *g, cudnnBackendDescriptor_t operation, cudnnBackendDescriptor_t result) {
  MZ_ASSERT(g->operation_count < OPERATIONS_MAX);
  MZ_TRY(mz_cudnn_finalize(operation));
  g->operations[g->operation_count++] = operation;
  g->last = result;
  return MZ_OK;
}

/* Padding 1 and stride 1: as many positions come out as went in. */
static mz_status describe_convolution(graph *g, cudnnBackendDescriptor_t *out) {
  enum { SPATIAL = 2 };
  const int64_t ones[SPATIAL] = {1, 1};
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  MZ_TRY(mz_cudnn_create(g->owner, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
  MZ_TRY(mz_cudnn_set_type(*out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  MZ_TRY(mz_cudnn_set(*out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  MZ_TRY(mz_cudnn_set_integer(*out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, SPATIAL));
  for (cudnnBackendAttributeName_t name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                                           CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    MZ_TRY(mz_cudnn_set(*out, name, CUDNN_TYPE_INT64, SPATIAL, ones));
  }
  return mz_cudnn_finalize(*out);
}

/* Names of a direction's operation and attributes; `first` and `second` are what is convolved. */
typedef struct direction {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, first, second, result, alpha, beta;
} direction;

static const direction directions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static mz_status convolved(graph *g, int id, cudnnBackendDescriptor_t *out) {
  const mz_cuda_conv_graph_settings *settings = g->settings;
  const shape s = id == MZ_CUDA_CONV_X    ? boards(g, settings->inputs)
                  : id == MZ_CUDA_CONV_DY ? boards(g, settings->outputs)
                                          : filters(g);
  return tensor(g, id, &s, settings->bf16, true, out);
}

static mz_status convolution(graph *g) {
  const mz_cuda_direction kind = g->settings->direction;
  const direction *d = &directions[kind];
  const int first_id = kind == MZ_CUDA_CONV_DATA ? MZ_CUDA_CONV_DY : MZ_CUDA_CONV_X;
  const int second_id = kind == MZ_CUDA_CONV_WEIGHTS ? MZ_CUDA_CONV_DY : MZ_CUDA_CONV_FILTERS;
  const float one = 1.0f, zero = 0.0f;
  cudnnBackendDescriptor_t described, first, second, result, operation;
  MZ_TRY(describe_convolution(g, &described));
  MZ_TRY(convolved(g, first_id, &first));
  MZ_TRY(convolved(g, second_id, &second));
  MZ_TRY(next_result(g, &result));
  MZ_TRY(mz_cudnn_create(g->owner, d->operation, &operation));
  MZ_TRY(mz_cudnn_set_descriptor(operation, d->convolution, described));
  MZ_TRY(mz_cudnn_set_descriptor(operation, d->first, first));
  MZ_TRY(mz_cudnn_set_descriptor(operation, d->second, second));
  MZ_TRY(mz_cudnn_set_descriptor(operation, d->result, result));
  MZ_TRY(mz_cudnn_set(operation, d->alpha, CUDNN_TYPE_FLOAT, 1, &one));
  MZ_TRY(mz_cudnn_set(operation, d->beta, CUDNN_TYPE_FLOAT, 1, &zero));
  return append(g, operation, result);
}

/* other: NULL for operations of one operand. */
static mz_status pointwise(graph *g, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t other) {
  cudnnBackendDescriptor_t described, operation, result;
  g->steps--;
  MZ_TRY(mz_cudnn_create(g->owner, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &described));
  MZ_TRY(mz_cudnn_set(described, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
  MZ_TRY(mz_cudnn_set_type(described, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT));
  MZ_TRY(mz_cudnn_finalize(described));
  MZ_TRY(next_result(g, &result));
  MZ_TRY(mz_cudnn_create(g->owner, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &operation));
  MZ_TRY(mz_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, described));
  MZ_TRY(mz_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, g->last));
  if (other != nullptr) MZ_TRY(mz_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other));
  MZ_TRY(mz_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result));
  return append(g, operation, result);
}

static mz_status chain(graph *g, bool converts) {
  const mz_cuda_conv_graph_settings *settings = g->settings;
  cudnnBackendDescriptor_t other;
  if (settings->bias) {
    const shape s = {{1, settings->outputs, 1, 1}};
    MZ_TRY(tensor(g, MZ_CUDA_CONV_BIAS, &s, false, true, &other));
    MZ_TRY(pointwise(g, CUDNN_POINTWISE_ADD, other));
  }
  if (settings->add) {
    const shape s = result_of(g);
    MZ_TRY(tensor(g, MZ_CUDA_CONV_ADD, &s, false, true, &other));
    MZ_TRY(pointwise(g, CUDNN_POINTWISE_ADD, other));
  }
  if (settings->relu) MZ_TRY(pointwise(g, CUDNN_POINTWISE_RELU_FWD, nullptr));
  return converts ? pointwise(g, CUDNN_POINTWISE_IDENTITY, nullptr) : MZ_OK;
}

mz_status mz_cuda_conv_graph_create(mz_cudnn_descriptors *owner, const mz_cuda_conv_graph_settings *settings, int rows,
                                    bool any_rows, cudnnBackendDescriptor_t *out, bool *accepted) {
  const bool converts = settings->bf16 != settings->bf16_out;
  graph g = {};
  g.owner = owner;
  g.settings = settings;
  g.rows = rows;
  g.steps = settings->bias + settings->add + settings->relu + converts;
  MZ_TRY(convolution(&g));
  MZ_TRY(chain(&g, converts));
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out));
  MZ_TRY(mz_cudnn_set(*out, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g.operation_count, g.operations));
  if (any_rows) MZ_TRY(mz_cudnn_set_flag(*out, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, true));
  return mz_cudnn_try_finalize(*out, accepted);
}
