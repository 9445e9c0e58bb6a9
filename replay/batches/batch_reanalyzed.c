#include "replay/batches/batch_reanalyzed.h"
#include "base/arena.h"
#include "replay/batches/targets.h"
#include <string.h>

static void carve(mz_fresh *fresh, const mz_spec *spec, int rows, int unroll, mz_carver *carver) {
  size_t states = (size_t)rows * (size_t)(unroll + 1), actions = (size_t)spec->actions, obs_bytes = mz_spec_obs_bytes(spec);
  mz_carve(carver, &fresh->search, states, sizeof *fresh->search);
  mz_carve(carver, &fresh->bootstrap, states, sizeof *fresh->bootstrap);
  mz_carve(carver, &fresh->searched, states, obs_bytes);
  mz_carve(carver, &fresh->evaluated, states, obs_bytes);
  mz_carve(carver, &fresh->legal, states, actions);
  mz_carve(carver, &fresh->key, states, sizeof *fresh->key);
  mz_carve(carver, &fresh->policies, states * actions, sizeof *fresh->policies);
  mz_carve(carver, &fresh->values, 2 * states, sizeof *fresh->values);
}

double mz_fresh_bytes(const mz_spec *spec, int rows, int unroll) {
  mz_fresh fresh;
  mz_carver carver = {0};
  carve(&fresh, spec, rows, unroll, &carver);
  return (double)carver.bytes;
}

mz_status mz_fresh_init(mz_fresh *fresh, const mz_spec *spec, int rows, int unroll) {
  *fresh = (mz_fresh){.rows = rows, .unroll = unroll, .actions = spec->actions};
  mz_carver carver = {0};
  carve(fresh, spec, rows, unroll, &carver);
  return mz_carve_commit(&carver, &fresh->block);
}

void mz_fresh_deinit(mz_fresh *fresh) {
  free(fresh->block);
  *fresh = (mz_fresh){0};
}

static void add_search(mz_fresh *fresh, const mz_segment *segment, int t, size_t obs_bytes, int row, int step) {
  int i = fresh->searches++;
  uint8_t *legal = fresh->legal + (size_t)i * (size_t)fresh->actions;
  memcpy(fresh->searched + (size_t)i * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
  memset(legal, 0, (size_t)fresh->actions);
  for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++) legal[segment->policy_action[e]] = 1;
  fresh->key[i] = (uint32_t)(row * (fresh->unroll + 1) + step);
  fresh->search[row * (fresh->unroll + 1) + step] = i;
}

/* Where the value of state `t` of a row drawn at `position` will be; states beyond those searched are evaluated once. */
static int32_t value_of_state(mz_fresh *fresh, const mz_segment *segment, int t, int position, size_t obs_bytes, int row,
                              int *last_evaluated) {
  if (t <= position + fresh->unroll) return fresh->search[row * (fresh->unroll + 1) + t - position];
  if (t != *last_evaluated) { /* bootstrap states of successive steps never go back */
    memcpy(fresh->evaluated + (size_t)fresh->evaluations * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
    fresh->evaluations++;
    *last_evaluated = t;
  }
  return fresh->rows * (fresh->unroll + 1) + fresh->evaluations - 1;
}

static void collect_row(mz_fresh *fresh, const mz_batch_source *source, const mz_draw *draw, int row) {
  const mz_segment *segment = draw->segment;
  size_t obs_bytes = mz_spec_obs_bytes(source->spec);
  int last_evaluated = -1;
  for (int k = 0; k <= fresh->unroll && draw->position + k < segment->length; k++)
    add_search(fresh, segment, draw->position + k, obs_bytes, row, k);
  for (int k = 0; k <= fresh->unroll; k++) {
    int t = mz_target_bootstrap(segment, draw->position + k, (int)source->settings->n_step);
    if (t >= 0)
      fresh->bootstrap[row * (fresh->unroll + 1) + k] =
          value_of_state(fresh, segment, t, draw->position, obs_bytes, row, &last_evaluated);
  }
}

mz_status mz_fresh_fill(mz_fresh *fresh, const mz_batch_source *source, const mz_draw *draws, uint32_t update) {
  const mz_reanalyzer *reanalyzer = source->reanalyzer;
  int states = fresh->rows * (fresh->unroll + 1);
  fresh->searches = fresh->evaluations = 0;
  for (int i = 0; i < states; i++) fresh->search[i] = fresh->bootstrap[i] = -1;
  for (int row = 0; row < fresh->rows; row++) {
    mz_rng rng = mz_rng_at(source->seed, MZ_RNG_REANALYZE, update, (uint64_t)row);
    if (mz_rng_f64(&rng) < reanalyzer->ratio) collect_row(fresh, source, &draws[row], row);
  }
  if (fresh->searches > 0)
    MZ_TRY(reanalyzer->search(reanalyzer->context, update, fresh->searches, fresh->searched, fresh->legal, fresh->key,
                              fresh->policies, fresh->values));
  if (fresh->evaluations > 0)
    MZ_TRY(reanalyzer->evaluate(reanalyzer->context, fresh->evaluations, fresh->evaluated, fresh->values + states));
  return MZ_OK;
}

const float *mz_fresh_policy(const mz_fresh *fresh, int row, int step) {
  int32_t i = fresh->search[row * (fresh->unroll + 1) + step];
  return i < 0 ? NULL : fresh->policies + (size_t)i * (size_t)fresh->actions;
}

const float *mz_fresh_bootstrap(const mz_fresh *fresh, int row, int step) {
  int32_t i = fresh->bootstrap[row * (fresh->unroll + 1) + step];
  return i < 0 ? NULL : fresh->values + i;
}
