#include "fiber.h"
#include "sanitize.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

static const size_t STACK_BYTES = 256 << 10, GUARD_BYTES = 64 << 10;

#if defined(__x86_64__)
/* A suspended context is its stack pointer; what the ABI preserves lies there. */
typedef void *context;
extern "C" void twin_fiber_switch(void **from, void *to);
asm(R"(
  .text
  .globl twin_fiber_switch
  .hidden twin_fiber_switch
  .type twin_fiber_switch, @function
twin_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size twin_fiber_switch, .-twin_fiber_switch
)");
static void context_switch(context *from, context *to) { twin_fiber_switch(from, *to); }
static void context_make(context *made, unsigned char *stack, size_t bytes, void (*entry)()) {
  void **top = (void **)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
  *--top = nullptr; /* ends backtraces, and aligns the stack as a call would */
  *--top = (void *)entry;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  *made = top;
}
#else
typedef ucontext_t context;
static void context_switch(context *from, context *to) { swapcontext(from, to); }
static void context_make(context *made, unsigned char *stack, size_t bytes, void (*entry)()) {
  getcontext(made);
  made->uc_stack.ss_sp = stack;
  made->uc_stack.ss_size = bytes;
  made->uc_link = nullptr;
  makecontext(made, entry, 0);
}
#endif

struct twin_fiber {
  unsigned char *stack; /* above the guard */
  size_t bytes;
  context saved;
  void (*work)(void *);
  void *argument;
  bool is_done, is_abandoned;
  twin_stack watched;
};

static twin_fiber *running; /* NULL: the runner is on its own stack */
static context runner;
static twin_stack runner_watched;

static std::vector<twin_fiber *> &idle() {
  static auto &list = *new std::vector<twin_fiber *>();
  return list;
}
static std::vector<const unsigned char *> &guards() {
  static auto &list = *new std::vector<const unsigned char *>();
  return list;
}

twin_fiber *twin_fiber_take(void) {
  if (!idle().empty()) {
    twin_fiber *const fiber = idle().back();
    idle().pop_back();
    return fiber;
  }
  const size_t whole = STACK_BYTES + GUARD_BYTES;
  void *const memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "cuda twin: no memory for the stack of a thread\n");
    abort();
  }
  mprotect(memory, GUARD_BYTES, PROT_NONE);
  twin_fiber *const made = new twin_fiber();
  made->stack = (unsigned char *)memory + GUARD_BYTES;
  made->bytes = STACK_BYTES - guards().size() % 64 * 64; /* tops of stacks in different sets of the cache */
  made->watched.bottom = made->stack;
  made->watched.bytes = made->bytes;
  twin_stack_create(&made->watched);
  guards().push_back((const unsigned char *)memory);
  return made;
}

void twin_fiber_give(twin_fiber *fiber) { idle().push_back(fiber); }

void twin_fiber_drop(twin_fiber *fiber) {
  twin_stack_renew(&fiber->watched);
  twin_fiber_give(fiber);
}

/* Switches to the fiber; returns when it comes back. */
static bool enter(twin_fiber *fiber) {
  running = fiber;
  twin_stack_current(&runner_watched);
  twin_stack_leave(&runner_watched, fiber->watched);
  context_switch(&runner, &fiber->saved);
  twin_stack_enter(runner_watched, &fiber->watched);
  running = nullptr;
  if (fiber->is_abandoned) twin_stack_renew(&fiber->watched);
  fiber->is_abandoned = false;
  return fiber->is_done;
}

/* Switches to the runner; returns when the fiber is resumed, unless it is done. */
static void leave(twin_fiber *fiber) {
  twin_stack_leave(fiber->is_done ? nullptr : &fiber->watched, runner_watched);
  context_switch(&fiber->saved, &runner);
  twin_stack_enter(fiber->watched, &runner_watched);
}

static void fiber_main() {
  twin_fiber *const fiber = running;
  fiber->watched.fake = nullptr; /* a new stack has none yet */
  twin_stack_enter(fiber->watched, &runner_watched);
  fiber->work(fiber->argument);
  fiber->is_done = true;
  leave(fiber);
  abort(); /* a fiber that is done is not resumed */
}

bool twin_fiber_start(twin_fiber *fiber, void (*work)(void *), void *argument) {
  fiber->work = work;
  fiber->argument = argument;
  fiber->is_done = false;
  context_make(&fiber->saved, fiber->stack, fiber->bytes, fiber_main);
  return enter(fiber);
}

bool twin_fiber_resume(twin_fiber *fiber) { return enter(fiber); }

void twin_fiber_suspend(void) { leave(running); }

void twin_fiber_abandon(void) {
  twin_fiber *const fiber = running;
  fiber->is_done = fiber->is_abandoned = true;
  leave(fiber);
  abort();
}

bool twin_fiber_is_running(void) { return running != nullptr; }

bool twin_fiber_is_guard(const void *address) {
  for (const unsigned char *guard : guards())
    if (address >= guard && address < guard + GUARD_BYTES) return true;
  return false;
}
