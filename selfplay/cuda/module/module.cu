/* The module's one door (networks/module.h). */
#include "networks/cuda/backend.cuh"
#include "networks/cuda/check.cuh"
#include "selfplay/cuda/module/host.cuh"
#include "selfplay/cuda/searcher.cuh"
#include <cublasLt.h>
#include <cudnn.h>
#include <stdio.h>
#include <string.h>

/* networks/cuda/convolutions.cuh says what needs it. */
enum { CUDNN_WANTED = 90800 };

static mz_status count_devices(int *out) {
  const cudaError_t error = cudaGetDeviceCount(out);
  (void)cudaGetLastError();
  if (error != cudaSuccess) *out = 0;
  if (error == cudaErrorNoDevice) return MZ_OK;
  MZ_CUDA_TRY(error);
  return MZ_OK;
}

static void write_uuid(const cudaUUID_t *uuid, char out[], size_t size) {
  const unsigned char *b = (const unsigned char *)uuid->bytes;
  snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4],
           b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* Asking a device for its free memory makes the runtime hold a context there, which costs some hundred MiB of it. The device stays the
 * thread's: whoever works on one enters it first, and to go back would take a context of the other one, which may not be had. */
static mz_status look_at(int device, mz_module_device *out) {
  cudaDeviceProp properties;
  size_t free_bytes, total;
  MZ_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
  *out = {};
  snprintf(out->name, sizeof out->name, "%.95s", properties.name);
  write_uuid(&properties.uuid, out->uuid, sizeof out->uuid);
  MZ_CUDA_TRY(cudaDeviceGetPCIBusId(out->pci, sizeof out->pci, device));
  out->major = properties.major;
  out->minor = properties.minor;
  out->usable = properties.major >= 8; /* sm_80 on; newer ones run the intermediate code */
  out->memory_bytes = properties.totalGlobalMem;
  if (!out->usable) return MZ_OK;
  MZ_CUDA_TRY(cudaSetDevice(device));
  MZ_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
  out->free_bytes = free_bytes;
  return MZ_OK;
}

/* Nobody else is told of a failure that is reported here. */
static mz_status describe(int device, mz_module_device *out) {
  const mz_status status = look_at(device, out);
  (void)cudaGetLastError();
  return status;
}

static mz_status versions(mz_module_versions *out) {
  *out = {};
  out->built_cuda = CUDART_VERSION;
  out->built_cudnn = CUDNN_VERSION;
  MZ_CUDA_TRY(cudaDriverGetVersion(&out->driver));
  MZ_CUDA_TRY(cudaRuntimeGetVersion(&out->runtime));
  out->cublas = (int)cublasLtGetVersion();
  out->cudnn = (int)cudnnGetVersion();
  return MZ_OK;
}

extern "C" __attribute__((visibility("default"))) mz_status mz_module_enter(const mz_module_host *host, const mz_module **out) {
  static mz_module module;
  static mz_backend backend;
  mz_host = host;
  if (host->interface != MZ_MODULE_INTERFACE || strcmp(host->version, MUZERO_VERSION) != 0)
    return mz_fail(MZ_E_DEVICE,
                   "the CUDA module is of muzero %s, interface %d; this program is %s, interface %d: take the one that "
                   "was built with it",
                   MUZERO_VERSION, (int)MZ_MODULE_INTERFACE, host->version, host->interface);
  if (cudnnGetVersion() < CUDNN_WANTED)
    return mz_fail(MZ_E_DEVICE, "the CUDA module needs cuDNN %d.%d or later, and what is loaded is %d.%d", CUDNN_WANTED / 10000,
                   CUDNN_WANTED / 100 % 100, (int)cudnnGetVersion() / 10000, (int)cudnnGetVersion() / 100 % 100);
  module.interface = MZ_MODULE_INTERFACE;
  backend = mz_backend_cuda;
  backend.searcher = &mz_cuda_searcher;
  module.backend = &backend;
  module.architectures = MUZERO_CUDA_ARCHITECTURES;
  module.count_devices = count_devices;
  module.describe = describe;
  module.versions = versions;
  *out = &module;
  return MZ_OK;
}
