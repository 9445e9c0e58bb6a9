/* Updates on a device (networks/update.h). The batch goes up with one copy for each of its arrays, shards run one after the other on one
 * tape, and norm, clipping and step are decided there: an update waits once, for its report. Weights, average and moments stay on the
 * device until they are fetched. Shards cost launches: few are better here. */
#pragma once
extern "C" {
#include "networks/update.h"
}

extern const mz_updater mz_cuda_updater;
