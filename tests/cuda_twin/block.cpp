#include "fault.h"
#include "fiber.h"
#include "kernel.h"
#include "sanitize.h"
#include "state.h"
#include "twin_launch.h"
#include <cstring>
#include <numeric>
#include <sys/mman.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum thread_state { AT_WORK, AT_BARRIER, AT_SHUFFLE, FINISHED };

struct block_thread {
  twin_fiber *fiber; /* NULL: not begun, or finished */
  thread_state state;
  const char *file; /* where it waits */
  int line;
  uint64_t value; /* a shuffle's: given, then received */
  int source;     /* lane that the value is taken from */
};

/* The launch that runs. */
static const twin_kernel *kernel;
static std::vector<block_thread> threads;
static std::vector<uint3> indices;    /* threadIdx of each thread */
static std::vector<unsigned> ready;   /* threads that can continue, in no order */
static std::vector<unsigned> arrived; /* lanes of each warp that wait in a shuffle */
static unsigned current, waiting, finished;
static const unsigned NONE = ~0u;

/* Dynamic shared memory ends where a guard page begins. */
static unsigned char *dynamic_end, *dynamic;
static const size_t DYNAMIC_BYTES = 256 << 10, GUARD_BYTES = 64 << 10;

static void prepare_shared(size_t bytes) {
  if (!dynamic_end) {
    void *const memory = mmap(nullptr, DYNAMIC_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    dynamic_end = (unsigned char *)memory + DYNAMIC_BYTES;
    mprotect(dynamic_end, GUARD_BYTES, PROT_NONE);
  }
  const size_t whole = (bytes + 15) / 16 * 16;
  dynamic = dynamic_end - whole;
  twin_unpoison(dynamic_end - DYNAMIC_BYTES, DYNAMIC_BYTES);
  twin_poison(dynamic_end - DYNAMIC_BYTES, DYNAMIC_BYTES - whole);
  twin_poison(dynamic + bytes, whole - bytes);
}

void *twin_dynamic_shared(void) { return dynamic; }

bool twin_kernel_is_shared_guard(const void *address) {
  return dynamic_end && (const unsigned char *)address >= dynamic_end &&
         (const unsigned char *)address < dynamic_end + GUARD_BYTES;
}

static std::string thread_describe(unsigned index) {
  return twin_format("(%u, %u, %u)", indices[index].x, indices[index].y, indices[index].z);
}

/* Returns ", kernel NAME, block (x, y, z), thread (x, y, z)"; no thread where none runs. */
static std::string place_describe() {
  const std::string block = twin_format(", kernel %s, block (%u, %u, %u)", twin_kernel_name(kernel->function).c_str(), blockIdx.x,
                                        blockIdx.y, blockIdx.z);
  return current == NONE ? block : block + ", thread " + thread_describe(current);
}

static void run_thread(void *) { kernel->body(); }

static void advance(unsigned index) {
  block_thread &thread = threads[index];
  current = index;
  threadIdx = indices[index];
  const bool begun = thread.fiber != nullptr;
  if (!begun) thread.fiber = twin_fiber_take();
  if (begun ? !twin_fiber_resume(thread.fiber) : !twin_fiber_start(thread.fiber, run_thread, nullptr)) return;
  twin_fiber_give(thread.fiber);
  thread.fiber = nullptr;
  thread.state = FINISHED;
  finished++;
}

static void wait_here(thread_state state, const char *file, int line) {
  block_thread &thread = threads[current];
  thread.state = state;
  thread.file = file;
  thread.line = line;
  twin_fiber_suspend();
}

void twin_barrier(const char *file, int line) {
  waiting++;
  wait_here(AT_BARRIER, file, line);
}

/* Gives every lane its value and lets the warp continue. */
static void complete_shuffle(unsigned first, unsigned lanes) {
  uint64_t given[32];
  for (unsigned lane = 0; lane < lanes; lane++) given[lane] = threads[first + lane].value;
  for (unsigned lane = 0; lane < lanes; lane++) {
    block_thread &thread = threads[first + lane];
    if (thread.line != threads[first].line || thread.file != threads[first].file) {
      twin_fault_set(twin_format("lanes of one warp meet in different shuffles, %s:%d and %s:%d", thread.file, thread.line,
                                 threads[first].file, threads[first].line));
      twin_fiber_abandon();
    }
    if (thread.source >= 0) thread.value = given[thread.source];
    thread.state = AT_WORK;
    if (first + lane != current) ready.push_back(first + lane);
  }
  arrived[first / 32] = 0;
}

uint64_t twin_shuffle(unsigned mask, uint64_t value, int source, const char *file, int line) {
  const unsigned first = current / 32 * 32, lanes = std::min(32u, (unsigned)threads.size() - first);
  if (mask != 0xffffffffu || (lanes < 32 && source >= 0)) {
    twin_fault_set(
        twin_format("%s:%d: a shuffle with mask 0x%08x in a warp of %u lanes; all 32 take part", file, line, mask, lanes));
    twin_fiber_abandon();
  }
  const unsigned index = current;
  block_thread &thread = threads[index];
  thread.value = value;
  thread.source = source;
  thread.file = file;
  thread.line = line;
  if (++arrived[first / 32] == lanes) {
    complete_shuffle(first, lanes);
    ready.push_back(index); /* the last one continues when chance says so, as the others do */
    twin_fiber_suspend();
  } else {
    wait_here(AT_SHUFFLE, file, line);
  }
  return threads[index].value;
}

/* Nobody can continue: describes one who waits in vain. */
static std::string divergence_describe() {
  for (unsigned index = 0; index < threads.size(); index++)
    if (threads[index].state == AT_SHUFFLE)
      return twin_format("%s:%d: a shuffle is reached by %u of 32 lanes, among them thread ", threads[index].file,
                         threads[index].line, arrived[index / 32]) +
             thread_describe(index);
  unsigned first = 0;
  while (threads[first].state != AT_BARRIER) first++;
  for (unsigned index = first; index < threads.size(); index++)
    if (threads[index].state == AT_BARRIER &&
        (threads[index].line != threads[first].line || threads[index].file != threads[first].file))
      return twin_format("divergent barriers: some threads wait at %s:%d, some at %s:%d", threads[first].file,
                         threads[first].line, threads[index].file, threads[index].line);
  return twin_format("divergent barrier: %s:%d is reached by %u of %u threads, the others have finished", threads[first].file,
                     threads[first].line, waiting, (unsigned)threads.size());
}

static bool all_at_one_barrier() {
  if (waiting != threads.size()) return false;
  for (const block_thread &thread : threads)
    if (thread.line != threads[0].line || thread.file != threads[0].file) return false;
  return true;
}

/* Tells where the fault was, and drops the threads that wait. */
static void end_by_fault() {
  twin_fault_append(place_describe());
  for (block_thread &thread : threads) {
    if (thread.fiber) twin_fiber_drop(thread.fiber);
    thread.fiber = nullptr;
  }
}

static void fill_ready() {
  ready.resize(threads.size());
  std::iota(ready.begin(), ready.end(), 0u);
}

static void run_block() {
  if (kernel->statics_end > kernel->statics) memset(kernel->statics, 0xff, (size_t)(kernel->statics_end - kernel->statics));
  if (kernel->dynamic_bytes) memset(dynamic, 0xff, kernel->dynamic_bytes);
  for (block_thread &thread : threads) thread = block_thread();
  arrived.assign(arrived.size(), 0);
  waiting = finished = 0;
  fill_ready();
  for (;;) {
    while (!ready.empty()) {
      const size_t chosen = twin_random(ready.size());
      const unsigned index = ready[chosen];
      ready[chosen] = ready.back();
      ready.pop_back();
      advance(index);
      if (twin_fault_is_set()) return end_by_fault();
    }
    current = NONE;
    if (finished == threads.size()) return;
    if (!all_at_one_barrier()) {
      twin_fault_set(divergence_describe());
      return end_by_fault();
    }
    for (block_thread &thread : threads) thread.state = AT_WORK;
    waiting = 0;
    fill_ready();
  }
}

static void prepare_threads(const twin_kernel &launched) {
  kernel = &launched;
  blockDim = launched.block;
  gridDim = launched.grid;
  const unsigned count = launched.block.x * launched.block.y * launched.block.z;
  threads.resize(count);
  arrived.resize((count + 31) / 32);
  indices.clear();
  for (unsigned z = 0; z < launched.block.z; z++)
    for (unsigned y = 0; y < launched.block.y; y++)
      for (unsigned x = 0; x < launched.block.x; x++) indices.push_back(uint3{x, y, z});
  prepare_shared(launched.dynamic_bytes);
}

void twin_kernel_run(const twin_kernel &launched) {
  prepare_threads(launched);
  const uint64_t blocks = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
  /* Steps that share no factor with `blocks` visit every block. */
  uint64_t step = 1 + twin_random(blocks), block = twin_random(blocks);
  while (std::gcd(step, blocks) != 1) step++;
  for (uint64_t i = 0; i < blocks && !twin_fault_is_set(); i++, block = (block + step) % blocks) {
    blockIdx = uint3{(unsigned)(block % gridDim.x), (unsigned)(block / gridDim.x % gridDim.y),
                     (unsigned)(block / gridDim.x / gridDim.y)};
    run_block();
  }
  kernel = nullptr;
  current = NONE;
}

int twin_lane(void) { return (int)(current % 32); }

void twin_trap(const char *file, int line) {
  twin_fault_set(twin_format("%s:%d: __trap", file, line));
  twin_fiber_abandon();
}
