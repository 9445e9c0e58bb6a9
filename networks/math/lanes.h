/* Sums over a row run in sixteen lanes: entry i of a row is added to lane i mod 16 in ascending order, then halves of the lanes
 * are added until one is left. This is the order of the vector kernels at every instruction-set level; scalar code that must give
 * the same bits uses these. */
#pragma once
#include "base/shared.h"

enum { MZ_SUM_LANES = 16 };

MZ_SHARED float mz_lanes_sum(const float *lanes) {
  float sum[MZ_SUM_LANES];
  for (int i = 0; i < MZ_SUM_LANES; i++) sum[i] = lanes[i];
  for (int half = MZ_SUM_LANES / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sum[i] = sum[i] + sum[i + half];
  }
  return sum[0];
}
