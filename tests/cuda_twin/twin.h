/* The twin: stand-ins for CUDA's runtime. The CUDA module's very sources run on the host with them, and bugs that a GPU shows by
 * chance show always.
 *
 * Device memory is readable only inside kernels, copies and library calls; it is filled with NaN (bytes 0xff) when allocated;
 * guard pages surround every allocation, and freed addresses are never used again. Work is deferred until a synchronisation
 * needs it; then streams run in random order as far as events allow, and so do blocks, and threads between barriers.
 *
 * A call that CUDA would refuse returns CUDA's error. Misuse that CUDA would not notice is a violation: it is printed on stderr,
 * and the process exits with TWIN_EXIT_VIOLATION unless twin_violations_clear was called after it. A process that has not freed
 * or destroyed everything exits likewise, after a list of what is left.
 *
 * Environment: MUZERO_TWIN_SEED (default 1), MUZERO_TWIN_DEVICES (default 1), MUZERO_TWIN_MEMORY (bytes of each device, default
 * 8 GiB), MUZERO_TWIN_BUSY (the number of a device that another process has for itself: this one gets no context there),
 * MUZERO_TWIN_FAIL (as twin_fail_after), MUZERO_TWIN_RACES (1: as twin_races_watch).
 * Thread safety: every function may be called from any thread. One lock serialises all of them, running work included. While one
 * thread runs work, device memory is readable by all. */
#pragma once
#include <stddef.h>

enum { TWIN_EXIT_VIOLATION = 70 };

/* Calls and work since the last twin_counters_reset. What is captured counts when it is replayed. */
typedef struct twin_counters {
  long launches;       /* calls of mz_launch outside of captures */
  long graph_launches; /* cudaGraphLaunch */
  long kernels;        /* kernels that ran, those of graphs included */
  long library_calls;  /* twin_enqueue */
  long copies_to_device, copies_to_host, copies_on_device, fills;
  size_t bytes_to_device, bytes_to_host, bytes_on_device, bytes_filled;
  long synchronizations;          /* cudaStreamSynchronize, cudaEventSynchronize, cudaDeviceSynchronize */
  long implicit_synchronizations; /* cudaFree, copies to pageable memory */
  long device_allocations, host_allocations, frees;
} twin_counters;

#ifdef __cplusplus
extern "C" {
#endif

twin_counters twin_counters_get(void);
void twin_counters_reset(void);
/* Bytes that are allocated now, each allocation rounded up to 512: of a device, and of pinned memory. */
size_t twin_bytes_of_device(int device);
size_t twin_bytes_pinned(void);

/* Makes the order of everything that is random follow from `seed`. */
void twin_seed(unsigned long long seed);

/* Makes the n-th call from now of any function that can fail, of the runtime or of a library, fail with cudaErrorUnknown or the
 * library's like (0: none). */
void twin_fail_after(long n);
/* Returns whether that call is still to come. */
int twin_fail_pending(void);

/* Returns the number of violations since the last twin_violations_clear, which forgets them. */
long twin_violations(void);
void twin_violations_clear(void);
/* Returns why the last violation was one, or the last call failed, on any thread; "" when there was none. Valid until this
 * thread's next call of it. */
const char *twin_message(void);

/* Reports accesses of two streams to the same page of device memory that no event orders as violations, for streams that are
 * created afterwards; 0 ends it. Slow. Does nothing where the machine is no x86-64. */
void twin_races_watch(int on);

/* Ends the devices' sticky errors and drops work that waits, as a new process would. Allocations and streams stay. */
void twin_reset(void);

#ifdef __cplusplus
}

#include <cuda_runtime.h>
#include <functional>
#include <vector>

/* For the stand-ins of libraries. */

enum twin_memory_kind { TWIN_PAGEABLE, TWIN_PINNED, TWIN_DEVICE };

struct twin_memory {
  twin_memory_kind kind;
  int device;          /* TWIN_DEVICE: which */
  size_t bytes_behind; /* from the pointer to the allocation's end; 0 for pageable memory */
  size_t alignment;    /* largest power of two that divides the pointer, at most 256 */
};
/* Describes where `pointer` points; a pointer into freed or foreign memory is TWIN_PAGEABLE. */
twin_memory twin_memory_at(const void *pointer);

/* Bytes of device or pinned memory that a call touches. */
struct twin_range {
  const void *pointer;
  size_t bytes;
};

/* Appends `work` to the stream, to be run when its turn comes, on a stack of 256 KiB. It may touch `ranges` and memory that it
 * owns, and calls nothing of CUDA's; other device memory is a fault unless earlier work has opened it since the last
 * synchronisation. In a capture it becomes a node of the graph and runs once for each replay. `name` is for messages and is
 * copied. Ranges of zero bytes are ignored.
 * Errors as a library's call would meet them: cudaErrorInvalidResourceHandle (no such stream, or the null stream),
 * cudaErrorInvalidValue (a range is not within one allocation of the stream's device or of pinned memory), a sticky error, an
 * invalidated capture. The caller asks twin_fails first. */
cudaError_t twin_enqueue(cudaStream_t stream, const char *name, const std::vector<twin_range> &ranges,
                         std::function<void()> work);

/* Returns whether this call of a function that can fail shall fail (twin_fail_after); to be asked once in each. */
bool twin_fails(const char *call);

/* Reports a violation; for what a library forbids without noticing. */
void twin_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
