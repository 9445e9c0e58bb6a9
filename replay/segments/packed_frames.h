/* Observations that are stacks of frames (mz_spec.frames), each a move's own and those before it. Internal to this room. */
#pragma once
#include "replay/segments/segment.h"

/* Frames of an observation, and the bytes of one. */
static inline int mz_frames_of(const mz_spec *spec) { return spec->frames > 1 ? spec->frames : 1; }
static inline size_t mz_frame_bytes(const mz_spec *spec) { return mz_spec_obs_bytes(spec) / (size_t)mz_frames_of(spec); }

/* Returns whether every observation but the first is the one before without its oldest frame, and a new one. false: of one frame. */
bool mz_frames_are_stacked(const mz_segment *segment, const mz_spec *spec);
/* Copies frame `frame` of an observation, the oldest being 0, to [mz_frame_bytes], and back. */
void mz_frame_take(const mz_spec *spec, const uint8_t *obs, int frame, uint8_t *out);
void mz_frame_put(const mz_spec *spec, const uint8_t *in, int frame, uint8_t *obs);
