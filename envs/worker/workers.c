#include "envs/worker/workers.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/threads/core.h"
#include "envs/worker/process.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
  DEATHS_IN_A_ROW_MAX = 5,      /* without an answer in between: it is no accident */
  MAILBOX_BYTES_MAX = 16 << 20, /* of one worker, where rows are large */
  LOG_BYTES_MAX = 1 << 20,
  BATCHES_BETWEEN_BOUNDS = 4096,
  STARTS_MAX = 8, /* of a worker, one after another */
  TAIL_BYTES = 2048,
  TAIL_LINES = 12
};

typedef struct worker {
  pthread_mutex_t lock;
  mz_worker_process process;
  uint32_t life, serial; /* starts; batches of this life */
  int deaths_in_a_row;
} worker;

struct mz_workers {
  mz_workers_setup setup;
  char *start, *description; /* the message that a worker begins with; what the first one answered */
  char *share;               /* the message that goes with a mailbox; NULL until there is a layout */
  size_t mailbox_bytes, row_bytes;
  int rows;
  _Atomic int64_t deaths, lost;
  worker items[MZ_WORKERS_MAX];
};

/* ---- beginning ---- */

static void add_cores(cJSON *message) {
  cJSON *cores = cJSON_AddArrayToObject(message, "cores");
  cpu_set_t allowed;
  if (!mz_core_allowed(&allowed)) return;
  for (int core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &allowed)) cJSON_AddItemToArray(cores, cJSON_CreateNumber(core));
}

static mz_status line_of(cJSON *message, char **out) {
  *out = mz_json_line(message);
  cJSON_Delete(message);
  return *out ? MZ_OK : mz_fail(MZ_E_MEMORY, "worker: no memory for a message");
}

static mz_status make_start(mz_workers *w) {
  const mz_workers_setup *s = &w->setup;
  cJSON *message = cJSON_CreateObject();
  cJSON_AddNumberToObject(message, "version", MZ_WORKER_VERSION);
  cJSON_AddStringToObject(message, "kind", s->kind);
  cJSON_AddStringToObject(message, "id", s->id);
  cJSON_AddNumberToObject(message, "limit", s->limit);
  cJSON *options = cJSON_AddArrayToObject(message, "options");
  for (int i = 0; i < s->option_count; i++) cJSON_AddItemToArray(options, cJSON_CreateString(s->options[i]));
  add_cores(message);
  return line_of(message, &w->start);
}

/* Joins the last lines of a log into one, for a message. */
static void join_tail(const mz_worker_process *process, char out[TAIL_BYTES]) {
  char tail[TAIL_BYTES / 4];
  size_t used = 0;
  out[0] = '\0';
  mz_memory_file_tail(&process->log, tail, sizeof tail);
  char *state;
  for (char *line = strtok_r(tail, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
    while (*line == ' ') line++;
    used += (size_t)snprintf(out + used, TAIL_BYTES - used, "%s%s", used ? " | " : "", line);
  }
}

/* Checks a description: of this version, no refusal, and for later workers what the first one said. */
static mz_status check_description(mz_workers *w, const char *text) {
  cJSON *json;
  const char *name = w->setup.name;
  if (mz_json_parse(text, strlen(text), name, false, MZ_E_CONFIG, &json) != MZ_OK)
    return mz_fail(MZ_E_CONFIG, "%s: the worker answers with what is no description: %.60s", name, text);
  const double version = mz_json_number_or_nan(json, "version");
  const char *error = mz_json_text_or_empty(json, "error");
  mz_status status = MZ_OK;
  if (version != MZ_WORKER_VERSION)
    status = mz_fail(MZ_E_CONFIG, "%s: the worker speaks version %g, this program %d", name, version, MZ_WORKER_VERSION);
  else if (error[0])
    status = mz_fail(MZ_E_CONFIG, "%s: %s", name, error);
  else if (w->description && strcmp(w->description, text) != 0)
    status =
        mz_fail(MZ_E_CONFIG, "%s: a worker describes another environment than the first one did; was a package changed?", name);
  cJSON_Delete(json);
  if (status != MZ_OK || w->description) return status;
  w->description = strdup(text);
  return w->description ? MZ_OK : mz_fail(MZ_E_MEMORY, "%s: no memory for its description", name);
}

/* Why an answer did not come, as a message. */
static mz_status no_answer(mz_workers *w, worker *one, mz_worker_answer answer, const char *when) {
  char tail[TAIL_BYTES], how[64];
  join_tail(&one->process, tail);
  mz_worker_process_end(&one->process, how, sizeof how);
  if (answer == MZ_WORKER_SILENT)
    snprintf(how, sizeof how, "no answer in %g s (timeout=%g)", w->setup.timeout_s, w->setup.timeout_s);
  return mz_fail(MZ_E_CONFIG, "%s: the worker ended %s: %s%s%s", w->setup.name, when, how, tail[0] ? ": " : "", tail);
}

static mz_status hand_mailbox(mz_workers *w, worker *one) {
  bool sent;
  char ready[8];
  MZ_TRY(mz_worker_process_share(&one->process, w->mailbox_bytes, w->share, &sent));
  mz_mailbox_head *head = one->process.mailbox.bytes;
  *head = (mz_mailbox_head){
      .magic = MZ_MAILBOX_MAGIC, .version = MZ_WORKER_VERSION, .rows = (uint32_t)w->rows, .row_bytes = (uint32_t)w->row_bytes};
  const mz_worker_answer answer = sent ? mz_worker_process_receive(&one->process, ready, sizeof ready) : MZ_WORKER_DIED;
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, one, answer, "before it took its memory");
}

/* Starts a worker; *ended: it ended without a word, or was silent. */
static mz_status start_once(mz_workers *w, worker *one, bool *ended) {
  char *text;
  MZ_TRY(mz_alloc(&text, MZ_WORKER_MESSAGE_MAX, 1));
  mz_status status = mz_worker_process_start(&one->process, w->setup.timeout_s);
  if (status == MZ_OK) {
    one->life++;
    one->serial = 0;
    mz_worker_answer answer = MZ_WORKER_DIED;
    if (mz_worker_process_send(&one->process, w->start))
      answer = mz_worker_process_receive(&one->process, text, MZ_WORKER_MESSAGE_MAX);
    status =
        answer == MZ_WORKER_ANSWERED ? check_description(w, text) : no_answer(w, one, answer, "before it described the game");
    *ended = answer != MZ_WORKER_ANSWERED;
    if (status == MZ_OK && w->share) {
      status = hand_mailbox(w, one);
      *ended = status == MZ_E_CONFIG;
    }
    if (status != MZ_OK) mz_worker_process_end(&one->process, NULL, 0);
  }
  free(text);
  return status;
}

/* Starts a worker; the lock is held, and there is none. What has begun once can begin again: where the first worker did, one that is
 * killed in its first second is followed by another. */
static mz_status start(mz_workers *w, worker *one) {
  mz_status status;
  bool ended;
  int starts = 0;
  do {
    ended = false;
    status = start_once(w, one, &ended);
    starts++;
  } while (status != MZ_OK && ended && w->share && starts < STARTS_MAX);
  return status;
}

mz_status mz_workers_create(mz_workers **out, const mz_workers_setup *setup, const char **description) {
  mz_workers *w;
  MZ_ASSERT(setup->count >= 1 && setup->count <= MZ_WORKERS_MAX);
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->setup = *setup;
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    const int failed = pthread_mutex_init(&w->items[i].lock, NULL);
    MZ_ASSERT(!failed);
    w->items[i].process = (mz_worker_process){.socket = -1, .log = {.fd = -1}, .mailbox = {.fd = -1}};
  }
  mz_status status = make_start(w);
  if (status == MZ_OK) status = start(w, &w->items[0]);
  if (status != MZ_OK) {
    mz_workers_free(w);
    return status;
  }
  *description = w->description;
  *out = w;
  return MZ_OK;
}

mz_status mz_workers_ask(mz_workers *w, const char *request, char *out) {
  worker *first = &w->items[0];
  mz_worker_answer answer = MZ_WORKER_DIED;
  if (mz_worker_process_send(&first->process, request))
    answer = mz_worker_process_receive(&first->process, out, MZ_WORKER_MESSAGE_MAX);
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, first, answer, "while it played at random");
}

mz_status mz_workers_share(mz_workers *w, const mz_mailbox_layout *layout) {
  MZ_ASSERT(!w->share && layout->row_bytes % 64 == 0);
  const size_t rows = MAILBOX_BYTES_MAX / layout->row_bytes;
  w->rows = rows > MZ_WORKERS_ROWS_MAX ? MZ_WORKERS_ROWS_MAX : rows < 1 ? 1 : (int)rows;
  w->row_bytes = layout->row_bytes;
  w->mailbox_bytes = MZ_MAILBOX_ROWS_AT + (size_t)w->rows * layout->row_bytes;
  const struct {
    const char *key;
    size_t value;
  } numbers[] = {{"bytes", w->mailbox_bytes},        {"obs_bytes", layout->obs_bytes}, {"mask_at", layout->mask_at},
                 {"history_at", layout->history_at}, {"history", layout->history},     {"text_at", layout->text_at},
                 {"text_bytes", layout->text_bytes}};
  cJSON *message = cJSON_CreateObject();
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    cJSON_AddNumberToObject(message, numbers[i].key, (double)numbers[i].value);
  MZ_TRY(line_of(message, &w->share));
  return hand_mailbox(w, &w->items[0]);
}

void mz_workers_free(mz_workers *w) {
  if (!w) return;
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    if (w->items[i].process.pid > 0) mz_worker_process_end(&w->items[i].process, NULL, 0);
    pthread_mutex_destroy(&w->items[i].lock);
  }
  free(w->start), free(w->description), free(w->share), free(w);
}

int mz_workers_count(const mz_workers *w) { return w->setup.count; }
int mz_workers_rows(const mz_workers *w) { return w->rows; }
void mz_workers_count_lost(mz_workers *w, int games) { atomic_fetch_add(&w->lost, games); }

/* ---- deaths ---- */

/* The first deaths are told one by one, later ones now and then. */
static bool is_told(int64_t deaths) { return deaths <= 4 || (deaths & (deaths - 1)) == 0; }

static void tell_tail(const mz_worker_process *process) {
  char tail[TAIL_BYTES];
  const char *lines[TAIL_LINES];
  int count = 0;
  mz_memory_file_tail(&process->log, tail, sizeof tail);
  char *state;
  for (char *line = strtok_r(tail, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) lines[count++ % TAIL_LINES] = line;
  for (int i = count > TAIL_LINES ? count - TAIL_LINES : 0; i < count; i++)
    mz_log_write(MZ_LOG_WARNING, "  %s", lines[i % TAIL_LINES]);
}

/* Ends a worker that gave no answer. */
static void bury(mz_workers *w, worker *one, mz_worker_answer answer) {
  const int64_t deaths = atomic_fetch_add(&w->deaths, 1) + 1;
  mz_worker_process *process = &one->process;
  const int pid = (int)process->pid, index = (int)(one - w->items);
  mz_worker_process dead = *process; /* its log outlives it for a moment */
  char how[64];
  process->log = (mz_memory_file){.fd = -1};
  mz_worker_process_end(process, how, sizeof how);
  if (answer == MZ_WORKER_SILENT)
    snprintf(how, sizeof how, "silent for %g s (timeout=%g)", w->setup.timeout_s, w->setup.timeout_s);
  if (is_told(deaths)) {
    mz_log_write(MZ_LOG_WARNING,
                 "%s: worker %d (process %d) is lost: %s; the games that it played are truncated, and a new one takes its place "
                 "(%lld lost so far, with %lld games)",
                 w->setup.name, index, pid, how, (long long)deaths, (long long)w->lost);
    tell_tail(&dead);
  }
  mz_memory_file_free(&dead.log);
  one->deaths_in_a_row++;
}

/* ---- batches ---- */

typedef struct pass {
  int n;
  const int32_t *worker_of;
  const mz_workers_batch *batch;
  bool asked[MZ_WORKERS_ROWS_MAX];
} pass;

static mz_mailbox_row *row_at(const mz_workers *w, const worker *one, int at) {
  return (mz_mailbox_row *)((uint8_t *)one->process.mailbox.bytes + MZ_MAILBOX_ROWS_AT + (size_t)at * w->row_bytes);
}

static int write_questions(const mz_workers *w, worker *one, pass *p) {
  const int index = (int)(one - w->items);
  int count = 0;
  for (int i = 0; i < p->n; i++) {
    if (p->worker_of[i] != index) continue;
    p->asked[i] = p->batch->ask(p->batch->context, i, row_at(w, one, count), one->life);
    count += p->asked[i];
  }
  mz_mailbox_head *head = one->process.mailbox.bytes;
  head->serial = ++one->serial;
  head->count = (uint32_t)count;
  return count;
}

/* Gives all rows of a worker that were not asked, or all of them, to `take` as lost. */
static void lose(const mz_workers *w, const worker *one, const pass *p, bool all) {
  const int index = (int)(one - w->items);
  for (int i = 0; i < p->n; i++)
    if (p->worker_of[i] == index && (all || !p->asked[i])) p->batch->take(p->batch->context, i, NULL, one->life);
}

/* Wakes a worker for its rows; the lock is held. *posted: an answer will come. */
static mz_status post(mz_workers *w, worker *one, pass *p, bool *posted) {
  *posted = false;
  for (;;) {
    if (one->process.pid == 0) {
      if (one->deaths_in_a_row >= DEATHS_IN_A_ROW_MAX)
        return mz_fail(MZ_E_CONFIG, "%s: worker %d died %d times in a row without an answer; the warnings above say how",
                       w->setup.name, (int)(one - w->items), one->deaths_in_a_row);
      MZ_TRY(start(w, one));
    }
    if (write_questions(w, one, p) == 0) return MZ_OK;
    *posted = mz_worker_process_send(&one->process, "b");
    if (*posted) return MZ_OK;
    bury(w, one, MZ_WORKER_DIED);
  }
}

/* Waits for a worker's answers; the lock is held. */
static void collect(mz_workers *w, worker *one, pass *p) {
  const int index = (int)(one - w->items);
  char byte[8];
  mz_worker_answer answer = mz_worker_process_receive(&one->process, byte, sizeof byte);
  const mz_mailbox_head *head = one->process.mailbox.bytes;
  if (answer == MZ_WORKER_ANSWERED && head->done != one->serial) answer = MZ_WORKER_DIED; /* it answers what nobody asked */
  if (answer != MZ_WORKER_ANSWERED) {
    bury(w, one, answer);
    lose(w, one, p, true);
    return;
  }
  one->deaths_in_a_row = 0;
  int at = 0;
  for (int i = 0; i < p->n; i++) {
    if (p->worker_of[i] != index || !p->asked[i]) continue;
    p->batch->take(p->batch->context, i, row_at(w, one, at++), one->life);
  }
  lose(w, one, p, false);
  if (one->serial % BATCHES_BETWEEN_BOUNDS == 0) mz_memory_file_bound_log(&one->process.log, LOG_BYTES_MAX);
}

static void lock(worker *one) {
  const int failed = pthread_mutex_lock(&one->lock);
  MZ_ASSERT(!failed);
}

static void unlock(worker *one) {
  const int failed = pthread_mutex_unlock(&one->lock);
  MZ_ASSERT(!failed);
}

/* Workers are locked in the order of their numbers, each until its answers are there: threads follow one another from worker to
 * worker and never wait for each other in a circle. */
mz_status mz_workers_run(mz_workers *w, int n, const int32_t *worker_of, const mz_workers_batch *batch) {
  MZ_ASSERT(n >= 0 && n <= w->rows);
  pass p = {.n = n, .worker_of = worker_of, .batch = batch};
  bool needed[MZ_WORKERS_MAX] = {false}, posted[MZ_WORKERS_MAX] = {false};
  char why[MZ_MESSAGE_MAX] = "";
  mz_status status = MZ_OK;
  for (int i = 0; i < n; i++) needed[worker_of[i]] = true;
  for (int k = 0; k < w->setup.count; k++) {
    if (!needed[k]) continue;
    worker *one = &w->items[k];
    lock(one);
    const mz_status started = status == MZ_OK ? post(w, one, &p, &posted[k]) : status;
    if (posted[k]) continue;
    if (started != MZ_OK && status == MZ_OK) snprintf(why, sizeof why, "%s", mz_message());
    status = started;
    lose(w, one, &p, true);
    unlock(one);
  }
  for (int k = 0; k < w->setup.count; k++) {
    if (!posted[k]) continue;
    collect(w, &w->items[k], &p);
    unlock(&w->items[k]);
  }
  return status == MZ_OK ? MZ_OK : mz_fail(status, "%s", why);
}
