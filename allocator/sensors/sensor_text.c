#include "allocator/sensors/sensor_text.h"
#include "base/file/file.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int mz_text_open_path(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }

int mz_text_open(const char *folder, const char *name) {
  char path[MZ_SENSOR_PATH];
  return mz_path_join(path, sizeof path, folder, name) == MZ_OK ? mz_text_open_path(path) : -1;
}

void mz_text_close(int fd) {
  if (fd >= 0) close(fd); /* was only read */
}

bool mz_text_read(int fd, char out[MZ_SENSOR_TEXT]) {
  if (fd < 0) return false;
  ssize_t length;
  do length = pread(fd, out, MZ_SENSOR_TEXT - 1, 0);
  while (length < 0 && errno == EINTR);
  out[length > 0 ? length : 0] = '\0';
  return length > 0;
}

bool mz_sensor_number(const char **at, double *out) {
  char *end;
  *out = strtod(*at, &end);
  if (end == *at || !isfinite(*out) || *out < 0) return false;
  *at = end;
  return true;
}

bool mz_text_field(const char *text, const char *key, double *out) {
  const size_t length = strlen(key);
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    const char *value = line + length;
    if (strncmp(line, key, length) == 0 && isblank((unsigned char)*value)) return mz_sensor_number(&value, out);
  }
  return false;
}
