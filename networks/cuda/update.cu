#include "networks/cuda/update.cuh"
#include "networks/cuda/lanes.cuh"
#include "networks/cuda/quads.cuh"

enum { THREADS = 256 };

/* ---- sum over shards ---- */

enum { LEVELS = 11 }; /* of the tree of up to 1024 shards */

/* A thread for four elements. partial[l] is the sum of 2^l neighbouring shards, of which the number of shards so far has the bit; a new
 * shard joins those that its number's low bits complete, as a carry does. */
static __global__ void sum_shards(const float *gradients, int shards, int64_t size, float *sum) {
  const int64_t at = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * MZ_QUAD;
  if (at >= size) return;
  float4 partial[LEVELS];
  for (int s = 0; s < shards; s++) {
    float4 carry = mz_quad_load(gradients + s * size + at);
    bool done = false;
    MZ_UNROLL(LEVELS) for (int l = 0; l < LEVELS; l++) {
      const bool joins = (s >> l & 1) != 0;
      if (!done && joins) carry = mz_quad_add(partial[l], carry);
      if (!done && !joins) partial[l] = carry;
      done = done || !joins;
    }
  }
  float4 total = mz_quad_of(0.0f);
  bool any = false; /* what is left joins from the right */
  MZ_UNROLL(LEVELS) for (int l = 0; l < LEVELS; l++) {
    if ((shards >> l & 1) == 0) continue;
    total = any ? mz_quad_add(partial[l], total) : partial[l];
    any = true;
  }
  mz_quad_store(sum + at, total);
}

mz_status mz_cuda_shards_sum(const mz_cuda_lane *lane, const float *gradients, int shards, int64_t size, float *sum) {
  MZ_ASSERT(shards >= 1 && shards < 1 << LEVELS && size % MZ_LANES == 0);
  MZ_CUDA_TRY(mz_launch(sum_shards, mz_cuda_blocks((size_t)size / MZ_QUAD, THREADS), dim3(THREADS), 0, lane->stream, gradients,
                        shards, size, sum));
  return MZ_OK;
}

/* ---- squares ---- */

/* Sixteen threads share a chunk as they share a row. */
static __global__ void square(const float *__restrict__ gradient, int64_t size, int chunks, double *__restrict__ squares) {
  const mz_cuda_team team = mz_cuda_team_of(chunks);
  const int64_t from = (int64_t)team.row * MZ_CHUNK, left = size - from;
  const int count = left < MZ_CHUNK ? (int)left : (int)MZ_CHUNK; /* not positive: nothing here is trained */
  double sum = 0.0;
  MZ_UNROLL(8) for (int i = team.lane; i < count; i += MZ_LANES) {
    const double g = (double)gradient[from + i];
    sum = sum + g * g;
  }
  for (int half = MZ_LANES / 2; half > 0; half /= 2) sum = sum + __shfl_xor_sync(MZ_CUDA_WARP, sum, half);
  if (team.live && team.lane == 0) squares[team.row] = sum;
}

mz_status mz_cuda_gradient_squares(const mz_cuda_lane *lane, const mz_params *params, const float *gradient, double *squares) {
  const int chunks = mz_chunk_count(params);
  MZ_CUDA_TRY(mz_launch(square, mz_cuda_team_blocks(chunks), dim3(MZ_CUDA_LANE_THREADS), 0, lane->stream, gradient,
                        params->trained, chunks, squares));
  return MZ_OK;
}

/* ---- decision ---- */

static __device__ double sum_in_order(const double *squares, int chunks) {
  double sum = 0.0;
  for (int c = 0; c < chunks; c++) sum = sum + squares[c];
  return sum;
}

static __global__ void add_squares(const double *__restrict__ squares, int chunks, double *sum) {
  *sum = sum_in_order(squares, chunks);
}

static __global__ void decide(const double *__restrict__ squares, int chunks, const double *__restrict__ losses, int count,
                              mz_cuda_decision *decision) {
  const double norm = sqrt(sum_in_order(squares, chunks)), clip = decision->clip;
  bool finite = isfinite(norm);
  for (int i = 0; i < count; i++) finite = finite && isfinite(losses[i]);
  decision->norm = norm;
  decision->scale = clip > 0.0 && norm > clip ? (float)(clip / norm) : 1.0f;
  decision->finite = finite;
}

mz_status mz_cuda_squares_sum(const mz_cuda_lane *lane, const double *squares, int chunks, double *sum) {
  MZ_CUDA_TRY(mz_launch(add_squares, dim3(1), dim3(1), 0, lane->stream, squares, chunks, sum));
  return MZ_OK;
}

mz_status mz_cuda_decide(const mz_cuda_lane *lane, const double *squares, int chunks, const double *losses, int count,
                         mz_cuda_decision *decision) {
  MZ_CUDA_TRY(mz_launch(decide, dim3(1), dim3(1), 0, lane->stream, squares, chunks, losses, count, decision));
  return MZ_OK;
}

/* ---- step ---- */

/* How one parameter is updated. Parameters lie behind one another. */
typedef struct mz_cuda_rule {
  int64_t end;     /* the first element behind it */
  float statistic; /* share that is taken over; 0: trained */
  int decays;
} mz_cuda_rule;

/* Returns the rule of the parameter that holds an element. */
static __device__ mz_cuda_rule rule_at(const mz_cuda_rule *rules, int count, int64_t element) {
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (element < rules[middle].end)
      high = middle;
    else
      low = middle + 1;
  }
  return rules[low];
}

/* One element; its number in each array is the same. */
template <mz_optimizer_kind KIND>
static __device__ void step_one(const mz_step_factors &f, const mz_cuda_rule &rule, float gradient, float *moment1,
                                float *moment2, float *value) {
  const float decay = rule.decays ? f.decay : 0.0f;
  if (rule.statistic > 0.0f)
    mz_statistic_inline(rule.statistic, gradient, value);
  else if (KIND == MZ_ADAM)
    mz_adam_inline(&f, decay, gradient, moment1, moment2, value);
  else
    mz_sgd_inline(&f, decay, gradient, moment1, value);
}

/* A thread for four elements, which are of one parameter. */
template <mz_optimizer_kind KIND>
static __global__ void step_quad(const mz_cuda_rule *__restrict__ rules, int count, int64_t size, mz_step_factors f,
                                 mz_cuda_step s) {
  const int64_t at = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * MZ_QUAD;
  if (at >= size) return;
  if (s.decision != nullptr) {
    if (!s.decision->finite) return;
    f.scale = s.decision->scale;
  }
  const mz_cuda_rule rule = rule_at(rules, count, at);
  const float4 g = mz_quad_load(s.gradient + at);
  float4 m = mz_quad_load(s.moment1 + at), v = KIND == MZ_ADAM ? mz_quad_load(s.moment2 + at) : mz_quad_of(0.0f);
  float4 x = mz_quad_load(s.values + at);
  step_one<KIND>(f, rule, g.x, &m.x, &v.x, &x.x);
  step_one<KIND>(f, rule, g.y, &m.y, &v.y, &x.y);
  step_one<KIND>(f, rule, g.z, &m.z, &v.z, &x.z);
  step_one<KIND>(f, rule, g.w, &m.w, &v.w, &x.w);
  mz_quad_store(s.moment1 + at, m);
  if (KIND == MZ_ADAM) mz_quad_store(s.moment2 + at, v);
  mz_quad_store(s.values + at, x);
  if (s.average == nullptr) return;
  const float decay = (float)s.average_decay;
  float4 average = mz_quad_load(s.average + at);
  mz_average_inline(decay, x.x, &average.x);
  mz_average_inline(decay, x.y, &average.y);
  mz_average_inline(decay, x.z, &average.z);
  mz_average_inline(decay, x.w, &average.w);
  mz_quad_store(s.average + at, average);
}

size_t mz_cuda_update_bytes(const mz_params *params) { return (size_t)params->count * sizeof(mz_cuda_rule); }

mz_status mz_cuda_update_init(mz_cuda_update *update, mz_cuda_lane *lane, mz_optimizer_kind kind, const mz_params *params) {
  mz_cuda_rule rules[MZ_PARAMS_MAX];
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    rules[p] = {param->offset + (int64_t)param->rows * param->stride, param->statistic, param->decay};
  }
  const size_t bytes = mz_cuda_update_bytes(params);
  *update = {kind, params->count, params->size, nullptr};
  MZ_CUDA_TRY(cudaMalloc((void **)&update->rules, bytes));
  const mz_status status = mz_cuda_staging_send(&lane->staging, lane->stream, update->rules, rules, bytes);
  if (status != MZ_OK) mz_cuda_update_deinit(update);
  return status;
}

void mz_cuda_update_deinit(mz_cuda_update *update) {
  (void)cudaFree(update->rules);
  update->rules = nullptr;
}

mz_status mz_cuda_update_step(const mz_cuda_update *update, const mz_cuda_lane *lane, const mz_step_factors *factors,
                              const mz_cuda_step *step) {
  MZ_CUDA_TRY(mz_launch(update->kind == MZ_ADAM ? step_quad<MZ_ADAM> : step_quad<MZ_SGD>,
                        mz_cuda_blocks((size_t)update->size / MZ_QUAD, THREADS), dim3(THREADS), 0, lane->stream, update->rules,
                        update->param_count, update->size, *factors, *step));
  return MZ_OK;
}
