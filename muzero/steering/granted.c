#include "muzero/steering/granted.h"
#include "base/machine/machine.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

void mz_granted_read(mz_granted *out, const mz_monitor *monitor, mz_roster *roster, const mz_granted *before) {
  *out = (mz_granted){.memory = mz_machine_memory(), .runs = 1};
  out->mask_known = monitor && mz_monitor_mask(monitor, &out->mask);
  if (out->mask_known && roster) out->runs = mz_roster_share(roster, &out->mask);
  if (out->mask_known)
    out->cores = mz_cores_granted(CPU_COUNT(&out->mask), mz_machine_quota());
  else
    out->cores = before ? before->cores : mz_machine_cores();
}

bool mz_granted_same(const mz_granted *a, const mz_granted *b) {
  const bool masks = a->mask_known && b->mask_known;
  return a->cores == b->cores && a->memory == b->memory && (!masks || CPU_EQUAL(&a->mask, &b->mask));
}

void mz_granted_text(const mz_granted *before, const mz_granted *now, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  if (now->cores != before->cores)
    used += (size_t)snprintf(out, size, "%d core%s instead of %d", now->cores, mz_plural(now->cores), before->cores);
  if (now->memory != before->memory && used < size)
    used += (size_t)snprintf(out + used, size - used, "%s%.0f MiB of memory instead of %.0f MiB", used ? ", " : "",
                             (double)now->memory / 0x1p20, (double)before->memory / 0x1p20);
  if (used == 0) used = (size_t)snprintf(out, size, "other cores");
  if (now->runs > 1 && used < size) snprintf(out + used, size - used, ", which %d runs share", now->runs);
}
