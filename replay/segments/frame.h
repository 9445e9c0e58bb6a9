/* A segment as a zstd frame (level 1, with zstd's own checksum) of what mz_segment_write writes: the form in which packs on
 * disk and the packed tiers of the buffer hold it. Immutable and reference-counted, as the segment is. */
#pragma once
#include "replay/segments/segment.h"

typedef struct mz_frame {
  _Atomic int references;
  uint32_t raw;  /* bytes that it unpacks to */
  uint32_t size; /* bytes of `data` */
  uint64_t hash; /* of the segment */
  uint8_t data[];
} mz_frame;

/* One reference; data and hash are for the caller to fill in. */
mz_status mz_frame_alloc(uint32_t size, mz_frame **out);
void mz_frame_retain(mz_frame *frame);
void mz_frame_release(mz_frame *frame); /* frees at 0; NULL is fine */
/* Bytes that a frame of this size takes in memory. */
size_t mz_frame_bytes(uint32_t size);

/* zstd's contexts and scratch memory, had when first needed; one thread each. Zeroed: ready for use. */
typedef struct mz_packer {
  struct ZSTD_CCtx_s *zstd;
  mz_writer raw, frame;
} mz_packer;
typedef struct mz_unpacker {
  struct ZSTD_DCtx_s *zstd;
  uint8_t *raw;
  size_t capacity;
} mz_unpacker;
void mz_packer_deinit(mz_packer *packer);
void mz_unpacker_deinit(mz_unpacker *unpacker);

/* The same bytes for the same segment, whatever the packer packed before. MZ_E_MEMORY. */
mz_status mz_frame_pack(mz_packer *packer, const mz_segment *segment, size_t obs_bytes, mz_frame **out);
/* Checks everything that mz_segment_read checks, before that, with no memory taken, the size that it claims to unpack to, and
 * that it is the segment with the frame's hash: MZ_E_CHECKPOINT, with a message that begins with the segment. One reference. */
mz_status mz_frame_unpack(mz_unpacker *unpacker, const mz_frame *frame, const mz_spec *spec, mz_segment **out);

/* A segment in the form in which it is at hand, with a reference: one of the two, the other is NULL. */
typedef struct mz_content {
  mz_segment *segment;
  mz_frame *frame;
} mz_content;
uint64_t mz_content_hash(const mz_content *content);
void mz_content_release(mz_content *content);
