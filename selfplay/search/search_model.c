#include "selfplay/search/search_model.h"
#include "selfplay/search/turns.h"

static mz_status initial(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  const mz_infer_model *model = context;
  for (int i = 0; model->away && i < n; i++) model->away[out[i]] = false;
  return mz_infer_initial(model->infer, n, observations, model->kind, out, policy, value);
}

static mz_status recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                           float *value, float *reward) {
  const mz_infer_model *model = context;
  return mz_infer_recurrent(model->infer, n, in, action, out, policy, value, reward);
}

static mz_status recurrent_discounted(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                      float *policy, float *value, float *reward, float *discount) {
  const mz_infer_model *model = context;
  float *const turn = discount; /* each answer takes the place of its question */
  MZ_TRY(mz_infer_recurrent_turns(model->infer, n, in, action, out, policy, value, reward, turn));
  for (int i = 0; i < n; i++) {
    const mz_turn_answer answer = mz_turn_answer_of(model->away[in[i]], turn[i], value[i], reward[i], model->discount);
    model->away[out[i]] = answer.away;
    value[i] = answer.value;
    reward[i] = answer.reward;
    discount[i] = answer.discount;
  }
  return MZ_OK;
}

mz_search_model mz_search_model_of_infer(mz_infer_model *adapter, const mz_model *model) {
  return (mz_search_model){
      .context = adapter,
      .actions = model->actions,
      .latent_stride = mz_infer_latent_stride(model),
      .obs_bytes = (size_t)model->obs_size * (adapter->kind == MZ_OBS_U8 ? 1 : sizeof(float)),
      .initial = initial,
      .recurrent = recurrent,
      .recurrent_discounted = model->tells_turns ? recurrent_discounted : NULL,
  };
}
