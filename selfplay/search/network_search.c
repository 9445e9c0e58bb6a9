#include "selfplay/search/network_search.h"
#include "base/threads/stage.h"

static bool is_symmetric(const mz_spec *spec, const mz_search_settings *settings) {
  return settings->symmetry && spec->symmetries > 1;
}

/* The searcher of the device; NULL: the CPU searches. */
static const mz_searcher *searcher_of(const mz_spec *spec, const mz_search_settings *settings, const mz_lane *where) {
  return is_symmetric(spec, settings) ? NULL : where->backend->searcher;
}

/* Roots that are searched together. */
static int tile_of(const mz_searcher *searcher, int slots) {
  return searcher != NULL && slots > MZ_SEARCHER_SLOTS_MAX ? (int)MZ_SEARCHER_SLOTS_MAX : slots;
}

/* The latents that a search over the network names. */
static int latents_of(const mz_searcher *searcher, const mz_search_settings *settings, int actions, const mz_model *model,
                      int slots) {
  if (searcher != NULL) return tile_of(searcher, slots) * ((int)settings->simulations + 1);
  return mz_search_latents(settings, actions, mz_infer_latent_stride(model), slots);
}

/* Whether the adapter has to know who moves where: a device's trees know it themselves. */
static bool keeps_turns(const mz_spec *spec, const mz_searcher *searcher) {
  return spec->turns == MZ_TURNS_TOLD && searcher == NULL;
}

mz_status mz_network_search_lane_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                       const mz_lane *where, int slots, double *bytes) {
  const mz_searcher *searcher = searcher_of(spec, settings, where);
  const int tile = tile_of(searcher, slots);
  MZ_TRY(mz_infer_bytes(model, where, tile, latents_of(searcher, settings, spec->actions, model, slots), bytes));
  if (searcher != NULL) *bytes += searcher->bytes(spec, settings, tile).device;
  return MZ_OK;
}

double mz_network_search_pinned(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                const mz_lane *where, int slots) {
  const mz_searcher *searcher = searcher_of(spec, settings, where);
  const double evaluated = mz_infer_moved(model, tile_of(searcher, slots));
  const double searched = searcher == NULL ? 0 : searcher->bytes(spec, settings, tile_of(searcher, slots)).moved;
  return mz_lane_pinned(where, searched > evaluated ? searched : evaluated);
}

mz_status mz_network_search_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                  const mz_lane *where, int slots, double *bytes) {
  const mz_searcher *searcher = searcher_of(spec, settings, where);
  MZ_TRY(mz_network_search_lane_bytes(spec, settings, model, where, slots, bytes));
  if (keeps_turns(spec, searcher)) *bytes += (double)latents_of(searcher, settings, spec->actions, model, slots) * sizeof(bool);
  if (is_symmetric(spec, settings)) *bytes += mz_symmetric_model_bytes(spec, slots);
  if (searcher != NULL)
    *bytes += searcher->bytes(spec, settings, tile_of(searcher, slots)).host;
  else
    *bytes += mz_search_bytes(settings, spec->actions, mz_infer_latent_stride(model), spec->turns, slots);
  return MZ_OK;
}

mz_status mz_network_search_init(mz_network_search *s, const mz_spec *spec, const mz_search_settings *settings,
                                 const mz_model *model, const mz_lane *where, double discount, int slots) {
  *s = (mz_network_search){0};
  const mz_searcher *searcher = searcher_of(spec, settings, where);
  const int tile = tile_of(searcher, slots), latents = latents_of(searcher, settings, spec->actions, model, slots);
  mz_status status;
  s->latents = latents;
  MZ_TRY_CLEANUP(mz_lane_open(&s->lane, where));
  MZ_TRY_CLEANUP(mz_infer_create(&s->infer, model, &s->lane, tile, latents));
  if (keeps_turns(spec, searcher)) MZ_TRY_CLEANUP(mz_alloc(&s->away, (size_t)latents, sizeof *s->away));
  s->adapter = (mz_infer_model){.infer = s->infer, .kind = spec->obs_kind, .away = s->away, .discount = (float)discount};
  s->model = mz_search_model_of_infer(&s->adapter, model);
  if (is_symmetric(spec, settings)) {
    MZ_TRY_CLEANUP(mz_symmetric_model_create(&s->symmetric, &s->model, spec, slots));
    s->model = mz_search_model_of_symmetric(s->symmetric);
  }
  if (searcher != NULL) {
    MZ_TRY_CLEANUP(searcher->create(&s->device_search, s->infer, spec, settings, discount, tile));
  } else {
    MZ_TRY_CLEANUP(mz_search_create(&s->search, settings, spec->actions, s->model.latent_stride, discount, spec->turns, slots));
  }
  return MZ_OK;
cleanup:
  mz_network_search_deinit(s);
  return status;
}

void mz_network_search_deinit(mz_network_search *s) {
  if (s->device_search != NULL) s->lane.backend->searcher->free(s->device_search);
  mz_search_free(s->search);
  mz_symmetric_model_free(s->symmetric);
  mz_infer_free(s->infer);
  mz_lane_close(&s->lane);
  free(s->away);
  *s = (mz_network_search){0};
}

mz_status mz_network_search_run(mz_network_search *s, const mz_prepared *weights, int n, const mz_root *roots, int simulations,
                                mz_root_result *results) {
  MZ_TRY(mz_infer_set_weights(s->infer, weights));
  const mz_status status = s->device_search != NULL
                               ? s->lane.backend->searcher->run(s->device_search, n, roots, simulations, results)
                               : mz_search_run(s->search, &s->model, n, roots, simulations, results);
  mz_stage_step();
  return status;
}
