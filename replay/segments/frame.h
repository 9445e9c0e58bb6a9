/* A segment as a zstd frame (level 1, with zstd's own checksum) of what mz_segment_write writes: the form in which packs on
 * disk hold it. */
#pragma once
#include "replay/segments/segment.h"

typedef struct mz_frame {
  uint32_t raw;  /* bytes that it unpacks to */
  uint32_t size; /* bytes of `data` */
  uint64_t hash; /* of the segment */
  uint8_t data[];
} mz_frame;

/* Data and hash are for the caller to fill in; free(). */
mz_status mz_frame_alloc(uint32_t size, mz_frame **out);

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

/* The same bytes for the same segment, whatever the packer packed before; free(). MZ_E_MEMORY. */
mz_status mz_frame_pack(mz_packer *packer, const mz_segment *segment, size_t obs_bytes, mz_frame **out);
/* Checks everything that mz_segment_read checks, before that, with no memory taken, the size that it claims to unpack to, and
 * that it is the segment with the frame's hash: MZ_E_CHECKPOINT, with a message that begins with the segment. One reference. */
mz_status mz_frame_unpack(mz_unpacker *unpacker, const mz_frame *frame, const mz_spec *spec, mz_segment **out);
