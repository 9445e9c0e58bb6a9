/* The backend of CUDA devices. */
#pragma once
extern "C" {
#include "networks/tape/backend.h"
}

extern const mz_backend mz_backend_cuda;
