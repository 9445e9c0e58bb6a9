#include "allocator/records/ledger.h"
#include "base/file/file.h"
#include "base/log.h"
#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES_MAX = 8 << 20, FIRST_BYTES = 64 << 10 };

typedef struct source {
  const char *path;
  int fd;
  uint64_t read; /* bytes of the file so far */
  char *data;    /* `capacity` bytes, and one for a NUL */
  size_t begin, end, capacity;
  int64_t number; /* of the line that begins at `begin` */
} source;

/* The reader's own checks are its own; here only what every line of ours has. */
static mz_status check_line(const source *s, const char *line, size_t length) {
  static const char start[] = "{\"event\":\"";
  const size_t least = sizeof start - 1;
  if (length > least && memcmp(line, start, least) == 0 && line[length - 1] == '}' && memchr(line, '\0', length) == NULL) {
    return MZ_OK;
  }
  return mz_fail(MZ_E_CHECKPOINT, "%s:%" PRId64 ": damaged: not a line of a ledger", s->path, s->number);
}

/* Moves the rest to the front, grows where that is not enough, reads on. *more false: the end. */
static mz_status read_on(source *s, bool *more) {
  memmove(s->data, s->data + s->begin, s->end - s->begin);
  s->end -= s->begin;
  s->begin = 0;
  if (s->end >= LINE_BYTES_MAX)
    return mz_fail(MZ_E_CHECKPOINT, "%s:%" PRId64 ": damaged: a line of more than 8 MiB", s->path, s->number);
  if (s->end == s->capacity) {
    char *larger = NULL;
    MZ_TRY(mz_alloc(&larger, 2 * s->capacity + 1, 1));
    memcpy(larger, s->data, s->end);
    free(s->data);
    s->data = larger;
    s->capacity *= 2;
  }
  size_t got = 0;
  MZ_TRY(mz_file_read_at(s->fd, s->path, s->read, s->data + s->end, s->capacity - s->end, &got));
  s->read += got;
  s->end += got;
  *more = got > 0;
  return MZ_OK;
}

static mz_status read_lines(source *s, mz_ledger_reader reader, void *context) {
  size_t searched = 0; /* bytes from `begin` on that hold no end of line */
  for (bool more = true; more;) {
    char *line = s->data + s->begin, *end = memchr(line + searched, '\n', s->end - s->begin - searched);
    if (end == NULL) {
      searched = s->end - s->begin;
      MZ_TRY(read_on(s, &more));
      continue;
    }
    const size_t length = (size_t)(end - line);
    *end = '\0';
    MZ_TRY(check_line(s, line, length));
    MZ_TRY(reader(context, line, length, s->number));
    s->begin += length + 1;
    s->number++;
    searched = 0;
  }
  if (s->end > s->begin) {
    mz_log_write(MZ_LOG_WARNING, "%s:%" PRId64 ": the last line was cut off (%zu bytes); it is left out", s->path, s->number,
                 s->end - s->begin);
  }
  return MZ_OK;
}

mz_status mz_ledger_read(const char *path, mz_ledger_reader reader, void *context) {
  source s = {.path = path, .fd = -1, .capacity = FIRST_BYTES, .number = 1};
  MZ_TRY(mz_file_open(path, MZ_FILE_READ, &s.fd));
  mz_status status = mz_alloc(&s.data, s.capacity + 1, 1);
  if (status == MZ_OK) status = read_lines(&s, reader, context);
  free(s.data);
  (void)mz_file_close(&s.fd, path); /* nothing was written: no error that matters */
  return status;
}

/* ---- looking at a line ---- */

static bool skip(const char **at, const char *text) {
  const size_t length = strlen(text);
  if (strncmp(*at, text, length) != 0) return false;
  *at += length;
  return true;
}

bool mz_ledger_is(const char *line, const char *event) {
  return skip(&line, "{\"event\":\"") && skip(&line, event) && *line == '"';
}

size_t mz_ledger_before_inputs(const char *line, size_t length) {
  const char *inputs = strstr(line, ",\"rounds\":[");
  return inputs ? (size_t)(inputs - line) : length;
}

bool mz_ledger_peek(const char *line, int64_t *phase, char action[16]) {
  const char *at = line;
  if (!skip(&at, "{\"event\":\"decision\",\"phase\":")) return false;
  char *end = NULL;
  const long long number = strtoll(at, &end, 10);
  if (end == at) return false;
  at = end;
  if (!skip(&at, ",\"action\":\"")) return false;
  const size_t length = strcspn(at, "\"");
  if (at[length] != '"' || length >= 16) return false;
  *phase = number;
  memcpy(action, at, length);
  action[length] = '\0';
  return true;
}

mz_status mz_ledger_path(const char *run, char *out, size_t size) {
  if (!mz_file_is_dir(run))
    return mz_fail(MZ_E_IO, "%s: %s", run, mz_file_exists(run) ? "not a directory; give the run's" : "no such file or directory");
  return mz_path_join(out, size, run, "ledger.jsonl");
}

/* ---- the promise ---- */

typedef struct promise_reader {
  mz_promise *out;
  bool found;
} promise_reader;

static mz_status read_promise(void *context, const char *line, size_t length, int64_t number) {
  promise_reader *r = context;
  char where[32];
  cJSON *json;
  if (r->found || !mz_ledger_is(line, "promise")) return MZ_OK;
  snprintf(where, sizeof where, "ledger, line %lld", (long long)number);
  MZ_TRY(mz_json_parse(line, length, where, false, MZ_E_CHECKPOINT, &json));
  const mz_status status = mz_promise_from_json(r->out, json, where, MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  r->found = status == MZ_OK;
  return status;
}

mz_status mz_ledger_promise(const char *path, mz_promise *out, bool *found) {
  promise_reader r = {.out = out};
  const mz_status status = mz_ledger_read(path, read_promise, &r);
  *found = r.found;
  return status;
}

mz_status mz_ledger_unknown_event(const char *where, const char *event) {
  return mz_fail(
      MZ_E_CHECKPOINT,
      "%s: unknown event '%s'; there are open, decision, goodput, batch_size, promise, outcome, stage, stages and epoch", where,
      event);
}
