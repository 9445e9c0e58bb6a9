/* Diagnostics. Nothing below cli/ prints to stdout; everything said goes through one sink, by default stderr.
 * Thread safe: a line is written whole. Control characters and invalid UTF-8 from outside reach the sink as \xNN. */
#pragma once
typedef enum mz_log_level { MZ_LOG_ERROR, MZ_LOG_WARNING, MZ_LOG_INFO, MZ_LOG_DEBUG } mz_log_level;

typedef void (*mz_log_sink)(void *context, mz_log_level level, const char *line);

void mz_log_write(mz_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* NULL restores stderr. Set before threads start. */
void mz_log_set_sink(mz_log_sink sink, void *context);
void mz_log_set_level(mz_log_level most_verbose);
