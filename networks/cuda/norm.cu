#include "networks/cuda/norm.cuh"
#include "networks/cuda/columns.cuh"

/* By group and channel: what backward and the parameters' gradients need of forward and of one another. */
typedef enum kept { MEAN, VARIANCE, INVERSE, SUM_DY, SUM_DY_X, KEPT } kept;

/* The groups of a node. */
typedef struct shape {
  int groups, positions, channels, relu; /* positions: of a group, its rows' together */
  const float *gamma, *beta;
  float *kept[KEPT]; /* [groups][channels] each */
} shape;

/* A thread's four channels, and the first of its group's elements that are theirs. */
typedef struct place {
  int channel;
  size_t first, at_kept;
} place;

static __device__ place place_of(const shape &s) {
  place p;
  p.channel = (int)blockIdx.y * MZ_CUDA_SLICE + mz_cuda_column_quad() * MZ_QUAD;
  p.first = (size_t)blockIdx.x * (size_t)s.positions * (size_t)s.channels + (size_t)p.channel;
  p.at_kept = (size_t)blockIdx.x * (size_t)s.channels + (size_t)p.channel;
  return p;
}

/* ---- forward ---- */

/* Mean of `count` entries, and Σ of their squared distances from it. */
typedef struct moments {
  float4 mean, squares;
  float count;
} moments;

/* Chan et al. 1983, equation 2.1. */
static __device__ moments join(const moments &a, const moments &b) {
  if (b.count == 0.0f) return a;
  moments both;
  both.count = a.count + b.count;
  const float share = b.count / both.count;
  const float4 off = mz_quad_subtract(b.mean, a.mean);
  both.mean = mz_quad_add(a.mean, mz_quad_scale(off, share));
  both.squares = mz_quad_add(mz_quad_add(a.squares, b.squares), mz_quad_scale(mz_quad_multiply(off, off), a.count * share));
  return both;
}

enum { TILE = 8 }; /* entries that wait for memory together */

/* The moments of the `count` first of `x`, which is TILE long. */
static __device__ moments moments_of(const float4 *x, int count) {
  moments m;
  m.mean = m.squares = mz_quad_of(0.0f);
  m.count = (float)count;
  MZ_UNROLL(8) for (int i = 0; i < TILE; i++) {
    if (i < count) m.mean = mz_quad_add(m.mean, x[i]);
  }
  m.mean = mz_quad_scale(m.mean, 1.0f / (float)count);
  MZ_UNROLL(8) for (int i = 0; i < TILE; i++) {
    const float4 off = mz_quad_subtract(x[i], m.mean);
    if (i < count) m.squares = mz_quad_add(m.squares, mz_quad_multiply(off, off));
  }
  return m;
}

/* The moments of what this thread sees of its group. */
static __device__ moments measure(const float *x, const shape &s) {
  const int step = TILE * MZ_CUDA_COLUMN_ROWS;
  moments all;
  all.mean = all.squares = mz_quad_of(0.0f);
  all.count = 0.0f;
  for (int from = mz_cuda_column_row(); from < s.positions; from += step) {
    const int left = (s.positions - from + MZ_CUDA_COLUMN_ROWS - 1) / MZ_CUDA_COLUMN_ROWS, count = left < TILE ? left : TILE;
    float4 tile[TILE];
    MZ_UNROLL(8) for (int i = 0; i < TILE; i++) {
      tile[i] = mz_quad_of(0.0f);
      if (i < count) tile[i] = mz_quad_load(x + (size_t)(from + i * MZ_CUDA_COLUMN_ROWS) * (size_t)s.channels);
    }
    all = join(all, moments_of(tile, count));
  }
  return all;
}

/* Joins what the threads of a block have; each gets the moments of its channels. */
static __device__ moments join_all(const moments &own) {
  __shared__ float4 means[MZ_CUDA_COLUMN_THREADS], squares[MZ_CUDA_COLUMN_THREADS];
  __shared__ float counts[MZ_CUDA_COLUMN_THREADS];
  const int i = (int)threadIdx.x;
  moments sum = own;
  for (int half = MZ_CUDA_COLUMN_ROWS; half > 0; half /= 2) {
    if (mz_cuda_column_row() < half) {
      if (half < MZ_CUDA_COLUMN_ROWS) {
        const int j = i + half * MZ_CUDA_QUADS;
        const moments other = {means[j], squares[j], counts[j]};
        sum = join(sum, other);
      }
      means[i] = sum.mean;
      squares[i] = sum.squares;
      counts[i] = sum.count;
    }
    __syncthreads();
  }
  const int first = mz_cuda_column_quad();
  return {means[first], squares[first], counts[first]};
}

static __device__ float inverse_of(float variance) { return 1.0f / sqrtf(variance + MZ_NORM_EPSILON); }

/* y = scale · x + shift, before what is negative is cut off. */
typedef struct affine_map {
  float4 scale, shift;
} affine_map;

static __device__ affine_map affine_of(const shape &s, const place &p, float4 mean, float4 inverse) {
  affine_map map;
  map.scale = mz_quad_multiply(mz_quad_load(s.gamma + p.channel), inverse);
  map.shift = mz_quad_subtract(mz_quad_load(s.beta + p.channel), mz_quad_multiply(mean, map.scale));
  return map;
}

static __device__ float4 apply(const affine_map &map, float4 x) { return mz_quad_add(mz_quad_multiply(x, map.scale), map.shift); }

template <typename T> static __global__ void normalise(const float *__restrict__ x, T *__restrict__ y, shape s) {
  const place p = place_of(s);
  const moments m = join_all(measure(x + p.first, s));
  const float4 variance = mz_quad_scale(m.squares, 1.0f / (float)s.positions);
  const float4 inverse =
      make_float4(inverse_of(variance.x), inverse_of(variance.y), inverse_of(variance.z), inverse_of(variance.w));
  if (mz_cuda_column_row() == 0) {
    mz_quad_store(s.kept[MEAN] + p.at_kept, m.mean);
    mz_quad_store(s.kept[VARIANCE] + p.at_kept, variance);
    mz_quad_store(s.kept[INVERSE] + p.at_kept, inverse);
  }
  const affine_map map = affine_of(s, p, m.mean, inverse);
  MZ_UNROLL(4) for (int i = mz_cuda_column_row(); i < s.positions; i += MZ_CUDA_COLUMN_ROWS) {
    const size_t at = p.first + (size_t)i * (size_t)s.channels;
    const float4 z = apply(map, mz_quad_load(x + at));
    mz_quad_store(y + at, s.relu ? mz_quad_relu(z) : z);
  }
}

/* ---- backward ---- */

/* Let x̂ = (x − mean) · inverse; then dx = scale · (dy − Σdy / n − x̂ · Σ(dy · x̂) / n), scale = gamma · inverse. dx: NULL where
 * none is wanted. */
static __global__ void differentiate(const float *__restrict__ x, const float *__restrict__ dy, float *__restrict__ dx, shape s,
                                     bool overwrite) {
  __shared__ float4 sums[MZ_CUDA_COLUMN_THREADS], products[MZ_CUDA_COLUMN_THREADS];
  const place p = place_of(s);
  const float4 mean = mz_quad_load(s.kept[MEAN] + p.at_kept), inverse = mz_quad_load(s.kept[INVERSE] + p.at_kept);
  const affine_map map = affine_of(s, p, mean, inverse);
  float4 sum = mz_quad_of(0.0f), product = sum;
  MZ_UNROLL(4) for (int i = mz_cuda_column_row(); i < s.positions; i += MZ_CUDA_COLUMN_ROWS) {
    const size_t at = p.first + (size_t)i * (size_t)s.channels;
    const float4 raw = mz_quad_load(x + at), full = mz_quad_load(dy + at),
                 d = s.relu ? mz_quad_where_positive(apply(map, raw), full) : full;
    sum = mz_quad_add(sum, d);
    product = mz_quad_add(product, mz_quad_multiply(d, mz_quad_multiply(mz_quad_subtract(raw, mean), inverse)));
  }
  mz_cuda_column_sum(sum, sums);
  mz_cuda_column_sum(product, products);
  sum = sums[mz_cuda_column_quad()];
  product = products[mz_cuda_column_quad()];
  if (mz_cuda_column_row() == 0) {
    mz_quad_store(s.kept[SUM_DY] + p.at_kept, sum);
    mz_quad_store(s.kept[SUM_DY_X] + p.at_kept, product);
  }
  if (dx == nullptr) return;
  const float share = 1.0f / (float)s.positions;
  const float4 mean_dy = mz_quad_scale(sum, share), mean_product = mz_quad_scale(product, share);
  MZ_UNROLL(4) for (int i = mz_cuda_column_row(); i < s.positions; i += MZ_CUDA_COLUMN_ROWS) {
    const size_t at = p.first + (size_t)i * (size_t)s.channels;
    const float4 raw = mz_quad_load(x + at), full = mz_quad_load(dy + at),
                 d = s.relu ? mz_quad_where_positive(apply(map, raw), full) : full;
    const float4 normalised = mz_quad_multiply(mz_quad_subtract(raw, mean), inverse);
    const float4 rest = mz_quad_subtract(mz_quad_subtract(d, mean_dy), mz_quad_multiply(normalised, mean_product));
    const float4 own = mz_quad_multiply(map.scale, rest);
    mz_quad_accumulate(dx + at, own, overwrite);
  }
}

/* ---- parameters ---- */

enum { USES = 64, GRADIENT_THREADS = 128 };

/* Two of the sums that each of some uses keeps: [groups][channels]. */
typedef struct use_list {
  const float *first[USES], *second[USES];
  size_t count;
} use_list;

/* out = share · (out, or 0, + Σ over uses and groups in order). Blocks of row 0 write `first`, those of row 1 `second`. */
static __global__ void add_uses(use_list uses, int groups, int channels, float share, bool add, float *first, float *second) {
  const int c = (int)mz_cuda_thread();
  if (c >= channels) return;
  float *const out = blockIdx.y == 0 ? first : second;
  float sum = add ? out[c] : 0.0f;
  for (size_t u = 0; u < uses.count; u++) {
    const float *const own = blockIdx.y == 0 ? uses.first[u] : uses.second[u];
    for (int g = 0; g < groups; g++) sum = sum + own[(size_t)g * (size_t)channels + (size_t)c];
  }
  out[c] = sum * share;
}

/* ---- nodes ---- */

static int channels_of(const mz_tape *tape, const mz_node *node) { return tape->params->items[node->norm.gamma].columns; }

/* Floats of each of the sums. */
static size_t sum_count(const mz_tape *tape, const mz_node *node) {
  return (size_t)(tape->rows / node->group_rows) * (size_t)channels_of(tape, node);
}

size_t mz_cuda_norm_bytes(const mz_tape *tape, const mz_node *node) { return KEPT * sum_count(tape, node) * sizeof(float); }

mz_status mz_cuda_norm_prepare(mz_tape *tape, mz_node *node) {
  MZ_CUDA_TRY(cudaMalloc(&node->prepared, mz_cuda_norm_bytes(tape, node)));
  return MZ_OK;
}

void mz_cuda_norm_release(mz_node *node) {
  (void)cudaFree(node->prepared);
  node->prepared = nullptr;
}

static float *kept_of(const mz_tape *tape, const mz_node *node, kept which) {
  return (float *)node->prepared + (size_t)which * sum_count(tape, node);
}

static shape shape_of(const mz_tape *tape, const mz_node *node, int rows) {
  MZ_ASSERT(rows % node->group_rows == 0);
  shape s = {};
  s.groups = rows / node->group_rows;
  s.positions = node->group_rows * node->positions;
  s.channels = channels_of(tape, node);
  s.gamma = mz_cuda_parameter(tape, node->norm.gamma);
  s.beta = mz_cuda_parameter(tape, node->norm.beta);
  for (int k = 0; k < KEPT; k++) s.kept[k] = kept_of(tape, node, (kept)k);
  s.relu = node->activation == MZ_RELU;
  return s;
}

/* Groups first: a grid has at most 65,535 blocks the other way. */
static dim3 blocks_of(const shape &s) { return dim3((unsigned)s.groups, (unsigned)(s.channels / MZ_CUDA_SLICE)); }

template <typename T> static mz_status run_normalise(mz_tape *tape, const mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(normalise<T>, blocks_of(s), dim3(MZ_CUDA_COLUMN_THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_data(x), (T *)y->data, s));
  return MZ_OK;
}

mz_status mz_cuda_norm_forward(mz_tape *tape, mz_node *node, int rows) {
  return mz_cuda_output(tape, node)->bf16 ? run_normalise<uint16_t>(tape, node, rows) : run_normalise<float>(tape, node, rows);
}

/* The gradients of two parameters: sums over groups and over those uses of the norm that have `mean` (−1: all), times `share`,
 * where statistics share by uses besides. */
static mz_status add_up(mz_tape *tape, const mz_node *node, int groups, int mean, kept first, int first_param, kept second,
                        int second_param) {
  const int channels = channels_of(tape, node);
  const dim3 blocks((unsigned)(channels + GRADIENT_THREADS - 1) / GRADIENT_THREADS, 2);
  use_list uses = {};
  size_t all = 0;
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const bool last = u == node->use_count - 1;
    if (mean < 0 || use->norm.mean == mean) {
      uses.first[uses.count] = kept_of(tape, use, first);
      uses.second[uses.count++] = kept_of(tape, use, second);
      all++;
    }
    if (uses.count < USES && !last) continue;
    const float share = mean < 0 || !last ? 1.0f : (float)(tape->share / ((double)all * groups));
    MZ_CUDA_TRY(mz_launch(add_uses, blocks, dim3(GRADIENT_THREADS), 0, mz_cuda_lane_of(tape)->stream, uses, groups, channels,
                          share, all > uses.count, mz_cuda_parameter_gradient(tape, first_param),
                          mz_cuda_parameter_gradient(tape, second_param)));
    uses = {};
  }
  return MZ_OK;
}

/* Uses that share gain and offset may have statistics of their own. */
static mz_status parameter_gradients(mz_tape *tape, const mz_node *node, int groups) {
  MZ_TRY(add_up(tape, node, groups, -1, SUM_DY_X, node->norm.gamma, SUM_DY, node->norm.beta));
  for (int u = 0; u < node->use_count; u++) {
    const mz_norm *norm = &tape->nodes[node->uses[u]].norm;
    bool done = false;
    for (int v = 0; v < u; v++) done = done || tape->nodes[node->uses[v]].norm.mean == norm->mean;
    if (!done) MZ_TRY(add_up(tape, node, groups, norm->mean, MEAN, norm->mean, VARIANCE, norm->variance));
  }
  return MZ_OK;
}

mz_status mz_cuda_norm_backward(mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(differentiate, blocks_of(s), dim3(MZ_CUDA_COLUMN_THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_data(x), mz_cuda_gradient(y), mz_cuda_gradient(x), s, node->overwrites[0]));
  return node->first_use ? parameter_gradients(tape, node, s.groups) : MZ_OK;
}

/* ---- affine ---- */

enum { AFFINE_THREADS = 256 };

/* A thread for every four entries, `count` of them. */
template <typename T>
static __global__ void affine(const float *__restrict__ x, T *__restrict__ y, const float *__restrict__ scale,
                              const float *__restrict__ shift, unsigned count, unsigned channels, bool relu) {
  const unsigned at = mz_cuda_thread() * MZ_QUAD;
  if (at >= count) return;
  const unsigned c = at % channels;
  const float4 z = mz_quad_add(mz_quad_multiply(mz_quad_load(x + at), mz_quad_load(scale + c)), mz_quad_load(shift + c));
  mz_quad_store(y + at, relu ? mz_quad_relu(z) : z);
}

template <typename T> static mz_status run_affine(mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(x, rows);
  MZ_CUDA_TRY(mz_launch(affine<T>, mz_cuda_blocks(count / MZ_QUAD, AFFINE_THREADS), dim3(AFFINE_THREADS), 0,
                        mz_cuda_lane_of(tape)->stream, mz_cuda_data(x), (T *)y->data, mz_cuda_parameter(tape, node->weight),
                        mz_cuda_parameter(tape, node->bias), count, (unsigned)tape->params->items[node->weight].columns,
                        node->activation == MZ_RELU));
  return MZ_OK;
}

mz_status mz_cuda_affine_forward(mz_tape *tape, mz_node *node, int rows) {
  return mz_cuda_output(tape, node)->bf16 ? run_affine<uint16_t>(tape, node, rows) : run_affine<float>(tape, node, rows);
}
