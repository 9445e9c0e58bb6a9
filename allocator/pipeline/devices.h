/* The machine's devices by name: cpu:N, sets of cores (one per NUMA node by hwloc, or as the user splits them); cuda:N. */
#pragma once
#include "allocator/pipeline/pipeline.h"

typedef struct mz_devices {
  int count;
  struct {
    mz_device device;
    int core_count;
    int number;                  /* of a GPU, in its name */
    int16_t cores[MZ_CORES_MAX]; /* operating-system numbers, of a CPU device */
  } items[MZ_DEVICES_MAX];
} mz_devices;

/* spec "auto", or "0-3,4-7": each part a device (a part is a core, a range, or several joined by '+': "0-3+8"). Only cores that
 * the process may use: MZ_E_CONFIG (`where` names the setting) naming the core and those there are; cores in two sets are an
 * error too. */
mz_status mz_devices_find(mz_devices *out, const char *spec, const char *where);
/* Finds the sets of cores that "auto" means: one for each NUMA node. Loading hwloc takes 1–10 ms, most of it for plugins that
 * serve others. */
void mz_devices_find_nodes(mz_devices *out);
/* Appends cuda:number behind the others; false: there is no room. model, memory: as in mz_device. */
bool mz_devices_add_gpu(mz_devices *devices, int number, const char *model, double memory);
/* Returns the device on whose cores a stage's threads run, as mz_device_home: itself; GPUs, which come last, have the sets in turn. */
int mz_devices_home(const mz_devices *devices, int device);
/* Index of "cpu:1"; MZ_E_CONFIG naming the nearest. */
mz_status mz_devices_index(const mz_devices *devices, const char *name, const char *where, int *out);
