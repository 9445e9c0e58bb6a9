#include "cli/print.h"
#include "cli/signals.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *mz_text_count(double count, char out[MZ_TEXT_SIZE]) {
  static const struct {
    double unit;
    const char *suffix;
  } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  if (!isfinite(count)) return mz_text_number(count, out);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (fabs(count) >= units[i].unit) {
      const double scaled = count / units[i].unit;
      snprintf(out, MZ_TEXT_SIZE, "%.*f%s", fabs(scaled) < 10 ? 2 : fabs(scaled) < 100 ? 1 : 0, scaled, units[i].suffix);
      return out;
    }
  snprintf(out, MZ_TEXT_SIZE, "%.*f", count == floor(count) || fabs(count) >= 100 ? 0 : 1, count);
  return out;
}

const char *mz_text_time(double seconds, char out[MZ_TEXT_SIZE]) {
  const long whole = isfinite(seconds) && seconds < 1e9 ? (long)seconds : -1;
  if (whole < 0) return mz_text_number(NAN, out);
  if (whole < 60)
    snprintf(out, MZ_TEXT_SIZE, "%.1f s", seconds);
  else if (whole < 3600)
    snprintf(out, MZ_TEXT_SIZE, "%ldm %02lds", whole / 60, whole % 60);
  else
    snprintf(out, MZ_TEXT_SIZE, "%ldh %02ldm", whole / 3600, whole % 3600 / 60);
  return out;
}

const char *mz_text_bytes(double bytes, char out[MZ_TEXT_SIZE]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, unit++;
  snprintf(out, MZ_TEXT_SIZE, "%.*f %s", unit == 0 || bytes >= 100 ? 0 : 1, bytes, units[unit]);
  return out;
}

const char *mz_text_number(double number, char out[MZ_TEXT_SIZE]) {
  if (isfinite(number))
    snprintf(out, MZ_TEXT_SIZE, "%.4g", number);
  else
    snprintf(out, MZ_TEXT_SIZE, "-");
  return out;
}

int mz_text_columns(const char *text, size_t bytes) {
  int columns = 0;
  for (size_t i = 0; i < bytes; i++) columns += (text[i] & 0xc0) != 0x80;
  return columns;
}

const char *mz_text_spark(const double *values, int count, bool unicode, char *out) {
  static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < count; i++) low = fmin(low, values[i]), high = fmax(high, values[i]);
  char *at = out;
  *at = 0;
  for (int i = 0; i < count; i++) {
    const double share = high > low ? (values[i] - low) / (high - low) : 0.5;
    if (unicode)
      at = stpcpy(at, blocks[(int)(share * 7.999)]);
    else
      *at++ = (char)('0' + (int)(share * 9.999)), *at = 0;
  }
  return out;
}

const char *mz_text_shown(const char *text, char out[MZ_SHOWN_SIZE]) { return mz_text_printable(text, out, MZ_SHOWN_SIZE); }

static mz_status show_string(char **string) {
  if (!*string) return MZ_OK;
  const size_t size = MZ_PRINTABLE_SIZE(strlen(*string));
  char *shown = cJSON_malloc(size);
  if (!shown) return mz_fail(MZ_E_MEMORY, "out of memory for text to print");
  mz_text_printable(*string, shown, size);
  cJSON_free(*string);
  *string = shown;
  return MZ_OK;
}

mz_status mz_json_show(cJSON *json) {
  MZ_TRY(show_string(&json->string));
  if (cJSON_IsString(json)) MZ_TRY(show_string(&json->valuestring));
  for (cJSON *child = json->child; child; child = child->next) MZ_TRY(mz_json_show(child));
  return MZ_OK;
}

static bool readers_may_leave;

void mz_print_let_readers_leave(void) { readers_may_leave = true; }

/* A pipe or socket that nobody reads from any more. */
static bool reader_left(void) {
  struct stat file;
  struct pollfd out = {.fd = STDOUT_FILENO};
  if (fstat(STDOUT_FILENO, &file) != 0 || !(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode))) return false;
  return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

/* A terminal that has hung up has no reader who misses anything. ferror may speak of an earlier write, whose errno is gone. */
static mz_status lost(void) {
  const int error = errno;
  if (mz_signals_hung_up() || (readers_may_leave && reader_left())) return MZ_OK;
  errno = error;
  return mz_fail(MZ_E_IO, "standard output: %s", errno ? strerror(errno) : "could not be written");
}

mz_status mz_print_json(cJSON *object) {
  char *line = object ? mz_json_line(object) : NULL;
  cJSON_Delete(object);
  if (!line) return mz_fail(MZ_E_MEMORY, "out of memory while printing JSON");
  const int written = printf("%s\n", line);
  free(line);
  return written < 0 || fflush(stdout) != 0 ? lost() : MZ_OK;
}

mz_status mz_print_flush(void) { return fflush(stdout) != 0 || ferror(stdout) ? lost() : MZ_OK; }

void mz_print_progress(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\r\033[K\033[?7l%s\033[?7h", text);
}
