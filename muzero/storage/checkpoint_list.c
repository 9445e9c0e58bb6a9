#include "muzero/storage/checkpoint_list.h"
#include "base/file/file.h"
#include "base/log.h"
#include "muzero/storage/checkpoint.h"
#include <math.h>
#include <string.h>

static int by_rounds(const void *a, const void *b) {
  const int64_t x = ((const mz_listed *)a)->rounds, y = ((const mz_listed *)b)->rounds;
  return (x > y) - (x < y);
}

static mz_status path_of(const mz_checkpoint_list *list, const char *name, char *out, size_t size) {
  return mz_path_join(out, size, list->folder, name);
}

/* Damage is no failure here: it is met by who wants that checkpoint. */
static mz_status read_needs(const mz_checkpoint_list *list, mz_listed *item) {
  char path[640];
  mz_checkpoint checkpoint;
  MZ_TRY(path_of(list, item->name, path, sizeof path));
  mz_status status = mz_checkpoint_open(&checkpoint, path);
  item->newer = mz_checkpoint_is_newer(&checkpoint);
  if (status != MZ_OK) return status == MZ_E_MEMORY ? status : MZ_OK;
  status = mz_checkpoint_segments(&checkpoint, &item->hashes, &item->count);
  item->readable = status == MZ_OK;
  mz_checkpoint_close(&checkpoint);
  return status == MZ_E_MEMORY ? status : MZ_OK;
}

static mz_status add_found(void *context, const char *name) {
  mz_checkpoint_list *list = context;
  const int64_t rounds = mz_checkpoint_name_rounds(name);
  if (rounds < 0) return MZ_OK;
  MZ_TRY(mz_reserve_one(&list->items, &list->capacity, list->count, sizeof *list->items));
  mz_listed *item = &list->items[list->count++];
  *item = (mz_listed){.rounds = rounds};
  snprintf(item->name, sizeof item->name, "%s", name);
  return read_needs(list, item);
}

mz_status mz_checkpoint_list_read(mz_checkpoint_list *list, const char *folder) {
  *list = (mz_checkpoint_list){0};
  if (snprintf(list->folder, sizeof list->folder, "%s", folder) >= (int)sizeof list->folder)
    return mz_fail(MZ_E_IO, "%s: path too long", folder);
  const mz_status status = mz_file_list(folder, add_found, list);
  if (status == MZ_OK && list->count > 1) qsort(list->items, (size_t)list->count, sizeof *list->items, by_rounds);
  if (status != MZ_OK) mz_checkpoint_list_deinit(list);
  return status;
}

void mz_checkpoint_list_deinit(mz_checkpoint_list *list) {
  for (int i = 0; i < list->count; i++) free(list->items[i].hashes);
  free(list->items);
  list->items = NULL;
  list->count = list->capacity = 0;
}

mz_status mz_checkpoint_list_add(mz_checkpoint_list *list, const char *name, uint64_t *hashes, int count) {
  mz_listed added = {.rounds = mz_checkpoint_name_rounds(name), .readable = true, .hashes = hashes, .count = count};
  MZ_ASSERT(added.rounds >= 0);
  snprintf(added.name, sizeof added.name, "%s", name);
  int at = list->count;
  while (at > 0 && list->items[at - 1].rounds >= added.rounds) at--;
  if (at < list->count && list->items[at].rounds == added.rounds) {
    free(list->items[at].hashes);
    list->items[at] = added;
    return MZ_OK;
  }
  MZ_TRY(mz_reserve_one(&list->items, &list->capacity, list->count, sizeof *list->items));
  memmove(&list->items[at + 1], &list->items[at], (size_t)(list->count - at) * sizeof *list->items);
  list->items[at] = added;
  list->count++;
  return MZ_OK;
}

/* The part of the run that a checkpoint belongs to: parts grow with the run, `spaced` of them to each doubling of the rounds. */
static int part_of(int64_t rounds, int spaced) { return rounds < 1 ? -1 : (int)floor(spaced * log2((double)rounds)); }

static bool removed(const mz_checkpoint_list *list, const mz_listed *item) {
  char path[640];
  if (path_of(list, item->name, path, sizeof path) != MZ_OK) return false;
  if (mz_file_remove(path) == MZ_OK) return true;
  mz_log_write(MZ_LOG_WARNING, "%s; it stays", mz_message());
  return false;
}

void mz_checkpoint_list_prune(mz_checkpoint_list *list, const mz_retention *r) {
  const int64_t latest = mz_checkpoint_name_rounds(r->latest);
  int until = 0, out = 0, part_before = -2; /* [0, until): not after the latest */
  while (until < list->count && list->items[until].rounds <= latest) until++;
  for (int i = 0; i < list->count; i++) {
    mz_listed *item = &list->items[i];
    const int part = part_of(item->rounds, r->spaced);
    const bool recent = i < until && i >= until - r->keep, first_of_part = i < until && r->spaced > 0 && part > part_before;
    const bool named = item->rounds == latest || strcmp(item->name, r->best) == 0;
    part_before = part;
    if (recent || first_of_part || named || item->newer || !removed(list, item))
      list->items[out++] = *item;
    else
      free(item->hashes);
  }
  list->count = out;
}

bool mz_checkpoint_list_readable(const mz_checkpoint_list *list) {
  for (int i = 0; i < list->count; i++)
    if (!list->items[i].readable) return false;
  return true;
}

mz_status mz_checkpoint_list_segments(const mz_checkpoint_list *list, uint64_t **hashes, size_t *count) {
  size_t total = 0, n = 0;
  for (int i = 0; i < list->count; i++) total += (size_t)list->items[i].count;
  MZ_TRY(mz_alloc(hashes, total, sizeof **hashes));
  for (int i = 0; i < list->count; i++) {
    if (list->items[i].count > 0) memcpy(*hashes + n, list->items[i].hashes, (size_t)list->items[i].count * sizeof **hashes);
    n += (size_t)list->items[i].count;
  }
  *count = total;
  return MZ_OK;
}
