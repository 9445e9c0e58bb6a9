#include "muzero/training/gpus.h"
#include <string.h>

mz_status mz_gpus_find(mz_gpus *out) {
  const mz_module *module;
  *out = (mz_gpus){0};
  MZ_TRY(mz_module_open(&module));
  int there;
  MZ_TRY(module->count_devices(&there));
  if (there == 0) return mz_fail(MZ_E_DEVICE, "no GPU: the NVIDIA driver knows none (CUDA_VISIBLE_DEVICES may hide some)");
  MZ_TRY(module->versions(&out->versions));
  mz_status status = MZ_OK; /* of the last one */
  mz_module_device last = {0};
  for (int number = 0; number < there && out->count < MZ_GPUS_USED_MAX; number++) {
    mz_gpu *gpu = &out->items[out->count];
    status = module->describe(number, &gpu->device);
    if (status != MZ_OK) continue; /* broken, or another process's alone: the others may be had */
    gpu->number = number;
    last = gpu->device;
    out->count += gpu->device.usable;
  }
  if (out->count == 0) {
    MZ_TRY(status);
    return mz_fail(MZ_E_DEVICE, "no GPU that can be used: the CUDA module has code for %s, and %s is %d.%d",
                   module->architectures, last.name, last.major, last.minor);
  }
  out->module = module;
  return MZ_OK;
}

const mz_gpu *mz_gpus_at(const mz_gpus *gpus, int number) {
  for (int i = 0; i < gpus->count; i++)
    if (gpus->items[i].number == number) return &gpus->items[i];
  return NULL;
}

mz_lane mz_gpus_lane(int number) {
  const mz_module *module = NULL;
  const mz_status status = mz_module_open(&module);
  MZ_ASSERT(status == MZ_OK);
  return (mz_lane){.backend = module->backend, .device = number};
}

const char *mz_gpus_version(int number, bool three, char out[MZ_VERSION_TEXT]) {
  if (three)
    snprintf(out, MZ_VERSION_TEXT, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  else
    snprintf(out, MZ_VERSION_TEXT, "%d.%d", number / 1000, number % 1000 / 10);
  return out;
}
