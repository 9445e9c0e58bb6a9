/* One record per phase in DIR/metrics.jsonl, cut back to the checkpoint's offset on resume. */
#pragma once
#include "base/json/json.h"

typedef struct mz_metrics {
  char path[640];
  int fd;
  uint64_t offset; /* bytes of the records that stay */
  uint64_t end;    /* bytes of all; beyond the offset lies a record that the next one replaces */
} mz_metrics;

/* Cuts the file to `offset` (0: a new file) and appends from there; from its last whole line, with a warning, where it is
 * shorter. */
mz_status mz_metrics_open(mz_metrics *metrics, const char *dir, uint64_t offset);
/* Returns when all records are on the disk: before a checkpoint says how many there are. */
mz_status mz_metrics_sync(const mz_metrics *metrics);
void mz_metrics_close(mz_metrics *metrics);
/* kept false: the record stands behind the offset, and the next one, or a resumed run, replaces it (a phase that was cut short). */
mz_status mz_metrics_append(mz_metrics *metrics, const cJSON *record, bool kept);
