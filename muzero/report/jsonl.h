/* A file of JSON lines, one after another. A last line without its end was being written: it is left out. */
#pragma once
#include "base/json/json.h"

typedef struct mz_jsonl {
  char path[640];
  char *text;
  size_t size, at;
  int64_t number; /* of the line that was read last */
} mz_jsonl;

mz_status mz_jsonl_open(mz_jsonl *file, const char *path);
void mz_jsonl_close(mz_jsonl *file);
int64_t mz_jsonl_count(const mz_jsonl *file);
/* The next line, parsed; *out is NULL after the last. MZ_E_CHECKPOINT naming the line. */
mz_status mz_jsonl_next(mz_jsonl *file, cJSON **out);
