#include "networks/lane.h"
#include <string.h>

mz_status mz_lane_open(mz_lane *lane, const mz_lane *where) {
  *lane = (mz_lane){.backend = where->backend, .device = where->device};
  return lane->backend->open == NULL ? MZ_OK : lane->backend->open(lane);
}

void mz_lane_close(mz_lane *lane) {
  if (lane->own != NULL) lane->backend->close(lane);
  *lane = (mz_lane){0};
}

bool mz_lane_halves(const mz_lane *lane) { return lane->backend->halves != NULL && lane->backend->halves(lane); }

mz_status mz_lane_alloc(const mz_lane *lane, void *out_pointer, size_t bytes) {
  const mz_device_memory *memory = lane->backend->memory;
  return memory == NULL ? mz_alloc(out_pointer, bytes, 1) : memory->alloc(lane, out_pointer, bytes);
}

void mz_lane_free(const mz_lane *lane, void *memory) {
  if (memory == NULL) return;
  if (lane->backend->memory == NULL) {
    free(memory);
  } else {
    lane->backend->memory->free(lane, memory);
  }
}

mz_status mz_lane_load(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  if (lane->backend->memory != NULL) return lane->backend->memory->load(lane, to, from, bytes);
  memcpy(to, from, bytes);
  return MZ_OK;
}

mz_status mz_lane_fetch(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  if (lane->backend->memory != NULL) return lane->backend->memory->fetch(lane, to, from, bytes);
  memcpy(to, from, bytes);
  return MZ_OK;
}

mz_status mz_lane_copy(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  if (lane->backend->memory != NULL) return lane->backend->memory->copy(lane, to, from, bytes);
  memcpy(to, from, bytes);
  return MZ_OK;
}

mz_status mz_lane_sync(const mz_lane *lane) { return lane->backend->memory == NULL ? MZ_OK : lane->backend->memory->sync(lane); }

double mz_lane_pinned(const mz_lane *where, double moved) {
  return where->backend->memory == NULL ? 0 : where->backend->memory->pinned(moved);
}

mz_status mz_lane_pack(const mz_lane *lane, mz_pack *pack, const mz_params *params, const void *values, bool bf16, void *out) {
  const size_t element = lane->backend->element_size;
  int64_t at = 0;
  for (int i = 0; i < params->count; i++) {
    const mz_param *param = &params->items[i];
    MZ_TRY(pack(lane, param, (const char *)values + (size_t)param->offset * element, bf16, (char *)out + (size_t)at * element));
    at += mz_backend_packed(lane->backend, param);
  }
  return MZ_OK;
}
