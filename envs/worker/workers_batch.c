/* Batches of rows: the questions of one go out to all workers that it needs, and then the answers are taken. */
#include "base/machine/clock.h"
#include "envs/worker/workers_state.h"
#include <string.h>

enum { LOG_BYTES_MAX = 1 << 20 };

typedef struct pass {
  int n;
  const int32_t *worker_of;
  const mz_env_workers_batch *batch;
  bool asked[MZ_WORKERS_ROWS_MAX];
} pass;

static mz_mailbox_row *row_at(const mz_env_workers *w, const mz_env_worker *one, int at) {
  return (mz_mailbox_row *)((uint8_t *)one->process.mailbox.bytes + MZ_MAILBOX_ROWS_AT + (size_t)at * w->row_bytes);
}

static int write_questions(const mz_env_workers *w, mz_env_worker *one, pass *p) {
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
static void lose(const mz_env_workers *w, const mz_env_worker *one, const pass *p, bool all) {
  const int index = (int)(one - w->items);
  for (int i = 0; i < p->n; i++)
    if (p->worker_of[i] == index && (all || !p->asked[i])) p->batch->take(p->batch->context, i, NULL, one->life);
}

/* Wakes a worker for its rows; the lock is held. *posted: an answer will come. */
static mz_status post(mz_env_workers *w, mz_env_worker *one, pass *p, bool *posted) {
  *posted = false;
  for (;;) {
    if (one->process.pid == 0) {
      mz_worker_answer answer;
      const char *when;
      if (one->lost_in_a_row >= MZ_WORKERS_LOST_MAX)
        return mz_fail(MZ_E_CONFIG, "%s: worker %d was lost %d times in a row without playing a move; the last time: %s",
                       w->setup.name, (int)(one - w->items), one->lost_in_a_row, one->last_end);
      MZ_TRY(mz_env_worker_start(w, one, &answer, &when));
      if (answer != MZ_WORKER_ANSWERED) {
        mz_env_worker_lose(w, one, answer, when);
        continue;
      }
    }
    if (write_questions(w, one, p) == 0) return MZ_OK;
    one->asked_ns = mz_clock_ns();
    *posted = mz_worker_process_send(&one->process, "b");
    if (*posted) return MZ_OK;
    mz_env_worker_lose(w, one, MZ_WORKER_DIED, "between moves");
  }
}

/* Returns for how long a worker was at work on its batch: its answers may have waited for those of others, which are taken first. */
static uint64_t busy_ns(const mz_env_worker *one, const mz_mailbox_head *head, mz_worker_answer answer) {
  const uint64_t now = mz_clock_ns(), answered = answer == MZ_WORKER_ANSWERED ? head->answered_ns : now;
  return (answered >= one->asked_ns && answered <= now ? answered : now) - one->asked_ns;
}

/* Waits for a worker's answers; the lock is held. */
static void collect(mz_env_workers *w, mz_env_worker *one, pass *p) {
  const int index = (int)(one - w->items);
  char byte[8];
  mz_worker_answer answer = mz_worker_process_receive(&one->process, byte, sizeof byte);
  const mz_mailbox_head *head = one->process.mailbox.bytes;
  atomic_fetch_add(&w->busy_ns, busy_ns(one, head, answer));
  if (answer == MZ_WORKER_ANSWERED && head->done != one->serial) answer = MZ_WORKER_ASTRAY;
  if (answer != MZ_WORKER_ANSWERED) {
    mz_env_worker_lose(w, one, answer, one->plays ? "in a move" : "in a reset");
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
  atomic_fetch_add(&w->answered, (uint64_t)at);
  mz_memory_file_bound_log(&one->process.log, LOG_BYTES_MAX);
}

static mz_status give_up(mz_env_workers *w, int32_t index, const char *what) {
  mz_env_worker *one = &w->items[index];
  mz_env_worker_lock(&one->lock);
  const mz_status status = mz_fail(MZ_E_CONFIG, "%s: %s lost its worker %d times; the last time: %s", w->setup.name, what,
                                   MZ_WORKERS_LOST_MAX, one->last_end);
  mz_env_worker_unlock(&one->lock);
  return status;
}

/* Workers are locked in the order of their numbers, each until its answers are there: threads follow one another from worker to
 * worker and never wait for each other in a circle. */
mz_status mz_env_workers_run(mz_env_workers *w, int n, const int32_t *worker_of, const mz_env_workers_batch *batch) {
  MZ_ASSERT(n >= 0 && n <= w->rows);
  const uint64_t start_ns = mz_clock_ns();
  pass p = {.n = n, .worker_of = worker_of, .batch = batch};
  bool needed[MZ_WORKERS_MAX] = {false}, posted[MZ_WORKERS_MAX] = {false};
  char why[MZ_MESSAGE_MAX] = "";
  mz_status status = MZ_OK;
  for (int i = 0; i < n; i++) needed[worker_of[i]] = true;
  for (int k = 0; k < MZ_WORKERS_MAX; k++) {
    if (!needed[k]) continue;
    mz_env_worker *one = &w->items[k];
    mz_env_worker_lock(&one->lock);
    const mz_status started = status == MZ_OK ? post(w, one, &p, &posted[k]) : status;
    if (posted[k]) continue;
    if (started != MZ_OK && status == MZ_OK) snprintf(why, sizeof why, "%s", mz_message());
    status = started;
    lose(w, one, &p, true);
    mz_env_worker_unlock(&one->lock);
  }
  for (int k = 0; k < MZ_WORKERS_MAX; k++) {
    if (!posted[k]) continue;
    collect(w, &w->items[k], &p);
    mz_env_worker_unlock(&w->items[k].lock);
  }
  atomic_fetch_add(&w->waited_for_ns, mz_clock_ns() - start_ns);
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
