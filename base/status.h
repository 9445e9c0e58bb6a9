/* Errors. A function that can fail returns mz_status and gives its results through out-pointers. The message is written
 * once, where the cause is known, as "what: where: why; nearest valid value", and read by whoever reports it.
 * Thread safety: the message is per thread. A pool hands a task's status and message to the thread that waits. */
#pragma once
#include "base/shared.h"
#include <stdio.h>
#include <stdlib.h>

/* The values are the program's exit codes (docs/guarantees.md, "Signals and exit codes"). */
typedef enum mz_status {
  MZ_OK = 0,
  MZ_E_INTERNAL = 1, /* our mistake, or memory that could not be had */
  MZ_E_USAGE = 2,
  MZ_E_CONFIG = 3,
  MZ_E_CHECKPOINT = 4,
  MZ_E_IO = 5,
  MZ_E_DEVICE = 6,
  MZ_E_MEMORY = 7,   /* an allocation failed; the command line exits with 1 */
  MZ_E_DIVERGED = 8, /* training came to numbers that are not finite or not allowed; the command line exits with 3 */
  MZ_INTERRUPTED = 75,
} mz_status;

#define MZ_MESSAGE_MAX 1024

MZ_C_BEGIN

/* Records the message for this thread and returns `code`. A message that does not fit is cut. mz_message() may be an argument. */
mz_status mz_fail(mz_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The message of this thread's last failure; "" when there was none. Valid until the next mz_fail on this thread. */
const char *mz_message(void);

#define MZ_TRY(expr)                                                                                                             \
  do {                                                                                                                           \
    mz_status mz_try_status_ = (expr);                                                                                           \
    if (mz_try_status_ != MZ_OK) return mz_try_status_;                                                                          \
  } while (0)

/* As MZ_TRY where several things are owned: needs `mz_status status` and a label `cleanup`. */
#define MZ_TRY_CLEANUP(expr)                                                                                                     \
  do {                                                                                                                           \
    status = (expr);                                                                                                             \
    if (status != MZ_OK) goto cleanup;                                                                                           \
  } while (0)

/* For our own mistakes only; stays on in release; the expression has no side effects. */
#define MZ_ASSERT(cond) ((cond) ? (void)0 : mz_assert_failed(#cond, __FILE__, __LINE__))
__attribute__((noreturn)) void mz_assert_failed(const char *condition, const char *file, int line);

/* Zeroed memory, aligned to 64 bytes (whole cache lines and AVX-512 vectors), never NULL on MZ_OK even for zero bytes.
 * Free with free(). The test hook below makes the n-th allocation from now fail (0: never). */
mz_status mz_alloc(void *out_pointer, size_t count, size_t element_size);
/* Makes room for one more element behind `count` of them: *items_pointer, an array of mz_alloc or NULL, is replaced by one of twice
 * the *capacity where it is full. MZ_E_MEMORY: both stay as they were. */
mz_status mz_reserve_one(void *items_pointer, int *capacity, int count, size_t element_size);
/* Returns how many allocations were left until the failure that was asked for before; 0: it came, or there was none. */
long mz_alloc_fail_after(long n);
/* Returns whether the hook wants an allocation made elsewhere to fail, and counts it. */
int mz_alloc_hook_fails(void);

MZ_C_END
