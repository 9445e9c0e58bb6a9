/* Tells the sanitizers that are built in of bytes that nobody shall touch, and of switches between stacks. Does nothing without
 * them. */
#pragma once
#include <cstddef>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
static inline void twin_poison(const void *bytes, size_t count) { __asan_poison_memory_region(bytes, count); }
static inline void twin_unpoison(const void *bytes, size_t count) { __asan_unpoison_memory_region(bytes, count); }
#else
static inline void twin_poison(const void *, size_t) {}
static inline void twin_unpoison(const void *, size_t) {}
#endif

/* A stack, as sanitizers know it. */
struct twin_stack {
  const void *bottom;
  size_t bytes;
  void *fake;   /* AddressSanitizer's own, while the stack is left */
  void *thread; /* ThreadSanitizer's */
};

static inline void twin_stack_create(twin_stack *stack) {
#if defined(__SANITIZE_THREAD__)
  stack->thread = __tsan_create_fiber(0);
#else
  stack->thread = nullptr;
#endif
}

/* Frames of the stack will never return. */
static inline void twin_stack_renew(twin_stack *stack) {
  twin_unpoison(stack->bottom, stack->bytes);
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(stack->thread);
  stack->thread = __tsan_create_fiber(0);
#endif
}

/* Before a switch; `from` is NULL when it is left for good. */
static inline void twin_stack_leave(twin_stack *from, const twin_stack &to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(from ? &from->fake : nullptr, to.bottom, to.bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.thread, 0);
#endif
  (void)from, (void)to;
}

/* After a switch to `to`; tells of the stack that was left. */
static inline void twin_stack_enter(const twin_stack &to, twin_stack *left) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(to.fake, &left->bottom, &left->bytes);
#endif
  (void)to, (void)left;
}

/* Makes the stack that this thread has now known. */
static inline void twin_stack_current(twin_stack *stack) {
#if defined(__SANITIZE_THREAD__)
  stack->thread = __tsan_get_current_fiber();
#endif
  (void)stack;
}
