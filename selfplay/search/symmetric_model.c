#include "selfplay/search/symmetric_model.h"
#include "base/arena.h"
#include "base/symmetry.h"
#include <string.h>

struct mz_symmetric_model {
  mz_search_model inner;
  mz_spec spec;
  int rows;
  int32_t *action_of;    /* [symmetries][actions]: where an action goes */
  uint8_t *observations; /* [rows]: images under one symmetry */
  float *policy, *value; /* [rows][actions], [rows]: their answers */
  void *block;
};

static void carve(mz_symmetric_model *m, const mz_spec *spec, int rows, mz_carver *carver) {
  const size_t n = (size_t)rows, actions = (size_t)spec->actions;
  mz_carve(carver, &m->action_of, (size_t)spec->symmetries * actions, sizeof *m->action_of);
  mz_carve(carver, &m->observations, n, mz_spec_obs_bytes(spec));
  mz_carve(carver, &m->policy, n * actions, sizeof *m->policy);
  mz_carve(carver, &m->value, n, sizeof *m->value);
}

double mz_symmetric_model_bytes(const mz_spec *spec, int rows) {
  mz_symmetric_model m;
  mz_carver carver = {0};
  carve(&m, spec, rows, &carver);
  return (double)(carver.bytes + sizeof m);
}

mz_status mz_symmetric_model_create(mz_symmetric_model **out, const mz_search_model *model, const mz_spec *spec, int rows) {
  mz_symmetric_model *m;
  mz_carver carver = {0};
  mz_status status;
  MZ_TRY(mz_alloc(&m, 1, sizeof *m));
  *m = (mz_symmetric_model){.inner = *model, .spec = *spec, .rows = rows};
  carve(m, spec, rows, &carver);
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &m->block));
  for (int s = 0; s < spec->symmetries; s++)
    for (int a = 0; a < spec->actions; a++) m->action_of[s * spec->actions + a] = mz_symmetry_action(spec, s, a);
  *out = m;
  return MZ_OK;
cleanup:
  mz_symmetric_model_free(m);
  return status;
}

void mz_symmetric_model_free(mz_symmetric_model *m) {
  if (!m) return;
  free(m->block);
  free(m);
}

/* Adds the answers for the images of n observations. Their latents go where those of the observations themselves will be. */
static mz_status add_image(mz_symmetric_model *m, int s, int n, const uint8_t *observations, const int32_t *out, float *policy,
                           float *value) {
  const size_t bytes = mz_spec_obs_bytes(&m->spec), actions = (size_t)m->spec.actions;
  const int32_t *to = m->action_of + (size_t)s * actions;
  for (int i = 0; i < n; i++)
    mz_symmetry_observe(&m->spec, s, observations + (size_t)i * bytes, m->observations + (size_t)i * bytes);
  MZ_TRY(m->inner.initial(m->inner.context, n, m->observations, out, m->policy, m->value));
  for (size_t i = 0; i < (size_t)n; i++) {
    for (size_t a = 0; a < actions; a++) policy[i * actions + a] += m->policy[i * actions + (size_t)to[a]];
    value[i] += m->value[i];
  }
  return MZ_OK;
}

static mz_status initial_of_rows(mz_symmetric_model *m, int n, const uint8_t *observations, const int32_t *out, float *policy,
                                 float *value) {
  const size_t entries = (size_t)n * (size_t)m->spec.actions;
  memset(policy, 0, entries * sizeof *policy);
  memset(value, 0, (size_t)n * sizeof *value);
  for (int s = m->spec.symmetries - 1; s >= 0; s--) /* the identity last: its latents stay */
    MZ_TRY(add_image(m, s, n, observations, out, policy, value));
  const float share = 1.0f / (float)m->spec.symmetries;
  for (size_t k = 0; k < entries; k++) policy[k] *= share;
  for (int i = 0; i < n; i++) value[i] *= share;
  return MZ_OK;
}

static mz_status initial(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  mz_symmetric_model *m = context;
  const size_t bytes = mz_spec_obs_bytes(&m->spec), actions = (size_t)m->spec.actions;
  for (int at = 0, part; at < n; at += part) {
    part = n - at < m->rows ? n - at : m->rows;
    MZ_TRY(initial_of_rows(m, part, (const uint8_t *)observations + (size_t)at * bytes, out + at, policy + (size_t)at * actions,
                           value + at));
  }
  return MZ_OK;
}

static mz_status recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                           float *value, float *reward) {
  const mz_symmetric_model *m = context;
  return m->inner.recurrent(m->inner.context, n, in, action, out, policy, value, reward);
}

static mz_status recurrent_discounted(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                      float *policy, float *value, float *reward, float *discount) {
  const mz_symmetric_model *m = context;
  return m->inner.recurrent_discounted(m->inner.context, n, in, action, out, policy, value, reward, discount);
}

mz_search_model mz_search_model_of_symmetric(mz_symmetric_model *m) {
  mz_search_model model = m->inner;
  model.context = m;
  model.initial = initial;
  model.recurrent = recurrent;
  if (model.recurrent_discounted) model.recurrent_discounted = recurrent_discounted;
  return model;
}
