#include "replay/segments/packed_columns.h"
#include "replay/segments/packed_frames.h"

static size_t bit_bytes(int count) { return ((size_t)count + 7) / 8; }

size_t mz_column_width(const mz_packed *packed, const mz_spec *spec, mz_column_id id) {
  switch (id) {
    case MZ_COLUMN_VALUE: return sizeof(float);
    case MZ_COLUMN_REWARD: return sizeof(float);
    case MZ_COLUMN_START: return sizeof(uint32_t);
    case MZ_COLUMN_ACTION: return spec->actions <= UINT8_MAX + 1 ? sizeof(uint8_t) : sizeof(uint16_t);
    case MZ_COLUMN_PLAYER: return sizeof(uint8_t);
    case MZ_COLUMN_LEGAL: return packed->is_listed ? 0 : bit_bytes(spec->actions);
    case MZ_COLUMN_WEIGHTED: return packed->is_listed || packed->is_dense ? 0 : bit_bytes(spec->actions);
    case MZ_COLUMN_OBSERVATION:
      if (packed->is_stacked) return mz_frame_bytes(spec);
      return packed->is_bits ? bit_bytes(spec->obs_size) : mz_spec_obs_bytes(spec);
    case MZ_COLUMNS: break;
  }
  return 0;
}

int mz_column_rows(const mz_packed *packed, const mz_spec *spec, mz_column_id id) {
  return packed->length + (id == MZ_COLUMN_OBSERVATION && packed->is_stacked ? mz_frames_of(spec) - 1 : 0);
}

const uint8_t *mz_columns_find(const mz_packed *packed, const mz_spec *spec, mz_column columns[MZ_COLUMNS]) {
  const uint8_t *at = packed->data;
  for (int c = 0; c < MZ_COLUMNS; c++) {
    const size_t width = mz_column_width(packed, spec, (mz_column_id)c);
    const bool constant = packed->constant >> c & 1;
    columns[c] = (mz_column){.rows = at, .width = width, .stride = constant ? 0 : width};
    at += constant ? width : width * (size_t)mz_column_rows(packed, spec, (mz_column_id)c);
  }
  if (packed->is_dense) columns[MZ_COLUMN_WEIGHTED] = columns[MZ_COLUMN_LEGAL];
  return at;
}
