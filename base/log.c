#include "base/log.h"
#include "base/text.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one line at a time */
static mz_log_sink current_sink;                         /* NULL: stderr */
static void *current_context;
static atomic_int verbosity = MZ_LOG_INFO;

static void write_to_stderr(mz_log_level level, const char *line) {
  static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
  fprintf(stderr, "%s%s\n", prefix[level], line);
}

void mz_log_write(mz_log_level level, const char *format, ...) {
  if ((int)level > atomic_load_explicit(&verbosity, memory_order_relaxed)) return;
  char text[LINE_MAX_BYTES], line[MZ_PRINTABLE_SIZE(LINE_MAX_BYTES)];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  mz_text_printable(text, line, sizeof line);
  pthread_mutex_lock(&lock);
  if (current_sink != NULL)
    current_sink(current_context, level, line);
  else
    write_to_stderr(level, line);
  pthread_mutex_unlock(&lock);
}

void mz_log_set_sink(mz_log_sink sink, void *context) {
  pthread_mutex_lock(&lock);
  current_sink = sink;
  current_context = context;
  pthread_mutex_unlock(&lock);
}

void mz_log_set_level(mz_log_level most_verbose) { atomic_store_explicit(&verbosity, (int)most_verbose, memory_order_relaxed); }
