#include "cli/explaining/inspect_diff.h"
#include "base/file/file.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/storage/run_path.h"
#include "cli/print.h"
#include "envs/own/shared_object.h"
#include "muzero/trainer.h"
#include <string.h>

typedef struct record { /* the state after a round */
  int64_t phase, rounds;
  uint64_t digest, parts[MZ_DIGEST_PARTS];
} record;

typedef struct history { /* by rounds, ascending */
  record *records;
  int count;
} history;

typedef struct difference {
  bool found;
  record a, b;
  int compared; /* records that both have */
} difference;

/* *is_phase false: a record of something else, such as a fallback. */
static mz_status read_record(const char *line, size_t length, const char *name, record *out, bool *is_phase) {
  cJSON *object;
  MZ_TRY(mz_json_parse(line, length, name, false, MZ_E_CHECKPOINT, &object));
  double phase = 0, rounds = 0;
  mz_status status = MZ_OK;
  *is_phase = strcmp(mz_json_text_or_empty(object, "event"), "phase") == 0;
  if (!*is_phase) goto cleanup;
  MZ_TRY_CLEANUP(mz_json_get_number(object, "phase", name, MZ_E_CHECKPOINT, &phase));
  MZ_TRY_CLEANUP(mz_json_get_number(object, "rounds", name, MZ_E_CHECKPOINT, &rounds));
  MZ_TRY_CLEANUP(mz_json_get_u64_hex(object, "digest", name, MZ_E_CHECKPOINT, &out->digest));
  const cJSON *parts = cJSON_GetObjectItemCaseSensitive(object, "parts");
  if (!parts) MZ_TRY_CLEANUP(mz_fail(MZ_E_CHECKPOINT, "%s: a record without parts", name));
  for (int i = 0; i < MZ_DIGEST_PARTS; i++)
    MZ_TRY_CLEANUP(mz_json_get_u64_hex(parts, mz_digest_parts[i], name, MZ_E_CHECKPOINT, &out->parts[i]));
  out->phase = (int64_t)phase;
  out->rounds = (int64_t)rounds;
cleanup:
  cJSON_Delete(object);
  return status;
}

/* A last line without its end was being written: it is left out. */
static mz_status read_history(const char *run, history *out) {
  char path[512];
  uint8_t *text;
  size_t size;
  *out = (history){0};
  MZ_TRY(mz_path_join(path, sizeof path, run, "metrics.jsonl"));
  MZ_TRY(mz_file_read(path, 0, &text, &size));
  int lines = 0;
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  mz_status status = mz_alloc(&out->records, (size_t)lines, sizeof *out->records);
  const char *at = (const char *)text;
  for (int line = 1; status == MZ_OK && line <= lines; line++) {
    const char *end = strchr(at, '\n');
    if (!end) break; /* a NUL byte in the file */
    char name[600];
    snprintf(name, sizeof name, "%s:%d", path, line);
    bool is_phase = false;
    status = read_record(at, (size_t)(end - at), name, &out->records[out->count], &is_phase);
    out->count += is_phase;
    at = end + 1;
  }
  free(text);
  return status;
}

static void compare_histories(const history *a, const history *b, difference *out) {
  for (int i = 0, j = 0; i < a->count && j < b->count && !out->found;) {
    const record *x = &a->records[i], *y = &b->records[j];
    if (x->rounds == y->rounds) {
      out->compared++;
      out->found = x->digest != y->digest;
      out->a = *x;
      out->b = *y;
    }
    if (x->rounds <= y->rounds) i++;
    if (y->rounds <= x->rounds) j++;
  }
}

/* *loaded stays open. */
static mz_status read_checkpoint(const char *run, record *out, mz_loaded **loaded) {
  char path[512];
  MZ_TRY(mz_run_checkpoint_path(run, path, sizeof path));
  MZ_TRY(mz_loaded_open(loaded, path));
  out->phase = mz_loaded_counters(*loaded)->phases;
  out->rounds = mz_loaded_counters(*loaded)->rounds;
  mz_checkpoint checkpoint;
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  const mz_status status = mz_checkpoint_digest(&checkpoint, out->parts, &out->digest);
  mz_checkpoint_close(&checkpoint);
  return status;
}

/* Runs of different games differ in everything. */
static mz_status check_game(const char *a, const mz_loaded *of_a, const char *b, const mz_loaded *of_b) {
  const mz_env *x = mz_loaded_agent(of_a).env, *y = mz_loaded_agent(of_b).env;
  if (mz_env_is_same_game(x, y)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "--diff: %s plays %s, and %s plays %s; runs of one environment are compared", a, x->name, b,
                 y->name);
}

static mz_status print_difference(const difference *found, const char *a, const char *b, bool json) {
  int first = -1;
  for (int i = MZ_DIGEST_PARTS - 1; found->found && i >= 0; i--)
    if (found->a.parts[i] != found->b.parts[i]) first = i;
  if (!json) {
    if (!found->found)
      printf("no difference in the %d phases and checkpoints that both have\n", found->compared);
    else {
      char shown_a[MZ_SHOWN_SIZE], shown_b[MZ_SHOWN_SIZE];
      printf("%s and %s differ first in phase %lld, after %lld and %lld rounds, in", mz_text_shown(a, shown_a),
             mz_text_shown(b, shown_b), (long long)found->a.phase, (long long)found->a.rounds, (long long)found->b.rounds);
      for (int i = 0; i < MZ_DIGEST_PARTS; i++)
        if (found->a.parts[i] != found->b.parts[i]) printf(" %s", mz_digest_parts[i]);
      printf("\n");
    }
    return MZ_OK;
  }
  cJSON *object = cJSON_CreateObject();
  if (found->found)
    cJSON_AddNumberToObject(object, "phase", (double)found->a.phase);
  else
    cJSON_AddNullToObject(object, "phase");
  if (first >= 0)
    cJSON_AddStringToObject(object, "part", mz_digest_parts[first]);
  else
    cJSON_AddNullToObject(object, "part");
  cJSON *parts = cJSON_AddArrayToObject(object, "parts");
  for (int i = 0; found->found && i < MZ_DIGEST_PARTS; i++)
    if (found->a.parts[i] != found->b.parts[i]) cJSON_AddItemToArray(parts, cJSON_CreateString(mz_digest_parts[i]));
  cJSON *rounds = cJSON_AddArrayToObject(object, "rounds");
  cJSON_AddItemToArray(rounds, cJSON_CreateNumber((double)found->a.rounds));
  cJSON_AddItemToArray(rounds, cJSON_CreateNumber((double)found->b.rounds));
  cJSON_AddNumberToObject(object, "compared", found->compared);
  return mz_print_json(object);
}

mz_status mz_inspect_diff(const char *a, const char *b, bool json) {
  difference found = {0};
  history left = {0}, right = {0};
  record last_left, last_right;
  mz_loaded *of_a = NULL, *of_b = NULL;
  mz_status status;
  /* The checkpoints first: they say what is wrong with a path. */
  MZ_TRY_CLEANUP(read_checkpoint(a, &last_left, &of_a));
  MZ_TRY_CLEANUP(read_checkpoint(b, &last_right, &of_b));
  MZ_TRY_CLEANUP(check_game(a, of_a, b, of_b));
  if (mz_file_is_dir(a) && mz_file_is_dir(b)) {
    MZ_TRY_CLEANUP(read_history(a, &left));
    MZ_TRY_CLEANUP(read_history(b, &right));
    compare_histories(&left, &right, &found);
  }
  /* The ends of runs at different rounds say nothing more; two checkpoint files have nothing but their ends. */
  const bool histories = left.records && right.records;
  if (!found.found && (!histories || last_left.rounds == last_right.rounds)) {
    found.found = last_left.digest != last_right.digest;
    found.a = last_left;
    found.b = last_right;
    found.compared++;
  }
  status = print_difference(&found, a, b, json);
cleanup:
  if (of_a) mz_loaded_close(of_a);
  if (of_b) mz_loaded_close(of_b);
  free(left.records);
  free(right.records);
  return status;
}
