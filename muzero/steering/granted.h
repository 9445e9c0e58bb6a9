/* What the machine grants a run, which may change while it trains: cores, by the affinity mask and the control group's quota, and
 * memory, by the control group's limit. Other runs of the user have their share of the cores. */
#pragma once
#include "allocator/sensors/monitor.h"
#include "muzero/steering/roster.h"

typedef struct mz_granted {
  bool mask_known; /* false: the system does not say, or no thread keeps the mask (monitor.rate=0) */
  cpu_set_t mask;
  int runs;        /* that share what is granted to this user, this one included */
  int cores;       /* of the mask, cut by the quota; without a mask those at the start */
  uint64_t memory; /* bytes */
} mz_granted;

/* before: what was read last; NULL: nothing was yet. roster: NULL: others are not looked at. Some ten microseconds. */
void mz_granted_read(mz_granted *out, const mz_monitor *monitor, mz_roster *roster, const mz_granted *before);
bool mz_granted_same(const mz_granted *a, const mz_granted *b);
/* "1 core instead of 2", "512 MiB instead of 8192 MiB", or both. */
void mz_granted_text(const mz_granted *before, const mz_granted *now, char *out, size_t size);
