#include "tests/fault/trial.h"
#include "base/file/file.h"
#include "base/json/json.h"
#include "tests/fault/inject.h"
#include "tests/fault/launch.h"
#include <stdarg.h>
#include <string.h>

enum { PATH_BYTES = 700 };

/* ---- the calm ---- */

static void must(const char *program, const char *command, const char *folder) {
  const launch l = launch_program(program, command, folder, NULL);
  if (l.status == 0) return;
  fprintf(stderr, "faults: without any fault, '%s' ends with %d: %s\n", command, l.status, l.err);
  exit(2);
}

static void read_digest(const scenario *s, const char *folder, char out[64]) {
  char command[256];
  snprintf(command, sizeof command, "inspect %s --digest", s->run);
  const launch l = launch_program(MUZERO_BINARY, command, folder, NULL);
  snprintf(out, 64, "%.*s", l.status == 0 ? (int)strcspn(l.out, "\n") : 0, l.out);
}

void calm_prepare(const scenario *s, const char *base, calm *out) {
  snprintf(out->before, sizeof out->before, "%s/%s-before", base, s->name);
  snprintf(out->after, sizeof out->after, "%s/%s-after", base, s->name);
  launch_shell("mkdir -p %s", out->before);
  if (s->prepare) must(MUZERO_BINARY, s->prepare, out->before);
  launch_shell("cp -r %s %s", out->before, out->after);
  must(MUZERO_BINARY, s->command, out->after);
  read_digest(s, out->after, out->digest);
  if (out->digest[0] == '\0') must(MUZERO_BINARY, "inspect", out->after);
}

/* The lines that begin with `word` in what the faulty program reported. */
static bool find_reported(const char *folder, const char *word, char *out, size_t size) {
  char path[PATH_BYTES];
  uint8_t *text;
  size_t length;
  snprintf(path, sizeof path, "%s.report", folder);
  if (!mz_file_exists(path) || mz_file_read(path, 0, &text, &length) != MZ_OK) return false;
  const char *found = strstr((char *)text, word);
  if (found) snprintf(out, size, "%.*s", (int)strcspn(found + strlen(word), "\n"), found + strlen(word));
  free(text);
  return found != NULL;
}

long calm_calls(const scenario *s, const calm *c, const char *base, const char *kind) {
  char folder[PATH_BYTES], fault[64], count[64];
  snprintf(folder, sizeof folder, "%s/count", base);
  snprintf(fault, sizeof fault, "%s:1000000000", kind);
  launch_shell("rm -rf %s; cp -r %s %s", folder, c->before, folder);
  const launch l = launch_program(MUZERO_FAULTY, s->command, folder, fault);
  if (l.status == 0 && find_reported(folder, "calls: ", count, sizeof count)) return atol(count);
  fprintf(stderr, "faults: without any fault, '%s' ends with %d: %s\n", s->command, l.status, l.err);
  exit(2);
}

/* ---- the judgement ---- */

typedef struct judgement {
  trial *trial;
  const scenario *scenario;
  const calm *calm;
  const char *folder, *kind;
  char what[512]; /* the call that failed */
  long n;
} judgement;

__attribute__((format(printf, 3, 4))) static void complain(judgement *j, bool *flag, const char *format, ...) {
  char text[3000];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  *flag = true;
  for (size_t end = strlen(text); end > 0 && text[end - 1] == '\n';) text[--end] = '\0';
  const size_t used = strlen(j->trial->story);
  snprintf(j->trial->story + used, sizeof j->trial->story - used, "%s: %s %s:%ld (%s): %s\n",
           flag == &j->trial->lost ? "LOST" : "WRONG", j->scenario->name, j->kind, j->n, j->what, text);
}

static bool is(const char *kind, const char *one, const char *other) {
  return strcmp(kind, one) == 0 || strcmp(kind, other) == 0;
}

static bool status_fits(const char *kind, int status) {
  if (is(kind, "eintr", "short")) return status == 0;
  if (is(kind, "memory", "memory")) return status == 0 || status == 1;
  if (is(kind, "stop", "half")) return status == 0 || status == FAULT_STOP_STATUS;
  return status == 0 || (status >= 3 && status <= 5);
}

/* What the command itself may do: its exit status, its message, what it leaves open or running. */
static void judge_end(judgement *j, const launch *l) {
  const char *last = strstr(l->err, "muzero: ");
  char open[512];
  const bool cell = strcmp(j->scenario->name, "compare") == 0; /* a cell that stops is the comparison's error */
  if (!status_fits(j->kind, l->status) && !(cell && is(j->kind, "stop", "half") && l->status == 1))
    complain(j, &j->trial->wrong, "ends with %d: %.300s", l->status, l->err);
  if (l->status != 0 && l->status < 128 && l->status != FAULT_STOP_STATUS && (!last || strlen(last) < 15))
    complain(j, &j->trial->wrong, "ends with %d and says no reason: %.300s", l->status, l->err);
  if (find_reported(j->folder, "open: ", open, sizeof open)) complain(j, &j->trial->wrong, "leaves open: %s", open);
  if (l->left_processes) complain(j, &j->trial->wrong, "leaves processes running");
}

/* Checks that a file consists of JSON lines. *values: a line "PHASE DIGEST" for each record that has both; a run that was at its
 * end already records its last phase again when it is resumed, which counts once. */
static bool read_lines(const char *path, char *values, size_t size) {
  uint8_t *text;
  size_t length, used = 0;
  bool good = true;
  char value[64], last[64] = "";
  values[0] = '\0';
  if (mz_file_read(path, 0, &text, &length) != MZ_OK) return false;
  for (char *line = (char *)text, *end; good && *line; line = end + 1) {
    cJSON *json = NULL;
    end = strchr(line, '\n');
    good = end != NULL && mz_json_parse(line, (size_t)(end - line), "line", false, MZ_E_CHECKPOINT, &json) == MZ_OK;
    const cJSON *digest = cJSON_GetObjectItemCaseSensitive(json, "digest"),
                *phase = cJSON_GetObjectItemCaseSensitive(json, "phase");
    if (cJSON_IsString(digest) && cJSON_IsNumber(phase)) {
      snprintf(value, sizeof value, "%d %s\n", phase->valueint, digest->valuestring);
      if (strcmp(value, last) != 0 && used < size) used += (size_t)snprintf(values + used, size - used, "%s", value);
      memcpy(last, value, sizeof last);
    }
    cJSON_Delete(json);
    if (!good) break;
  }
  free(text);
  return good;
}

static bool has(const char *folder, const char *run, const char *file, char path[PATH_BYTES]) {
  snprintf(path, PATH_BYTES, "%s/%s/%s", folder, run, file);
  return mz_file_exists(path);
}

static void judge_logs(judgement *j, bool at_end) {
  static const char *const names[] = {"metrics.jsonl", "ledger.jsonl"};
  char path[PATH_BYTES], values[4096], wanted[4096];
  for (int i = 0; i < 2; i++) {
    if (!has(j->folder, j->scenario->run, names[i], path)) {
      if (at_end) complain(j, &j->trial->lost, "%s is not there at the end", names[i]);
      continue;
    }
    if (!read_lines(path, values, sizeof values)) complain(j, &j->trial->wrong, "%s has broken lines", names[i]);
    if (!at_end || i > 0) continue;
    has(j->calm->after, j->scenario->run, names[i], path);
    if (!read_lines(path, wanted, sizeof wanted) || strcmp(values, wanted) != 0)
      complain(j, &j->trial->lost, "%s records:\n%swanted:\n%s", names[i], values, wanted);
  }
}

static bool verify(judgement *j, const char *when) {
  char command[256];
  snprintf(command, sizeof command, "inspect %s --verify", j->scenario->run);
  const launch l = launch_program(MUZERO_BINARY, command, j->folder, NULL);
  if (l.status != 0) complain(j, &j->trial->lost, "%s, inspect --verify ends with %d: %s", when, l.status, l.err);
  return l.status == 0;
}

/* A run with a checkpoint is resumed; otherwise the command is given again, and where it refuses, the run is resumed. */
static bool take_up(judgement *j, bool resumable) {
  const scenario *s = j->scenario;
  launch first = {0};
  if (!resumable || !s->resume) {
    first = launch_program(MUZERO_BINARY, s->command, j->folder, NULL);
    if (first.status == 0) return true;
  }
  if (s->resume) {
    const launch second = launch_program(MUZERO_BINARY, s->resume, j->folder, NULL);
    if (second.status == 0) return true;
    complain(j, &j->trial->lost, "resume ends with %d: %s", second.status, second.err);
  }
  if (first.status != 0) complain(j, &j->trial->lost, "the command again ends with %d: %s", first.status, first.err);
  return false;
}

static void judge_leftovers(judgement *j) {
  char command[PATH_BYTES + 64];
  snprintf(command, sizeof command, "find %s -name *.tmp -o -name *.spill", j->folder);
  const launch l = launch_program("/usr/bin/env", command, j->folder, NULL);
  if (l.status != 0 || l.out[0]) complain(j, &j->trial->wrong, "left at the end: %s%s", l.out, l.err);
}

static void judge_unchanged(judgement *j) {
  char command[3 * PATH_BYTES];
  snprintf(command, sizeof command, "diff -rq -x lock %s/%s %s/%s", j->calm->before, j->scenario->unchanged, j->folder,
           j->scenario->unchanged);
  const launch l = launch_program("/usr/bin/env", command, j->folder, NULL);
  if (l.status != 0) complain(j, &j->trial->wrong, "changed %s: %s", j->scenario->unchanged, l.out);
}

/* What the command left, and what becomes of it. */
static void judge_rest(judgement *j) {
  char path[PATH_BYTES], digest[64];
  const bool resumable = has(j->folder, j->scenario->run, "LATEST", path);
  if (!is(j->kind, "stop", "half")) judge_logs(j, false);
  if (resumable && j->scenario->resume && !verify(j, "after the fault")) return;
  if (!take_up(j, resumable) || !verify(j, "at the end")) return;
  read_digest(j->scenario, j->folder, digest);
  if (strcmp(digest, j->calm->digest) != 0)
    complain(j, &j->trial->lost, "ends with the digest %s, wanted %s", digest, j->calm->digest);
  if (j->scenario->logs) judge_logs(j, true);
  if (j->scenario->unchanged) judge_unchanged(j);
  judge_leftovers(j);
}

/* A comparison continues without an arm that crashed, and says so in its summary. */
static bool tells_of_a_crash(const judgement *j) {
  char path[PATH_BYTES];
  uint8_t *text;
  size_t size;
  if (!has(j->folder, "comparison", "compare.json", path) || mz_file_read(path, 0, &text, &size) != MZ_OK) return false;
  const bool tells = strstr((char *)text, "\"crashed\":\t\"") != NULL;
  free(text);
  return tells;
}

trial trial_run(const scenario *s, const calm *c, const char *folder, const char *kind, long n) {
  trial t = {0};
  judgement j = {.trial = &t, .scenario = s, .calm = c, .folder = folder, .kind = kind, .n = n};
  char fault[64];
  snprintf(fault, sizeof fault, "%s:%ld", kind, n);
  launch_shell("rm -rf %s; cp -r %s %s", folder, c->before, folder);
  const launch l = launch_program(MUZERO_FAULTY, s->command, folder, fault);
  if (!find_reported(folder, "fault: ", j.what, sizeof j.what)) {
    snprintf(j.what, sizeof j.what, "none was met");
    if (l.status != 0) complain(&j, &t.wrong, "ends with %d: %s", l.status, l.err);
    return t;
  }
  if (is(kind, "stop", "half"))
    t.end = TRIAL_STOPPED;
  else
    t.end = l.status == 0 && !tells_of_a_crash(&j) ? TRIAL_NO_EFFECT : TRIAL_REPORTED;
  judge_end(&j, &l);
  judge_rest(&j);
  return t;
}
