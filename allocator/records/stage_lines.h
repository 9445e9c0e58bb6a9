/* The ledger's lines about stages (runs/stage_record.h), read back. */
#pragma once
#include "allocator/records/ledger.h"
#include "allocator/runs/stage_progress.h"

typedef struct mz_stage_lines {
  int count;               /* lines about the beginning of a stage, or the end of the last */
  mz_stage_record last;    /* the last of them, where there are any */
  mz_stage_progress since; /* epochs of the stage that began with it; ledgers of earlier versions lack them */
  bool ended;              /* a line about all stages comes behind it */
  mz_stages_record whole;  /* that line */
} mz_stage_lines;

/* Reads those of the ledger at `path`. Fails as mz_ledger_read does; MZ_E_CHECKPOINT naming a line that is damaged. */
mz_status mz_stage_lines_read(mz_stage_lines *out, const char *path);
