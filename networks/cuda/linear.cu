#include "networks/cuda/linear.cuh"
#include "networks/cuda/forms.cuh"
#include "networks/cuda/gradients.cuh"
#include "networks/cuda/products.cuh"
#include <stdio.h>

enum { THREADS = 256, TABLE_THREADS = 64 };

typedef struct linear {
  mz_cuda_product *forward, *data, *weights; /* NULL: not needed */
} linear;

static linear *linear_of(const mz_node *node) { return (linear *)node->prepared; }

static mz_cuda_product_settings settings_of(const mz_tape *tape, const mz_node *node, mz_cuda_product_kind kind) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const int positions = node->positions;
  mz_cuda_product_settings settings = {};
  settings.kind = kind;
  settings.rows = tape->rows * positions;
  settings.choice_rows = tape->with_backward ? 0 : MZ_CUDA_CHOICE_ROWS * positions;
  settings.inputs = x->columns / positions;
  settings.outputs = y->columns / positions;
  settings.x_stride = x->stride / positions;
  settings.y_stride = y->stride / positions;
  settings.bias = kind == MZ_CUDA_PRODUCT_FORWARD && node->bias >= 0 && node->table < 0;
  settings.relu = kind == MZ_CUDA_PRODUCT_FORWARD && node->activation == MZ_RELU;
  return settings;
}

static bool sends_gradient(const mz_tape *tape, const mz_node *node) {
  return node->backward && mz_cuda_input(tape, node, 0)->gradient != nullptr;
}

static const char *const form_names[] = {"cublas fused", "cublas + kernel", "direct"};

static void tell(const mz_cuda_product_settings *settings, const mz_cuda_product *product) {
  static const char *const kinds[] = {"", ", gradient of data", ", gradient of weights"};
  if (!mz_cuda_tells_forms()) return;
  fprintf(stderr, "product of %d to %d columns, %d rows%s: %s\n", settings->inputs, settings->outputs, settings->rows,
          kinds[settings->kind], form_names[mz_cuda_product_form_of(product)]);
}

static mz_status create(mz_tape *tape, mz_node *node, mz_cuda_product_kind kind, mz_cuda_product **out) {
  const mz_cuda_product_settings settings = settings_of(tape, node, kind);
  MZ_TRY(mz_cuda_product_create(out, mz_cuda_lane_of(tape), &settings));
  tell(&settings, *out);
  return MZ_OK;
}

void mz_cuda_linear_claim(mz_tape *tape, const mz_node *node) {
  const mz_cuda_product_settings settings = settings_of(tape, node, MZ_CUDA_PRODUCT_WEIGHTS);
  if (!node->first_use || node->bias < 0) return;
  mz_tape_claim_scratch(tape, mz_cuda_column_sums_scratch((size_t)settings.rows, settings.y_stride));
}

mz_status mz_cuda_linear_prepare(mz_tape *tape, mz_node *node) {
  linear *own = nullptr;
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  MZ_TRY(create(tape, node, MZ_CUDA_PRODUCT_FORWARD, &own->forward));
  if (sends_gradient(tape, node)) MZ_TRY(create(tape, node, MZ_CUDA_PRODUCT_DATA, &own->data));
  mz_cuda_linear_claim(tape, node);
  return node->first_use ? create(tape, node, MZ_CUDA_PRODUCT_WEIGHTS, &own->weights) : MZ_OK;
}

void mz_cuda_linear_release(mz_tape *tape, mz_node *node) {
  (void)tape;
  linear *own = linear_of(node);
  mz_cuda_product_free(own->forward);
  mz_cuda_product_free(own->data);
  mz_cuda_product_free(own->weights);
  free(own);
  node->prepared = nullptr;
}

const char *mz_cuda_linear_form_name(const mz_node *node) {
  return form_names[mz_cuda_product_form_of(linear_of(node)->forward)];
}

/* ---- the table ---- */

/* One element of y a thread. bias: NULL for none. */
static __global__ void put_table_rows(const float *table, const int32_t *index, const float *bias, float *y, size_t count,
                                      int stride) {
  const size_t i = mz_cuda_thread();
  if (i >= count) return;
  const size_t row = i / (size_t)stride, column = i % (size_t)stride;
  const float entry = table[(size_t)index[row] * (size_t)stride + column];
  y[i] = bias == nullptr ? entry : entry + bias[column];
}

/* One row of the table a block: adds the output gradients of the rows that used it, in order. */
static __global__ void add_table_gradient(const int32_t *index, const float *dy, int rows, int stride, float *gradient,
                                          bool overwrite) {
  for (int column = (int)threadIdx.x; column < stride; column += TABLE_THREADS) {
    float *place = gradient + (size_t)blockIdx.x * (size_t)stride + column;
    float sum = overwrite ? 0.0f : *place;
    for (int r = 0; r < rows; r++) {
      if (index[r] == (int)blockIdx.x) sum = sum + dy[(size_t)r * (size_t)stride + column];
    }
    *place = sum;
  }
}

/* ---- forward and backward ---- */

mz_status mz_cuda_linear_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(tape);
  const mz_tape_value *y = mz_cuda_output(tape, node);
  const float *bias = mz_cuda_parameter(tape, node->bias);
  mz_cuda_operands operands = {};
  operands.x = mz_cuda_data(mz_cuda_input(tape, node, 0));
  operands.w = mz_cuda_parameter(tape, node->weight);
  operands.bias = bias;
  operands.result = mz_cuda_data(y);
  operands.add = node->table >= 0;
  if (node->table >= 0) {
    const size_t count = (size_t)rows * (size_t)y->stride;
    MZ_CUDA_TRY(mz_launch(put_table_rows, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, lane->stream,
                          mz_cuda_parameter(tape, node->table), tape->indices[node->index_input], bias, operands.result, count,
                          y->stride));
  }
  return mz_cuda_product_run(linear_of(node)->forward, lane, rows * node->positions, &operands);
}

static mz_status add_use(mz_tape *tape, const mz_node *node, const mz_node *use, int rows, bool overwrite) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(tape);
  const int product_rows = rows * node->positions, stride = mz_cuda_output(tape, node)->stride / node->positions;
  mz_cuda_operands operands = {};
  operands.x = mz_cuda_data(mz_cuda_input(tape, use, 0));
  operands.dy = mz_cuda_gradient(mz_cuda_output(tape, use));
  operands.result = mz_cuda_parameter_gradient(tape, node->weight);
  operands.add = !overwrite;
  MZ_TRY(mz_cuda_product_run(linear_of(node)->weights, lane, product_rows, &operands));
  if (node->bias >= 0) {
    MZ_TRY(mz_cuda_column_sums(lane, operands.dy, (size_t)product_rows, stride, tape->scratch,
                               mz_cuda_parameter_gradient(tape, node->bias), overwrite));
  }
  if (node->table < 0) return MZ_OK;
  MZ_CUDA_TRY(mz_launch(add_table_gradient, dim3((unsigned)tape->params->items[node->table].rows), dim3(TABLE_THREADS), 0,
                        lane->stream, tape->indices[use->index_input], operands.dy, rows, stride,
                        mz_cuda_parameter_gradient(tape, node->table), overwrite));
  return MZ_OK;
}

mz_status mz_cuda_linear_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(tape);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  if (node->activation == MZ_RELU) {
    MZ_TRY(mz_cuda_relu_mask(lane, mz_cuda_data(y), mz_cuda_gradient(y), (size_t)rows * (size_t)y->stride));
  }
  if (x->gradient != nullptr) {
    mz_cuda_operands operands = {};
    operands.dy = mz_cuda_gradient(y);
    operands.w = mz_cuda_parameter(tape, node->weight);
    operands.result = mz_cuda_gradient(x);
    operands.add = !node->overwrites[0];
    MZ_TRY(mz_cuda_product_run(linear_of(node)->data, lane, rows * node->positions, &operands));
  }
  for (int u = 0; node->first_use && u < node->use_count; u++) {
    MZ_TRY(add_use(tape, node, &tape->nodes[node->uses[u]], rows, u == 0));
  }
  return MZ_OK;
}
