/* Convolutions that a lane has planned, kept for the tapes to come: the library may compile a graph for seconds, and pools of workers are
 * resized between phases. The most recent ones stay; belongs to the lane's thread. */
#pragma once
#include "networks/cuda/convolutions.cuh"

enum { MZ_CUDA_PLANNED_MAX = 64 };

/* Finds the convolution of these settings or creates it; the caller frees it as one that is shared. */
mz_status mz_cuda_planned_take(mz_cuda_lane *lane, const mz_cuda_convolution_settings *settings, mz_cuda_convolution **out);
/* Frees what is kept; tapes of the lane are gone by then. */
void mz_cuda_planned_free(mz_cuda_lane *lane);
