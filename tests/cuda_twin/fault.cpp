#include "fault.h"
#include "fiber.h"
#include "kernel.h"
#include "memory.h"
#include "race.h"
#include "state.h"
#include <csignal>
#include <ucontext.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

static int device_running;
static const std::vector<twin_range> *ranges_running; /* NULL: all of the device's memory */
static bool is_set;
static struct sigaction previous;

static siginfo_t fault_access; /* of the fault, while `is_access` */
static bool is_access;

static std::string &reason() {
  static auto &text = *new std::string();
  return text;
}

void twin_fault_set(const std::string &why) {
  reason() = why;
  is_set = true;
}

bool twin_fault_is_set(void) { return is_set; }

static std::string access_describe() {
  const void *const address = fault_access.si_addr;
  if (fault_access.si_code == SI_KERNEL) return "a misaligned access, or one to an address that cannot be";
  if (twin_fiber_is_guard(address)) return "a thread's stack of 256 KiB is used up";
  if (twin_kernel_is_shared_guard(address)) return "access behind the block's dynamic shared memory";
  return "access to " + twin_address_describe(address);
}

void twin_fault_append(const std::string &place) {
  if (is_access) reason() = access_describe();
  is_access = false;
  reason() += place;
}

std::string twin_fault_take(void) {
  twin_fault_append("");
  is_set = false;
  return reason();
}

static bool may_touch(const void *address) {
  if (!ranges_running) return true;
  for (const twin_range &range : *ranges_running)
    if (address >= range.pointer && address < (const char *)range.pointer + range.bytes) return true;
  return false;
}

static bool is_write([[maybe_unused]] const ucontext_t &interrupted) {
#if defined(__x86_64__)
  return interrupted.uc_mcontext.gregs[REG_ERR] & 2; /* of the page fault's error code */
#else
  return true;
#endif
}

/* Opens the allocation that work touched, or where races are watched for, the page. */
static void open_touched(twin_allocation *touched, const void *address, bool writes) {
  if (twin_race_is_watched())
    twin_race_touch(twin_memory_open_page(touched, address, writes), address, writes);
  else
    twin_memory_open(touched);
}

/* Work touched memory that is closed, which opens when it may. The signal came in the midst of the work, so that words, which
 * need memory, are left to the runner. */
static void handle_work(const siginfo_t &info, const ucontext_t &interrupted) {
  twin_allocation *const touched = twin_allocation_find(info.si_addr);
  if (touched && touched->device == device_running && !touched->is_open && may_touch(info.si_addr))
    return open_touched(touched, info.si_addr, is_write(interrupted));
  fault_access = info;
  is_set = is_access = true;
  pthread_sigmask(SIG_SETMASK, &interrupted.uc_sigmask, nullptr); /* the handler never returns to restore it */
  twin_fiber_abandon();
}

/* The host touched device memory, or made a mistake that is none of the twin's. Only calls that a signal handler may make. */
static void handle_host(int signal, siginfo_t *info, void *context) {
  if (twin_memory_is_device_region(info->si_addr)) {
    static const char text[] =
        "cuda twin: violation: the host accessed device memory, or pinned memory after it was freed, outside of kernels, "
        "copies and library calls\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) abort();
  }
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  sigaction(signal, &previous, nullptr); /* the access is tried again, and ends the process */
}

static void handle(int signal, siginfo_t *info, void *context) {
  if (twin_is_running && twin_fiber_is_running())
    handle_work(*info, *static_cast<const ucontext_t *>(context));
  else
    handle_host(signal, info, context);
}

/* Handlers need a stack of their own where a fiber's is used up. */
static void use_signal_stack() {
  stack_t now;
  sigaltstack(nullptr, &now);
  if (!(now.ss_flags & SS_DISABLE)) return;
  static thread_local struct signal_stack {
    void *memory = malloc(64 << 10);
    ~signal_stack() {
      const stack_t none = {nullptr, SS_DISABLE, 0};
      sigaltstack(&none, nullptr);
      free(memory);
    }
  } stack;
  const stack_t own = {stack.memory, 0, 64 << 10};
  sigaltstack(&own, nullptr);
}

/* Tests' frameworks install handlers of their own, or put ours back without its flags. */
void twin_fault_handler_install(void) {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  const bool is_ours = now.sa_sigaction == handle;
  if (is_ours && (now.sa_flags & SA_SIGINFO)) return;
  if (!is_ours) previous = now;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
}

void twin_fault_begin(int device, const std::vector<twin_range> *ranges) {
  twin_fault_handler_install();
  use_signal_stack();
  device_running = device;
  ranges_running = ranges;
}

/* Before main, so that the host is told of device memory that it touches before any work ran. */
__attribute__((constructor)) static void install() { twin_fault_handler_install(); }

/* The twin may be part of a library that is closed. */
__attribute__((destructor)) static void restore() {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == handle) sigaction(SIGSEGV, &previous, nullptr);
}
