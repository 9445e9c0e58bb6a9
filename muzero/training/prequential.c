#include "muzero/training/prequential.h"
#include <string.h>

/* Room for twice as many as there are, beside that from before while it grows. */
double mz_prequential_bytes(double segments) { return 4 * segments * (double)sizeof(bool); }

void mz_prequential_deinit(mz_prequential *p) {
  free(p->trained);
  *p = (mz_prequential){0};
}

/* Room for all segments from serial `oldest` to `next`; twice as much as is needed, so that moving them is rare. */
static mz_status make_room(mz_prequential *p, uint64_t oldest, uint64_t next) {
  if (next - p->first <= (uint64_t)p->capacity) return MZ_OK;
  const int64_t capacity = 2 * (int64_t)(next - oldest), gone = oldest > p->first ? (int64_t)(oldest - p->first) : 0;
  bool *trained;
  MZ_TRY(mz_alloc(&trained, (size_t)capacity, sizeof *trained));
  const int64_t kept = p->count > gone ? p->count - gone : 0;
  if (kept > 0) memcpy(trained, p->trained + gone, (size_t)kept * sizeof *trained);
  free(p->trained);
  p->trained = trained;
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
  if (count > p->count) memset(p->trained + p->count, known ? 0 : 1, (size_t)(count - p->count) * sizeof *p->trained);
  p->count = count;
  return MZ_OK;
}

void mz_prequential_update(mz_prequential *p, const mz_batch *batch, const float *losses, mz_prequential_stats *stats) {
  for (int r = 0; r < batch->rows; r++) {
    if (p->trained[batch->serial[r] - p->first]) continue;
    stats->rows++;
    stats->loss += losses[r];
  }
  for (int r = 0; r < batch->rows; r++) p->trained[batch->serial[r] - p->first] = true;
}
