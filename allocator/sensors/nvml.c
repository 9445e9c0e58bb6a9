#include "allocator/sensors/nvml.h"
#include "base/status.h"
#include <dlfcn.h>
#include <string.h>

/* From the API reference. nvmlReturn_t is an enum whose NVML_SUCCESS is 0; nvmlDevice_t a pointer to what only the library
 * knows. */
typedef int nvml_return;
typedef struct nvml_device *nvml_device;
typedef struct nvml_utilization {
  unsigned gpu, memory; /* percent */
} nvml_utilization;
typedef struct nvml_memory {
  unsigned long long total, free, used; /* bytes */
} nvml_memory;

typedef struct functions {
  nvml_return (*init)(void);
  nvml_return (*shutdown)(void);
  nvml_return (*count)(unsigned *);
  nvml_return (*handle)(unsigned, nvml_device *);
  nvml_return (*name)(nvml_device, char *, unsigned);
  nvml_return (*utilization)(nvml_device, nvml_utilization *);
  nvml_return (*memory)(nvml_device, nvml_memory *);
  nvml_return (*uuid)(nvml_device, char *, unsigned);
} functions;

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {
    {"nvmlInit_v2", offsetof(functions, init)},
    {"nvmlShutdown", offsetof(functions, shutdown)},
    {"nvmlDeviceGetCount_v2", offsetof(functions, count)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(functions, handle)},
    {"nvmlDeviceGetName", offsetof(functions, name)},
    {"nvmlDeviceGetUtilizationRates", offsetof(functions, utilization)},
    {"nvmlDeviceGetMemoryInfo", offsetof(functions, memory)},
    {"nvmlDeviceGetUUID", offsetof(functions, uuid)},
};

struct mz_nvml {
  void *library;
  functions call;
  bool initialised;
  int count;
  nvml_device devices[MZ_GPUS_MAX];
};

static bool find_symbols(mz_nvml *nvml) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(nvml->library, symbols[i].name);
    if (symbol == NULL) return false;
    memcpy((char *)&nvml->call + symbols[i].offset, &symbol, sizeof symbol); /* POSIX: a function's address fits */
  }
  return true;
}

mz_nvml *mz_nvml_load(const char *library) {
  mz_nvml *nvml = NULL;
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return NULL;
  if (mz_alloc(&nvml, 1, sizeof *nvml) != MZ_OK) {
    dlclose(handle);
    return NULL;
  }
  nvml->library = handle;
  if (find_symbols(nvml)) return nvml;
  mz_nvml_free(nvml);
  return NULL;
}

/* A device that gives no handle (another user's, or one that fell off the bus) is left out. */
bool mz_nvml_init(mz_nvml *nvml) {
  unsigned count = 0;
  nvml->initialised = nvml->call.init() == 0;
  if (!nvml->initialised || nvml->call.count(&count) != 0) return false;
  for (unsigned i = 0; i < count && nvml->count < MZ_GPUS_MAX; i++) {
    if (nvml->call.handle(i, &nvml->devices[nvml->count]) == 0) nvml->count++;
  }
  return nvml->count > 0;
}

static bool is_among(const mz_nvml *nvml, nvml_device device, const char (*uuids)[MZ_GPU_UUID], int count) {
  char own[96]; /* as long as the library's longest */
  if (nvml->call.uuid(device, own, sizeof own) != 0) return false;
  for (int i = 0; i < count; i++)
    if (strcmp(own, uuids[i]) == 0) return true;
  return false;
}

void mz_nvml_keep(mz_nvml *nvml, const char (*uuids)[MZ_GPU_UUID], int count) {
  nvml_device kept[MZ_GPUS_MAX];
  int found = 0;
  for (int i = 0; i < nvml->count; i++)
    if (is_among(nvml, nvml->devices[i], uuids, count)) kept[found++] = nvml->devices[i];
  if (found == 0) return;
  memcpy(nvml->devices, kept, (size_t)found * sizeof *kept);
  nvml->count = found;
}

void mz_nvml_free(mz_nvml *nvml) {
  if (nvml == NULL) return;
  if (nvml->initialised) nvml->call.shutdown();
  dlclose(nvml->library);
  free(nvml);
}

int mz_nvml_count(const mz_nvml *nvml) { return nvml->count; }

void mz_nvml_name(const mz_nvml *nvml, int gpu, char out[MZ_GPU_NAME]) {
  char name[96]; /* as long as the library's longest */
  const bool known = nvml->call.name(nvml->devices[gpu], name, sizeof name) == 0;
  snprintf(out, MZ_GPU_NAME, "%.*s", MZ_GPU_NAME - 1, known ? name : "GPU");
}

bool mz_nvml_read(const mz_nvml *nvml, mz_gpu_reading *out) {
  for (int i = 0; i < nvml->count; i++) {
    nvml_utilization utilization;
    nvml_memory memory;
    if (nvml->call.utilization(nvml->devices[i], &utilization) != 0) return false;
    if (nvml->call.memory(nvml->devices[i], &memory) != 0) return false;
    out[i] = (mz_gpu_reading){.busy = utilization.gpu / 100.0, .bytes = (double)memory.used};
  }
  return true;
}
