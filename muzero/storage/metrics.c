#include "muzero/storage/metrics.h"
#include "base/file/file.h"
#include "base/log.h"
#include <string.h>

mz_status mz_metrics_open(mz_metrics *metrics, const char *dir, uint64_t offset) {
  metrics->fd = -1;
  MZ_TRY(mz_path_join(metrics->path, sizeof metrics->path, dir, "metrics.jsonl"));
  metrics->offset = offset;
  MZ_TRY(mz_file_open_lines(metrics->path, &metrics->offset, &metrics->fd));
  metrics->end = metrics->offset;
  return MZ_OK;
}

void mz_metrics_close(mz_metrics *metrics) {
  if (mz_file_close(&metrics->fd, metrics->path) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
}

mz_status mz_metrics_sync(const mz_metrics *metrics) { return mz_file_sync(metrics->fd, metrics->path); }

static mz_status append_line(mz_metrics *metrics, const char *line, size_t length) {
  uint64_t missing;
  if (metrics->end > metrics->offset) MZ_TRY(mz_file_truncate(metrics->fd, metrics->path, metrics->offset, &missing));
  metrics->end = metrics->offset;
  MZ_TRY(mz_file_append(metrics->fd, metrics->path, line, length));
  metrics->end += length;
  return MZ_OK;
}

mz_status mz_metrics_append(mz_metrics *metrics, const cJSON *record, bool kept) {
  char *line = mz_json_line(record);
  if (!line) return mz_fail(MZ_E_MEMORY, "%s: no memory for a record", metrics->path);
  size_t length = strlen(line);
  line[length] = '\n'; /* takes the place of the NUL */
  mz_status status = append_line(metrics, line, length + 1);
  free(line);
  if (status == MZ_OK && kept) metrics->offset = metrics->end;
  return status;
}
