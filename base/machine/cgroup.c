#include "base/machine/cgroup.h"
#include "base/file/file.h"
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

/* Each of these asks one group, in its folder; INFINITY: no limit. */
typedef double (*limit_of)(const char *folder);

/* cpu.max is "QUOTA PERIOD" or "max PERIOD", in microseconds. */
static double cores_v2(const char *folder) {
  char *text = read_text(folder, "cpu.max"), *end = NULL;
  if (text == NULL) return INFINITY;
  const double quota = leading_number(text, &end), period = leading_number(end, &end);
  free(text);
  return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static double number_in(const char *folder, const char *name) {
  char *text = read_text(folder, name), *end = NULL;
  const double number = text != NULL ? leading_number(text, &end) : 0;
  free(text);
  return number;
}

/* The number behind `key` of a file with lines "key number"; 0 where there is none. */
static double number_of(const char *folder, const char *name, const char *key) {
  char *text = read_text(folder, name), *end = NULL;
  const size_t length = strlen(key);
  double number = 0;
  for (const char *line = text; line != NULL && *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, key, length) == 0 && line[length] == ' ') number = leading_number(line + length, &end);
  }
  free(text);
  return number;
}

static double cores_v1(const char *folder) {
  const double quota = number_in(folder, "cpu.cfs_quota_us"), period = number_in(folder, "cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : INFINITY; /* the quota is -1 where there is none */
}

static double memory_v2(const char *folder) {
  const double limit = number_in(folder, "memory.max"); /* "max" is no number */
  return limit > 0 ? limit : INFINITY;
}

static double memory_v1(const char *folder) {
  const double limit = number_in(folder, "memory.limit_in_bytes");
  return limit > 0 && limit < 0x1p62 ? limit : INFINITY; /* no limit is the largest whole number of pages */
}

static double left(double limit, double usage, double droppable) {
  const double used = usage > droppable ? usage - droppable : 0;
  return limit > used ? limit - used : 0;
}

static double memory_left_v2(const char *folder) {
  return left(memory_v2(folder), number_in(folder, "memory.current"), number_of(folder, "memory.stat", "inactive_file"));
}

static double memory_left_v1(const char *folder) {
  return left(memory_v1(folder), number_in(folder, "memory.usage_in_bytes"),
              number_of(folder, "memory.stat", "total_inactive_file"));
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

/* ---- the way from the own group up to the root ---- */

typedef struct walk {
  char mount[PATH_BYTES]; /* folder of the hierarchy's root */
  char group[PATH_BYTES]; /* "/a/b", "/a", "" */
  bool more;
} walk;

/* `controller` NULL: version 2. A group that is not there (a container sees its own as the root) has no files, and its parents
 * are asked. */
static walk walk_from_own(const char *root, const char *self, const char *controller) {
  walk w = {0};
  snprintf(w.mount, sizeof w.mount, "%s%s%s", root, controller != NULL ? "/" : "", controller != NULL ? controller : "");
  w.more = own_group(self, controller, w.group, sizeof w.group);
  return w;
}

/* False: the root was the last. */
static bool walk_next(walk *w, char *folder, size_t size) {
  if (!w->more) return false;
  const int length = snprintf(folder, size, "%s%s", w->mount, w->group);
  char *slash = strrchr(w->group, '/');
  w->more = slash != NULL;
  if (slash != NULL) *slash = '\0';
  return length >= 0 && (size_t)length < size;
}

static double least(const char *root, const char *self, const char *controller, limit_of limit) {
  char folder[PATH_BYTES];
  double smallest = INFINITY;
  walk w = walk_from_own(root, self, controller);
  while (walk_next(&w, folder, sizeof folder)) smallest = fmin(smallest, limit(folder));
  return smallest;
}

/* The path of `name` in the group with the least limit among those that have such a file. */
static bool find(const char *root, const char *self, const char *controller, limit_of limit, const char *name, char *out,
                 size_t size) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  double smallest = INFINITY;
  bool found = false;
  walk w = walk_from_own(root, self, controller);
  while (walk_next(&w, folder, sizeof folder)) {
    if (mz_path_join(path, sizeof path, folder, name) != MZ_OK || !mz_file_exists(path)) continue;
    const double here = limit != NULL ? limit(folder) : INFINITY;
    if (found && here >= smallest) continue;
    smallest = here;
    found = snprintf(out, size, "%s", path) < (int)size;
  }
  return found;
}

/* ---- */

double mz_cgroup_cores(const char *root, const char *self) {
  double quota = least(root, self, NULL, cores_v2);
  if (isinf(quota)) quota = least(root, self, "cpu", cores_v1);
  return isinf(quota) ? 0 : quota;
}

uint64_t mz_cgroup_memory(const char *root, const char *self) {
  double limit = least(root, self, NULL, memory_v2);
  if (isinf(limit)) limit = least(root, self, "memory", memory_v1);
  return isinf(limit) ? 0 : (uint64_t)limit;
}

double mz_cgroup_memory_left(const char *root, const char *self) {
  return fmin(least(root, self, NULL, memory_left_v2), least(root, self, "memory", memory_left_v1));
}

bool mz_cgroup_cpu_stat(const char *root, const char *self, char *out, size_t size) {
  return find(root, self, NULL, cores_v2, "cpu.stat", out, size) || find(root, self, "cpu", cores_v1, "cpu.stat", out, size);
}

bool mz_cgroup_file(const char *root, const char *self, const char *name, char *out, size_t size) {
  return find(root, self, NULL, NULL, name, out, size);
}

bool mz_cgroup_folder(const char *root, const char *self, const char *controller, char *out, size_t size) {
  walk w = walk_from_own(root, self, controller);
  return walk_next(&w, out, size) && mz_file_is_dir(out);
}
