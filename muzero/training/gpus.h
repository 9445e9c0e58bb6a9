/* The GPUs that a run may compute on: those that the CUDA module (networks/module.h) knows and has code for. */
#pragma once
#include "networks/lane.h"
#include "networks/module.h"

enum { MZ_GPUS_USED_MAX = 16 };

typedef struct mz_gpu {
  int number; /* "cuda:N" */
  mz_module_device device;
} mz_gpu;

typedef struct mz_gpus {
  const mz_module *module; /* NULL: no GPU is used, and nothing else counts */
  int count;
  mz_gpu items[MZ_GPUS_USED_MAX]; /* numbers ascend */
  mz_module_versions versions;
} mz_gpus;

/* Opens the module. MZ_E_DEVICE: says why no GPU can be had and how to get one; *out is empty then. */
mz_status mz_gpus_find(mz_gpus *out);
/* The GPU of this number; NULL: there is none. */
const mz_gpu *mz_gpus_at(const mz_gpus *gpus, int number);
/* Returns the lane of cuda:number, not open. The module is open. */
mz_lane mz_gpus_lane(int number);

enum { MZ_VERSION_TEXT = 24 };
/* "13.0" of 13000, "9.19.0" of 91900 (three: a number with a third part); returns out. */
const char *mz_gpus_version(int number, bool three, char out[MZ_VERSION_TEXT]);
