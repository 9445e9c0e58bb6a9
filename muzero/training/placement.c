#include "muzero/training/placement.h"
#include "muzero/training/gpus.h"

const mz_placement mz_placement_cpu = {.selfplay = {.backend = &mz_backend_cpu},
                                       .reanalyze = {.backend = &mz_backend_cpu},
                                       .learning = {.backend = &mz_backend_cpu}};

static mz_lane lane_of(const mz_devices *devices, int64_t knob) {
  if (devices == NULL || knob == 0) return mz_lane_cpu;
  MZ_ASSERT(knob <= devices->count);
  const bool cpu = devices->items[knob - 1].device.kind == MZ_DEVICE_CPU;
  return cpu ? mz_lane_cpu : mz_gpus_lane(devices->items[knob - 1].number);
}

mz_placement mz_placement_of(const mz_knobs *knobs, const mz_devices *devices) {
  return (mz_placement){.selfplay = lane_of(devices, knobs->selfplay_device),
                        .reanalyze = lane_of(devices, knobs->reanalyze_device),
                        .learning = lane_of(devices, knobs->learning_device)};
}
