#include "envs/worker/workers.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/threads/core.h"
#include "envs/worker/ending.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
  MAILBOX_BYTES_MAX = 16 << 20, /* of one worker, where rows are large */
  LOG_BYTES_MAX = 1 << 20,
  BATCHES_BETWEEN_BOUNDS = 4096
};

typedef struct worker {
  pthread_mutex_t lock;
  mz_worker_process process;
  uint32_t life, serial; /* starts; batches of this life */
  bool plays;            /* its batch has a row that is no reset */
  int lost_in_a_row;     /* since it answered such a row */
  char last_end[MZ_WORKER_LINE_BYTES];
} worker;

struct mz_env_workers {
  mz_env_workers_setup setup;
  char *start, *description; /* the message that a worker begins with; what the first one answered */
  char *share;               /* the message that goes with a mailbox; NULL until there is a layout */
  size_t mailbox_bytes, row_bytes;
  int rows;
  _Atomic int64_t lost_workers, lost_games;
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

static mz_status make_start(mz_env_workers *w) {
  const mz_env_workers_setup *s = &w->setup;
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

/* Checks a description: of this version, no refusal, and for later workers what the first one said. */
static mz_status check_description(mz_env_workers *w, const char *text) {
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

/* ---- ends ---- */

/* Ends the first worker, before it has played, and says why its answer did not come. */
static mz_status no_answer(const mz_env_workers *w, worker *one, mz_worker_answer answer, const char *when) {
  mz_worker_ending ending;
  char why[MZ_WORKER_LINE_BYTES];
  mz_worker_end(&one->process, answer, w->setup.timeout_s, &ending);
  mz_worker_ending_line(&ending, why);
  return mz_fail(MZ_E_CONFIG, "%s: the worker ended %s: %s", w->setup.name, when, why);
}

/* The first ones that are lost are told one by one, later ones now and then. */
static bool is_told(int64_t lost) { return lost <= 4 || (lost & (lost - 1)) == 0; }

/* Ends a worker that gave no answer; the next batch starts another in its place. */
static void lose_worker(mz_env_workers *w, worker *one, mz_worker_answer answer, const char *when) {
  const int64_t lost = atomic_fetch_add(&w->lost_workers, 1) + 1;
  mz_worker_ending ending;
  char line[MZ_WORKER_LINE_BYTES], in[32];
  const mz_mailbox_head *head = one->process.mailbox.bytes;
  const char *function = head ? mz_worker_call_name(head->calling) : NULL;
  snprintf(in, sizeof in, "in %s", function ? function : "");
  mz_worker_end(&one->process, answer, w->setup.timeout_s, &ending);
  one->lost_in_a_row++;
  mz_worker_ending_line(&ending, line);
  snprintf(one->last_end, sizeof one->last_end, "%s%s%.*s", function ? in : "", function ? ": " : "", (int)sizeof line - 48,
           line);
  if (function) when = in;
  if (!is_told(lost)) return;
  mz_log_write(
      MZ_LOG_WARNING,
      "%s: worker %d (process %d) is lost %s: %s; a new one takes its place (%lld lost so far; before this one %lld games "
      "were truncated)",
      w->setup.name, (int)(one - w->items), ending.pid, when, ending.how, (long long)lost, (long long)w->lost_games);
  mz_worker_ending_tell_tail(&ending);
}

/* ---- starts ---- */

static mz_status hand_mailbox(mz_env_workers *w, worker *one, mz_worker_answer *answer) {
  bool sent;
  char ready[8];
  MZ_TRY(mz_worker_process_share(&one->process, w->mailbox_bytes, w->share, &sent));
  mz_mailbox_head *head = one->process.mailbox.bytes;
  *head = (mz_mailbox_head){
      .magic = MZ_MAILBOX_MAGIC, .version = MZ_WORKER_VERSION, .rows = (uint32_t)w->rows, .row_bytes = (uint32_t)w->row_bytes};
  *answer = sent ? mz_worker_process_receive(&one->process, ready, sizeof ready) : MZ_WORKER_DIED;
  return MZ_OK;
}

/* Starts a worker; the lock is held, and there is none. *answer other than MZ_WORKER_ANSWERED: it is to be ended, and *when says at
 * which point. */
static mz_status start(mz_env_workers *w, worker *one, mz_worker_answer *answer, const char **when) {
  char *text;
  MZ_TRY(mz_alloc(&text, MZ_WORKER_MESSAGE_MAX, 1));
  mz_status status = mz_worker_process_start(&one->process, w->setup.program, w->setup.timeout_s);
  if (status == MZ_OK) {
    one->life++;
    one->serial = 0;
    *when = "before it described the game";
    *answer = mz_worker_process_send(&one->process, w->start)
                  ? mz_worker_process_receive(&one->process, text, MZ_WORKER_MESSAGE_MAX)
                  : MZ_WORKER_DIED;
    if (*answer == MZ_WORKER_ANSWERED) status = check_description(w, text);
    if (status == MZ_OK && *answer == MZ_WORKER_ANSWERED && w->share) {
      *when = "before it took its memory";
      status = hand_mailbox(w, one, answer);
    }
    if (status != MZ_OK) mz_worker_process_end(&one->process, NULL, 0);
  }
  free(text);
  return status;
}

static mz_status start_first(mz_env_workers *w) {
  mz_worker_answer answer;
  const char *when;
  MZ_TRY(start(w, &w->items[0], &answer, &when));
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, &w->items[0], answer, when);
}

mz_status mz_env_workers_create(mz_env_workers **out, const mz_env_workers_setup *setup, const char **description) {
  mz_env_workers *w;
  MZ_ASSERT(setup->count >= 1 && setup->count <= MZ_WORKERS_MAX);
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->setup = *setup;
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    const int failed = pthread_mutex_init(&w->items[i].lock, NULL);
    MZ_ASSERT(!failed);
    w->items[i].process = (mz_worker_process){.socket = -1, .log = {.fd = -1}, .mailbox = {.fd = -1}};
  }
  mz_status status = make_start(w);
  if (status == MZ_OK) status = start_first(w);
  if (status != MZ_OK) {
    mz_env_workers_free(w);
    return status;
  }
  *description = w->description;
  *out = w;
  return MZ_OK;
}

mz_status mz_env_workers_ask(mz_env_workers *w, const char *request, char *out) {
  worker *first = &w->items[0];
  mz_worker_answer answer = MZ_WORKER_DIED;
  if (mz_worker_process_send(&first->process, request))
    answer = mz_worker_process_receive(&first->process, out, MZ_WORKER_MESSAGE_MAX);
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, first, answer, "while it played at random");
}

mz_status mz_env_workers_share(mz_env_workers *w, const mz_mailbox_layout *layout) {
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
  mz_worker_answer answer;
  MZ_TRY(hand_mailbox(w, &w->items[0], &answer));
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, &w->items[0], answer, "before it took its memory");
}

void mz_env_workers_free(mz_env_workers *w) {
  if (!w) return;
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    if (w->items[i].process.pid > 0) mz_worker_process_end(&w->items[i].process, NULL, 0);
    pthread_mutex_destroy(&w->items[i].lock);
  }
  free(w->start), free(w->description), free(w->share), free(w);
}

int mz_env_workers_default_count(void) {
  cpu_set_t allowed;
  const int cores = mz_core_allowed(&allowed) ? CPU_COUNT(&allowed) : 1;
  return cores > MZ_WORKERS_MAX ? MZ_WORKERS_MAX : cores;
}

int mz_env_workers_count(const mz_env_workers *w) { return w->setup.count; }
int mz_env_workers_rows(const mz_env_workers *w) { return w->rows; }
int32_t mz_env_workers_any(const mz_env_workers *w, int row, int rows) {
  static _Atomic int threads;
  static _Thread_local int own;
  if (own == 0) own = atomic_fetch_add(&threads, 1) + 1;
  return (int32_t)((rows > 1 ? row : own) % w->setup.count);
}

void mz_env_workers_count_lost(mz_env_workers *w, int games) { atomic_fetch_add(&w->lost_games, games); }

mz_lost_workers mz_env_workers_lost(const mz_env_workers *w) {
  return (mz_lost_workers){.workers = atomic_load(&w->lost_workers), .games = atomic_load(&w->lost_games)};
}

/* ---- batches ---- */

typedef struct pass {
  int n;
  const int32_t *worker_of;
  const mz_env_workers_batch *batch;
  bool asked[MZ_WORKERS_ROWS_MAX];
} pass;

static mz_mailbox_row *row_at(const mz_env_workers *w, const worker *one, int at) {
  return (mz_mailbox_row *)((uint8_t *)one->process.mailbox.bytes + MZ_MAILBOX_ROWS_AT + (size_t)at * w->row_bytes);
}

static int write_questions(const mz_env_workers *w, worker *one, pass *p) {
  const int index = (int)(one - w->items);
  int count = 0;
  one->plays = false;
  for (int i = 0; i < p->n; i++) {
    if (p->worker_of[i] != index) continue;
    mz_mailbox_row *row = row_at(w, one, count);
    p->asked[i] = p->batch->ask(p->batch->context, i, row, one->life);
    if (!p->asked[i]) continue;
    one->plays = one->plays || row->action != MZ_WORKER_RESET;
    count++;
  }
  mz_mailbox_head *head = one->process.mailbox.bytes;
  head->serial = ++one->serial;
  head->count = (uint32_t)count;
  return count;
}

/* Gives all rows of a worker that were not asked, or all of them, to `take` as lost. */
static void lose(const mz_env_workers *w, const worker *one, const pass *p, bool all) {
  const int index = (int)(one - w->items);
  for (int i = 0; i < p->n; i++)
    if (p->worker_of[i] == index && (all || !p->asked[i])) p->batch->take(p->batch->context, i, NULL, one->life);
}

/* Wakes a worker for its rows; the lock is held. *posted: an answer will come. */
static mz_status post(mz_env_workers *w, worker *one, pass *p, bool *posted) {
  *posted = false;
  for (;;) {
    if (one->process.pid == 0) {
      mz_worker_answer answer;
      const char *when;
      if (one->lost_in_a_row >= MZ_WORKERS_LOST_MAX)
        return mz_fail(MZ_E_CONFIG, "%s: worker %d was lost %d times in a row without playing a move; the last time: %s",
                       w->setup.name, (int)(one - w->items), one->lost_in_a_row, one->last_end);
      MZ_TRY(start(w, one, &answer, &when));
      if (answer != MZ_WORKER_ANSWERED) {
        lose_worker(w, one, answer, when);
        continue;
      }
    }
    if (write_questions(w, one, p) == 0) return MZ_OK;
    *posted = mz_worker_process_send(&one->process, "b");
    if (*posted) return MZ_OK;
    lose_worker(w, one, MZ_WORKER_DIED, "between moves");
  }
}

/* Waits for a worker's answers; the lock is held. */
static void collect(mz_env_workers *w, worker *one, pass *p) {
  const int index = (int)(one - w->items);
  char byte[8];
  mz_worker_answer answer = mz_worker_process_receive(&one->process, byte, sizeof byte);
  const mz_mailbox_head *head = one->process.mailbox.bytes;
  if (answer == MZ_WORKER_ANSWERED && head->done != one->serial) answer = MZ_WORKER_ASTRAY;
  if (answer != MZ_WORKER_ANSWERED) {
    lose_worker(w, one, answer, one->plays ? "in a move" : "in a reset");
    lose(w, one, p, true);
    return;
  }
  if (one->plays) one->lost_in_a_row = 0;
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

static mz_status give_up(mz_env_workers *w, int32_t index, const char *what) {
  worker *one = &w->items[index];
  lock(one);
  const mz_status status = mz_fail(MZ_E_CONFIG, "%s: %s lost its worker %d times; the last time: %s", w->setup.name, what,
                                   MZ_WORKERS_LOST_MAX, one->last_end);
  unlock(one);
  return status;
}

/* Workers are locked in the order of their numbers, each until its answers are there: threads follow one another from worker to
 * worker and never wait for each other in a circle. */
mz_status mz_env_workers_run(mz_env_workers *w, int n, const int32_t *worker_of, const mz_env_workers_batch *batch) {
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

mz_status mz_env_workers_run_all(mz_env_workers *w, int n, const int32_t *index, const bool *answered,
                                 const mz_env_workers_batch *batch, const char *what) {
  for (int attempt = 0;; attempt++) {
    int left = 0;
    while (left < n && answered[left]) left++;
    if (left == n) return MZ_OK;
    if (attempt == MZ_WORKERS_LOST_MAX) return give_up(w, index[left], what);
    MZ_TRY(mz_env_workers_run(w, n, index, batch));
  }
}
