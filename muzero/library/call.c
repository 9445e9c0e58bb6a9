#include "muzero/library/call.h"
#include "base/log.h"
#include <omp.h>
#include <pthread.h>
#include <string.h>

/* A `size` above this is no size but a struct that was not initialised. */
enum { STRUCT_BYTES_MAX = 4096 };

static _Thread_local int in_log;

void mz_call_set_in_log(int is_in_log) { in_log = is_in_log; }

/* ---- beginning and end ---- */

/* A library is quieter than a program. */
static void quieten(void) { mz_log_set_level(MZ_LOG_WARNING); }

static void keep_settings(mz_call *call) {
  call->omp_threads = omp_get_max_threads();
  omp_set_num_threads(1);
  mz_numerics_enter(&call->numerics);
}

static void give_settings_back(const mz_call *call) {
  mz_numerics_restore(&call->numerics);
  omp_set_num_threads(call->omp_threads);
}

muzero_status mz_call_begin(mz_call *call, const char *function) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (in_log) return mz_failure(MUZERO_E_USAGE, "%s: a log callback must not call the library", function);
  pthread_once(&once, quieten);
  *call = (mz_call){.function = function};
  keep_settings(call);
  return MUZERO_OK;
}

muzero_status mz_call_begin_on(mz_call *call, const char *function, mz_handle_kind kind, const void *handle) {
  void *object;
  MUZERO_TRY(mz_call_begin(call, function));
  const muzero_status status = mz_handle_enter(handle, kind, function, &object);
  if (status != MUZERO_OK) return mz_call_end(call, status);
  call->handle = handle;
  call->object = object;
  return MUZERO_OK;
}

muzero_status mz_call_end(mz_call *call, muzero_status status) {
  give_settings_back(call);
  if (call->handle) mz_handle_leave(call->handle);
  return status;
}

muzero_status mz_call_end_closed(mz_call *call, muzero_status status) {
  mz_handle_destroy(call->handle);
  call->handle = NULL;
  return mz_call_end(call, status);
}

void mz_call_callback_begins(const mz_call *call) { give_settings_back(call); }
void mz_call_callback_ended(mz_call *call) { keep_settings(call); }

/* ---- structs that have a size, and texts ---- */

static muzero_status size_of(const void *given, size_t first_size, const char *function, const char *name, size_t *size) {
  memcpy(size, given, sizeof *size);
  if (*size >= first_size && *size <= STRUCT_BYTES_MAX) return MUZERO_OK;
  return mz_failure(MUZERO_E_USAGE, "%s: %s.size is %zu; set it to sizeof(%s), as the macro ..._INIT does", function, name, *size,
                    name);
}

muzero_status mz_call_read(void *known, size_t known_size, size_t first_size, const void *given, const char *function,
                           const char *name) {
  size_t size;
  MUZERO_TRY(size_of(given, first_size, function, name, &size));
  for (size_t i = known_size; i < size; i++) {
    if (((const char *)given)[i] == 0) continue;
    return mz_failure(MUZERO_E_USAGE, "%s: %s has a member at byte %zu that version %s of the library does not know", function,
                      name, i, MUZERO_VERSION);
  }
  memset(known, 0, known_size);
  memcpy(known, given, size < known_size ? size : known_size);
  return MUZERO_OK;
}

muzero_status mz_call_write(void *given, size_t first_size, const void *known, size_t known_size, const char *function,
                            const char *name) {
  size_t size;
  MUZERO_TRY(size_of(given, first_size, function, name, &size));
  char *members = (char *)given + sizeof size;
  memset(members, 0, size - sizeof size);
  memcpy(members, (const char *)known + sizeof size, (size < known_size ? size : known_size) - sizeof size);
  return MUZERO_OK;
}

muzero_status mz_call_write_text(char *given, size_t size, const char *text, const char *function) {
  const size_t wanted = strlen(text) + 1;
  if (size < wanted) return mz_failure(MUZERO_E_USAGE, "%s: the text takes %zu bytes, not %zu", function, wanted, size);
  memcpy(given, text, wanted);
  return MUZERO_OK;
}
