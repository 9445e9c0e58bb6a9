#include "work.h"
#include "fault.h"
#include "fiber.h"
#include "memory.h"
#include "state.h"

static int device_open; /* whose memory may be open */

static std::string &last_name() {
  static auto &name = *new std::string();
  return name;
}

static void fault(int device, const std::string &why) {
  twin_violate(why);
  twin().sticky[(size_t)device] = cudaErrorIllegalAddress;
}

void twin_work_close(void) {
  const std::string why = twin_memory_close();
  if (!why.empty()) fault(device_open, why + "; the last work was " + last_name());
}

std::string twin_work_name(const twin_op &op) { return op.kernel ? "kernel " + twin_kernel_name(op.kernel->function) : op.name; }

static void call_work(void *op) { static_cast<const twin_op *>(op)->work(); }

static void run_host_work(const twin_op &op) {
  twin_fiber *const fiber = twin_fiber_take();
  if (!twin_fiber_start(fiber, call_work, const_cast<twin_op *>(&op))) twin_fault_set(op.name + ": waits where nobody wakes it");
  twin_fiber_drop(fiber);
}

void twin_work_run(const twin_op &op, int device) {
  if (device != device_open || twin_race_is_watched()) twin_work_close();
  device_open = device;
  for (const twin_range &range : op.ranges) {
    const std::string why = twin_range_check(range, device);
    if (!why.empty()) return fault(device, op.name + ": " + why);
    twin_allocation *const touched = range.bytes ? twin_allocation_find(range.pointer) : nullptr;
    if (touched && !twin_race_is_watched()) twin_memory_open(touched);
  }
  last_name() = twin_work_name(op);
  twin_fault_begin(device, op.kernel ? nullptr : &op.ranges);
  twin_is_running = true;
  if (op.kernel)
    twin_kernel_run(*op.kernel);
  else if (op.work)
    run_host_work(op);
  twin_is_running = false;
  if (op.kernel) twin().counters.kernels++;
  if (twin_fault_is_set()) {
    const std::string why = twin_fault_take();
    fault(device, op.kernel ? why : why + ", in " + op.name);
  }
}
