#include "allocator/sensors/pressure.h"
#include "allocator/sensors/sensor_text.h"
#include "base/machine/cgroup.h"
#include "base/file/file.h"
#include <stdio.h>
#include <string.h>

/* All three from one place: shares of different groups cannot be compared. */
static bool open_group_files(int files[MZ_PRESSURES], const char *cgroup, const char *self) {
  static const char *const names[MZ_PRESSURES] = {"cpu.pressure", "memory.pressure", "io.pressure"};
  bool whole = true;
  for (int i = 0; i < MZ_PRESSURES; i++) {
    char path[MZ_SENSOR_PATH];
    files[i] = mz_cgroup_file(cgroup, self, names[i], path, sizeof path) ? mz_text_open_path(path) : -1;
    whole = whole && files[i] >= 0;
  }
  return whole;
}

static void close_files(int files[MZ_PRESSURES]) {
  for (int i = 0; i < MZ_PRESSURES; i++) mz_text_close(files[i]);
}

void mz_pressure_open(mz_pressure *pressure, const char *proc, const char *cgroup) {
  static const char *const names[MZ_PRESSURES] = {"pressure/cpu", "pressure/memory", "pressure/io"};
  char self[MZ_SENSOR_PATH] = "", path[MZ_SENSOR_PATH];
  const bool named = mz_path_join(self, sizeof self, proc, "self/cgroup") == MZ_OK;
  if (!named || !open_group_files(pressure->files, cgroup, self)) {
    close_files(pressure->files);
    for (int i = 0; i < MZ_PRESSURES; i++) pressure->files[i] = mz_text_open(proc, names[i]);
  }
  pressure->cpu_stat = named && mz_cgroup_cpu_stat(cgroup, self, path, sizeof path) ? mz_text_open_path(path) : -1;
}

void mz_pressure_close(mz_pressure *pressure) {
  close_files(pressure->files);
  mz_text_close(pressure->cpu_stat);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.28 total=2870050584", in microseconds, is the first line. */
bool mz_pressure_waited_s(const mz_pressure *pressure, double out[MZ_PRESSURES]) {
  static const char total[] = " total=";
  for (int i = 0; i < MZ_PRESSURES; i++) {
    char text[MZ_SENSOR_TEXT];
    if (!mz_text_read(pressure->files[i], text) || strncmp(text, "some ", 5) != 0) return false;
    text[strcspn(text, "\n")] = '\0';
    const char *at = strstr(text, total);
    if (at == NULL) return false;
    at += strlen(total);
    if (!mz_sensor_number(&at, &out[i])) return false;
    out[i] *= 1e-6;
  }
  return true;
}

bool mz_pressure_throttled_s(const mz_pressure *pressure, double *out) {
  char text[MZ_SENSOR_TEXT];
  if (!mz_text_read(pressure->cpu_stat, text)) return false;
  double counted;
  if (mz_text_field(text, "throttled_usec", &counted)) /* version 2 */
    *out = counted * 1e-6;
  else if (mz_text_field(text, "throttled_time", &counted)) /* version 1: nanoseconds */
    *out = counted * 1e-9;
  else
    return false;
  return true;
}
