/* Helpers of every test of tapes. Include after cmocka.h. */
#pragma once
#include "networks/lane.h"
#include "networks/tape/tape.h"

static inline void check(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

static inline double tape_loss(mz_tape *tape) {
  double loss;
  check(mz_tape_loss(tape, &loss));
  return loss;
}
