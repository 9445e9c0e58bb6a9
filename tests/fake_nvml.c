/* Stands in for NVIDIA's management library, so that machines without a GPU exercise the way to it: devices as the test sets
 * them. Built as libnvidia-ml.so.1; a test that has opened it by its path is what the program then finds by its name. */
#include <stdatomic.h>
#include <stdio.h>

enum { DEVICES = 3, OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, GPU_IS_LOST = 15 };

typedef struct fake_device {
  _Atomic unsigned busy; /* percent */
  _Atomic unsigned long long used;
} fake_device;
typedef struct fake_utilization {
  unsigned gpu, memory;
} fake_utilization;
typedef struct fake_memory {
  unsigned long long total, free, used;
} fake_memory;

static fake_device devices[DEVICES];
static atomic_int users;    /* nvmlInit_v2 less nvmlShutdown */
static atomic_bool broken;  /* nvmlInit_v2 fails */
static atomic_bool silent;  /* devices do not tell their use, as where they are split */
static atomic_uint missing; /* one more than the device that gives no handle; 0: all do */

void fake_nvml_set(unsigned index, unsigned busy, unsigned long long used);
void fake_nvml_break(int no_init, int no_use, unsigned no_handle);
int fake_nvml_users(void);
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, fake_device **device);
int nvmlDeviceGetName(fake_device *device, char *name, unsigned length);
int nvmlDeviceGetUtilizationRates(fake_device *device, fake_utilization *out);
int nvmlDeviceGetMemoryInfo(fake_device *device, fake_memory *out);
int nvmlDeviceGetUUID(fake_device *device, char *uuid, unsigned length);

void fake_nvml_set(unsigned index, unsigned busy, unsigned long long used) {
  devices[index].busy = busy;
  devices[index].used = used;
}

void fake_nvml_break(int no_init, int no_use, unsigned no_handle) {
  broken = no_init != 0;
  silent = no_use != 0;
  missing = no_handle;
}

int fake_nvml_users(void) { return users; }

int nvmlInit_v2(void) {
  if (broken) return UNINITIALIZED;
  users++;
  return OK;
}

int nvmlShutdown(void) {
  if (users == 0) return UNINITIALIZED;
  users--;
  return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  if (users == 0) return UNINITIALIZED;
  *count = DEVICES;
  return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, fake_device **device) {
  if (users == 0) return UNINITIALIZED;
  if (index >= DEVICES) return INVALID_ARGUMENT;
  if (index + 1 == missing) return GPU_IS_LOST;
  *device = &devices[index];
  return OK;
}

int nvmlDeviceGetName(fake_device *device, char *name, unsigned length) {
  snprintf(name, length, "Fake GPU %d", (int)(device - devices));
  return OK;
}

int nvmlDeviceGetUUID(fake_device *device, char *uuid, unsigned length) {
  snprintf(uuid, length, "GPU-00000000-%d", (int)(device - devices));
  return OK;
}

int nvmlDeviceGetUtilizationRates(fake_device *device, fake_utilization *out) {
  if (silent) return NOT_SUPPORTED;
  *out = (fake_utilization){.gpu = device->busy, .memory = 0};
  return OK;
}

int nvmlDeviceGetMemoryInfo(fake_device *device, fake_memory *out) {
  *out = (fake_memory){.total = 1ull << 36, .free = (1ull << 36) - device->used, .used = device->used};
  return OK;
}
