#include "replay/batches/batch_reanalyzed.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include <string.h>

static int states_of(const mz_batch_reanalyzed *reanalyzed) { return reanalyzed->rows * (reanalyzed->unroll + 1); }

static void carve(mz_batch_reanalyzed *reanalyzed, mz_carver *carver) {
  const size_t states = (size_t)states_of(reanalyzed), actions = (size_t)reanalyzed->actions;
  mz_carve(carver, &reanalyzed->search, states, sizeof *reanalyzed->search);
  mz_carve(carver, &reanalyzed->row, (size_t)reanalyzed->rows, sizeof *reanalyzed->row);
  mz_carve(carver, &reanalyzed->searched, states, reanalyzed->obs_bytes);
  mz_carve(carver, &reanalyzed->evaluated, states, reanalyzed->obs_bytes);
  mz_carve(carver, &reanalyzed->legal, states, actions);
  mz_carve(carver, &reanalyzed->key, states, sizeof *reanalyzed->key);
  mz_carve(carver, &reanalyzed->policies, states * actions, sizeof *reanalyzed->policies);
  mz_carve(carver, &reanalyzed->place, states, sizeof *reanalyzed->place);
  mz_carve(carver, &reanalyzed->found, states, sizeof *reanalyzed->found);
}

static mz_batch_reanalyzed shape_of(const mz_spec *spec, int rows, int unroll) {
  return (mz_batch_reanalyzed){.rows = rows, .unroll = unroll, .actions = spec->actions, .obs_bytes = mz_spec_obs_bytes(spec)};
}

double mz_batch_reanalyzed_bytes(const mz_spec *spec, int rows, int unroll, int states) {
  mz_batch_reanalyzed reanalyzed = shape_of(spec, rows, unroll);
  mz_carver carver = {0};
  carve(&reanalyzed, &carver);
  return (double)carver.bytes + 2.0 * rows * states * sizeof(float); /* grown by doubling */
}

mz_status mz_batch_reanalyzed_init(mz_batch_reanalyzed *reanalyzed, const mz_spec *spec, int rows, int unroll) {
  *reanalyzed = shape_of(spec, rows, unroll);
  mz_carver carver = {0};
  carve(reanalyzed, &carver);
  return mz_carve_commit(&carver, &reanalyzed->block);
}

void mz_batch_reanalyzed_deinit(mz_batch_reanalyzed *reanalyzed) {
  free(reanalyzed->values);
  free(reanalyzed->block);
  *reanalyzed = (mz_batch_reanalyzed){0};
}

/* Makes room for `count` more values, 0 each. */
static mz_status add_values(mz_batch_reanalyzed *reanalyzed, int count) {
  const int used = reanalyzed->used + count;
  if (used > reanalyzed->capacity) {
    float *grown;
    MZ_TRY(mz_alloc(&grown, 2 * (size_t)used, sizeof *grown));
    if (reanalyzed->used > 0) memcpy(grown, reanalyzed->values, (size_t)reanalyzed->used * sizeof *grown);
    free(reanalyzed->values);
    reanalyzed->values = grown;
    reanalyzed->capacity = 2 * used;
  }
  memset(reanalyzed->values + reanalyzed->used, 0, (size_t)count * sizeof *reanalyzed->values);
  reanalyzed->used = used;
  return MZ_OK;
}

static void add_search(mz_batch_reanalyzed *reanalyzed, const mz_draw *draw, int row, int step) {
  const mz_segment *segment = draw->segment;
  const int i = reanalyzed->searches++, t = draw->position + step, at = row * (reanalyzed->unroll + 1) + step;
  const size_t obs_bytes = reanalyzed->obs_bytes;
  uint8_t *legal = reanalyzed->legal + (size_t)i * (size_t)reanalyzed->actions;
  memcpy(reanalyzed->searched + (size_t)i * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
  memset(legal, 0, (size_t)reanalyzed->actions);
  for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++) legal[segment->policy_action[e]] = 1;
  reanalyzed->key[i] = (uint32_t)at;
  reanalyzed->search[at] = i;
}

static mz_status evaluate(mz_batch_reanalyzed *reanalyzed, const mz_reanalyzer *reanalyzer) {
  const int n = reanalyzed->evaluations;
  if (n == 0) return MZ_OK;
  reanalyzed->evaluations = 0;
  MZ_TRY(reanalyzer->evaluate(reanalyzer->context, n, reanalyzed->evaluated, reanalyzed->found));
  for (int i = 0; i < n; i++) reanalyzed->values[reanalyzed->place[i]] = reanalyzed->found[i];
  return MZ_OK;
}

static mz_status add_evaluation(mz_batch_reanalyzed *reanalyzed, const mz_reanalyzer *reanalyzer, const mz_segment *segment,
                                int t, int place) {
  if (reanalyzed->evaluations == states_of(reanalyzed)) MZ_TRY(evaluate(reanalyzed, reanalyzer));
  const int i = reanalyzed->evaluations++;
  const size_t obs_bytes = reanalyzed->obs_bytes;
  memcpy(reanalyzed->evaluated + (size_t)i * obs_bytes, segment->obs + (size_t)t * obs_bytes, obs_bytes);
  reanalyzed->place[i] = place;
  return MZ_OK;
}

/* States of the unroll are searched; later ones whose values a window takes are evaluated, once each. */
static mz_status collect_row(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, const mz_draw *draw, int row) {
  const mz_segment *segment = draw->segment;
  const mz_target_rule rule = mz_target_rule_of(source->settings, source->spec);
  const int position = draw->position, beyond = position + reanalyzed->unroll + 1;
  int next = beyond < segment->length ? beyond : segment->length; /* the first state that is neither searched nor evaluated */
  const int searched = next - position;
  const int last = mz_target_states_of(segment, next - 1, &rule).last;
  reanalyzed->row[row] = reanalyzed->used;
  MZ_TRY(add_values(reanalyzed, (last < next ? next : last + 1) - position));
  for (int k = 0; k < searched; k++) add_search(reanalyzed, draw, row, k);
  for (int k = 0; k < searched; k++) {
    const mz_target_states needed = mz_target_states_of(segment, position + k, &rule);
    if (needed.first > next) next = needed.first;
    for (; next <= needed.last; next++)
      MZ_TRY(add_evaluation(reanalyzed, source->reanalyzer, segment, next, reanalyzed->row[row] + next - position));
  }
  return MZ_OK;
}

static mz_status search(mz_batch_reanalyzed *reanalyzed, const mz_reanalyzer *reanalyzer, uint32_t update) {
  const int n = reanalyzed->searches;
  if (n == 0) return MZ_OK;
  MZ_TRY(reanalyzer->search(reanalyzer->context, update, n, reanalyzed->searched, reanalyzed->legal, reanalyzed->key,
                            reanalyzed->policies, reanalyzed->found));
  const uint32_t steps = (uint32_t)reanalyzed->unroll + 1;
  for (int i = 0; i < n; i++) {
    const uint32_t row = reanalyzed->key[i] / steps, step = reanalyzed->key[i] % steps;
    reanalyzed->values[(uint32_t)reanalyzed->row[row] + step] = reanalyzed->found[i];
  }
  return MZ_OK;
}

mz_status mz_batch_reanalyzed_fill(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, mz_row_reader *reader,
                                   const mz_span *span, const mz_draw *draws, uint32_t update) {
  reanalyzed->searches = reanalyzed->evaluations = reanalyzed->used = 0;
  for (int i = 0; i < states_of(reanalyzed); i++) reanalyzed->search[i] = -1;
  for (int row = 0; row < reanalyzed->rows; row++) {
    mz_rng rng = mz_stream_reanalyzed_row(source->seed, update, row);
    mz_draw read;
    reanalyzed->row[row] = -1;
    if (mz_rng_f64(&rng) >= source->reanalyzer->ratio) continue;
    MZ_TRY(mz_row_read(reader, source->buffer, span, &draws[row], &read));
    MZ_TRY(collect_row(reanalyzed, source, &read, row));
  }
  MZ_TRY(evaluate(reanalyzed, source->reanalyzer));
  return search(reanalyzed, source->reanalyzer, update);
}

const float *mz_batch_reanalyzed_policy(const mz_batch_reanalyzed *reanalyzed, int row, int step) {
  int32_t i = reanalyzed->search[row * (reanalyzed->unroll + 1) + step];
  return i < 0 ? NULL : reanalyzed->policies + (size_t)i * (size_t)reanalyzed->actions;
}

const float *mz_batch_reanalyzed_values(const mz_batch_reanalyzed *reanalyzed, int row, int step) {
  return reanalyzed->row[row] < 0 ? NULL : reanalyzed->values + reanalyzed->row[row] + step;
}
