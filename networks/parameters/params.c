#include "networks/parameters/params.h"
#include "base/maths/maths.h"
#include "base/maths/streams.h"

#include <math.h>
#include <string.h>

/* Nothing is drawn for it. */
static bool is_fixed(mz_init init) {
  return init == MZ_INIT_ZERO || init == MZ_INIT_ONE || init == MZ_INIT_FIRST || init == MZ_INIT_LAST;
}

int mz_params_add(mz_params *params, const char *name, int rows, int columns, bool decay, mz_init init, int fan_in) {
  MZ_ASSERT(params->count < MZ_PARAMS_MAX);
  MZ_ASSERT(params->trained == params->size); /* statistics come last */
  MZ_ASSERT(rows >= 1);
  MZ_ASSERT(columns >= 1);
  MZ_ASSERT(fan_in >= 1 || is_fixed(init));
  MZ_ASSERT(strlen(name) < sizeof params->items[0].name);
  MZ_ASSERT(mz_params_find(params, name) < 0);

  mz_param *param = &params->items[params->count];
  *param = (mz_param){
      .rows = rows,
      .columns = columns,
      .stride = mz_padded(columns),
      .offset = params->size,
      .decay = decay,
      .fan_in = fan_in,
      .init = init,
  };
  strcpy(param->name, name);
  params->size += (int64_t)rows * param->stride;
  params->trained = params->size;
  return params->count++;
}

int mz_params_add_conv(mz_params *params, const char *name, mz_board board, int inputs, int outputs, mz_init init) {
  MZ_ASSERT(inputs % MZ_LANES == 0 && outputs % MZ_LANES == 0 && board.height >= 1 && board.width >= 1);
  const int rows = MZ_KERNEL * MZ_KERNEL * inputs;
  const int weight = mz_params_add(params, name, rows, outputs, true, init, rows);
  params->items[weight].conv = board;
  return weight;
}

int mz_params_add_statistic(mz_params *params, const char *name, int columns, mz_init init, float share) {
  MZ_ASSERT(share > 0 && share <= 1);
  const int64_t trained = params->trained;
  params->trained = params->size;
  const int statistic = mz_params_add(params, name, 1, columns, false, init, 0);
  params->items[statistic].statistic = share;
  params->trained = trained;
  return statistic;
}

int mz_params_find(const mz_params *params, const char *name) {
  for (int i = 0; i < params->count; i++)
    if (strcmp(params->items[i].name, name) == 0) return i;
  return -1;
}

bool mz_params_convolve(const mz_params *params) {
  for (int i = 0; i < params->count; i++)
    if (params->items[i].conv.height > 0) return true;
  return false;
}

static int64_t dense(const mz_param *param) { return (int64_t)param->rows * param->columns; }

int64_t mz_params_dense(const mz_params *params) {
  int64_t total = 0;
  for (int i = 0; i < params->count; i++) total += dense(&params->items[i]);
  return total;
}

int64_t mz_params_trainable(const mz_params *params) {
  int64_t total = 0;
  for (int i = 0; i < params->count; i++)
    if (params->items[i].statistic == 0) total += dense(&params->items[i]);
  return total;
}

/* Half the width of the uniform distribution that gives the wanted variance (a uniform on ±b has variance b²/3):
 * He et al. 2015, 2/fan_in; Glorot & Bengio 2010, 2/(fan_in + fan_out). */
static double init_bound(const mz_param *param) {
  double fan_in = param->fan_in, fan_out = param->columns;
  switch (param->init) {
    case MZ_INIT_HE: return sqrt(6.0 / fan_in);
    case MZ_INIT_GLOROT: return sqrt(6.0 / (fan_in + fan_out));
    case MZ_INIT_SMALL: return 0.01 * sqrt(6.0 / (fan_in + fan_out));
    default: MZ_ASSERT(!"an initialisation that is drawn");
  }
  return 0.0;
}

static void fill_row(const mz_param *param, float *row) {
  const int columns = param->columns;
  for (int c = 0; param->init == MZ_INIT_ONE && c < columns; c++) row[c] = 1.0f;
  if (param->init == MZ_INIT_FIRST) row[0] = mz_logf(99.0f * (float)columns);
  if (param->init == MZ_INIT_LAST) row[columns - 1] = mz_logf(99.0f * (float)columns);
}

void mz_params_init(const mz_params *params, uint64_t seed, float *values) {
  memset(values, 0, (size_t)params->size * sizeof *values);
  for (int i = 0; i < params->count; i++) {
    const mz_param *param = &params->items[i];
    if (is_fixed(param->init)) {
      fill_row(param, values + param->offset);
      continue;
    }
    const double bound = init_bound(param);
    mz_rng rng = mz_stream_weights(seed, i);
    for (int r = 0; r < param->rows; r++) {
      float *row = values + param->offset + (int64_t)r * param->stride;
      for (int c = 0; c < param->columns; c++) row[c] = (float)(bound * (2.0 * (double)mz_rng_f32(&rng) - 1.0));
    }
  }
}
