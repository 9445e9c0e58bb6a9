#include "graph.h"
#include "memory.h"
#include "state.h"
#include "stream.h"
#include <cstring>

static bool is_on_device(const void *pointer) {
  const twin_allocation *const found = twin_allocation_find(pointer);
  return found && found->device != TWIN_PINNED_DEVICE;
}
/* Returns whether CUDA knows nothing of the memory. */
static bool is_pageable(const void *pointer) { return !twin_allocation_find(pointer); }

/* Returns why the copy is not of its kind, or goes out of bounds, or "". */
static std::string copy_check(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind, int device) {
  static const struct { bool to_device, from_device; } kinds[] = {{false, false}, {true, false}, {false, true}, {true, true}};
  if (kind != cudaMemcpyDefault && (kind < 0 || kind > 3)) return twin_format("kind %d", (int)kind);
  if (kind != cudaMemcpyDefault && is_on_device(to) != kinds[kind].to_device)
    return twin_format("kind %d, but the destination is %s", (int)kind, twin_address_describe(to).c_str());
  if (kind != cudaMemcpyDefault && is_on_device(from) != kinds[kind].from_device)
    return twin_format("kind %d, but the source is %s", (int)kind, twin_address_describe(from).c_str());
  std::string why = is_pageable(to) ? "" : twin_range_check({to, bytes}, device);
  if (why.empty() && !is_pageable(from)) why = twin_range_check({from, bytes}, device);
  if (why.empty() &&
      (twin_memory_is_device_region(to) ? is_pageable(to) : twin_memory_is_device_region(from) && is_pageable(from)))
    why = "memory that is not allocated: " + twin_address_describe(twin_memory_is_device_region(to) ? to : from);
  return why;
}

static bool overlap(const void *to, const void *from, size_t bytes) {
  return (const char *)to < (const char *)from + bytes && (const char *)from < (const char *)to + bytes;
}

static void count_copy(const void *to, const void *from, size_t bytes) {
  twin_counters &counters = twin().counters;
  if (is_on_device(to) && is_on_device(from))
    counters.copies_on_device++, counters.bytes_on_device += bytes;
  else if (is_on_device(to))
    counters.copies_to_device++, counters.bytes_to_device += bytes;
  else
    counters.copies_to_host++, counters.bytes_to_host += bytes;
}

/* Pageable memory is staged, as CUDA does: read now, written later. Pinned memory is read when the copy runs. */
static twin_op copy_describe(void *to, const void *from, size_t bytes) {
  twin_op op;
  op.name = "cudaMemcpyAsync";
  std::shared_ptr<std::vector<unsigned char>> staged;
  if (is_pageable(from)) {
    staged = std::make_shared<std::vector<unsigned char>>((const unsigned char *)from, (const unsigned char *)from + bytes);
    from = staged->data();
  } else
    op.ranges.push_back({from, bytes});
  if (!is_pageable(to)) op.ranges.push_back({to, bytes});
  op.work = [to, from, bytes, staged] {
    count_copy(to, from, bytes);
    memcpy(to, from, bytes);
  };
  return op;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (bytes == 0) return cudaSuccess;
  const std::string why = copy_check(to, from, bytes, kind, stream->device);
  if (!why.empty()) return call.fail(cudaErrorInvalidValue, "%s", why.c_str());
  if (overlap(to, from, bytes)) {
    twin_violate("a copy's source and destination overlap");
    return call.fail(cudaErrorInvalidValue, "source and destination overlap");
  }
  if (stream->capture && (is_pageable(to) || is_pageable(from))) {
    stream->capture->is_invalid = true;
    return call.fail(cudaErrorStreamCaptureUnsupported, "a copy of pageable memory in a capture");
  }
  const bool waits = is_pageable(to);
  TWIN_TRY(call, twin_stream_push(stream, copy_describe(to, from, bytes)));
  if (!waits) return cudaSuccess;
  twin().counters.implicit_synchronizations++;
  TWIN_TRY(call, twin_stream_run(stream));
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (bytes == 0) return cudaSuccess;
  const std::string why = twin_range_check({to, bytes}, stream->device);
  if (!why.empty()) return call.fail(cudaErrorInvalidValue, "%s", why.c_str());
  twin_op op;
  op.name = __func__;
  op.ranges = {{to, bytes}};
  op.work = [to, value, bytes] {
    twin().counters.fills++;
    twin().counters.bytes_filled += bytes;
    memset(to, value, bytes);
  };
  TWIN_TRY(call, twin_stream_push(stream, op));
  return cudaSuccess;
}

/* Calls without a stream use the null stream, which is refused. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }
