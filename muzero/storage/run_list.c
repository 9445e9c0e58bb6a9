#include "muzero/storage/run_list.h"
#include "base/file/file.h"
#include "muzero/storage/checkpoint_name.h"
#include <string.h>

enum { LEVELS = 3 }; /* folders below the one that is listed in which runs are looked for */

/* ---- one run ---- */

static int64_t modified_ns(const char *path) {
  mz_file_stamp stamp;
  return mz_file_stamp_read(path, &stamp) ? stamp.modified_ns : -1;
}

static mz_status take_if_newer(void *context, int64_t rounds, const char *path) {
  (void)rounds;
  int64_t *newest_ns = context;
  const int64_t time_ns = modified_ns(path);
  if (time_ns > *newest_ns) *newest_ns = time_ns;
  return MZ_OK;
}

static int64_t saved_ns(const char *dir) {
  char path[MZ_RUN_PATH_MAX + 64];
  if (mz_run_checkpoint_path(dir, path, sizeof path) == MZ_OK) return modified_ns(path);
  int64_t newest_ns = -1;
  mz_checkpoint_each(dir, take_if_newer, &newest_ns);
  if (mz_path_join(path, sizeof path, dir, "LATEST") == MZ_OK) take_if_newer(&newest_ns, -1, path);
  return newest_ns;
}

/* ---- a folder of them ---- */

static mz_status add_run(mz_run_list *list, const char *path) {
  MZ_TRY(mz_reserve_one(&list->items, &list->capacity, list->count, sizeof *list->items));
  mz_run_entry *added = &list->items[list->count++];
  snprintf(added->path, sizeof added->path, "%s", path);
  added->saved_ns = saved_ns(path);
  return MZ_OK;
}

typedef struct walk {
  mz_run_list *list;
  const char *folder;
  int levels; /* that are left */
} walk;

static mz_status visit(void *context, const char *name) {
  const walk *here = context;
  char path[MZ_RUN_PATH_MAX];
  if (name[0] == '.' || mz_path_join(path, sizeof path, here->folder, name) != MZ_OK || !mz_file_is_dir(path)) return MZ_OK;
  if (mz_run_is_run(path)) return add_run(here->list, path);
  if (here->levels == 1) return MZ_OK;
  walk below = {.list = here->list, .folder = path, .levels = here->levels - 1};
  const mz_status status = mz_file_list(path, visit, &below);
  return status == MZ_E_IO ? MZ_OK : status;
}

/* Names that `train` makes up begin with the time, so that among runs of one time the last name is the newest. */
static int by_time(const void *a, const void *b) {
  const mz_run_entry *x = a, *y = b;
  if (x->saved_ns != y->saved_ns) return x->saved_ns < y->saved_ns ? 1 : -1;
  return strcmp(y->path, x->path);
}

mz_status mz_run_list_read(mz_run_list *list, const char *folder) {
  *list = (mz_run_list){0};
  walk top = {.list = list, .folder = folder, .levels = LEVELS};
  const mz_status status = mz_run_is_run(folder) ? add_run(list, folder) : mz_file_list(folder, visit, &top);
  if (status == MZ_OK && list->count > 1) qsort(list->items, (size_t)list->count, sizeof *list->items, by_time);
  if (status != MZ_OK) mz_run_list_deinit(list);
  return status;
}

void mz_run_list_deinit(mz_run_list *list) {
  free(list->items);
  *list = (mz_run_list){0};
}
