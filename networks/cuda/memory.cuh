/* The device's memory as lanes and tapes use it (networks/lane.h; networks/tape/tape.h, mz_tape_put …). */
#pragma once
extern "C" {
#include "networks/tape/backend.h"
}

extern const mz_device_memory mz_cuda_memory;
