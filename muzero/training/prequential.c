#include "muzero/training/prequential.h"
#include <string.h>

/* Room for twice as many as there are, beside that from before while it grows. */
double mz_prequential_bytes(double segments) { return 4 * segments * (double)sizeof(mz_segment_draws); }

void mz_prequential_deinit(mz_prequential *p) {
  free(p->draws);
  *p = (mz_prequential){0};
}

/* Room for all segments from serial `oldest` to `next`; twice as much as is needed, so that moving them is rare. */
static mz_status make_room(mz_prequential *p, uint64_t oldest, uint64_t next) {
  if (next - p->first <= (uint64_t)p->capacity) return MZ_OK;
  const int64_t capacity = 2 * (int64_t)(next - oldest), gone = oldest > p->first ? (int64_t)(oldest - p->first) : 0;
  mz_segment_draws *draws;
  MZ_TRY(mz_alloc(&draws, (size_t)capacity, sizeof *draws));
  const int64_t kept = p->count > gone ? p->count - gone : 0;
  if (kept > 0) memcpy(draws, p->draws + gone, (size_t)kept * sizeof *draws);
  free(p->draws);
  p->draws = draws;
  p->capacity = capacity;
  p->first = oldest;
  p->count = kept;
  return MZ_OK;
}

mz_status mz_prequential_follow(mz_prequential *p, const mz_buffer *buffer) {
  const int segments = mz_buffer_segments(buffer);
  const bool known = p->begun;
  p->begun = true;
  if (segments == 0) return MZ_OK;
  const uint64_t oldest = mz_buffer_entry(buffer, 0).serial, next = oldest + (uint64_t)segments;
  if (p->capacity == 0) p->first = oldest;
  MZ_TRY(make_room(p, oldest, next));
  const int64_t count = (int64_t)(next - p->first);
  for (int64_t i = p->count; i < count; i++) {
    const uint64_t serial = p->first + (uint64_t)i;
    const int moves = known && serial >= oldest ? mz_buffer_entry(buffer, (int)(serial - oldest)).moves : 0;
    p->draws[i] = (mz_segment_draws){.moves = (uint32_t)moves};
  }
  p->count = count;
  return MZ_OK;
}

static int group_of(double passes) {
  int group = passes > 0 ? 1 : 0;
  for (double end = 0.25; group > 0 && group < MZ_PASS_GROUPS - 1 && passes >= end; end *= 2) group++;
  return group;
}

void mz_prequential_update(mz_prequential *p, const mz_batch *batch, const float *losses, mz_prequential_stats *stats) {
  for (int r = 0; r < batch->rows; r++) {
    const mz_segment_draws *draws = &p->draws[batch->serial[r] - p->first];
    if (draws->moves == 0) continue;
    const double passes = (double)draws->rows / (double)draws->moves;
    const int group = group_of(passes);
    stats->rows[group]++;
    stats->passes[group] += passes;
    stats->loss[group] += losses[r];
  }
  for (int r = 0; r < batch->rows; r++) p->draws[batch->serial[r] - p->first].rows++;
}
