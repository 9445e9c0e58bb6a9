#include "selfplay/search/network_search.h"
#include "base/threads/stage.h"

/* The latents that a search over the network names. */
static int latents_of(const mz_search_settings *settings, int actions, const mz_model *model, int slots) {
  return mz_search_latents(settings, actions, mz_infer_latent_stride(model), slots);
}

mz_status mz_network_search_lane_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                       const mz_lane *where, int slots, double *bytes) {
  return mz_infer_bytes(model, where, slots, latents_of(settings, spec->actions, model, slots), bytes);
}

mz_status mz_network_search_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                  const mz_lane *where, int slots, double *bytes) {
  MZ_TRY(mz_network_search_lane_bytes(spec, settings, model, where, slots, bytes));
  *bytes += mz_search_bytes(settings, spec->actions, mz_infer_latent_stride(model), slots);
  return MZ_OK;
}

mz_status mz_network_search_init(mz_network_search *s, const mz_spec *spec, const mz_search_settings *settings,
                                 const mz_model *model, const mz_lane *where, double discount, int slots) {
  *s = (mz_network_search){0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_lane_open(&s->lane, where));
  MZ_TRY_CLEANUP(mz_infer_create(&s->infer, model, &s->lane, slots, latents_of(settings, spec->actions, model, slots)));
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
  mz_lane_close(&s->lane);
  *s = (mz_network_search){0};
}

mz_status mz_network_search_run(mz_network_search *s, const mz_prepared *weights, int n, const mz_root *roots, int simulations,
                                mz_root_result *results) {
  MZ_TRY(mz_infer_set_weights(s->infer, weights));
  const mz_status status = mz_search_run(s->search, &s->model, n, roots, simulations, results);
  mz_stage_step();
  return status;
}
