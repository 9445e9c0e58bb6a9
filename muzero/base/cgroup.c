#include "muzero/base/cgroup.h"
#include "muzero/base/file.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096, FILE_BYTES = 1 << 16 };

/* The text of folder/name; NULL when there is none (which is no error: a group need not have every limit). free(). */
static char *read_text(const char *folder, const char *name) {
  char path[PATH_BYTES];
  uint8_t *data = NULL;
  size_t size = 0;
  if (mz_path_join(path, sizeof path, folder, name) != MZ_OK || mz_file_read(path, FILE_BYTES, &data, &size) != MZ_OK)
    return NULL;
  return (char *)data;
}

/* The number that a text starts with, 0 where it starts with none ("max"); *end: behind it. */
static double leading_number(const char *text, char **end) {
  const double number = strtod(text, end);
  return *end != text && isfinite(number) ? number : 0;
}

/* cpu.max is "QUOTA PERIOD" or "max PERIOD", in microseconds. */
static double cores_v2(const char *folder) {
  char *text = read_text(folder, "cpu.max"), *end = NULL;
  if (text == NULL) return 0;
  const double quota = leading_number(text, &end), period = leading_number(end, &end);
  free(text);
  return quota > 0 && period > 0 ? quota / period : 0;
}

static double number_in(const char *folder, const char *name) {
  char *text = read_text(folder, name), *end = NULL;
  const double number = text != NULL ? leading_number(text, &end) : 0;
  free(text);
  return number;
}

static double cores_v1(const char *folder) {
  const double quota = number_in(folder, "cpu.cfs_quota_us"), period = number_in(folder, "cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : 0; /* the quota is -1 where there is none */
}

static double memory_v2(const char *folder) { return number_in(folder, "memory.max"); /* "max" is no number */ }

static double memory_v1(const char *folder) {
  const double limit = number_in(folder, "memory.limit_in_bytes");
  return limit < 0x1p62 ? limit : 0; /* no limit is the largest whole number of pages */
}

static bool is_listed(const char *controllers, size_t length, const char *wanted) {
  const size_t n = strlen(wanted);
  for (const char *c = controllers; c < controllers + length; c += strcspn(c, ",:") + 1) {
    if (strncmp(c, wanted, n) == 0 && (c[n] == ',' || c[n] == ':')) return true;
  }
  return false;
}

/* Own group's path from lines "ID:CONTROLLERS:/path"; version 2 has no controllers. False when there is no such line. */
static bool own_group(const char *self, const char *controller, char *out, size_t size) {
  char *text = read_text("", self);
  bool found = false;
  for (char *line = text; line != NULL && *line != '\0' && !found; line += strcspn(line, "\n"), line += *line == '\n') {
    const char *controllers = strchr(line, ':');
    const char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL) break;
    const size_t length = (size_t)(path - controllers - 1);
    found = controller == NULL ? length == 0 : is_listed(controllers + 1, length, controller);
    if (found) snprintf(out, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
  }
  free(text);
  return found;
}

/* The least limit from the own group up to the root; 0: none. A group that is not there (a container sees its own as the
 * root) has no limits, and its parents are asked. */
static double least(const char *root, const char *mount, const char *self, const char *controller,
                    double (*limit_of)(const char *)) {
  char group[PATH_BYTES], folder[2 * PATH_BYTES];
  if (!own_group(self, controller, group, sizeof group)) return 0;
  double smallest = 0;
  for (;;) {
    snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
    const double limit = limit_of(folder);
    if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
    char *slash = strrchr(group, '/');
    if (slash == NULL || group[0] == '\0') return smallest;
    *slash = '\0';
  }
}

double mz_cgroup_cores(const char *root, const char *self) {
  const double quota = least(root, "", self, NULL, cores_v2);
  return quota > 0 ? quota : least(root, "/cpu", self, "cpu", cores_v1);
}

uint64_t mz_cgroup_memory(const char *root, const char *self) {
  double limit = least(root, "", self, NULL, memory_v2);
  if (!(limit > 0)) limit = least(root, "/memory", self, "memory", memory_v1);
  return (uint64_t)limit;
}
