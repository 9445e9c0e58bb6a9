/* The places where the stages of a round compute: a lane each, none of them open (networks/lane.h). */
#pragma once
#include "allocator/pipeline/devices.h"
#include "muzero/settings.h"
#include "networks/lane.h"

typedef struct mz_placement {
  mz_lane selfplay;  /* evaluation, too */
  mz_lane reanalyze; /* and the values that batches are built with */
  mz_lane learning;
} mz_placement;

extern const mz_placement mz_placement_cpu; /* all of them on CPUs */

/* Finds the lanes of the devices that the knobs name. devices NULL, or a knob 0: CPUs. */
mz_placement mz_placement_of(const mz_knobs *knobs, const mz_devices *devices);
