#include "allocator/machine/core_shares.h"
#include <stdbool.h>

void mz_core_shares(double cores, const mz_core_claim *claims, int count, double *shares) {
  double level = 0;
  for (int i = 0; i < count; i++) shares[i] = 0;
  for (bool capped = true; capped;) {
    double weights = 0, whole = 0;
    capped = false;
    for (int i = 0; i < count; i++)
      if (shares[i] < 1) weights += claims[i].threads * claims[i].weight;
    level = weights > 0 ? cores / weights : 0;
    for (int i = 0; i < count; i++) {
      if (shares[i] == 1 || claims[i].threads == 0 || level * claims[i].weight < 1) continue;
      shares[i] = 1;
      whole += claims[i].threads;
      capped = true;
    }
    cores -= whole;
  }
  for (int i = 0; i < count; i++)
    if (shares[i] < 1 && claims[i].threads > 0) shares[i] = level * claims[i].weight;
}
