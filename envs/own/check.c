#include "envs/own/check.h"
#include "base/file/memory_file.h"
#include "base/machine/machine.h"
#include "envs/own/check_games.h"
#include "envs/own/shared_object.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that a check's process and the program see both; pointers into it, and to what was there before the process began, hold in
 * both. */
struct mz_check_report {
  mz_memory_file file; /* that it lies in */
  mz_own_name name;
  mz_check_memory memory;
  mz_env_check check;
  bool opened, done; /* the file; the check */
  mz_status status;  /* of the check that is done */
  char why[MZ_MESSAGE_MAX];
  int32_t room[MZ_FINDINGS_MAX * MZ_FINDING_ACTIONS_MAX];
};

/* ---- in the process ---- */

static mz_status check_file(mz_check_report *r, uint64_t seed) {
  const mz_own_isolation here = {.on = false, .timeout_s = r->name.isolation.timeout_s};
  const mz_env *env;
  MZ_TRY(mz_env_open(r->name.path, r->name.path, &here, &env));
  r->opened = true;
  return mz_check_games_run(env, seed, &r->memory, &r->check);
}

__attribute__((noreturn)) static void run(mz_check_report *r, uint64_t seed, pid_t program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != program) _exit(1); /* it ended before that was asked for */
  r->status = check_file(r, seed);
  if (r->status != MZ_OK) snprintf(r->why, sizeof r->why, "%s", mz_message());
  r->done = true;
  fflush(NULL);
  _exit(0);
}

/* ---- in the program ---- */

/* Waits for the process's end, of which `end` tells, or, where the system has no such descriptor, `socket`, which what the process has
 * started may hold. Returns whether it was ended because no call has returned within the time limit. */
static bool watch(const mz_check_report *r, pid_t pid, int socket, int end) {
  struct pollfd ends[] = {{.fd = end >= 0 ? end : socket, .events = POLLIN}};
  for (uint64_t calls = 0;;) {
    const int found = poll(ends, 1, (int)(1000 * r->name.isolation.timeout_s));
    if (found < 0 && errno == EINTR) continue;
    if (found != 0) return false;
    const uint64_t now = mz_watch_calls(&r->memory.watch);
    if (now == calls && (!r->opened || mz_watch_found(&r->memory.watch)->calling != MZ_CALL_NONE)) return kill(pid, SIGKILL) == 0;
    calls = now;
  }
}

static void find_end(mz_check_report *r, int state, bool is_silent) {
  const mz_watch_place *at = mz_watch_found(&r->memory.watch);
  const bool returned = r->opened && at->calling == MZ_CALL_NONE;
  const char *function = r->opened ? mz_worker_call_name(at->called) : "muzero_env";
  char how[128];
  if (is_silent)
    snprintf(how, sizeof how, "has not returned after %g s", r->name.isolation.timeout_s);
  else if (WIFSIGNALED(state))
    snprintf(how, sizeof how, "%s by signal %d (%s)",
             returned ? "has returned; soon after that the process is ended" : "crashes: ended", WTERMSIG(state),
             strsignal(WTERMSIG(state)));
  else
    snprintf(how, sizeof how, "%s with exit status %d",
             returned ? "has returned; soon after that the process ends" : "ends the process", WEXITSTATUS(state));
  mz_findings *findings = &r->check.findings;
  if (findings->count == MZ_FINDINGS_MAX) findings->count--; /* it is worth more than any other */
  mz_findings_add(findings, function ? function : "muzero_env", is_silent ? "hang" : "crash", at->seed, at->actions, at->count,
                  "%s%s%s", how, r->opened ? r->memory.watch.way : "",
                  returned ? ": a function has written where nothing belongs to it" : "");
}

static mz_status check_in_process(mz_check_report *r, uint64_t seed) {
  const pid_t program = getpid();
  int ends[2], state = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return mz_fail(MZ_E_MEMORY, "--check: no socket: %s", strerror(errno));
  fflush(NULL); /* or both would write it */
  const pid_t pid = fork();
  if (pid == 0) run(r, seed, program);
  close(ends[1]);
  const int end = pid > 0 ? mz_machine_child_end(pid) : -1;
  const bool is_silent = pid > 0 && watch(r, pid, ends[0], end);
  close(ends[0]);
  if (end >= 0) close(end);
  if (pid < 0) return mz_fail(MZ_E_MEMORY, "--check: no process: %s", strerror(errno));
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
  if (!r->done) find_end(r, state, is_silent);
  return r->status == MZ_OK ? MZ_OK : mz_fail(r->status, "%s", r->why);
}

mz_status mz_env_check_run(const char *name, uint64_t seed, mz_env_check *out) {
  mz_memory_file file;
  if (!mz_env_is_path(name)) {
    const mz_env *env;
    MZ_TRY(mz_env_find(name, &env));
    return mz_fail(MZ_E_CONFIG, "--check: not for %s; it takes the path of an environment of your own: ./mine.so", env->name);
  }
  MZ_TRY(mz_memory_file_create(&file, "muzero-check", sizeof(mz_check_report)));
  mz_check_report *r = file.bytes;
  r->file = file;
  r->check = (mz_env_check){.report = r, .file = r->name.path, .findings.room = r->room, .steps_per_s = NAN};
  r->memory.watch.crashed = -1;
  mz_status status = mz_own_name_read(name, &r->name);
  if (status == MZ_OK) status = check_in_process(r, seed);
  *out = r->check;
  if (status != MZ_OK) mz_env_check_deinit(out);
  return status;
}

void mz_env_check_deinit(mz_env_check *check) {
  mz_memory_file file = check->report->file; /* it lies in what is given back */
  mz_memory_file_free(&file);
}

cJSON *mz_env_check_to_json(const mz_env_check *check) {
  cJSON *json = cJSON_CreateObject();
  if (!json || !cJSON_AddStringToObject(json, "file", check->file)) goto fail;
  cJSON *findings = cJSON_AddArrayToObject(json, "findings");
  if (!findings) goto fail;
  for (int i = 0; i < check->findings.count; i++) {
    cJSON *item = mz_finding_to_json(&check->findings.items[i]);
    if (!item) goto fail;
    cJSON_AddItemToArray(findings, item);
  }
  if (cJSON_AddNumberToObject(json, "games", check->games) && cJSON_AddNumberToObject(json, "moves", (double)check->moves) &&
      cJSON_AddNumberToObject(json, "longest", check->longest) && cJSON_AddBoolToObject(json, "complete", check->complete) &&
      cJSON_AddBoolToObject(json, "only_alternates", check->only_alternates) &&
      cJSON_AddNumberToObject(json, "symmetries_checked", check->symmetries) &&
      cJSON_AddNumberToObject(json, "steps_per_s", check->steps_per_s))
    return json;
fail:
  cJSON_Delete(json);
  return NULL;
}
