#include "replay/segments/packed_frames.h"
#include <string.h>

/* Bytes that a position of a frame takes, and one of an observation, where they lie beside those of the other frames. */
static size_t part_bytes(const mz_spec *spec) {
  const size_t entry = spec->obs_kind == MZ_OBS_U8 ? 1 : sizeof(float);
  return (size_t)(spec->obs_shape[2] / mz_frames_of(spec)) * entry;
}

static size_t positions_of(const mz_spec *spec) { return (size_t)spec->obs_shape[0] * (size_t)spec->obs_shape[1]; }

bool mz_frames_are_stacked(const mz_segment *segment, const mz_spec *spec) {
  const size_t part = part_bytes(spec), all = part * (size_t)mz_frames_of(spec);
  if (mz_frames_of(spec) == 1) return false;
  const uint8_t *before = segment->obs, *now = before + mz_spec_obs_bytes(spec);
  const size_t count = (size_t)(segment->length - 1) * positions_of(spec);
  for (size_t p = 0; p < count; p++, before += all, now += all)
    if (memcmp(now, before + part, all - part) != 0) return false;
  return true;
}

/* Copies `count` parts from one stride to another; those of one byte, a grey picture's, without a call for each. */
static void copy_parts(const uint8_t *from, size_t from_stride, uint8_t *to, size_t to_stride, size_t count, size_t part) {
  if (part == 1) {
    for (size_t p = 0; p < count; p++) to[p * to_stride] = from[p * from_stride];
  } else {
    for (size_t p = 0; p < count; p++) memcpy(to + p * to_stride, from + p * from_stride, part);
  }
}

void mz_frame_take(const mz_spec *spec, const uint8_t *obs, int frame, uint8_t *out) {
  const size_t part = part_bytes(spec);
  copy_parts(obs + part * (size_t)frame, part * (size_t)mz_frames_of(spec), out, part, positions_of(spec), part);
}

void mz_frame_put(const mz_spec *spec, const uint8_t *in, int frame, uint8_t *obs) {
  const size_t part = part_bytes(spec);
  copy_parts(in, part, obs + part * (size_t)frame, part * (size_t)mz_frames_of(spec), positions_of(spec), part);
}
