#include "networks/cuda/boards.cuh"
#include "networks/cuda/columns.cuh"
#include "networks/cuda/numbers.cuh"

enum { THREADS = 256 };

/* An entry's number in [rows][positions][channels], taken apart. */
typedef struct place {
  size_t row;
  int position, channel;
} place;

static __device__ place place_of(unsigned entry, int positions, int channels) {
  place p;
  const unsigned at = entry / (unsigned)channels;
  p.channel = (int)(entry % (unsigned)channels);
  p.row = at / (unsigned)positions;
  p.position = (int)(at % (unsigned)positions);
  return p;
}

/* ---- planes ---- */

/* A thread for each of `count` entries of y; channels beyond those of x become 0. */
template <typename T>
static __global__ void planes(const float *__restrict__ x, T *__restrict__ y, unsigned count, int positions, int channels,
                              int padded, int x_stride) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, positions, padded);
  const size_t from = p.row * (size_t)x_stride + (size_t)(p.position * channels + p.channel);
  mz_number_store(y + i, p.channel < channels ? x[from] : 0.0f);
}

template <typename T> static mz_status run_planes(mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(y, rows);
  MZ_CUDA_TRY(mz_launch(planes<T>, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_data(x), (T *)y->data, count, node->positions, x->columns / node->positions,
                        y->columns / node->positions, x->stride));
  return MZ_OK;
}

mz_status mz_cuda_planes_forward(mz_tape *tape, mz_node *node, int rows) {
  return mz_cuda_output(tape, node)->bf16 ? run_planes<uint16_t>(tape, node, rows) : run_planes<float>(tape, node, rows);
}

/* ---- action map ---- */

enum { TAPS = MZ_KERNEL * MZ_KERNEL };

/* A thread for four channels of a position. */
static __global__ void stamp(const float *__restrict__ table, const int32_t *__restrict__ actions, float *__restrict__ y,
                             unsigned count, mz_action_map map, int channels) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i * MZ_QUAD, map.board.height * map.board.width, channels);
  const int action = actions[p.row], everywhere = mz_action_map_everywhere(&map, action);
  float4 sum = mz_quad_of(0.0f);
  const float *const column = table + p.channel;
  if (everywhere != MZ_NO_ROW) {
    sum = mz_quad_add(sum, mz_quad_load(column + everywhere * channels));
  } else {
    for (int tap = 0; tap < TAPS; tap++) {
      if (mz_action_map_is_seen(&map, action, p.position, tap)) sum = mz_quad_add(sum, mz_quad_load(column + tap * channels));
    }
  }
  mz_quad_store(y + i * MZ_QUAD, sum);
}

mz_status mz_cuda_action_map_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(y, rows) / MZ_QUAD;
  MZ_CUDA_TRY(mz_launch(stamp, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_parameter(tape, node->weight), tape->indices[node->index_input], mz_cuda_data(y), count,
                        node->map, tape->params->items[node->weight].stride));
  return MZ_OK;
}

enum { USES = 64 };

/* The output gradients of some uses of a table, and their actions. */
typedef struct use_list {
  const float *dy[USES];
  const int32_t *actions[USES];
  size_t count;
} use_list;

/* Adds to `sum` what a board's gradient has for a row of the table, position after position. */
static __device__ float4 collect(const mz_action_map &map, int action, int table_row, const float *dy, int channels, float4 sum) {
  const int width = map.board.width, positions = map.board.height * width;
  const int everywhere = mz_action_map_everywhere(&map, action);
  if (everywhere != MZ_NO_ROW) {
    for (int p = 0; p < positions && everywhere == table_row; p++) sum = mz_quad_add(sum, mz_quad_load(dy + p * channels));
    return sum;
  }
  if (table_row >= TAPS) return sum;
  /* A tap sees the action in each row of the board, or once, unless that is beside the board. */
  const int across = action - (table_row % MZ_KERNEL - 1), once = across - (table_row / MZ_KERNEL - 1) * width;
  const bool column = map.kind == MZ_ACTIONS_COLUMNS;
  for (int p = column ? across : once; p < positions; p += column ? width : positions) {
    if (p >= 0 && mz_action_map_is_seen(&map, action, p, table_row)) sum = mz_quad_add(sum, mz_quad_load(dy + p * channels));
  }
  return sum;
}

/* A block for sixteen channels of a row of the table; its threads take every so many a row of the batch. */
static __global__ void table_gradient(use_list uses, float *gradient, mz_action_map map, int rows, int stride, int channels,
                                      bool add) {
  __shared__ float4 sums[MZ_CUDA_COLUMN_THREADS];
  const int channel = (int)blockIdx.y * MZ_CUDA_SLICE + mz_cuda_column_quad() * MZ_QUAD, table_row = (int)blockIdx.x;
  float4 sum = mz_quad_of(0.0f);
  for (size_t u = 0; u < uses.count; u++) {
    for (int r = mz_cuda_column_row(); r < rows; r += MZ_CUDA_COLUMN_ROWS) {
      const float *const dy = uses.dy[u] + (size_t)r * (size_t)stride + (size_t)channel;
      sum = collect(map, uses.actions[u][r], table_row, dy, channels, sum);
    }
  }
  mz_cuda_column_sum(sum, sums);
  if (mz_cuda_column_row() > 0) return;
  mz_quad_accumulate(gradient + (size_t)table_row * (size_t)channels + (size_t)channel, sums[mz_cuda_column_quad()], !add);
}

mz_status mz_cuda_action_map_backward(mz_tape *tape, mz_node *node, int rows) {
  if (!node->first_use) return MZ_OK;
  const mz_param *table = &tape->params->items[node->weight];
  /* Rows first: a grid has at most 65,535 blocks the other way, and a game up to 65,536 actions. */
  const dim3 blocks((unsigned)table->rows, (unsigned)(table->stride / MZ_CUDA_SLICE));
  for (int from = 0; from < node->use_count; from += USES) {
    use_list uses = {};
    for (int u = from; u < node->use_count && uses.count < USES; u++, uses.count++) {
      const mz_node *use = &tape->nodes[node->uses[u]];
      uses.dy[uses.count] = mz_cuda_gradient(mz_cuda_output(tape, use));
      uses.actions[uses.count] = tape->indices[use->index_input];
    }
    MZ_CUDA_TRY(mz_launch(table_gradient, blocks, dim3(MZ_CUDA_COLUMN_THREADS), 0, mz_cuda_lane_of(tape)->stream, uses,
                          mz_cuda_parameter_gradient(tape, node->weight), node->map, rows, mz_cuda_output(tape, node)->stride,
                          table->stride, from > 0));
  }
  return MZ_OK;
}

/* ---- pool: a thread for a channel of a board goes over its positions in order ---- */

template <typename T>
static __global__ void pool(const T *__restrict__ all_x, float *__restrict__ y, unsigned count, int positions, int channels) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, 1, channels);
  const T *x = all_x + p.row * (size_t)(positions * channels) + (size_t)p.channel;
  float sum = 0.0f, largest = -INFINITY;
  MZ_UNROLL(8) for (int at = 0; at < positions; at++) {
    const float entry = mz_number_load(x + (size_t)at * (size_t)channels);
    sum = sum + entry;
    largest = largest > entry ? largest : entry;
  }
  float *const mean = y + p.row * (size_t)(2 * channels) + (size_t)p.channel;
  mean[0] = sum * (1.0f / (float)positions);
  mean[channels] = largest;
}

/* The first of several largest gets the maximum's gradient. */
template <typename T>
static __global__ void pool_backward(const T *__restrict__ all_x, const float *__restrict__ y, const float *__restrict__ dy,
                                     float *__restrict__ all_dx, unsigned count, int positions, int channels, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, 1, channels);
  const size_t pooled = p.row * (size_t)(2 * channels) + (size_t)p.channel;
  const size_t first = p.row * (size_t)(positions * channels) + (size_t)p.channel;
  const float mean = dy[pooled] * (1.0f / (float)positions);
  const float largest = y[pooled + (size_t)channels], dlargest = dy[pooled + (size_t)channels];
  bool open = true;
  MZ_UNROLL(4) for (int at = 0; at < positions; at++) {
    const size_t to = first + (size_t)at * (size_t)channels;
    const bool hit = open && mz_number_load(all_x + to) == largest;
    const float d = mean + (hit ? dlargest : 0.0f);
    open = open && !hit;
    all_dx[to] = overwrite ? d : all_dx[to] + d;
  }
}

static int pooled_channels(const mz_tape *tape, const mz_node *node) { return mz_cuda_output(tape, node)->columns / 2; }

template <typename T> static mz_status run_pool(mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const int channels = pooled_channels(tape, node);
  const unsigned count = mz_cuda_entries(y, rows) / 2;
  MZ_CUDA_TRY(mz_launch(pool<T>, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        (const T *)x->data, mz_cuda_data(y), count, node->positions, channels));
  return MZ_OK;
}

template <typename T> static mz_status run_pool_backward(mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const int channels = pooled_channels(tape, node);
  const unsigned count = mz_cuda_entries(y, rows) / 2;
  MZ_CUDA_TRY(mz_launch(pool_backward<T>, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        (const T *)x->data, mz_cuda_data(y), mz_cuda_gradient(y), mz_cuda_gradient(x), count, node->positions,
                        channels, node->overwrites[0]));
  return MZ_OK;
}

mz_status mz_cuda_pool_forward(mz_tape *tape, mz_node *node, int rows) {
  return mz_cuda_input(tape, node, 0)->bf16 ? run_pool<uint16_t>(tape, node, rows) : run_pool<float>(tape, node, rows);
}

mz_status mz_cuda_pool_backward(mz_tape *tape, mz_node *node, int rows) {
  return mz_cuda_input(tape, node, 0)->bf16 ? run_pool_backward<uint16_t>(tape, node, rows)
                                            : run_pool_backward<float>(tape, node, rows);
}

/* ---- broadcast ---- */

/* A thread for four channels of a position. */
static __global__ void broadcast(const float *__restrict__ x, float *__restrict__ y, unsigned count, int positions,
                                 int channels) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i * MZ_QUAD, positions, channels);
  mz_quad_store(y + i * MZ_QUAD, mz_quad_load(x + p.row * (size_t)channels + (size_t)p.channel));
}

/* A thread for a channel of a board goes over its positions in order. */
static __global__ void broadcast_backward(const float *__restrict__ all_dy, float *__restrict__ dx, unsigned count, int positions,
                                          int channels, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, 1, channels);
  const float *dy = all_dy + p.row * (size_t)(positions * channels) + (size_t)p.channel;
  float sum = 0.0f;
  MZ_UNROLL(8) for (int at = 0; at < positions; at++) sum = sum + dy[(size_t)at * (size_t)channels];
  dx[i] = overwrite ? sum : dx[i] + sum;
}

mz_status mz_cuda_broadcast_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(y, rows) / MZ_QUAD;
  MZ_CUDA_TRY(mz_launch(broadcast, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_data(x), mz_cuda_data(y), count, node->positions, x->columns));
  return MZ_OK;
}

mz_status mz_cuda_broadcast_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(x, rows);
  MZ_CUDA_TRY(mz_launch(broadcast_backward, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_gradient(y), mz_cuda_gradient(x), count, node->positions, x->columns, node->overwrites[0]));
  return MZ_OK;
}
