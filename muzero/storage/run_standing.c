#include "muzero/storage/run_standing.h"
#include "base/file/file.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/storage/run_path.h"
#include "muzero/storage/stored.h"
#include <math.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* Takes environment and seed; an environment that this program does not know is shown all the same. */
static mz_status read_config(const mz_checkpoint *checkpoint, mz_run_standing *out) {
  cJSON *json;
  MZ_TRY(mz_checkpoint_json(checkpoint, "config", &json));
  snprintf(out->env, sizeof out->env, "%s", mz_json_text_or_empty(json, "env"));
  cJSON_Delete(json);
  return mz_counters_stored(checkpoint, &out->seed, &out->counters);
}

static mz_status read_session(const mz_checkpoint *checkpoint, mz_run_standing *out) {
  cJSON *json;
  MZ_TRY(mz_checkpoint_json(checkpoint, "session", &json));
  out->wall_s = mz_json_number_or_nan(json, "wall_s");
  out->score = mz_json_number_or_nan(json, "score");
  out->best_score = mz_json_number_or_nan(json, "best_score");
  cJSON_Delete(json);
  return MZ_OK;
}

static mz_status read_latest(const char *dir, mz_run_standing *out) {
  char path[MZ_RUN_PATH_MAX + 64];
  mz_checkpoint checkpoint;
  MZ_TRY(mz_run_checkpoint_path(dir, path, sizeof path));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  mz_status status = mz_checkpoint_verify(&checkpoint);
  if (status == MZ_OK) status = read_config(&checkpoint, out);
  if (status == MZ_OK) status = read_session(&checkpoint, out);
  mz_checkpoint_close(&checkpoint);
  return status;
}

/* Takes the environment from config.json, where the checkpoint does not tell. */
static void read_config_json(const char *dir, mz_run_standing *out) {
  char path[MZ_RUN_PATH_MAX + 16];
  uint8_t *text;
  size_t size;
  cJSON *json;
  if (mz_path_join(path, sizeof path, dir, "config.json") != MZ_OK) return;
  if (mz_file_read(path, CONFIG_BYTES_MAX, &text, &size) != MZ_OK) return;
  if (mz_json_parse((const char *)text, size, path, false, MZ_E_CHECKPOINT, &json) == MZ_OK) {
    snprintf(out->env, sizeof out->env, "%s", mz_json_text_or_empty(json, "env"));
    cJSON_Delete(json);
  }
  free(text);
}

/* Writes the name of the checkpoint that LATEST names, "" where it names none; the last failure's message stays. */
static void read_latest_name(const char *dir, char out[MZ_CHECKPOINT_NAME_MAX]) {
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  if (mz_checkpoint_pointer_read(dir, "LATEST", out) != MZ_OK) out[0] = '\0';
  mz_fail(MZ_OK, "%s", why);
}

mz_status mz_run_standing_read(const char *dir, mz_run_standing *out) {
  const mz_run_standing nothing = {.wall_s = NAN, .score = NAN, .best_score = NAN};
  char path[MZ_RUN_PATH_MAX + 16];
  mz_status status;
  char before[MZ_CHECKPOINT_NAME_MAX], after[MZ_CHECKPOINT_NAME_MAX];
  /* A run that trains may remove the checkpoint while it is read; LATEST then names another one. */
  do {
    *out = nothing;
    read_latest_name(dir, before);
    status = read_latest(dir, out);
    read_latest_name(dir, after);
  } while ((status == MZ_E_CHECKPOINT || status == MZ_E_IO) && strcmp(before, after) != 0);
  if (status == MZ_E_MEMORY) return status;
  if (status != MZ_OK) {
    *out = nothing;
    snprintf(out->damage, sizeof out->damage, "%s", mz_message());
    read_config_json(dir, out);
  }
  out->locked = mz_path_join(path, sizeof path, dir, "lock") == MZ_OK && mz_lock_is_held(path);
  return MZ_OK;
}

/* ---- the checkpoints that are whole ---- */

typedef struct rounds_list {
  int64_t *rounds;
  int count, capacity;
} rounds_list;

static mz_status add_rounds(void *context, int64_t rounds, const char *path) {
  (void)path;
  rounds_list *list = context;
  MZ_TRY(mz_reserve_one(&list->rounds, &list->capacity, list->count, sizeof *list->rounds));
  list->rounds[list->count++] = rounds;
  return MZ_OK;
}

static int newest_first(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

static bool is_whole(const char *dir, int64_t rounds) {
  char name[MZ_CHECKPOINT_NAME_MAX], path[MZ_RUN_PATH_MAX + 64];
  mz_checkpoint checkpoint;
  mz_checkpoint_name(rounds, name);
  if (mz_checkpoint_path(dir, name, path, sizeof path) != MZ_OK || mz_checkpoint_open(&checkpoint, path) != MZ_OK) return false;
  const bool whole = mz_checkpoint_verify(&checkpoint) == MZ_OK;
  mz_checkpoint_close(&checkpoint);
  return whole;
}

int mz_run_whole_checkpoints(const char *dir, int64_t but, int most, int64_t *rounds) {
  rounds_list list = {0};
  int count = 0;
  if (mz_checkpoint_each(dir, add_rounds, &list) == MZ_OK && list.count > 0) {
    qsort(list.rounds, (size_t)list.count, sizeof *list.rounds, newest_first);
    for (int i = 0; i < list.count && count < most; i++)
      if (list.rounds[i] != but && is_whole(dir, list.rounds[i])) rounds[count++] = list.rounds[i];
  }
  free(list.rounds);
  return count;
}
