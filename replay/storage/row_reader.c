#include "replay/storage/row_reader.h"
#include "replay/buffer_state.h"

void mz_row_reader_deinit(mz_row_reader *reader) {
  free(reader->record);
  free(reader->memory);
  *reader = (mz_row_reader){0};
}

/* Grows to exactly what is needed: the longest segment is soon met. */
static mz_status reserve(void *memory, size_t *capacity, size_t bytes) {
  void *grown;
  if (*capacity >= bytes) return MZ_OK;
  MZ_TRY(mz_alloc(&grown, bytes, 1));
  free(*(void **)memory);
  *(void **)memory = grown;
  *capacity = bytes;
  return MZ_OK;
}

static mz_status find_packed(mz_row_reader *reader, const mz_tiers *tiers, uint64_t serial, const mz_packed **out) {
  const mz_record *r = mz_tiers_record(tiers, serial);
  *out = r->packed;
  if (mz_tiers_tier(tiers, serial) == MZ_TIER_PACKED) return MZ_OK;
  MZ_TRY(reserve(&reader->record, &reader->record_capacity, mz_packed_bytes(r->size)));
  *out = reader->record;
  return mz_spill_read(tiers->spill, r->offset, r->size, r->hash, reader->record);
}

mz_status mz_row_read(mz_row_reader *reader, const mz_buffer *buffer, const mz_span *span, const mz_draw *draw, mz_draw *out) {
  *out = *draw;
  if (draw->segment) return MZ_OK;
  const mz_tiers *tiers = mz_buffer_tiers(buffer);
  const mz_packed *packed;
  MZ_TRY(find_packed(reader, tiers, draw->serial, &packed));
  MZ_TRY(reserve(&reader->memory, &reader->memory_capacity, mz_span_bytes(span, packed->length - draw->position, &tiers->spec)));
  mz_packed_read(packed, &tiers->spec, draw->position, span, reader->memory, &reader->part);
  out->segment = &reader->part;
  out->position = 0;
  return MZ_OK;
}
