#include "selfplay/search/network_search.h"
#include "base/threads/stage.h"

mz_status mz_network_search_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                  const mz_backend *backend, int slots, double *bytes) {
  MZ_TRY(mz_infer_bytes(model, backend, slots, bytes));
  *bytes += mz_search_bytes(settings, spec->actions, mz_padded(model->latent), slots);
  return MZ_OK;
}

mz_status mz_network_search_init(mz_network_search *s, const mz_spec *spec, const mz_search_settings *settings,
                                 const mz_model *model, const mz_backend *backend, double discount, int slots) {
  *s = (mz_network_search){0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_infer_create(&s->infer, model, backend, slots));
  s->adapter = (mz_infer_model){.infer = s->infer, .kind = spec->obs_kind};
  s->model = mz_search_model_of_infer(&s->adapter, model);
  MZ_TRY_CLEANUP(
      mz_search_create(&s->search, settings, spec->actions, s->model.latent_stride, discount, spec->alternating, slots));
  return MZ_OK;
cleanup:
  mz_network_search_deinit(s);
  return status;
}

void mz_network_search_deinit(mz_network_search *s) {
  mz_search_free(s->search);
  mz_infer_free(s->infer);
  *s = (mz_network_search){0};
}

void mz_network_search_run(mz_network_search *s, const float *weights, int n, const mz_root *roots, int simulations,
                           mz_root_result *results) {
  mz_infer_set_weights(s->infer, weights);
  mz_search_run(s->search, &s->model, n, roots, simulations, results);
  mz_stage_step();
}
