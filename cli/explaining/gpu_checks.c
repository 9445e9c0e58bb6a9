#include "cli/explaining/gpu_checks.h"
#include "cli/explaining/selftest.h"
#include "cli/print.h"
#include "muzero/training/gpus.h"
#include <string.h>

typedef struct rows {
  mz_check *items;
  int count;
} rows;

static mz_check *add(rows *r, const char *name) {
  mz_check *row = &r->items[r->count++];
  *row = (mz_check){.ok = true, .advice = ""};
  snprintf(row->name, sizeof row->name, "%s", name);
  return row;
}

/* The module's reason says how to get what is missing. That there is none is no fault: everything runs on CPUs. */
static void add_module(rows *r, const mz_module *module) {
  mz_check *row = add(r, "cuda-module");
  if (module == NULL)
    snprintf(row->value, sizeof row->value, "%.*s; training runs on the CPUs", 270, mz_message());
  else
    snprintf(row->value, sizeof row->value, "%.200s, code for %.80s", mz_module_path(), module->architectures);
}

static void add_versions(rows *r, const mz_module *module) {
  mz_check *row = add(r, "cuda-versions");
  mz_module_versions v;
  char built[MZ_VERSION_TEXT], driver[MZ_VERSION_TEXT], runtime[MZ_VERSION_TEXT], blas[MZ_VERSION_TEXT];
  char built_dnn[MZ_VERSION_TEXT], dnn[MZ_VERSION_TEXT];
  if (module->versions(&v) != MZ_OK) {
    row->ok = false;
    snprintf(row->value, sizeof row->value, "%.*s", (int)sizeof row->value - 1, mz_message());
    return;
  }
  snprintf(row->value, sizeof row->value,
           "CUDA %s (built with %s), driver for CUDA up to %s, cuBLASLt %s, cuDNN %s (built with %s)",
           mz_gpus_version(v.runtime, false, runtime), mz_gpus_version(v.built_cuda, false, built),
           mz_gpus_version(v.driver, false, driver), mz_gpus_version(v.cublas, true, blas), mz_gpus_version(v.cudnn, true, dnn),
           mz_gpus_version(v.built_cudnn, true, built_dnn));
  row->ok = v.driver >= v.runtime && v.cudnn / 10000 == v.built_cudnn / 10000;
  if (v.driver < v.runtime) row->advice = "the driver is older than the toolkit: install a newer NVIDIA driver";
  if (v.cudnn / 10000 != v.built_cudnn / 10000) row->advice = "another major version of cuDNN: install the one it was built with";
}

static void test_device(rows *r, const char *name, int number, bool *numbers_ok) {
  char title[32], summary[sizeof((mz_check *)0)->value];
  snprintf(title, sizeof title, "self-test %s", name);
  mz_check *row = add(r, title);
  const mz_lane where = mz_gpus_lane(number);
  const mz_status status = mz_selftest_device(&where, summary, sizeof summary);
  snprintf(row->value, sizeof row->value, "%s", status == MZ_OK ? summary : mz_message());
  if (status == MZ_OK) return;
  row->ok = false;
  *numbers_ok = *numbers_ok && status != MZ_E_INTERNAL;
  row->advice = status == MZ_E_INTERNAL
                    ? "results on this device cannot be trusted; please report it with the output of `muzero doctor --json`"
                    : "the device does not answer: `nvidia-smi` tells who uses it; --device cpu leaves it alone";
}

static void add_device(rows *r, const mz_module *module, int number, bool *numbers_ok) {
  char name[16], memory[MZ_TEXT_SIZE], free_memory[MZ_TEXT_SIZE];
  mz_module_device device;
  snprintf(name, sizeof name, "cuda:%d", number);
  mz_check *row = add(r, name);
  if (module->describe(number, &device) != MZ_OK) {
    row->ok = false;
    snprintf(row->value, sizeof row->value, "%.*s", (int)sizeof row->value - 1, mz_message());
    return;
  }
  snprintf(row->value, sizeof row->value, "%s, compute capability %d.%d, %s of memory, %s free", device.name, device.major,
           device.minor, mz_text_bytes((double)device.memory_bytes, memory),
           mz_text_bytes((double)device.free_bytes, free_memory));
  row->ok = device.usable;
  if (device.usable)
    test_device(r, name, number, numbers_ok);
  else
    row->advice = "the module has no code for it: build the module for its compute capability, too";
}

int mz_gpu_checks(mz_check out[MZ_GPU_CHECKS_MAX], bool *numbers_ok) {
  rows r = {.items = out};
  const mz_module *module = NULL;
  if (mz_module_open(&module) != MZ_OK) module = NULL;
  add_module(&r, module);
  if (module == NULL) return r.count;
  add_versions(&r, module);
  int devices;
  const mz_status counted = module->count_devices(&devices);
  for (int number = 0; number < devices && r.count + 2 <= MZ_GPU_CHECKS_MAX; number++) add_device(&r, module, number, numbers_ok);
  if (devices > 0) return r.count;
  mz_check *none = add(&r, "cuda-devices");
  none->ok = counted == MZ_OK;
  snprintf(none->value, sizeof none->value, "%.*s", (int)sizeof none->value - 1,
           counted == MZ_OK ? "the NVIDIA driver knows no GPU" : mz_message());
  none->advice = "CUDA_VISIBLE_DEVICES may hide some; in a container, pass them on (docker run --gpus all); a driver that is "
                 "older than the module must be renewed";
  return r.count;
}
