#include "allocator/sensors/procfs.h"
#include "allocator/sensors/sensor_text.h"
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mz_procfs_open(mz_procfs *procfs, const char *proc) {
  *procfs = (mz_procfs){.self_stat = mz_text_open(proc, "self/stat"),
                        .self_statm = mz_text_open(proc, "self/statm"),
                        .stat = mz_text_open(proc, "stat")};
}

void mz_procfs_close(mz_procfs *procfs) {
  mz_text_close(procfs->self_stat);
  mz_text_close(procfs->self_statm);
  mz_text_close(procfs->stat);
}

static double tick_s(void) {
  const long per_s = sysconf(_SC_CLK_TCK);
  return per_s > 0 ? 1.0 / (double)per_s : 0.01;
}

/* Fields 14 and 15, user and system time, of a task's stat. Field 2 is its name in parentheses, and may hold anything; field 3
 * is a letter. */
static bool task_cpu_s(const char *text, double *out) {
  const char *at = strrchr(text, ')');
  if (at == NULL || at[1] != ' ' || at[2] == '\0' || at[3] != ' ') return false;
  at += 3;
  for (int field = 4; field < 14; field++) {
    at += strspn(at, " ");
    at += strcspn(at, " \n");
  }
  double user, system;
  if (!mz_sensor_number(&at, &user) || !mz_sensor_number(&at, &system)) return false;
  *out = (user + system) * tick_s();
  return true;
}

bool mz_procfs_cpu_s(const mz_procfs *procfs, double *out) {
  char text[MZ_SENSOR_TEXT];
  return mz_text_read(procfs->self_stat, text) && task_cpu_s(text, out);
}

/* Pages: size, resident, … */
bool mz_procfs_rss(const mz_procfs *procfs, double *bytes) {
  char text[MZ_SENSOR_TEXT];
  const char *at = text;
  double size, resident;
  const long page = sysconf(_SC_PAGESIZE);
  if (page <= 0 || !mz_text_read(procfs->self_statm, text)) return false;
  if (!mz_sensor_number(&at, &size) || !mz_sensor_number(&at, &resident)) return false;
  *bytes = resident * (double)page;
  return true;
}

/* The first line, "cpu" and ticks: user, nice, system, idle, and on newer kernels iowait, irq, softirq, steal; what follows is
 * counted in user and nice too. */
bool mz_procfs_busy_s(const mz_procfs *procfs, double *out) {
  enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, KINDS };
  char text[MZ_SENSOR_TEXT];
  if (!mz_text_read(procfs->stat, text) || strncmp(text, "cpu ", 4) != 0) return false;
  text[strcspn(text, "\n")] = '\0';
  const char *at = text + 4;
  double ticks[KINDS] = {0};
  int kinds = 0;
  while (kinds < KINDS && mz_sensor_number(&at, &ticks[kinds])) kinds++;
  if (kinds <= IDLE) return false;
  *out = (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ] + ticks[STEAL]) * tick_s();
  return true;
}

/* ---- threads ---- */

static bool read_of_task(int folder, const char *task, const char *name, char out[MZ_SENSOR_TEXT]) {
  char path[300];
  if (snprintf(path, sizeof path, "%s/%s", task, name) >= (int)sizeof path) return false;
  const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
  const bool read = mz_text_read(fd, out);
  mz_text_close(fd);
  return read;
}

/* schedstat starts with nanoseconds on a core; kernels built without it have ticks in stat. */
static bool one_task_cpu_s(int folder, const char *task, double *out) {
  char text[MZ_SENSOR_TEXT];
  const char *at = text;
  if (!read_of_task(folder, task, "schedstat", text) || !mz_sensor_number(&at, out))
    return read_of_task(folder, task, "stat", text) && task_cpu_s(text, out);
  *out *= 1e-9;
  return true;
}

double mz_procfs_threads_cpu_s(const char *proc, const char *prefix) {
  char path[MZ_SENSOR_PATH], name[MZ_SENSOR_TEXT];
  if (snprintf(path, sizeof path, "%s/self/task", proc) >= (int)sizeof path) return NAN;
  DIR *folder = opendir(path);
  if (folder == NULL) return NAN;
  double sum = 0;
  for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    double cpu_s;
    if (!read_of_task(dirfd(folder), entry->d_name, "comm", name)) continue; /* has just ended */
    if (strncmp(name, prefix, strlen(prefix)) != 0) continue;
    if (one_task_cpu_s(dirfd(folder), entry->d_name, &cpu_s)) sum += cpu_s;
  }
  closedir(folder); /* was only read */
  return sum;
}
