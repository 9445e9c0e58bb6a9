/* NVIDIA's management library (NVML), opened at run time: the program neither needs it to build nor to start. Types and calls
 * are those of its public API reference. One thread at a time uses a handle. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { MZ_GPUS_MAX = 64, MZ_GPU_NAME = 64, MZ_GPU_UUID = 48 };
typedef struct mz_nvml mz_nvml;

typedef struct mz_gpu_reading {
  double busy;  /* share of the library's last sample period in which a kernel ran */
  double bytes; /* memory in use, whoever uses it */
} mz_gpu_reading;

/* NULL where there is no such library, or no memory. */
mz_nvml *mz_nvml_load(const char *library); /* "libnvidia-ml.so.1" */
/* Talks to the driver: may take some 100 ms. False: it does not answer, or knows no device. Once per handle. */
bool mz_nvml_init(mz_nvml *nvml);
void mz_nvml_free(mz_nvml *nvml);
/* Leaves only the devices of which the identifier ("GPU-01234567-…") is among these; all of them where the library tells none, or
 * count is 0. After init. */
void mz_nvml_keep(mz_nvml *nvml, const char (*uuids)[MZ_GPU_UUID], int count);
int mz_nvml_count(const mz_nvml *nvml);
void mz_nvml_name(const mz_nvml *nvml, int gpu, char out[MZ_GPU_NAME]);
/* One reading per device; false: some device does not tell. */
bool mz_nvml_read(const mz_nvml *nvml, mz_gpu_reading *out);
