#include "kernel.h"
#include "memory.h"
#include "state.h"
#include "stream.h"
#include "symbol.h"
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

static std::map<const void *, int> &dynamic_max() { /* what cudaFuncSetAttribute gave */
  static auto &map = *new std::map<const void *, int>();
  return map;
}

std::string twin_kernel_name(const void *function) { return twin_symbol_find(function).name; }

/* Programs, heaps and stacks lie above. Below, two small numbers side by side would look like pointers to the sanitizers' shadow
 * memory. */
static const uintptr_t PROGRAM_START = (uintptr_t)0x5000 << 32;

/* Returns whether something of this process is mapped at the address. */
static bool is_mapped(uintptr_t address) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char resident;
  return mincore((void *)(address / page * page), 1, &resident) == 0;
}

/* Returns why no kernel may be given this argument, or "": it holds a pointer, alone or in a struct, to memory of the host or of
 * another device. A word counts as a pointer when something is mapped where it points. */
static std::string argument_check(const twin_argument &argument, int device) {
  const unsigned char *const bytes = static_cast<const unsigned char *>(argument.value);
  for (size_t at = 0; at + sizeof(uintptr_t) <= argument.bytes; at += sizeof(uintptr_t)) {
    uintptr_t word, members;
    memcpy(&word, bytes + at, sizeof word);
    memcpy(&members, argument.members + at, sizeof members);
    word &= members;
    const void *const pointer = (const void *)word;
    if (word < PROGRAM_START || word >> 48) continue;
    const twin_allocation *const found = twin_allocation_find(pointer);
    if (found && found->device != TWIN_PINNED_DEVICE && found->device != device)
      return twin_format("byte %zu points to memory of device %d", at, found->device);
    if (!found && !twin_memory_is_device_region(pointer) && is_mapped(word))
      return twin_format("byte %zu points to memory of the host", at);
  }
  return "";
}

static std::string configuration_check(const dim3 &grid, const dim3 &block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    return twin_format("a grid of %u x %u x %u blocks", grid.x, grid.y, grid.z);
  const uint64_t threads = (uint64_t)block.x * block.y * block.z;
  if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
    return twin_format("a block of %u x %u x %u threads", block.x, block.y, block.z);
  return "";
}

cudaError_t twin_launch(const twin_kernel &kernel, cudaStream_t stream, const twin_argument *arguments, size_t count) {
  twin_call call("mz_launch");
  if (call.error != cudaSuccess) return call.error;
  TWIN_FIND_STREAM(call, stream);
  const twin_symbol symbol = twin_symbol_find(kernel.function);
  const char *const name = symbol.name.c_str();
  if (stream->device != twin_device)
    return call.fail(cudaErrorInvalidResourceHandle, "%s: the stream is of device %d, device %d is current", name, stream->device,
                     twin_device);
  std::string why = configuration_check(kernel.grid, kernel.block);
  if (!why.empty()) return call.fail(cudaErrorInvalidConfiguration, "%s: %s", name, why.c_str());
  const auto given = dynamic_max().find(kernel.function);
  const size_t most = given == dynamic_max().end()
                          ? TWIN_SHARED_DEFAULT - std::min((size_t)TWIN_SHARED_DEFAULT, symbol.static_bytes)
                          : (size_t)given->second;
  if (kernel.dynamic_bytes > most || symbol.static_bytes > TWIN_SHARED_DEFAULT)
    return call.fail(cudaErrorInvalidValue, "%s: %zu bytes of dynamic shared memory, at most %zu beside %zu static ones", name,
                     kernel.dynamic_bytes, most, symbol.static_bytes);
  for (size_t i = 0; i < count; i++) {
    why = argument_check(arguments[i], stream->device);
    if (!why.empty()) return call.fail(cudaErrorInvalidValue, "%s: argument %zu: %s", name, i + 1, why.c_str());
  }
  if (!stream->capture) twin().counters.launches++;
  twin_op op;
  op.name = symbol.name;
  op.kernel = std::make_shared<const twin_kernel>(kernel);
  TWIN_TRY(call, twin_stream_push(stream, op));
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
  TWIN_CALL(call);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  const twin_symbol symbol = twin_symbol_find(function);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      (size_t)value + symbol.static_bytes > TWIN_SHARED_MAX)
    return call.fail(cudaErrorInvalidValue, "%s: attribute %d set to %d beside %zu bytes of static shared memory",
                     symbol.name.c_str(), (int)attribute, value, symbol.static_bytes);
  dynamic_max()[function] = value;
  return cudaSuccess;
}
