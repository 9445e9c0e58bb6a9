/* The beginning and the end that every public function has: it refuses calls from a log callback, enters the handle, and keeps what
 * the calling thread has set for itself. Also the reading and writing of structs that have a size. */
#pragma once
#include "base/threads/numerics.h"
#include "muzero/library/failure.h"
#include "muzero/library/handle.h"

typedef struct mz_call {
  const char *function;
  const void *handle; /* NULL: entered none */
  void *object;       /* the handle's */
  /* the caller's */
  int omp_threads; /* oneDNN's use changes it */
  mz_numerics numerics;
} mz_call;

/* Begins a call without a handle, or on one. After a failure nothing is to be ended. */
muzero_status mz_call_begin(mz_call *call, const char *function);
muzero_status mz_call_begin_on(mz_call *call, const char *function, mz_handle_kind kind, const void *handle);
/* Leaves the handle and returns `status`. */
muzero_status mz_call_end(mz_call *call, muzero_status status);
/* Ends the handle as well. */
muzero_status mz_call_end_closed(mz_call *call, muzero_status status);
/* Gives the thread's settings back for the time of a callback, and keeps them again. */
void mz_call_callback_begins(const mz_call *call);
void mz_call_callback_ended(mz_call *call);

/* Whether this thread is inside a log callback. */
void mz_call_set_in_log(int is_in_log);

/* Copies a struct with a leading size_t `size` as the caller gives it to `known`, a struct of known_size bytes that begins alike,
 * whose members beyond the caller's are zeroed. MUZERO_E_USAGE: `size` is below first_size, the struct's size in the first version;
 * it has members that this version does not know, which are not 0. `name`: the struct's. */
muzero_status mz_call_read(void *known, size_t known_size, size_t first_size, const void *given, const char *function,
                           const char *name);
/* Copies `known` to the caller's struct, as much as its size, which stays, has room for; members that this version does not know
 * become 0. */
muzero_status mz_call_write(void *given, size_t first_size, const void *known, size_t known_size, const char *function,
                            const char *name);
/* Copies a text and its NUL. MUZERO_E_USAGE, with the bytes wanted, where `size` does not hold it; nothing is written then. */
muzero_status mz_call_write_text(char *given, size_t size, const char *text, const char *function);

#define MUZERO_TRY(expr)                                                                                                         \
  do {                                                                                                                           \
    const muzero_status muzero_try_status_ = (expr);                                                                             \
    if (muzero_try_status_ != MUZERO_OK) return muzero_try_status_;                                                              \
  } while (0)
/* Returns from a public function with MUZERO_E_USAGE where the pointer `argument` is NULL. Needs `mz_call call`, begun. */
#define MUZERO_NOT_NULL(argument)                                                                                                \
  do {                                                                                                                           \
    if (!(argument))                                                                                                             \
      return mz_call_end(&call, mz_failure(MUZERO_E_USAGE, "%s: the argument '%s' is NULL", __func__, #argument));               \
  } while (0)
