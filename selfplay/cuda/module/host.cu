/* The program's failures and allocations, which the module calls through what it was handed: its own copy of base/status.h. */
#include "selfplay/cuda/module/host.cuh"
#include <stdlib.h>
#include <string.h>

const mz_module_host *mz_host;

extern "C" {

mz_status mz_fail(mz_status code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const mz_status status = mz_host->fail(code, format, arguments);
  va_end(arguments);
  return status;
}

const char *mz_message(void) { return mz_host->message(); }

mz_status mz_alloc(void *out_pointer, size_t count, size_t element_size) {
  return mz_host->alloc(out_pointer, count, element_size);
}

mz_status mz_reserve_one(void *items_pointer, int *capacity, int count, size_t element_size) {
  return mz_host->reserve_one(items_pointer, capacity, count, element_size);
}

void mz_assert_failed(const char *condition, const char *file, int line) {
  fprintf(stderr, "muzero: internal error in the CUDA module: %s:%d: not so: %s\n", file, line, condition);
  abort();
}
}
