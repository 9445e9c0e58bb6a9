#include "muzero/storage/checkpoint_name.h"
#include "base/file/file.h"
#include <string.h>

static const char PREFIX[] = "round-", SUFFIX[] = ".mzc";
enum { DIGITS_MIN = 9, DIGITS_MAX = 18, POINTER_BYTES_MAX = 256 };

void mz_checkpoint_name(int64_t rounds, char out[MZ_CHECKPOINT_NAME_MAX]) {
  snprintf(out, MZ_CHECKPOINT_NAME_MAX, "%s%0*lld%s", PREFIX, DIGITS_MIN, (long long)rounds, SUFFIX);
}

int64_t mz_checkpoint_name_rounds(const char *name) {
  if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return -1;
  const char *digits = name + sizeof PREFIX - 1;
  const size_t count = strspn(digits, "0123456789");
  if (count < DIGITS_MIN || count > DIGITS_MAX || strcmp(digits + count, SUFFIX) != 0) return -1;
  if (count > DIGITS_MIN && digits[0] == '0') return -1; /* one name for one number */
  return strtoll(digits, NULL, 10);
}

mz_status mz_checkpoint_pointer_read(const char *dir, const char *pointer, char name[MZ_CHECKPOINT_NAME_MAX]) {
  char path[512];
  MZ_TRY(mz_path_join(path, sizeof path, dir, pointer));
  if (!mz_file_exists(path)) return mz_fail(MZ_E_CHECKPOINT, "%s: no checkpoint in this directory (it has no %s)", dir, pointer);
  uint8_t *text;
  size_t size;
  MZ_TRY(mz_file_read(path, POINTER_BYTES_MAX, &text, &size));
  const size_t length = strcspn((const char *)text, "\n");
  text[length] = 0;
  const bool valid = size <= length + 1 && mz_checkpoint_name_rounds((const char *)text) >= 0;
  if (valid) snprintf(name, MZ_CHECKPOINT_NAME_MAX, "%s", (const char *)text);
  free(text);
  return valid ? MZ_OK
               : mz_fail(MZ_E_CHECKPOINT, "%s: damaged: it does not name a checkpoint, such as round-000000120.mzc", path);
}

mz_status mz_checkpoint_pointer_write(const char *dir, const char *pointer, const char *name) {
  char path[512], line[MZ_CHECKPOINT_NAME_MAX + 1];
  MZ_TRY(mz_path_join(path, sizeof path, dir, pointer));
  return mz_file_write_atomic(path, line, (size_t)snprintf(line, sizeof line, "%s\n", name));
}

typedef struct visits {
  const char *folder;
  mz_status (*visit)(void *context, int64_t rounds, const char *path);
  void *context;
} visits;

static mz_status visit_name(void *context, const char *name) {
  const visits *v = context;
  const int64_t rounds = mz_checkpoint_name_rounds(name);
  char path[4096];
  if (rounds < 0 || mz_path_join(path, sizeof path, v->folder, name) != MZ_OK) return MZ_OK;
  return v->visit(v->context, rounds, path);
}

mz_status mz_checkpoint_each(const char *dir, mz_status (*visit)(void *context, int64_t rounds, const char *path),
                             void *context) {
  char folder[4096];
  MZ_TRY(mz_path_join(folder, sizeof folder, dir, "checkpoints"));
  visits v = {folder, visit, context};
  return mz_file_is_dir(folder) ? mz_file_list(folder, visit_name, &v) : MZ_OK;
}

mz_status mz_checkpoint_path(const char *dir, const char *name, char *out, size_t size) {
  char folder[512];
  MZ_TRY(mz_path_join(folder, sizeof folder, dir, "checkpoints"));
  return mz_path_join(out, size, folder, name);
}

mz_status mz_checkpoint_run_dir(const char *checkpoint, char *out, size_t size) {
  char folder[512];
  MZ_TRY(mz_path_folder(checkpoint, folder, sizeof folder));
  if (!strchr(folder, '/')) return mz_path_join(out, size, folder, "..");
  return mz_path_folder(folder, out, size);
}

mz_status mz_checkpoint_segments_dir(const char *checkpoint, char *out, size_t size) {
  char run[512];
  MZ_TRY(mz_checkpoint_run_dir(checkpoint, run, sizeof run));
  return mz_path_join(out, size, run, "segments");
}
