/* The allocation functions in front of the C library's: those that the program itself, cJSON or zstd calls are counted and fail
 * when their turn comes; the caller is known by its return address. Sanitizers have allocation functions of their own. */
#include "tests/fault/inject.h"
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RANGES_MAX = 16 };
typedef struct range {
  uintptr_t begin, end, base;
  const char *name;
} range;

static range ranges[RANGES_MAX]; /* code of whom allocations may fail */
static int range_count;

static int add_code(struct dl_phdr_info *object, size_t size, void *first) {
  (void)size;
  int *number = first;
  const bool program = (*number)++ == 0; /* is listed first, without a name */
  const char *name = program                                   ? "muzero"
                     : strstr(object->dlpi_name, "/libcjson.") ? "cjson"
                     : strstr(object->dlpi_name, "/libzstd.")  ? "zstd"
                                                               : NULL;
  for (int i = 0; name != NULL && i < object->dlpi_phnum && range_count < RANGES_MAX; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    ranges[range_count++] = (range){.begin = begin, .end = begin + part->p_memsz, .base = object->dlpi_addr, .name = name};
  }
  return 0;
}

__attribute__((constructor)) static void find_code(void) {
  int number = 0;
  dl_iterate_phdr(add_code, &number);
}

static bool fails(const void *caller) {
  const uintptr_t at = (uintptr_t)caller;
  for (int i = 0; i < range_count; i++) {
    if (at < ranges[i].begin || at >= ranges[i].end) continue;
    if (!fault_hits(FAULT_MEMORY, "%s+0x%lx", ranges[i].name, (unsigned long)(at - ranges[i].base - 1))) return false;
    errno = ENOMEM;
    return true;
  }
  return false;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
char *strdup(const char *text);

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
char *strdup(const char *text) {
  const size_t size = strlen(text) + 1;
  char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}
#endif
