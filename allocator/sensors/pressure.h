/* The kernel's account of waiting: pressure stall information (how long some task wanted a core, memory, the disk, and had to
 * wait) and the time that the control group's CPU quota stopped it. Of the process's own version 2 group where there is one,
 * else of the whole machine. Seconds since some start; false: not there, or makes no sense. */
#pragma once
#include <stdbool.h>

enum { MZ_PRESSURE_CPU, MZ_PRESSURE_MEMORY, MZ_PRESSURE_IO, MZ_PRESSURES };

typedef struct mz_pressure {
  int files[MZ_PRESSURES], cpu_stat; /* file descriptors; -1: could not be opened */
} mz_pressure;

void mz_pressure_open(mz_pressure *pressure, const char *proc, const char *cgroup); /* "/proc", "/sys/fs/cgroup" */
void mz_pressure_close(mz_pressure *pressure);
bool mz_pressure_waited_s(const mz_pressure *pressure, double out[MZ_PRESSURES]); /* all three, or false */
bool mz_pressure_throttled_s(const mz_pressure *pressure, double *out);
