#include "replay/segments/frame.h"
#include <string.h>
#include <zstd.h>

enum { LEVEL = 1 };

mz_status mz_frame_alloc(uint32_t size, mz_frame **out) {
  MZ_TRY(mz_alloc(out, sizeof **out + size, 1));
  (*out)->size = size;
  return MZ_OK;
}

/* ---- packing ---- */

void mz_packer_deinit(mz_packer *packer) {
  ZSTD_freeCCtx(packer->zstd);
  mz_writer_free(&packer->raw);
  mz_writer_free(&packer->frame);
  *packer = (mz_packer){0};
}

static mz_status prepare_packer(mz_packer *packer) {
  if (packer->zstd) return MZ_OK;
  ZSTD_CCtx *zstd = ZSTD_createCCtx();
  if (!zstd || ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1))) {
    ZSTD_freeCCtx(zstd);
    return mz_fail(MZ_E_MEMORY, "segments: out of memory while packing");
  }
  packer->zstd = zstd;
  return MZ_OK;
}

static mz_status reserve_frame(mz_writer *frame, size_t bound) {
  if (frame->capacity >= bound) return MZ_OK;
  mz_writer_free(frame);
  MZ_TRY(mz_alloc(&frame->data, bound, 1));
  frame->capacity = bound;
  return MZ_OK;
}

mz_status mz_frame_pack(mz_packer *packer, const mz_segment *segment, size_t obs_bytes, mz_frame **out) {
  MZ_TRY(prepare_packer(packer));
  mz_writer *raw = &packer->raw, *packed = &packer->frame;
  raw->size = 0;
  mz_segment_write(segment, obs_bytes, raw);
  if (raw->failed || raw->size > UINT32_MAX) {
    size_t size = raw->size;
    mz_writer_free(raw);
    return mz_fail(MZ_E_MEMORY, "segments: out of memory while packing (%zu bytes written)", size);
  }
  MZ_TRY(reserve_frame(packed, ZSTD_compressBound(raw->size)));
  size_t size = ZSTD_compress2(packer->zstd, packed->data, packed->capacity, raw->data, raw->size);
  if (ZSTD_isError(size) || size > UINT32_MAX) return mz_fail(MZ_E_MEMORY, "segments: packing: %s", ZSTD_getErrorName(size));
  mz_frame *frame;
  MZ_TRY(mz_frame_alloc((uint32_t)size, &frame));
  frame->raw = (uint32_t)raw->size;
  frame->hash = segment->hash;
  memcpy(frame->data, packed->data, size);
  *out = frame;
  return MZ_OK;
}

/* ---- unpacking ---- */

void mz_unpacker_deinit(mz_unpacker *unpacker) {
  ZSTD_freeDCtx(unpacker->zstd);
  free(unpacker->raw);
  *unpacker = (mz_unpacker){0};
}

static mz_status prepare_unpacker(mz_unpacker *unpacker, size_t raw) {
  if (!unpacker->zstd) unpacker->zstd = ZSTD_createDCtx();
  if (!unpacker->zstd) return mz_fail(MZ_E_MEMORY, "segments: out of memory while unpacking");
  if (unpacker->capacity >= raw) return MZ_OK;
  free(unpacker->raw);
  unpacker->capacity = 0;
  MZ_TRY(mz_alloc(&unpacker->raw, raw, 1));
  unpacker->capacity = raw;
  return MZ_OK;
}

static mz_status read_segment(const mz_unpacker *unpacker, const mz_frame *frame, const mz_spec *spec, mz_segment **out) {
  unsigned long long hash = (unsigned long long)frame->hash;
  mz_reader reader = mz_reader_over(unpacker->raw, frame->raw);
  mz_segment *segment;
  mz_status status = mz_segment_read(&reader, spec, &segment);
  if (status == MZ_E_CHECKPOINT) return mz_fail(MZ_E_CHECKPOINT, "segment %016llx: %s", hash, mz_message());
  MZ_TRY(status);
  if (segment->hash == frame->hash && mz_reader_left(&reader) == 0) {
    *out = segment;
    return MZ_OK;
  }
  mz_segment_release(segment);
  return mz_fail(MZ_E_CHECKPOINT, "segment %016llx: its place holds another one", hash);
}

mz_status mz_frame_unpack(mz_unpacker *unpacker, const mz_frame *frame, const mz_spec *spec, mz_segment **out) {
  unsigned long long hash = (unsigned long long)frame->hash;
  if (ZSTD_getFrameContentSize(frame->data, frame->size) != frame->raw)
    return mz_fail(MZ_E_CHECKPOINT, "segment %016llx: another size than is recorded", hash);
  if (frame->raw > mz_segment_written_max(spec))
    return mz_fail(MZ_E_CHECKPOINT, "segment %016llx: says that it unpacks to %u bytes; one of this environment has at most %zu",
                   hash, frame->raw, mz_segment_written_max(spec));
  MZ_TRY(prepare_unpacker(unpacker, frame->raw));
  size_t size = ZSTD_decompressDCtx(unpacker->zstd, unpacker->raw, frame->raw, frame->data, frame->size);
  if (size != frame->raw) return mz_fail(MZ_E_CHECKPOINT, "segment %016llx: does not unpack", hash);
  return read_segment(unpacker, frame, spec, out);
}
