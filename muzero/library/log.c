/* Version, message and log. */
#include "base/log.h"
#include "muzero/library/call.h"
#include <pthread.h>

_Static_assert((int)MUZERO_LOG_ERROR == (int)MZ_LOG_ERROR && (int)MUZERO_LOG_WARNING == (int)MZ_LOG_WARNING &&
                   (int)MUZERO_LOG_INFO == (int)MZ_LOG_INFO && (int)MUZERO_LOG_DEBUG == (int)MZ_LOG_DEBUG,
               "a level has one number inside and outside");

const char *muzero_version(void) { return MUZERO_VERSION; }
const char *muzero_message(void) { return mz_message(); }

/* Held while the callback runs: once muzero_log_set has returned, the callback before it does not run any more. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static muzero_log_callback current;
static void *current_context;

static void pass_on(void *unused, mz_log_level level, const char *line) {
  (void)unused;
  pthread_mutex_lock(&lock);
  mz_call_set_in_log(1);
  if (current) current(current_context, (muzero_log_level)level, line);
  mz_call_set_in_log(0);
  pthread_mutex_unlock(&lock);
}

muzero_status muzero_log_set(muzero_log_callback callback, void *context, muzero_log_level most_verbose) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  if ((int)most_verbose < MZ_LOG_ERROR || (int)most_verbose > MZ_LOG_DEBUG)
    return mz_call_end(&call, mz_failure(MUZERO_E_USAGE, "%s: %d is no level; takes %d … %d", __func__, (int)most_verbose,
                                         MZ_LOG_ERROR, MZ_LOG_DEBUG));
  pthread_mutex_lock(&lock);
  current = callback;
  current_context = context;
  pthread_mutex_unlock(&lock);
  mz_log_set_sink(callback ? pass_on : NULL, NULL);
  mz_log_set_level((mz_log_level)most_verbose);
  return mz_call_end(&call, MUZERO_OK);
}
