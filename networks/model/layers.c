/* Parameters that models of every kind are made of. */
#include "networks/model/model_kinds.h"

mz_status mz_model_check_width(const char *key, int64_t width) {
  if (width % MZ_LANES == 0) return MZ_OK;
  const int64_t nearest = (width + MZ_LANES / 2) / MZ_LANES * MZ_LANES;
  return mz_fail(MZ_E_CONFIG, "%s: %lld: a multiple of %d is needed; the nearest is %lld", key, (long long)width, MZ_LANES,
                 (long long)(nearest > 0 ? nearest : MZ_LANES));
}

const char *mz_model_name(mz_model_name_text out, const char *part, const char *what) {
  const int length = snprintf(out, sizeof(mz_model_name_text), "%s.%s", part, what);
  MZ_ASSERT(length > 0 && length < (int)sizeof(mz_model_name_text));
  return out;
}

int mz_model_add_layer(mz_params *params, const char *name, int inputs, int outputs, int fan_in, mz_init init) {
  mz_model_name_text full;
  const int weight = mz_params_add(params, mz_model_name(full, name, "weight"), inputs, outputs, true, init, fan_in);
  mz_params_add(params, mz_model_name(full, name, "bias"), 1, outputs, false, MZ_INIT_ZERO, 0);
  return weight;
}

mz_norm mz_model_add_norm(mz_params *params, const char *part, int channels) {
  mz_model_name_text name;
  mz_norm norm = {0};
  norm.gamma = mz_params_add(params, mz_model_name(name, part, "scale"), 1, channels, false, MZ_INIT_ONE, 0);
  norm.beta = mz_params_add(params, mz_model_name(name, part, "shift"), 1, channels, false, MZ_INIT_ZERO, 0);
  return norm;
}

void mz_model_add_statistics(mz_params *params, mz_norm *norm, const char *part, int channels, double share) {
  mz_model_name_text name;
  norm->mean = mz_params_add_statistic(params, mz_model_name(name, part, "mean"), channels, MZ_INIT_ZERO, (float)share);
  norm->variance = mz_params_add_statistic(params, mz_model_name(name, part, "variance"), channels, MZ_INIT_ONE, (float)share);
}
