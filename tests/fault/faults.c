/* Lets every call of every command fail in turn: faults [--most N] [--jobs N] [--scenario NAME] [--kind KIND] [--only N]. --most:
 * at most about so many faults of each kind in each command, spread evenly; --only: this call alone. Ends with a line of totals;
 * fails when anything was lost or wrong. */
#include "base/file/file.h"
#include "tests/fault/trial.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const kinds[] = {"enospc", "full", "eio", "eintr", "short", "stop", "half", "memory"};
enum { KINDS = sizeof kinds / sizeof kinds[0], JOBS_MAX = 64 };

typedef struct options {
  long most, jobs, only;
  const char *scenario, *kind;
} options;

typedef struct totals { /* shared by the jobs */
  atomic_long ends[TRIAL_STOPPED + 1], lost, wrong;
} totals;

static void count(totals *sum, const trial *t) {
  atomic_fetch_add(&sum->ends[t->end], 1);
  atomic_fetch_add(&sum->lost, t->lost);
  atomic_fetch_add(&sum->wrong, t->wrong);
  fputs(t->story, stdout);
  fflush(stdout);
}

/* The calls differ a little from run to run: behind the last that was counted, on until one is not reached. */
static void run_share(const options *o, const scenario *s, const calm *c, const char *base, const char *kind, long calls, int job,
                      totals *sum) {
  const long every = o->most > 0 && calls > o->most ? (calls + o->most - 1) / o->most : 1;
  const long first = o->only > 0 ? o->only : 1 + every / 2 + job * every;
  char folder[600];
  snprintf(folder, sizeof folder, "%s/job-%d", base, job);
  for (long n = first;; n += o->jobs * every) {
    const trial t = trial_run(s, c, folder, kind, n);
    count(sum, &t);
    if (o->only > 0 || (t.end == TRIAL_NOT_REACHED && n > calls)) return;
  }
}

static void run_jobs(const options *o, const scenario *s, const calm *c, const char *base, const char *kind, totals *sum) {
  const long calls = calm_calls(s, c, base, kind), lost = sum->lost, wrong = sum->wrong;
  pid_t jobs[JOBS_MAX];
  int status, failed = 0;
  fflush(stdout);
  for (int i = 0; i < o->jobs; i++) {
    jobs[i] = fork();
    if (jobs[i] != 0) continue;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
      run_share(o, s, c, base, kind, calls, i, sum);
    fflush(stdout);
    _exit(0);
  }
  for (int i = 0; i < o->jobs; i++) failed += jobs[i] < 0 || waitpid(jobs[i], &status, 0) != jobs[i] || status != 0;
  if (failed > 0) exit(2);
  printf("%-8s %-7s %6ld calls: lost %ld, wrong %ld\n", s->name, kind, calls, atomic_load(&sum->lost) - lost,
         atomic_load(&sum->wrong) - wrong);
}

static bool parse(int argc, char **argv, options *o) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    if (strcmp(argv[i], "--most") == 0)
      o->most = atol(argv[i + 1]);
    else if (strcmp(argv[i], "--jobs") == 0)
      o->jobs = atol(argv[i + 1]);
    else if (strcmp(argv[i], "--only") == 0)
      o->only = atol(argv[i + 1]);
    else if (strcmp(argv[i], "--scenario") == 0)
      o->scenario = argv[i + 1];
    else if (strcmp(argv[i], "--kind") == 0)
      o->kind = argv[i + 1];
    else
      return false;
  }
  if (o->only > 0) o->jobs = 1;
  return o->jobs > 0 && o->jobs <= JOBS_MAX;
}

int main(int argc, char **argv) {
  options o = {.jobs = sysconf(_SC_NPROCESSORS_ONLN)};
  char base[512];
  if (o.jobs > JOBS_MAX) o.jobs = JOBS_MAX;
  if (!parse(argc, argv, &o)) {
    fprintf(stderr, "usage: faults [--most N] [--jobs N] [--scenario NAME] [--kind KIND] [--only N]\n");
    return 2;
  }
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* waiting for a disk proves nothing here */
  totals *sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (sum == MAP_FAILED || mz_file_make_temporary("muzero-faults", base, sizeof base) != MZ_OK) return 2;
  for (int i = 0; i < scenario_count; i++) {
    calm c;
    if (o.scenario && strcmp(o.scenario, scenarios[i].name) != 0) continue;
    calm_prepare(&scenarios[i], base, &c);
    for (int k = 0; k < KINDS; k++)
      if (!o.kind || strcmp(o.kind, kinds[k]) == 0) run_jobs(&o, &scenarios[i], &c, base, kinds[k], sum);
  }
  mz_file_remove_tree(base);
  const long no_effect = sum->ends[TRIAL_NO_EFFECT], reported = sum->ends[TRIAL_REPORTED], stopped = sum->ends[TRIAL_STOPPED];
  printf(
      "tried %ld faults: %ld without effect, %ld ended in an error that was told, %ld stopped the process; lost %ld, wrong %ld\n",
      no_effect + reported + stopped, no_effect, reported, stopped, (long)sum->lost, (long)sum->wrong);
  return sum->lost || sum->wrong || no_effect + reported + stopped == 0;
}
