/* Updates on CPUs (networks/update.h): shards of the batch are spread over a pool's threads, and so are chunks of the weights. */
#pragma once
#include "networks/update.h"

extern const mz_updater mz_cpu_updater;
