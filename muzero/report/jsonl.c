#include "muzero/report/jsonl.h"
#include "base/file/file.h"
#include <string.h>

mz_status mz_jsonl_open(mz_jsonl *file, const char *path) {
  *file = (mz_jsonl){0};
  snprintf(file->path, sizeof file->path, "%s", path);
  uint8_t *text;
  MZ_TRY(mz_file_read(path, 0, &text, &file->size));
  file->text = (char *)text;
  while (file->size > 0 && file->text[file->size - 1] != '\n') file->size--;
  return MZ_OK;
}

void mz_jsonl_close(mz_jsonl *file) {
  free(file->text);
  *file = (mz_jsonl){0};
}

int64_t mz_jsonl_count(const mz_jsonl *file) {
  int64_t count = 0;
  for (size_t i = 0; i < file->size; i++) count += file->text[i] == '\n';
  return count;
}

mz_status mz_jsonl_next(mz_jsonl *file, cJSON **out) {
  *out = NULL;
  if (file->at == file->size) return MZ_OK;
  const char *line = file->text + file->at;
  const char *end = memchr(line, '\n', file->size - file->at);
  file->at += (size_t)(end - line) + 1;
  file->number++;
  char name[sizeof file->path + 24];
  snprintf(name, sizeof name, "%s:%lld", file->path, (long long)file->number);
  return mz_json_parse(line, (size_t)(end - line), name, false, MZ_E_CHECKPOINT, out);
}
