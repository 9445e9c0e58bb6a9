#include "state.h"
#include <cstdio>
#include <cstring>

static const int COMPUTE_MAJOR = 9, COMPUTE_MINOR = 0, PROCESSORS = 4, SHARED_OF_PROCESSOR = 228 << 10,
                 THREADS_OF_PROCESSOR = 2048;
static const int SHARED_OF_BLOCK = 48 << 10, SHARED_OPTIN = 227 << 10, REGISTERS = 65536, CACHE = 4 << 20;

static bool device_exists(int device) { return device >= 0 && (size_t)device < twin().sticky.size(); }

cudaError_t cudaGetDeviceCount(int *out) {
  *out = 0;
  TWIN_CALL_OF_DEVICES(call);
  *out = (int)twin().sticky.size();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  TWIN_CALL_OF_DEVICES(call);
  if (!device_exists(device)) return call.fail(cudaErrorInvalidDevice, "device %d of %zu", device, twin().sticky.size());
  if (device == twin().busy) return call.fail(cudaErrorDevicesUnavailable, "another process has device %d for itself", device);
  twin_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *out) {
  TWIN_CALL_OF_DEVICES(call);
  *out = twin_device;
  return cudaSuccess;
}

/* An invented device, small enough that grids are larger than it. */
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device) {
  TWIN_CALL_OF_DEVICES(call);
  if (!device_exists(device)) return call.fail(cudaErrorInvalidDevice, "device %d of %zu", device, twin().sticky.size());
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "NVIDIA Twin");
  memcpy(out->uuid.bytes, "muzero-twin-gpu", 15);
  out->uuid.bytes[15] = (char)device;
  out->totalGlobalMem = twin().memory_max;
  out->sharedMemPerBlock = SHARED_OF_BLOCK;
  out->sharedMemPerBlockOptin = SHARED_OPTIN;
  out->sharedMemPerMultiprocessor = SHARED_OF_PROCESSOR;
  out->reservedSharedMemPerBlock = 1024;
  out->regsPerBlock = out->regsPerMultiprocessor = REGISTERS;
  out->warpSize = 32;
  out->maxThreadsPerBlock = out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 2147483647;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->maxThreadsPerMultiProcessor = THREADS_OF_PROCESSOR;
  out->maxBlocksPerMultiProcessor = 32;
  out->multiProcessorCount = PROCESSORS;
  out->major = COMPUTE_MAJOR;
  out->minor = COMPUTE_MINOR;
  out->totalConstMem = 65536;
  out->memPitch = 2147483647;
  out->textureAlignment = 512;
  out->l2CacheSize = CACHE;
  out->memoryBusWidth = 64;
  out->pciBusID = device + 1;
  out->asyncEngineCount = 2;
  out->concurrentKernels = out->unifiedAddressing = out->canMapHostMemory = out->streamPrioritiesSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int device) {
  TWIN_CALL_OF_DEVICES(call);
  if (!device_exists(device)) return call.fail(cudaErrorInvalidDevice, "device %d of %zu", device, twin().sticky.size());
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *out = 1024; return cudaSuccess;
    case cudaDevAttrMaxBlockDimZ: *out = 64; return cudaSuccess;
    case cudaDevAttrMaxGridDimX: *out = 2147483647; return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *out = 65535; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: *out = SHARED_OF_BLOCK; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *out = SHARED_OPTIN; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *out = SHARED_OF_PROCESSOR; return cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock: *out = 1024; return cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *out = REGISTERS; return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *out = THREADS_OF_PROCESSOR; return cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
    case cudaDevAttrWarpSize: *out = 32; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *out = PROCESSORS; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *out = COMPUTE_MAJOR; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *out = COMPUTE_MINOR; return cudaSuccess;
    case cudaDevAttrL2CacheSize: *out = CACHE; return cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *out = 1000000; return cudaSuccess; /* kHz */
    case cudaDevAttrGlobalMemoryBusWidth: *out = 64; return cudaSuccess;
    case cudaDevAttrAsyncEngineCount: *out = 2; return cudaSuccess;
    case cudaDevAttrPciBusId: *out = device + 1; return cudaSuccess;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrComputeMode: /* any number of processes */
    case cudaDevAttrIntegrated:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrCooperativeLaunch: *out = 0; return cudaSuccess;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrStreamPrioritiesSupported: *out = 1; return cudaSuccess;
    default: return call.fail(cudaErrorInvalidValue, "the twin knows no attribute %d", (int)attribute);
  }
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int bytes, int device) {
  TWIN_CALL_OF_DEVICES(call);
  if (!device_exists(device)) return call.fail(cudaErrorInvalidDevice, "device %d of %zu", device, twin().sticky.size());
  if (bytes < 13) return call.fail(cudaErrorInvalidValue, "%d bytes for a name of 13", bytes);
  snprintf(out, (size_t)bytes, "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *out) {
  TWIN_CALL_OF_DEVICES(call);
  *out = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *out) {
  TWIN_CALL_OF_DEVICES(call);
  *out = CUDART_VERSION;
  return cudaSuccess;
}
