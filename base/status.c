#include "base/status.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static _Thread_local char last_message[MZ_MESSAGE_MAX];
static atomic_long allocations_until_failure; /* test hook; 0 and below: never fail */

mz_status mz_fail(mz_status code, const char *format, ...) {
  char text[MZ_MESSAGE_MAX]; /* apart from last_message, which may itself be one of the arguments */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  memcpy(last_message, text, sizeof text);
  return code;
}

const char *mz_message(void) { return last_message; }

void mz_assert_failed(const char *condition, const char *file, int line) {
  fprintf(stderr, "muzero: internal error: %s:%d: not so: %s\n", file, line, condition);
  abort();
}

int mz_alloc_hook_fails(void) {
  if (atomic_load_explicit(&allocations_until_failure, memory_order_relaxed) <= 0) return 0;
  return atomic_fetch_sub_explicit(&allocations_until_failure, 1, memory_order_relaxed) == 1;
}

/* Large blocks in large pages, where the system has them: fewer misses of the TLB. A wish; it may go unheard. */
static void ask_for_huge_pages(void *block, size_t size) {
  const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
                  end = ((uintptr_t)block + size) / HUGE_PAGE * HUGE_PAGE;
  if (first < end) (void)madvise((char *)block + (first - (uintptr_t)block), end - first, MADV_HUGEPAGE);
}

mz_status mz_alloc(void *out_pointer, size_t count, size_t element_size) {
  void *block = NULL;
  size_t size = 0;
  const int too_large = __builtin_mul_overflow(count, element_size, &size) || size > (size_t)PTRDIFF_MAX - (ALIGNMENT - 1);
  if (!too_large && !mz_alloc_hook_fails()) {
    /* aligned_alloc wants a multiple of the alignment; at least one line, so that no success is NULL */
    const size_t rounded = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block = aligned_alloc(ALIGNMENT, rounded);
    if (block != NULL) {
      ask_for_huge_pages(block, rounded);
      memset(block, 0, rounded);
    }
  }
  memcpy(out_pointer, &block, sizeof block); /* the caller's pointer may be of any object type */
  if (block != NULL) return MZ_OK;
  return mz_fail(MZ_E_MEMORY, "memory: %zu × %zu bytes could not be had", count, element_size);
}

mz_status mz_reserve_one(void *items_pointer, int *capacity, int count, size_t element_size) {
  enum { FIRST = 16 };
  if (count < *capacity) return MZ_OK;
  const int larger = *capacity > 0 ? 2 * *capacity : FIRST;
  void *old, *items;
  memcpy(&old, items_pointer, sizeof old);
  MZ_TRY(mz_alloc(&items, (size_t)larger, element_size));
  if (count > 0) memcpy(items, old, (size_t)count * element_size);
  free(old);
  memcpy(items_pointer, &items, sizeof items);
  *capacity = larger;
  return MZ_OK;
}

long mz_alloc_fail_after(long n) { return atomic_exchange_explicit(&allocations_until_failure, n, memory_order_relaxed); }
