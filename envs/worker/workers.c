#include "base/json/json.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "base/threads/core.h"
#include "envs/worker/workers_state.h"
#include <math.h>
#include <string.h>

enum { MAILBOX_BYTES_MAX = 16 << 20 /* of one worker, where rows are large */ };

/* ---- beginning ---- */

static void add_cores(mz_env_workers *w, cJSON *message) {
  cJSON *cores = cJSON_AddArrayToObject(message, "cores");
  mz_env_worker_lock(&w->clocks);
  const cpu_set_t allowed = w->cores;
  mz_env_worker_unlock(&w->clocks);
  for (int core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &allowed)) cJSON_AddItemToArray(cores, cJSON_CreateNumber(core));
}

static mz_status line_of(cJSON *message, char **out) {
  *out = mz_json_line(message);
  cJSON_Delete(message);
  return *out ? MZ_OK : mz_fail(MZ_E_MEMORY, "worker: no memory for a message");
}

/* Makes the message that a worker begins with. */
static mz_status make_start(mz_env_workers *w, char **out) {
  const mz_env_workers_setup *s = &w->setup;
  cJSON *message = cJSON_CreateObject();
  cJSON_AddNumberToObject(message, "version", MZ_WORKER_VERSION);
  cJSON_AddStringToObject(message, "kind", s->kind);
  cJSON_AddStringToObject(message, "id", s->id);
  cJSON_AddNumberToObject(message, "limit", s->limit);
  cJSON *options = cJSON_AddArrayToObject(message, "options");
  for (int i = 0; i < s->option_count; i++) cJSON_AddItemToArray(options, cJSON_CreateString(s->options[i]));
  add_cores(w, message);
  return line_of(message, out);
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

/* ---- locks ---- */

void mz_env_worker_lock(pthread_mutex_t *lock) {
  const int failed = pthread_mutex_lock(lock);
  MZ_ASSERT(!failed);
}

void mz_env_worker_unlock(pthread_mutex_t *lock) {
  const int failed = pthread_mutex_unlock(lock);
  MZ_ASSERT(!failed);
}

static void init_lock(pthread_mutex_t *lock) {
  const int failed = pthread_mutex_init(lock, NULL);
  MZ_ASSERT(!failed);
}

/* ---- ends ---- */

/* Whoever reads the clocks meanwhile waits, so that the sum of all times never falls. */
static void end_process(mz_env_workers *w, mz_env_worker *one, mz_worker_answer answer, mz_worker_ending *ending) {
  mz_env_worker_lock(&w->clocks);
  mz_worker_end(&one->process, answer, w->setup.timeout_s, ending);
  w->ended_cpu_s += fmax(one->cpu_s, ending->cpu_s);
  one->cpu_s = 0;
  one->is_clocked = false;
  mz_env_worker_unlock(&w->clocks);
}

/* Ends a worker that has nothing to answer; one that is not there, too. */
static void dismiss(mz_env_workers *w, mz_env_worker *one) {
  mz_worker_ending ending;
  if (one->process.pid > 0) end_process(w, one, MZ_WORKER_ANSWERED, &ending);
}

/* Ends the first worker, before it has played, and says why its answer did not come. */
static mz_status no_answer(mz_env_workers *w, mz_env_worker *one, mz_worker_answer answer, const char *when) {
  mz_worker_ending ending;
  char why[MZ_WORKER_LINE_BYTES];
  end_process(w, one, answer, &ending);
  mz_worker_ending_line(&ending, why);
  return mz_fail(MZ_E_CONFIG, "%s: the worker ended %s: %s", w->setup.name, when, why);
}

/* The first ones that are lost are told one by one, later ones now and then. */
static bool is_told(int64_t lost) { return lost <= 4 || (lost & (lost - 1)) == 0; }

void mz_env_worker_lose(mz_env_workers *w, mz_env_worker *one, mz_worker_answer answer, const char *when) {
  const int64_t lost = atomic_fetch_add(&w->lost_workers, 1) + 1;
  mz_worker_ending ending;
  char line[MZ_WORKER_LINE_BYTES], in[32];
  const mz_mailbox_head *head = one->process.mailbox.bytes;
  const char *function = head ? mz_worker_call_name(head->calling) : NULL;
  snprintf(in, sizeof in, "in %s", function ? function : "");
  end_process(w, one, answer, &ending);
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

static mz_status hand_mailbox(mz_env_workers *w, mz_env_worker *one, mz_worker_answer *answer) {
  bool sent;
  char ready[8];
  MZ_TRY(mz_worker_process_share(&one->process, w->mailbox_bytes, w->share, &sent));
  mz_mailbox_head *head = one->process.mailbox.bytes;
  *head = (mz_mailbox_head){
      .magic = MZ_MAILBOX_MAGIC, .version = MZ_WORKER_VERSION, .rows = (uint32_t)w->rows, .row_bytes = (uint32_t)w->row_bytes};
  *answer = sent ? mz_worker_process_receive(&one->process, ready, sizeof ready) : MZ_WORKER_DIED;
  return MZ_OK;
}

static mz_status start(mz_env_workers *w, mz_env_worker *one, const char *greeting, mz_worker_answer *answer, const char **when) {
  char *text;
  MZ_TRY(mz_alloc(&text, MZ_WORKER_MESSAGE_MAX, 1));
  mz_status status = mz_worker_process_start(&one->process, w->setup.program, w->setup.timeout_s);
  if (status == MZ_OK) {
    mz_env_worker_begin_clock(w, one);
    one->life++;
    one->serial = 0;
    *when = "before it described the game";
    *answer = mz_worker_process_send(&one->process, greeting)
                  ? mz_worker_process_receive(&one->process, text, MZ_WORKER_MESSAGE_MAX)
                  : MZ_WORKER_DIED;
    if (*answer == MZ_WORKER_ANSWERED) status = check_description(w, text);
    if (status == MZ_OK && *answer == MZ_WORKER_ANSWERED && w->share) {
      *when = "before it took its memory";
      status = hand_mailbox(w, one, answer);
    }
    mz_env_worker_confine(w, one);
    if (status != MZ_OK) dismiss(w, one);
  }
  free(text);
  return status;
}

mz_status mz_env_worker_start(mz_env_workers *w, mz_env_worker *one, mz_worker_answer *answer, const char **when) {
  char *greeting;
  MZ_TRY(make_start(w, &greeting));
  const mz_status status = start(w, one, greeting, answer, when);
  free(greeting);
  return status;
}

static mz_status start_first(mz_env_workers *w) {
  mz_worker_answer answer;
  const char *when;
  MZ_TRY(mz_env_worker_start(w, &w->items[0], &answer, &when));
  return answer == MZ_WORKER_ANSWERED ? MZ_OK : no_answer(w, &w->items[0], answer, when);
}

mz_status mz_env_workers_create(mz_env_workers **out, const mz_env_workers_setup *setup, const char **description) {
  mz_env_workers *w;
  MZ_ASSERT(setup->count >= 0 && setup->count <= MZ_WORKERS_MAX);
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->setup = *setup;
  w->count = setup->count ? setup->count : mz_env_workers_default_count(mz_machine_cores());
  init_lock(&w->clocks);
  mz_core_allowed(&w->cores); /* where the system does not say, none stands there, and processes run anywhere */
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    init_lock(&w->items[i].lock);
    w->items[i].process = (mz_worker_process){.socket = -1, .end = -1, .log = {.fd = -1}, .mailbox = {.fd = -1}};
  }
  const mz_status status = start_first(w);
  if (status != MZ_OK) {
    mz_env_workers_free(w);
    return status;
  }
  *description = w->description;
  *out = w;
  return MZ_OK;
}

mz_status mz_env_workers_ask(mz_env_workers *w, const char *request, char *out) {
  mz_env_worker *first = &w->items[0];
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
  for (int i = 0; i < MZ_WORKERS_MAX; i++) mz_worker_process_leave(&w->items[i].process); /* they close at the same time */
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    dismiss(w, &w->items[i]);
    pthread_mutex_destroy(&w->items[i].lock);
  }
  pthread_mutex_destroy(&w->clocks);
  free(w->description), free(w->share), free(w);
}

/* ---- how many ---- */

int mz_env_workers_default_count(int cores) { return cores > MZ_WORKERS_MAX ? MZ_WORKERS_MAX : cores; }
int mz_env_workers_count(const mz_env_workers *w) { return atomic_load(&w->count); }
int mz_env_workers_given(const mz_env_workers *w) { return w->setup.count; }
bool mz_env_workers_keep_games(const mz_env_workers *w) { return w->setup.keeps_games; }

void mz_env_workers_set_count(mz_env_workers *w, int count) {
  MZ_ASSERT(count >= 1 && count <= MZ_WORKERS_MAX);
  atomic_store(&w->count, count);
}

int mz_env_workers_rows(const mz_env_workers *w) { return w->rows; }
int32_t mz_env_workers_any(const mz_env_workers *w, int row, int rows) {
  static _Atomic int threads;
  static _Thread_local int own;
  if (own == 0) own = atomic_fetch_add(&threads, 1) + 1;
  return (int32_t)((rows > 1 ? row : own) % mz_env_workers_count(w));
}

void mz_env_workers_count_lost(mz_env_workers *w, int games) { atomic_fetch_add(&w->lost_games, games); }

mz_lost_workers mz_env_workers_lost(const mz_env_workers *w) {
  return (mz_lost_workers){.workers = atomic_load(&w->lost_workers), .games = atomic_load(&w->lost_games)};
}
