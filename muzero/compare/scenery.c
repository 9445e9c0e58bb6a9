#include "muzero/compare/scenery.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- cores ---- */

static mz_status confine_thread(void *context, const char *name) {
  const int id = atoi(name);
  if (id > 0 && sched_setaffinity(id, sizeof(cpu_set_t), context) != 0 && errno != ESRCH) /* one that has ended does not matter */
    return mz_fail(MZ_E_INTERNAL, "--scenario: cores cannot be set: %s", strerror(errno));
  return MZ_OK;
}

/* Every thread of the process; a process that has ended does not matter. */
static mz_status confine(pid_t pid, cpu_set_t *cores) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  const mz_status status = mz_file_list(path, confine_thread, cores);
  return status == MZ_E_IO ? MZ_OK : status;
}

static cpu_set_t first_of(const cpu_set_t *all, int count) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&some) < count; core++)
    if (CPU_ISSET(core, all)) CPU_SET(core, &some);
  return some;
}

static mz_status set_mask(mz_scenery *scenery, int cores, const pid_t *pids, int count) {
  if (CPU_COUNT(&scenery->all) == 0 && sched_getaffinity(0, sizeof scenery->all, &scenery->all) != 0)
    return mz_fail(MZ_E_INTERNAL, "--scenario: the system does not say which cores there are: %s", strerror(errno));
  if (cores == scenery->cores) return MZ_OK;
  cpu_set_t granted = cores > 0 ? first_of(&scenery->all, cores) : scenery->all;
  for (int i = 0; i < count; i++)
    if (pids[i] > 0) MZ_TRY(confine(pids[i], &granted));
  scenery->cores = cores;
  return MZ_OK;
}

/* ---- quota ---- */

/* Where this process may make no control group, whole cores have to do. */
static bool have_group(mz_scenery *scenery, const pid_t *pids, int count) {
  char name[64];
  if (scenery->no_group || scenery->group.folder[0]) return !scenery->no_group;
  snprintf(name, sizeof name, "muzero-%ld", (long)getpid());
  mz_status status = mz_machine_group_make(&scenery->group, name);
  for (int i = 0; i < count && status == MZ_OK; i++)
    if (pids[i] > 0) status = mz_cgroup_own_take(&scenery->group, pids[i]);
  scenery->no_group = status != MZ_OK;
  if (scenery->no_group)
    mz_log_write(MZ_LOG_WARNING, "--scenario: no quota can be set here (%s): as many whole cores are granted instead",
                 mz_message());
  return !scenery->no_group;
}

static mz_status set_cores(mz_scenery *scenery, const mz_scenario *scenario, int64_t block, const pid_t *pids, int count) {
  double cores = mz_scenario_at(scenario, MZ_SCENARIO_CORES, block);
  const double quota = mz_scenario_at(scenario, MZ_SCENARIO_QUOTA, block);
  if ((quota > 0 || scenery->group.folder[0]) && have_group(scenery, pids, count)) {
    MZ_TRY(mz_cgroup_own_set_cores(&scenery->group, quota));
  } else if (quota > 0) {
    cores = cores > 0 ? fmin(cores, ceil(quota)) : ceil(quota);
  }
  return set_mask(scenery, (int)cores, pids, count);
}

/* ---- neighbours ---- */

static _Noreturn void compute(void) {
  for (volatile double x = 1;; x = x * 1.0000001 + 1e-9)
    if (x > 1e300) x = 1;
}

static _Noreturn void stream(void) {
  enum { WORDS = 8 << 20 };
  volatile uint64_t *words = malloc(WORDS * sizeof *words);
  if (!words) _exit(1);
  for (uint64_t pass = 0;; pass++)
    for (int i = 0; i < WORDS; i += 8) words[i] = pass; /* a cache line each */
}

static mz_status start(mz_scenario_thing thing, pid_t *out) {
  const pid_t parent = getpid();
  *out = fork();
  if (*out < 0) {
    *out = 0;
    return mz_fail(MZ_E_INTERNAL, "--scenario: no process: %s", strerror(errno));
  }
  if (*out > 0) return MZ_OK;
  close_range(0, ~0u, 0); /* pipes of the arms, too */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  if (thing == MZ_SCENARIO_STREAM) stream();
  compute();
}

static void end(pid_t *pid) {
  if (*pid <= 0) return;
  kill(*pid, SIGKILL);
  waitpid(*pid, NULL, 0);
  *pid = 0;
}

static mz_status set_neighbours(mz_scenery *scenery, mz_scenario_thing thing, int wanted) {
  for (int i = 0; i < MZ_SCENARIO_NEIGHBOURS_MAX; i++) {
    pid_t *pid = &scenery->processes[thing][i];
    if (*pid > 0 && waitpid(*pid, NULL, WNOHANG) == *pid) {
      *pid = 0;
      mz_log_write(MZ_LOG_WARNING, "--scenario: a neighbour has died%s", i < wanted ? ", and is started again" : "");
    }
    if (i >= wanted) end(pid);
    if (i < wanted && *pid == 0) MZ_TRY(start(thing, pid));
  }
  return MZ_OK;
}

mz_status mz_scenery_set(mz_scenery *scenery, const mz_scenario *scenario, int64_t block, const pid_t *pids, int count) {
  if (scenario->count == 0) return MZ_OK;
  MZ_TRY(set_cores(scenery, scenario, block, pids, count));
  MZ_TRY(set_neighbours(scenery, MZ_SCENARIO_NEIGHBOUR, (int)mz_scenario_at(scenario, MZ_SCENARIO_NEIGHBOUR, block)));
  return set_neighbours(scenery, MZ_SCENARIO_STREAM, (int)mz_scenario_at(scenario, MZ_SCENARIO_STREAM, block));
}

void mz_scenery_clear(mz_scenery *scenery) {
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    for (int i = 0; i < MZ_SCENARIO_NEIGHBOURS_MAX; i++) end(&scenery->processes[thing][i]);
  if (mz_cgroup_own_remove(&scenery->group) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "--scenario: %s", mz_message());
  *scenery = (mz_scenery){0};
}
