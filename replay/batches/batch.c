#include "replay/batches/batch.h"
#include "base/maths/streams.h"
#include "base/symmetry.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include "replay/batches/batch_reanalyzed.h"
#include "replay/storage/row_reader.h"
#include <limits.h>
#include <string.h>

typedef struct mz_batch_scratch {
  mz_draw *draws;                 /* [rows] */
  mz_row_reader reader;           /* of their contents */
  uint8_t *observed;              /* an observation in its symmetry */
  int32_t *symmetry;              /* [symmetries][actions]: where an action goes */
  mz_batch_reanalyzed reanalyzed; /* memory is had when first needed */
} mz_batch_scratch;

static void carve(mz_batch *batch, mz_batch_scratch *scratch, const mz_spec *spec, mz_carver *carver) {
  size_t r = (size_t)batch->rows, steps = (size_t)batch->unroll + 1, actions = (size_t)spec->actions;
  mz_carve(carver, &batch->scratch, 1, sizeof *scratch);
  mz_carve(carver, &batch->obs, (size_t)batch->observed * r * (size_t)spec->obs_size, sizeof(float));
  mz_carve(carver, &batch->action, steps * r, sizeof(int32_t));
  mz_carve(carver, &batch->policy, steps * r * actions, sizeof(float));
  mz_carve(carver, &batch->value, steps * r, sizeof(float));
  mz_carve(carver, &batch->reward, steps * r, sizeof(float));
  mz_carve(carver, &batch->policy_weight, steps * r, sizeof(float));
  mz_carve(carver, &batch->value_weight, steps * r, sizeof(float));
  mz_carve(carver, &batch->reward_weight, steps * r, sizeof(float));
  if (spec->turns == MZ_TURNS_TOLD) {
    mz_carve(carver, &batch->turn, steps * r, sizeof(float));
    mz_carve(carver, &batch->turn_weight, steps * r, sizeof(float));
  }
  mz_carve(carver, &batch->obs_weight, (size_t)batch->observed * r, sizeof(float));
  mz_carve(carver, &batch->leaf, r, sizeof(int64_t));
  mz_carve(carver, &batch->serial, r, sizeof(uint64_t));
  mz_carve(carver, &batch->importance, r, sizeof(float));
  mz_carve(carver, &scratch->draws, r, sizeof(mz_draw));
  mz_carve(carver, &scratch->observed, 1, mz_spec_obs_bytes(spec));
  mz_carve(carver, &scratch->symmetry, (size_t)spec->symmetries * actions, sizeof(int32_t));
}

static mz_span span_of(int td_steps, int unroll, int observed, bool reanalyzed) {
  const int values = td_steps > 0 ? unroll + td_steps + 1 : INT_MAX;
  return (mz_span){.values = values, .policies = unroll + 1, .observations = reanalyzed ? values : observed};
}

double mz_batch_bytes(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut, int rows, int unroll, int observed,
                      bool reanalyzed) {
  mz_batch batch = {.rows = rows, .unroll = unroll, .observed = observed};
  mz_batch_scratch scratch;
  mz_carver carver = {0};
  carve(&batch, &scratch, spec, &carver);
  const mz_span span = span_of((int)settings->td_steps, unroll, observed, reanalyzed);
  const int length = mz_segment_length_max(spec, cut), states = span.values < length ? span.values : length;
  const double record = settings->packed_bytes > 0 ? mz_segment_bytes_max(spec, cut) : 0;
  return (double)sizeof batch + (double)carver.bytes + record + (double)mz_span_bytes(&span, length, spec) +
         (reanalyzed ? mz_batch_reanalyzed_bytes(spec, rows, unroll, states) : 0);
}

mz_status mz_batch_init(mz_batch *batch, const mz_spec *spec, int rows, int unroll, int observed) {
  *batch = (mz_batch){.rows = rows, .unroll = unroll, .observed = observed};
  mz_batch_scratch scratch = {0};
  mz_carver carver = {0};
  carve(batch, &scratch, spec, &carver);
  MZ_TRY(mz_carve_commit(&carver, &batch->block));
  *batch->scratch = scratch;
  return MZ_OK;
}

void mz_batch_deinit(mz_batch *batch) {
  if (batch->scratch) {
    mz_batch_reanalyzed_deinit(&batch->scratch->reanalyzed);
    mz_row_reader_deinit(&batch->scratch->reader);
  }
  free(batch->block);
  *batch = (mz_batch){0};
}

/* Shared by the rows of one build. */
typedef struct builder {
  mz_batch *batch;
  const mz_batch_source *source;
  const mz_batch_reanalyzed *reanalyzed; /* NULL: nothing is reanalyzed */
  uint32_t update;
  int symmetries; /* to choose from; 1: none */
  mz_span span;   /* what a row needs */
} builder;

/* Writes the observation of step `step` into row `row` of the batch. */
static void write_observation(const builder *b, const mz_draw *draw, int step, int symmetry, int row) {
  const mz_spec *spec = b->source->spec;
  const int t = draw->position + step;
  float *out = b->batch->obs + ((size_t)step * (size_t)b->batch->rows + (size_t)row) * (size_t)spec->obs_size;
  if (t >= draw->segment->length) {
    memset(out, 0, (size_t)spec->obs_size * sizeof *out);
    return;
  }
  const void *stored = draw->segment->obs + (size_t)t * mz_spec_obs_bytes(spec);
  if (symmetry > 0) {
    mz_symmetry_observe(spec, symmetry, stored, b->batch->scratch->observed);
    stored = b->batch->scratch->observed;
  }
  if (spec->obs_kind == MZ_OBS_F32) {
    memcpy(out, stored, (size_t)spec->obs_size * sizeof(float));
  } else {
    const uint8_t *entries = stored;
    for (int i = 0; i < spec->obs_size; i++) out[i] = entries[i];
  }
}

/* `moved`: where each action goes in the row's symmetry. */
static void write_policy(const builder *b, const mz_segment *segment, int t, const float *reanalyzed, const int32_t *moved,
                         float *out) {
  int actions = b->source->spec->actions;
  memset(out, 0, (size_t)actions * sizeof *out);
  if (reanalyzed) {
    for (int a = 0; a < actions; a++) out[moved[a]] = reanalyzed[a];
  } else if (t < segment->length) {
    for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++)
      out[moved[segment->policy_action[e]]] = segment->policy_weight[e];
  }
}

static void write_targets(const builder *b, const mz_draw *draw, int row, int step, const int32_t *moved) {
  mz_batch *batch = b->batch;
  const mz_segment *segment = draw->segment;
  const mz_target_rule rule = mz_target_rule_of(b->source->settings, b->source->spec);
  int t = draw->position + step;
  const float *policy = b->reanalyzed ? mz_batch_reanalyzed_policy(b->reanalyzed, row, step) : NULL;
  const float *values = b->reanalyzed ? mz_batch_reanalyzed_values(b->reanalyzed, row, step) : NULL;
  mz_target target = mz_target_at(segment, t, values || t >= segment->length ? values : segment->value + t, &rule);

  size_t at = (size_t)step * (size_t)batch->rows + (size_t)row;
  float weight = batch->importance[row] / (float)batch->rows;
  bool reward_known = target.reward_known && step > 0;
  if (batch->turn) {
    bool known;
    batch->turn[at] = mz_target_view(segment, draw->position, t, &target, &known);
    batch->turn_weight[at] = known && step > 0 ? weight : 0;
  }
  batch->value[at] = target.value;
  batch->reward[at] = reward_known ? target.reward : 0;
  batch->policy_weight[at] = target.policy_known || policy ? weight : 0;
  batch->value_weight[at] = target.value_known ? weight : 0;
  batch->reward_weight[at] = reward_known ? weight : 0;
  write_policy(b, segment, t, policy, moved, batch->policy + at * (size_t)b->source->spec->actions);
}

/* The stream mz_stream_row gives the symmetry, then the actions past an end. */
static void build_row(const builder *b, const mz_draw *draw, int row) {
  mz_batch *batch = b->batch;
  const mz_spec *spec = b->source->spec;
  mz_rng rng = mz_stream_row(b->source->seed, b->update, row);
  int symmetry = b->symmetries > 1 ? (int)mz_rng_below(&rng, (uint32_t)b->symmetries) : 0;
  const int32_t *moved = batch->scratch->symmetry + (size_t)symmetry * (size_t)spec->actions;
  for (int k = 0; k < batch->observed; k++) {
    const bool stored = draw->position + k < draw->segment->length;
    batch->obs_weight[(size_t)k * (size_t)batch->rows + (size_t)row] = stored ? batch->importance[row] / (float)batch->rows : 0;
    write_observation(b, draw, k, symmetry, row);
  }
  for (int k = 0; k <= batch->unroll; k++) {
    int before = draw->position + k - 1;
    int32_t *action = &batch->action[(size_t)k * (size_t)batch->rows + (size_t)row];
    if (k == 0)
      *action = 0;
    else if (before < draw->segment->length)
      *action = moved[draw->segment->action[before]];
    else
      *action = (int32_t)mz_rng_below(&rng, (uint32_t)spec->actions);
    write_targets(b, draw, row, k, moved);
  }
  batch->leaf[row] = draw->leaf;
  batch->serial[row] = draw->serial;
  batch->version_sum += draw->segment->version;
}

static void weigh_importance(mz_batch *batch, const mz_batch_source *source) {
  double exponent = source->settings->importance_exponent, positions = (double)mz_buffer_positions(source->buffer);
  float largest = 0;
  for (int i = 0; i < batch->rows; i++) {
    double probability = batch->scratch->draws[i].probability;
    batch->importance[i] = exponent == 0 ? 1 : (float)mz_exp(-exponent * mz_log(positions * probability));
    if (batch->importance[i] > largest) largest = batch->importance[i];
  }
  for (int i = 0; i < batch->rows; i++) batch->importance[i] /= largest;
}

static void map_symmetries(const builder *b) {
  int actions = b->source->spec->actions;
  for (int s = 0; s < b->symmetries; s++)
    for (int a = 0; a < actions; a++) b->batch->scratch->symmetry[s * actions + a] = mz_symmetry_action(b->source->spec, s, a);
}

static mz_status reanalyze(builder *b) {
  mz_batch *batch = b->batch;
  mz_batch_reanalyzed *reanalyzed = &batch->scratch->reanalyzed;
  if (!reanalyzed->block) MZ_TRY(mz_batch_reanalyzed_init(reanalyzed, b->source->spec, batch->rows, batch->unroll));
  b->reanalyzed = reanalyzed;
  return mz_batch_reanalyzed_fill(reanalyzed, b->source, &batch->scratch->reader, &b->span, batch->scratch->draws, b->update);
}

static mz_status build_rows(const builder *b) {
  mz_batch_scratch *scratch = b->batch->scratch;
  weigh_importance(b->batch, b->source);
  map_symmetries(b);
  b->batch->version_sum = 0;
  for (int row = 0; row < b->batch->rows; row++) {
    mz_draw read;
    MZ_TRY(mz_row_read(&scratch->reader, b->source->buffer, &b->span, &scratch->draws[row], &read));
    build_row(b, &read, row);
  }
  return MZ_OK;
}

mz_status mz_batch_build(mz_batch *batch, const mz_batch_source *source, uint32_t update) {
  const bool reanalyzed = source->reanalyzer && source->reanalyzer->ratio > 0;
  builder b = {.batch = batch,
               .source = source,
               .update = update,
               .symmetries = source->settings->symmetry ? source->spec->symmetries : 1,
               .span = span_of((int)source->settings->td_steps, batch->unroll, batch->observed, reanalyzed)};
  mz_buffer_draw(source->buffer, source->seed, update, batch->rows, batch->scratch->draws);
  if (reanalyzed) MZ_TRY(reanalyze(&b));
  return build_rows(&b);
}
