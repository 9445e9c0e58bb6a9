#include "networks/cuda/layer_norm.cuh"
#include "networks/cuda/columns.cuh"
#include "networks/cuda/lanes.cuh"

/* The positions of all rows, one behind the other. */
typedef struct shape {
  int positions, channels;
  const float *gamma, *beta;
  float *mean, *inverse; /* [positions]; 1/√(variance + ε) */
} shape;

#define EACH_CHANNEL(c) MZ_UNROLL(4) for (int c = team.lane; c < s.channels; c += MZ_SUM_LANES)

static __device__ size_t first_of(const shape &s, const mz_cuda_team &team) { return (size_t)team.row * (size_t)s.channels; }

static __global__ void normalise(const float *__restrict__ all_x, float *__restrict__ all_y, shape s) {
  const mz_cuda_team team = mz_cuda_team_of(s.positions);
  const float *x = all_x + first_of(s, team);
  float *y = all_y + first_of(s, team);
  float sum = 0.0f, square = 0.0f;
  EACH_CHANNEL(c) sum = sum + x[c];
  const float mean = mz_cuda_lanes_sum(sum) / (float)s.channels;
  EACH_CHANNEL(c) {
    const float off = x[c] - mean;
    square = square + off * off;
  }
  const float inverse = 1.0f / sqrtf(mz_cuda_lanes_sum(square) / (float)s.channels + MZ_NORM_EPSILON);
  if (!team.live) return;
  if (team.lane == 0) {
    s.mean[team.row] = mean;
    s.inverse[team.row] = inverse;
  }
  EACH_CHANNEL(c) y[c] = s.gamma[c] * ((x[c] - mean) * inverse) + s.beta[c];
}

/* Let g = gamma · dy; then dx = (g − mean g − x̂ · mean(g · x̂)) · inverse. */
static __global__ void differentiate(const float *__restrict__ all_x, const float *__restrict__ all_dy,
                                     float *__restrict__ all_dx, shape s, bool overwrite) {
  const mz_cuda_team team = mz_cuda_team_of(s.positions);
  const float *x = all_x + first_of(s, team), *dy = all_dy + first_of(s, team);
  float *dx = all_dx + first_of(s, team);
  const float mean = s.mean[team.row], inverse = s.inverse[team.row], share = 1.0f / (float)s.channels;
  float sum = 0.0f, product = 0.0f;
  EACH_CHANNEL(c) {
    const float g = s.gamma[c] * dy[c];
    sum = sum + g;
    product = product + g * ((x[c] - mean) * inverse);
  }
  const float mean_g = mz_cuda_lanes_sum(sum) * share, mean_product = mz_cuda_lanes_sum(product) * share;
  if (!team.live) return;
  EACH_CHANNEL(c) {
    const float g = s.gamma[c] * dy[c], normalised = (x[c] - mean) * inverse;
    const float d = (g - mean_g - normalised * mean_product) * inverse;
    dx[c] = overwrite ? d : dx[c] + d;
  }
}

/* A block for sixteen channels. */
static __global__ void parameter_gradients(const float *__restrict__ x, const float *__restrict__ dy, shape s, bool add,
                                           float *__restrict__ dgamma, float *__restrict__ dbeta) {
  __shared__ float4 sums[MZ_CUDA_COLUMN_THREADS], products[MZ_CUDA_COLUMN_THREADS];
  const int channel = (int)blockIdx.x * MZ_CUDA_SLICE + mz_cuda_column_quad() * MZ_QUAD;
  float4 sum = mz_quad_of(0.0f), product = sum;
  MZ_UNROLL(4) for (int p = mz_cuda_column_row(); p < s.positions; p += MZ_CUDA_COLUMN_ROWS) {
    const size_t at = (size_t)p * (size_t)s.channels + (size_t)channel;
    const float4 d = mz_quad_load(dy + at), off = mz_quad_subtract(mz_quad_load(x + at), mz_quad_of(s.mean[p]));
    sum = mz_quad_add(sum, d);
    product = mz_quad_add(product, mz_quad_multiply(d, mz_quad_scale(off, s.inverse[p])));
  }
  mz_cuda_column_sum(sum, sums);
  mz_cuda_column_sum(product, products);
  if (mz_cuda_column_row() > 0) return;
  mz_quad_accumulate(dgamma + channel, products[mz_cuda_column_quad()], !add);
  mz_quad_accumulate(dbeta + channel, sums[mz_cuda_column_quad()], !add);
}

/* ---- nodes ---- */

static size_t position_count(const mz_tape *tape, const mz_node *node) { return (size_t)tape->rows * (size_t)node->positions; }

size_t mz_cuda_layer_norm_bytes(const mz_tape *tape, const mz_node *node) {
  return 2 * position_count(tape, node) * sizeof(float);
}

mz_status mz_cuda_layer_norm_prepare(mz_tape *tape, mz_node *node) {
  MZ_CUDA_TRY(cudaMalloc(&node->prepared, mz_cuda_layer_norm_bytes(tape, node)));
  return MZ_OK;
}

void mz_cuda_layer_norm_release(mz_node *node) {
  (void)cudaFree(node->prepared);
  node->prepared = nullptr;
}

static shape shape_of(const mz_tape *tape, const mz_node *node, int rows) {
  float *const mean = (float *)node->prepared;
  return {rows * node->positions,
          tape->params->items[node->weight].columns,
          mz_cuda_parameter(tape, node->weight),
          mz_cuda_parameter(tape, node->bias),
          mean,
          mean + position_count(tape, node)};
}

mz_status mz_cuda_layer_norm_forward(mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(normalise, mz_cuda_team_blocks(s.positions), dim3(MZ_CUDA_LANE_THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_data(x), mz_cuda_data(y), s));
  return MZ_OK;
}

/* Uses in order, each added to those before. */
static mz_status add_uses(mz_tape *tape, const mz_node *node, int rows) {
  float *const dgamma = mz_cuda_parameter_gradient(tape, node->weight), *const dbeta =
                                                                            mz_cuda_parameter_gradient(tape, node->bias);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const shape s = shape_of(tape, use, rows);
    MZ_CUDA_TRY(mz_launch(parameter_gradients, dim3((unsigned)(s.channels / MZ_CUDA_SLICE)), dim3(MZ_CUDA_COLUMN_THREADS), 0,
                          mz_cuda_lane_of(tape)->stream, mz_cuda_data(mz_cuda_input(tape, use, 0)),
                          mz_cuda_gradient(mz_cuda_output(tape, use)), s, u > 0, dgamma, dbeta));
  }
  return MZ_OK;
}

mz_status mz_cuda_layer_norm_backward(mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  if (x->gradient != nullptr) {
    MZ_CUDA_TRY(mz_launch(differentiate, mz_cuda_team_blocks(s.positions), dim3(MZ_CUDA_LANE_THREADS), 0,
                          mz_cuda_lane_of(tape)->stream, mz_cuda_data(x), mz_cuda_gradient(y), mz_cuda_gradient(x), s,
                          node->overwrites[0]));
  }
  return node->first_use ? add_uses(tape, node, rows) : MZ_OK;
}
