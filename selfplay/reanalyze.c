#include "selfplay/reanalyze.h"
#include "base/maths/streams.h"
#include "base/arena.h"

struct mz_reanalyze {
  mz_network_search search;
  int slots, actions;
  size_t obs_bytes;
  mz_root *roots;          /* [slots] */
  mz_root_result *results; /* [slots] */
  float *policies;         /* [slots][actions]: thrown away by evaluate */
  int32_t *latent_index;   /* [slots]: 0 … slots−1 */
  void *block;
};

static void carve(mz_reanalyze *r, mz_carver *carver) {
  const size_t n = (size_t)r->slots;
  mz_carve(carver, &r->roots, n, sizeof *r->roots);
  mz_carve(carver, &r->results, n, sizeof *r->results);
  mz_carve(carver, &r->policies, n * (size_t)r->actions, sizeof *r->policies);
  mz_carve(carver, &r->latent_index, n, sizeof *r->latent_index);
}

mz_status mz_reanalyze_bytes(const mz_search_settings *search, const mz_spec *spec, const mz_model *model, const mz_lane *where,
                             int slots, double *bytes) {
  mz_reanalyze r = {.slots = slots, .actions = spec->actions};
  mz_carver carver = {0};
  carve(&r, &carver);
  MZ_TRY(mz_network_search_bytes(spec, search, model, where, slots, bytes));
  *bytes += (double)sizeof r + (double)carver.bytes;
  return MZ_OK;
}

mz_status mz_reanalyze_create(mz_reanalyze **out, const mz_search_settings *search, const mz_spec *spec, const mz_model *model,
                              const mz_lane *where, double discount, int slots) {
  mz_reanalyze *r;
  MZ_TRY(mz_alloc(&r, 1, sizeof *r));
  mz_status status;
  r->slots = slots;
  r->actions = spec->actions;
  r->obs_bytes = mz_spec_obs_bytes(spec);
  MZ_TRY_CLEANUP(mz_network_search_init(&r->search, spec, search, model, where, discount, slots));
  mz_carver carver = {0};
  carve(r, &carver);
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &r->block));
  for (int i = 0; i < slots; i++) r->latent_index[i] = i;
  *out = r;
cleanup:
  if (status != MZ_OK) mz_reanalyze_free(r);
  return status;
}

void mz_reanalyze_free(mz_reanalyze *r) {
  if (!r) return;
  mz_network_search_deinit(&r->search);
  free(r->block);
  free(r);
}

mz_status mz_reanalyze_search(mz_reanalyze *r, const mz_prepared *weights, uint64_t seed, uint32_t update, int n,
                              const void *observations, const uint8_t *legal, const uint32_t *key, float *policies,
                              float *values) {
  for (int first = 0; first < n; first += r->slots) {
    int count = n - first < r->slots ? n - first : r->slots;
    for (int i = 0; i < count; i++) {
      size_t at = (size_t)(first + i);
      r->roots[i] = (mz_root){.observation = (const uint8_t *)observations + at * r->obs_bytes,
                              .legal = legal + at * (size_t)r->actions,
                              .noise = true,
                              .rng = mz_stream_reanalyze_noise(seed, update, key[at])};
      r->results[i] = (mz_root_result){.policy = policies + at * (size_t)r->actions};
    }
    MZ_TRY(mz_network_search_run(&r->search, weights, count, r->roots, 0, r->results));
    for (int i = 0; i < count; i++) values[first + i] = r->results[i].value;
  }
  return MZ_OK;
}

mz_status mz_reanalyze_evaluate(mz_reanalyze *r, const mz_prepared *weights, int n, const void *observations, float *values) {
  const int most = r->slots < r->search.latents ? r->slots : r->search.latents; /* each takes a latent */
  MZ_TRY(mz_infer_set_weights(r->search.infer, weights));
  for (int first = 0; first < n; first += most) {
    int count = n - first < most ? n - first : most;
    MZ_TRY(r->search.model.initial(r->search.model.context, count, (const uint8_t *)observations + (size_t)first * r->obs_bytes,
                                   r->latent_index, r->policies, values + first));
  }
  return MZ_OK;
}
