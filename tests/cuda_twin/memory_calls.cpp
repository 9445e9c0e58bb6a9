#include "graph.h"
#include "memory.h"
#include "state.h"
#include "stream.h"

/* Allocating and freeing wait for the device, which work that is only recorded never reaches. */
#define CHECK_NOT_CAPTURING(call)                                                                                                \
  if (twin_capture_forbids()) return call.fail(cudaErrorStreamCaptureUnsupported, "this thread captures")

cudaError_t cudaMalloc(void **out, size_t bytes) {
  TWIN_CALL(call);
  CHECK_NOT_CAPTURING(call);
  if (bytes == 0) {
    *out = nullptr;
    return cudaSuccess;
  }
  const twin_allocation *const made = twin_allocation_create(twin_device, bytes);
  if (!made)
    return call.fail(cudaErrorMemoryAllocation, "%zu bytes where %zu of %zu are in use", bytes, twin_memory_used(twin_device),
                     twin().memory_max);
  twin().counters.device_allocations++;
  *out = made->base;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  TWIN_CALL(call);
  CHECK_NOT_CAPTURING(call);
  if (flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
    return call.fail(cudaErrorInvalidValue, "flags are %u", flags);
  if (bytes == 0) {
    *out = nullptr;
    return cudaSuccess;
  }
  const twin_allocation *const made = twin_allocation_create(TWIN_PINNED_DEVICE, bytes);
  if (!made) return call.fail(cudaErrorMemoryAllocation, "%zu bytes of pinned memory", bytes);
  twin().counters.host_allocations++;
  *out = made->base;
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) { return cudaHostAlloc(out, bytes, cudaHostAllocDefault); }

/* Returns the allocation that begins at `pointer`; anything else is a violation: freed twice, or never allocated. */
static twin_allocation *find_to_free(const void *pointer, bool pinned) {
  twin_allocation *const found = twin_allocation_find(pointer);
  if (found && found->base == pointer && (found->device == TWIN_PINNED_DEVICE) == pinned) return found;
  twin_violate(twin_format("%s memory is freed that is not allocated: %s", pinned ? "pinned" : "device",
                           twin_address_describe(pointer).c_str()));
  return nullptr;
}

cudaError_t cudaFree(void *pointer) {
  TWIN_CALL_TO_FREE(call);
  CHECK_NOT_CAPTURING(call);
  if (!pointer) return call.error;
  twin_allocation *const found = find_to_free(pointer, false);
  if (!found) return call.fail(cudaErrorInvalidValue, "%s", twin().message.c_str());
  twin().counters.frees++;
  twin().counters.implicit_synchronizations++;
  const int device = found->device;
  twin_device_run(device);
  twin_allocation_free(found);
  if (call.error == cudaSuccess) TWIN_TRY(call, twin().sticky[(size_t)device]);
  return call.error;
}

cudaError_t cudaFreeHost(void *pointer) {
  TWIN_CALL_TO_FREE(call);
  CHECK_NOT_CAPTURING(call);
  if (!pointer) return call.error;
  twin_allocation *const found = find_to_free(pointer, true);
  if (!found) return call.fail(cudaErrorInvalidValue, "%s", twin().message.c_str());
  if (twin_stream_touches(found->base, found->bytes)) twin_violate("pinned memory is freed while a copy of it waits");
  twin().counters.frees++;
  twin_allocation_free(found);
  return call.error;
}

size_t twin_bytes_of_device(int device) {
  const twin_guard guard;
  return twin_memory_used(device);
}

size_t twin_bytes_pinned(void) { return twin_bytes_of_device(TWIN_PINNED_DEVICE); }

cudaError_t cudaMemGetInfo(size_t *out_free, size_t *out_total) {
  TWIN_CALL(call);
  *out_total = twin().memory_max;
  *out_free = twin().memory_max - twin_memory_used(twin_device);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *pointer) {
  TWIN_CALL(call);
  const twin_allocation *const found = twin_allocation_find(pointer);
  *out = cudaPointerAttributes();
  if (!found) {
    out->type = cudaMemoryTypeUnregistered;
    out->device = cudaInvalidDeviceId;
    out->hostPointer = const_cast<void *>(pointer);
    return cudaSuccess;
  }
  const bool pinned = found->device == TWIN_PINNED_DEVICE;
  out->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  out->device = pinned ? twin_device : found->device;
  out->devicePointer = const_cast<void *>(pointer);
  if (pinned) out->hostPointer = const_cast<void *>(pointer);
  return cudaSuccess;
}
