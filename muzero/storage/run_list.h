/* The runs in a folder. Nothing is written, and a run that trains meanwhile is not disturbed. */
#pragma once
#include "muzero/storage/run_path.h"

typedef struct mz_run_entry {
  char path[MZ_RUN_PATH_MAX]; /* folder/…/name */
  int64_t saved_ns; /* time of its latest checkpoint, since 1970; where that is lost, of the newest file that names or is one */
} mz_run_entry;

typedef struct mz_run_list { /* zeroed: empty */
  mz_run_entry *items;       /* the newest first */
  int count, capacity;
} mz_run_list;

/* Lists the runs in the folder and up to two folders further down (runs/ENV/NAME, DIR/seed-1/arm-0); a folder that is a run
 * itself is the only one. Names that begin with a dot, and folders below that cannot be read, are left out. MZ_E_IO, MZ_E_MEMORY. */
mz_status mz_run_list_read(mz_run_list *list, const char *folder);
void mz_run_list_deinit(mz_run_list *list);
