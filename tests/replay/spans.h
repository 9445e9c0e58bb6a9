/* Moves that were read of a packed segment, compared with those of the raw one. */
#pragma once
#include "replay/segments/packed.h"
#include <string.h>

__attribute__((unused)) static const mz_span whole_span = {.values = 1 << 20, .policies = 1 << 20, .observations = 1 << 20};

static inline int least_of(int a, int b) { return a < b ? a : b; }

/* Whether the moves of a span from position `at` of a segment are those that were read, and no more, and the end is theirs. */
static inline bool same_moves(const mz_segment *segment, int at, const mz_segment *read, const mz_span *span, size_t obs_bytes) {
  const int left = segment->length - at, values = least_of(span->values, left), policies = least_of(span->policies, values);
  const size_t n = (size_t)values * sizeof(float), observed = (size_t)least_of(span->observations, values) * obs_bytes;
  const uint32_t first = segment->policy_start[at], entries = segment->policy_start[at + policies] - first;
  bool same = read->length == values && read->end == (values == left ? segment->end : MZ_END_OPEN) &&
              read->hash == segment->hash && read->version == segment->version && read->game == segment->game &&
              read->ordinal == segment->ordinal && memcmp(read->value, segment->value + at, n) == 0 &&
              memcmp(read->reward, segment->reward + at, n) == 0 &&
              memcmp(read->player, segment->player + at, (size_t)values) == 0 &&
              memcmp(read->action, segment->action + at, (size_t)policies * sizeof(int32_t)) == 0 &&
              memcmp(read->obs, segment->obs + (size_t)at * obs_bytes, observed) == 0;
  for (int t = 0; t <= policies; t++) same &= read->policy_start[t] == segment->policy_start[at + t] - first;
  return same && memcmp(read->policy_action, segment->policy_action + first, entries * sizeof(uint16_t)) == 0 &&
         memcmp(read->policy_weight, segment->policy_weight + first, entries * sizeof(float)) == 0;
}
