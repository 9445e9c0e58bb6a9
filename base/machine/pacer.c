#include "base/machine/pacer.h"

bool mz_pacer_due(mz_pacer *pacer, double now_s) {
  if (now_s - pacer->last_s < pacer->every_s) return false;
  pacer->last_s = now_s;
  return true;
}
