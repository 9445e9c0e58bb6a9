#include "replay/batches/batch_reanalyzed.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include "replay/batches/targets.h"
#include <string.h>

static void carve(mz_batch_reanalyzed *reanalyzed, const mz_spec *spec, int rows, int unroll, mz_carver *carver) {
  size_t states = (size_t)rows * (size_t)(unroll + 1), actions = (size_t)spec->actions, obs_bytes = mz_spec_obs_bytes(spec);
  mz_carve(carver, &reanalyzed->search, states, sizeof *reanalyzed->search);
  mz_carve(carver, &reanalyzed->bootstrap, states, sizeof *reanalyzed->bootstrap);
  mz_carve(carver, &reanalyzed->searched, states, obs_bytes);
  mz_carve(carver, &reanalyzed->evaluated, states, obs_bytes);
  mz_carve(carver, &reanalyzed->legal, states, actions);
  mz_carve(carver, &reanalyzed->key, states, sizeof *reanalyzed->key);
  mz_carve(carver, &reanalyzed->policies, states * actions, sizeof *reanalyzed->policies);
  mz_carve(carver, &reanalyzed->values, 2 * states, sizeof *reanalyzed->values);
}

double mz_batch_reanalyzed_bytes(const mz_spec *spec, int rows, int unroll) {
  mz_batch_reanalyzed reanalyzed;
  mz_carver carver = {0};
  carve(&reanalyzed, spec, rows, unroll, &carver);
  return (double)carver.bytes;
}

mz_status mz_batch_reanalyzed_init(mz_batch_reanalyzed *reanalyzed, const mz_spec *spec, int rows, int unroll) {
  *reanalyzed = (mz_batch_reanalyzed){.rows = rows, .unroll = unroll, .actions = spec->actions};
  mz_carver carver = {0};
  carve(reanalyzed, spec, rows, unroll, &carver);
  return mz_carve_commit(&carver, &reanalyzed->block);
}

void mz_batch_reanalyzed_deinit(mz_batch_reanalyzed *reanalyzed) {
  free(reanalyzed->block);
  *reanalyzed = (mz_batch_reanalyzed){0};
}

static void add_search(mz_batch_reanalyzed *reanalyzed, const mz_segment *segment, int t, size_t obs_bytes, int row, int step) {
  int i = reanalyzed->searches++;
  uint8_t *legal = reanalyzed->legal + (size_t)i * (size_t)reanalyzed->actions;
  memcpy(reanalyzed->searched + (size_t)i * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
  memset(legal, 0, (size_t)reanalyzed->actions);
  for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++) legal[segment->policy_action[e]] = 1;
  reanalyzed->key[i] = (uint32_t)(row * (reanalyzed->unroll + 1) + step);
  reanalyzed->search[row * (reanalyzed->unroll + 1) + step] = i;
}

/* Finds the place of the value of state `t` of a row drawn at `position`; states beyond those searched are evaluated once. */
static int32_t value_of_state(mz_batch_reanalyzed *reanalyzed, const mz_segment *segment, int t, int position, size_t obs_bytes,
                              int row, int *last_evaluated) {
  if (t <= position + reanalyzed->unroll) return reanalyzed->search[row * (reanalyzed->unroll + 1) + t - position];
  if (t != *last_evaluated) { /* bootstrap states of successive steps never go back */
    memcpy(reanalyzed->evaluated + (size_t)reanalyzed->evaluations * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
    reanalyzed->evaluations++;
    *last_evaluated = t;
  }
  return reanalyzed->rows * (reanalyzed->unroll + 1) + reanalyzed->evaluations - 1;
}

static void collect_row(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, const mz_draw *draw, int row) {
  const mz_segment *segment = draw->segment;
  size_t obs_bytes = mz_spec_obs_bytes(source->spec);
  int last_evaluated = -1;
  for (int k = 0; k <= reanalyzed->unroll && draw->position + k < segment->length; k++)
    add_search(reanalyzed, segment, draw->position + k, obs_bytes, row, k);
  for (int k = 0; k <= reanalyzed->unroll; k++) {
    int t = mz_target_bootstrap(segment, draw->position + k, (int)source->settings->td_steps);
    if (t >= 0)
      reanalyzed->bootstrap[row * (reanalyzed->unroll + 1) + k] =
          value_of_state(reanalyzed, segment, t, draw->position, obs_bytes, row, &last_evaluated);
  }
}

mz_status mz_batch_reanalyzed_fill(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, mz_row_reader *reader,
                                   const mz_span *span, const mz_draw *draws, uint32_t update) {
  const mz_reanalyzer *reanalyzer = source->reanalyzer;
  int states = reanalyzed->rows * (reanalyzed->unroll + 1);
  reanalyzed->searches = reanalyzed->evaluations = 0;
  for (int i = 0; i < states; i++) reanalyzed->search[i] = reanalyzed->bootstrap[i] = -1;
  for (int row = 0; row < reanalyzed->rows; row++) {
    mz_rng rng = mz_stream_reanalyzed_row(source->seed, update, row);
    mz_draw read;
    if (mz_rng_f64(&rng) >= reanalyzer->ratio) continue;
    MZ_TRY(mz_row_read(reader, source->buffer, span, &draws[row], &read));
    collect_row(reanalyzed, source, &read, row);
  }
  if (reanalyzed->searches > 0)
    MZ_TRY(reanalyzer->search(reanalyzer->context, update, reanalyzed->searches, reanalyzed->searched, reanalyzed->legal,
                              reanalyzed->key, reanalyzed->policies, reanalyzed->values));
  if (reanalyzed->evaluations > 0)
    MZ_TRY(
        reanalyzer->evaluate(reanalyzer->context, reanalyzed->evaluations, reanalyzed->evaluated, reanalyzed->values + states));
  return MZ_OK;
}

const float *mz_batch_reanalyzed_policy(const mz_batch_reanalyzed *reanalyzed, int row, int step) {
  int32_t i = reanalyzed->search[row * (reanalyzed->unroll + 1) + step];
  return i < 0 ? NULL : reanalyzed->policies + (size_t)i * (size_t)reanalyzed->actions;
}

const float *mz_batch_reanalyzed_bootstrap(const mz_batch_reanalyzed *reanalyzed, int row, int step) {
  int32_t i = reanalyzed->bootstrap[row * (reanalyzed->unroll + 1) + step];
  return i < 0 ? NULL : reanalyzed->values + i;
}
