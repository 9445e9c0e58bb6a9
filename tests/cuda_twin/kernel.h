/* Kernels: how one is described, and how its blocks run. */
#pragma once
#include <cuda_runtime.h>
#include <functional>
#include <string>

/* A launch: everything that is needed to run it, as often as graphs ask for. */
struct twin_kernel {
  const void *function;       /* tells kernels apart, and gives the name */
  std::function<void()> body; /* runs one thread */
  dim3 grid, block;
  size_t dynamic_bytes;
  unsigned char *statics, *statics_end; /* all __shared__ arrays of the kernel's program or library */
};

struct twin_argument {
  const void *value;
  size_t bytes;
  const unsigned char *members; /* [bytes]: 0xff where a byte may belong to a pointer, else 0 */
};

/* Appends a launch to the stream (mz_launch). The arguments are checked for pointers to memory that the device does not have;
 * every word of a struct is looked at, unused elements of arrays, too, which the caller sets to zero.
 * Errors: as CUDA's for the configuration; cudaErrorInvalidValue for arguments and for too much shared memory. */
cudaError_t twin_launch(const twin_kernel &kernel, cudaStream_t stream, const twin_argument *arguments, size_t count);

/* Runs all blocks in random order, and threads between barriers. A fault ends it (twin_fault_is_set). */
void twin_kernel_run(const twin_kernel &kernel);

/* Returns the kernel's name, without its arguments where its symbol is known. */
std::string twin_kernel_name(const void *function);
/* Returns whether the address is in the guard behind dynamic shared memory. */
bool twin_kernel_is_shared_guard(const void *address);

/* Dynamic shared memory that launches of the kernel may ask for: 48 KiB less what is static, unless cudaFuncSetAttribute gave
 * more. */
enum { TWIN_SHARED_DEFAULT = 48 << 10, TWIN_SHARED_MAX = 227 << 10 };
