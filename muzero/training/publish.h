/* Published weights: immutable, reference-counted snapshots. Self-play of round r reads θ(r) while the learner makes θ(r+1). */
#pragma once
#include "base/status.h"
#include "networks/infer.h"
#include <stdatomic.h>
#include <stdint.h>

typedef struct mz_snapshot {
  _Atomic int references;
  uint64_t version; /* updates that led to it */
  float *weights;   /* as inference reads them (networks/infer.h) */
} mz_snapshot;

/* Makes a snapshot of parameters, which are copied and prepared for inference; one reference for the caller. */
mz_status mz_snapshot_create(mz_snapshot **out, const mz_model *model, const float *values, uint64_t version);
double mz_snapshot_bytes(const mz_model *model); /* while it is made */
void mz_snapshot_release(mz_snapshot *snapshot); /* frees at 0; NULL is fine */
