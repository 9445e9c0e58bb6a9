#include "muzero/compare/scenario.h"
#include "base/file/file.h"
#include "base/log.h"
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const things[MZ_SCENARIO_THINGS] = {"cores", "neighbour", "stream"};
enum { BLOCK_MAX = 1000000 };

const char *mz_scenario_thing_name(mz_scenario_thing thing) { return things[thing]; }

/* ---- parsing ---- */

typedef struct parser {
  const char *text, *at;
  int cores;
} parser;

static mz_status bad(const parser *p, const char *what) {
  return mz_fail(MZ_E_CONFIG, "--scenario '%s': at character %d: %s", p->text, (int)(p->at - p->text) + 1, what);
}

static mz_status parse_number(parser *p, long least, long most, const char *name, long *out) {
  char what[128];
  char *end = NULL;
  errno = 0;
  const long value = isdigit((unsigned char)*p->at) ? strtol(p->at, &end, 10) : -1;
  if (end && errno == 0 && value >= least && value <= most) {
    *out = value;
    p->at = end;
    return MZ_OK;
  }
  snprintf(what, sizeof what, "%s takes %ld … %ld", name, least, most);
  return bad(p, what);
}

static mz_status parse_thing(parser *p, mz_scenario_thing *out) {
  for (int i = 0; i < MZ_SCENARIO_THINGS; i++) {
    const size_t length = strlen(things[i]);
    if (strncmp(p->at, things[i], length) != 0 || p->at[length] != '=') continue;
    *out = (mz_scenario_thing)i;
    p->at += length + 1;
    return MZ_OK;
  }
  return bad(p, "takes cores=N@FIRST-LAST, neighbour=… or stream=…");
}

static mz_status parse_clause(parser *p, struct mz_scenario_clause *out) {
  long value, first, last;
  MZ_TRY(parse_thing(p, &out->thing));
  MZ_TRY(parse_number(p, 1, out->thing == MZ_SCENARIO_CORES ? p->cores : MZ_SCENARIO_NEIGHBOURS_MAX, things[out->thing], &value));
  if (*p->at != '@') return bad(p, "'@' and blocks are missing, as in @10-19");
  p->at++;
  MZ_TRY(parse_number(p, 1, BLOCK_MAX, "the first block", &first));
  last = first;
  if (*p->at == '-') {
    p->at++;
    last = BLOCK_MAX;
    if (isdigit((unsigned char)*p->at)) MZ_TRY(parse_number(p, first, BLOCK_MAX, "the last block", &last));
  }
  *out = (struct mz_scenario_clause){.thing = out->thing, .value = (int)value, .first = first, .last = last};
  return MZ_OK;
}

static bool overlaps(const mz_scenario *scenario, const struct mz_scenario_clause *next) {
  for (int i = 0; i < scenario->count; i++) {
    const struct mz_scenario_clause *c = &scenario->clauses[i];
    if (c->thing == next->thing && c->first <= next->last && next->first <= c->last) return true;
  }
  return false;
}

mz_status mz_scenario_parse(mz_scenario *out, const char *text, int cores) {
  parser p = {.text = text, .at = text, .cores = cores};
  *out = (mz_scenario){0};
  while (p.at && *p.at) {
    struct mz_scenario_clause next;
    if (out->count == MZ_SCENARIO_CLAUSES_MAX) return bad(&p, "there are too many clauses; at most 16");
    const char *begin = p.at;
    MZ_TRY(parse_clause(&p, &next));
    if (*p.at != '\0' && *p.at != ';') return bad(&p, "';' or the end is missing");
    if (overlaps(out, &next)) {
      p.at = begin;
      return bad(&p, "speaks of blocks of which a clause before it says another number");
    }
    out->clauses[out->count++] = next;
    if (*p.at == ';') p.at++;
  }
  return MZ_OK;
}

int mz_scenario_at(const mz_scenario *scenario, mz_scenario_thing thing, int64_t block) {
  for (int i = 0; i < scenario->count; i++) {
    const struct mz_scenario_clause *c = &scenario->clauses[i];
    if (c->thing == thing && c->first <= block && block <= c->last) return c->value;
  }
  return 0;
}

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

static mz_status set_cores(mz_scenery *scenery, int cores, const pid_t *pids, int count) {
  if (CPU_COUNT(&scenery->all) == 0 && sched_getaffinity(0, sizeof scenery->all, &scenery->all) != 0)
    return mz_fail(MZ_E_INTERNAL, "--scenario: the system does not say which cores there are: %s", strerror(errno));
  if (cores == scenery->cores) return MZ_OK;
  cpu_set_t granted = cores > 0 ? first_of(&scenery->all, cores) : scenery->all;
  for (int i = 0; i < count; i++)
    if (pids[i] > 0) MZ_TRY(confine(pids[i], &granted));
  scenery->cores = cores;
  return MZ_OK;
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

mz_status mz_scenario_set(mz_scenery *scenery, const mz_scenario *scenario, int64_t block, const pid_t *pids, int count) {
  if (scenario->count == 0) return MZ_OK;
  MZ_TRY(set_cores(scenery, mz_scenario_at(scenario, MZ_SCENARIO_CORES, block), pids, count));
  MZ_TRY(set_neighbours(scenery, MZ_SCENARIO_NEIGHBOUR, mz_scenario_at(scenario, MZ_SCENARIO_NEIGHBOUR, block)));
  return set_neighbours(scenery, MZ_SCENARIO_STREAM, mz_scenario_at(scenario, MZ_SCENARIO_STREAM, block));
}

void mz_scenario_clear(mz_scenery *scenery) {
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    for (int i = 0; i < MZ_SCENARIO_NEIGHBOURS_MAX; i++) end(&scenery->processes[thing][i]);
}
