#include "muzero/steering/roster.h"
#include "base/file/file.h"
#include "base/machine/clock.h"
#include "base/maths/digest.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mz_roster_default_folder(char *out, size_t size) {
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  const int length = runtime != NULL && runtime[0] == '/' ? snprintf(out, size, "%s/muzero", runtime)
                                                          : snprintf(out, size, "/tmp/muzero-%ld", (long)getuid());
  return length > 0 && (size_t)length < size;
}

/* ---- the own file ---- */

/* What a file's name says of a run: since when it is there, its process, its number in it, its cores, how many it can use. */
typedef struct entry {
  uint64_t since_ns, id, cores;
  long pid;
  int threads;
} entry;

static uint64_t hash_of(const cpu_set_t *cores) { return mz_hash(cores, sizeof *cores, 0); }

static bool read_name(const char *name, entry *out) {
  return sscanf(name, "%" SCNu64 "-%ld-%" SCNu64 "-%" SCNx64 "-%d", &out->since_ns, &out->pid, &out->id, &out->cores,
                &out->threads) == 5;
}

void mz_roster_enter(mz_roster *r, const char *folder, const cpu_set_t *cores, int threads) {
  static _Atomic uint64_t runs_entered;
  char name[128];
  mz_roster_leave(r);
  if (r->since_ns == 0) r->since_ns = mz_clock_ns(), r->id = ++runs_entered;
  r->cores = *cores;
  r->threads = threads;
  if (folder != r->folder) snprintf(r->folder, sizeof r->folder, "%s", folder);
  snprintf(name, sizeof name, "%" PRIu64 "-%ld-%" PRIu64 "-%" PRIx64 "-%d", r->since_ns, (long)getpid(), r->id, hash_of(cores),
           threads);
  const bool entered = mz_file_mkdirs(r->folder) == MZ_OK && mz_path_join(r->path, sizeof r->path, r->folder, name) == MZ_OK &&
                       mz_lock_acquire(r->path, &r->fd) == MZ_OK;
  if (!entered) r->fd = -1;
}

void mz_roster_leave(mz_roster *r) {
  if (r->fd < 0) return;
  mz_file_remove(r->path); /* no other run has a file of this name */
  mz_lock_release(r->fd);
  r->fd = -1;
}

/* ---- the others ---- */

typedef struct present {
  const mz_roster *roster;
  uint64_t cores;
  entry runs[MZ_ROSTER_RUNS_MAX];
  int count;
} present;

static bool is_own(const mz_roster *r, const entry *e) { return e->pid == (long)getpid() && e->id == r->id; }

static mz_status count_run(void *context, const char *name) {
  present *p = context;
  entry e;
  char path[400];
  if (!read_name(name, &e) || mz_path_join(path, sizeof path, p->roster->folder, name) != MZ_OK) return MZ_OK;
  const bool here = is_own(p->roster, &e) || mz_lock_is_held(path);
  if (!here && kill((pid_t)e.pid, 0) != 0 && errno == ESRCH) mz_file_remove(path); /* it was killed */
  if (here && e.cores == p->cores && p->count < MZ_ROSTER_RUNS_MAX) p->runs[p->count++] = e;
  return MZ_OK;
}

static int by_time(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->since_ns != b->since_ns) return a->since_ns < b->since_ns ? -1 : 1;
  if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

/* ---- dividing ---- */

void mz_roster_divide(const int *wants, int runs, int cores, int index, int *first, int *count) {
  int given[MZ_ROSTER_RUNS_MAX] = {0}, left = cores;
  if (runs > cores) {
    *first = index % cores;
    *count = 1;
    return;
  }
  for (bool more = true; more && left > 0;) { /* one each in turn */
    more = false;
    for (int i = 0; i < runs && left > 0; i++) {
      if (wants[i] > 0 && given[i] >= wants[i]) continue;
      given[i]++, left--;
      more = true;
    }
  }
  *first = 0;
  *count = given[index];
  for (int i = 0; i < index; i++) *first += given[i];
}

static cpu_set_t slice(const cpu_set_t *cores, int first, int count) {
  cpu_set_t out;
  int at = 0;
  CPU_ZERO(&out);
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET(core, cores)) continue;
    if (at >= first && at < first + count) CPU_SET(core, &out);
    at++;
  }
  return out;
}

int mz_roster_share(mz_roster *r, cpu_set_t *cores) {
  if (r->since_ns == 0) return 1;
  if (r->fd >= 0 && !CPU_EQUAL(&r->cores, cores)) mz_roster_enter(r, r->folder, cores, r->threads);
  if (r->fd < 0) return 1;
  present p = {.roster = r, .cores = hash_of(cores)};
  int wants[MZ_ROSTER_RUNS_MAX], index = -1, first, count;
  if (mz_file_list(r->folder, count_run, &p) != MZ_OK || p.count < 2) return 1;
  qsort(p.runs, (size_t)p.count, sizeof p.runs[0], by_time);
  for (int i = 0; i < p.count; i++) {
    wants[i] = p.runs[i].threads;
    if (is_own(r, &p.runs[i])) index = i;
  }
  if (index < 0) return 1;
  mz_roster_divide(wants, p.count, CPU_COUNT(cores), index, &first, &count);
  *cores = slice(cores, first, count);
  return p.count;
}
