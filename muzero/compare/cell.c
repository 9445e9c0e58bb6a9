#include "muzero/compare/cell.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "muzero/knobs.h"
#include "muzero/run.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the cell's own process ---- */

static bool say(FILE *out, cJSON *object) {
  char *line = object ? mz_json_line(object) : NULL;
  cJSON_Delete(object);
  const bool ok = line && fprintf(out, "%s\n", line) > 0 && fflush(out) == 0;
  free(line);
  return ok;
}

static cJSON *failure(mz_status status) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "status", status);
  cJSON_AddStringToObject(object, "message", mz_message());
  return object;
}

static bool acts(const mz_phase *phase, const char *action) { return phase->action && strcmp(phase->action, action) == 0; }

static cJSON *opened(const mz_run *run) {
  double bytes, least;
  cJSON *object = cJSON_CreateObject();
  mz_steer_bytes(run->steer, &bytes, &least);
  cJSON_AddNumberToObject(object, "bytes", bytes);
  cJSON_AddNumberToObject(object, "bytes_least", least);
  return object;
}

static cJSON *play_block(mz_run *run, const mz_limits *limits, int phases) {
  const uint64_t start = mz_clock_ns();
  double cpu_s = 0, reserved_core_s = 0, reserved_gpu_s = 0, gib_s = 0, cost = 0;
  int changes = 0, reverts = 0;
  const bool verifies = run->settings.allocation.verify; /* otherwise a plan is confirmed without a trial */
  mz_phase phase = {0};
  mz_reason reason = MZ_GOES_ON;
  for (int i = 0; i < phases && reason == MZ_GOES_ON; i++) {
    mz_status status = mz_run_phase(run, limits, NULL, NULL, &phase, &reason);
    if (status != MZ_OK) return failure(status);
    cpu_s += phase.cpu_s, gib_s += phase.gib_s, cost += phase.cost;
    reserved_core_s += phase.reserved_core_s, reserved_gpu_s += phase.reserved_gpu_s;
    changes += acts(&phase, "try") || acts(&phase, "revert") || (!verifies && acts(&phase, "confirm"));
    reverts += acts(&phase, "revert");
  }
  const double wall_s = (double)(mz_clock_ns() - start) * 1e-9; /* evaluations, digests and checkpoints included */
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "rounds", (double)phase.counters.rounds);
  cJSON_AddNumberToObject(o, "wall_s", wall_s);
  cJSON_AddNumberToObject(o, "cpu_s", cpu_s);
  cJSON_AddNumberToObject(o, "reserved_core_s", reserved_core_s);
  cJSON_AddNumberToObject(o, "reserved_gpu_s", reserved_gpu_s);
  cJSON_AddNumberToObject(o, "gib_s", gib_s);
  cJSON_AddNumberToObject(o, "cost", cost);
  cJSON_AddNumberToObject(o, "score", phase.score);
  mz_json_add_u64_hex(o, "digest", phase.digest);
  cJSON_AddNumberToObject(o, "changes", changes);
  cJSON_AddNumberToObject(o, "reverts", reverts);
  cJSON_AddNumberToObject(o, "rss_bytes", (double)phase.rss_bytes);
  cJSON_AddStringToObject(o, "reason", mz_reason_name(reason));
  mz_json_add(o, "plan", mz_knobs_to_json(&phase.plan));
  return o;
}

static void serve(FILE *in, FILE *out, const mz_run_options *given, const mz_limits *limits) {
  mz_run *run;
  mz_run_options options = *given;
  bool refused = false;
  mz_log_set_level(MZ_LOG_WARNING); /* what one run tells its user would be told by every arm */
  options.refused = &refused;
  mz_status status = mz_run_open(&run, &options);
  if (status == MZ_OK) mz_run_rest(run);
  cJSON *first = status == MZ_OK ? opened(run) : failure(status);
  cJSON_AddBoolToObject(first, "refused", refused);
  bool going = say(out, first) && status == MZ_OK;
  int phases;
  uint64_t memory;
  while (going && fscanf(in, "%d %" SCNu64, &phases, &memory) == 2) {
    mz_steer_limit_memory(run->steer, memory);
    if (phases == 0)
      mz_run_rest(run);
    else
      going = say(out, play_block(run, limits, phases));
  }
  if (status == MZ_OK) mz_run_close(run);
}

/* The other cells' pipes: while a copy of one is open, its process does not see the end of its input. */
static void close_all_but(int a, int b) {
  const unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
  if (low > 3) close_range(3, low - 1, 0);
  if (high > low + 1) close_range(low + 1, high - 1, 0);
  close_range(high + 1, ~0u, 0);
}

/* ---- in the comparison's process ---- */

mz_status mz_cell_start(mz_cell *cell, const mz_run_options *options, const mz_limits *limits) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  const pid_t parent = getpid();
  *cell = (mz_cell){.blocks = cJSON_CreateArray()};
  mz_status status = MZ_OK;
  if (pipe(down) != 0 || pipe(up) != 0) MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "compare: no pipe: %s", strerror(errno)));
  cell->pid = fork();
  if (cell->pid < 0) MZ_TRY_CLEANUP(mz_fail(MZ_E_INTERNAL, "compare: no process: %s", strerror(errno)));
  if (cell->pid == 0) {
    close_all_but(down[0], up[1]);
    FILE *in = fdopen(down[0], "r"), *out = fdopen(up[1], "w");
    if (in && out && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) serve(in, out, options, limits);
    _exit(0);
  }
  cell->to = fdopen(down[1], "w");
  cell->from = fdopen(up[0], "r");
  if (!cell->to || !cell->from) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "compare: no memory for a pipe"));
  close(down[0]), close(up[1]);
  char *line = NULL; /* a message of control characters is several times as long in it */
  size_t size = 0;
  if (getline(&line, &size, cell->from) <= 0) {
    free(line);
    return mz_fail(MZ_E_INTERNAL, "the process ended before its run was open");
  }
  cJSON *reply = cJSON_Parse(line);
  free(line);
  if (!reply) return mz_fail(MZ_E_MEMORY, "compare: no memory for a reply");
  const cJSON *message = cJSON_GetObjectItemCaseSensitive(reply, "message"),
              *code = cJSON_GetObjectItemCaseSensitive(reply, "status");
  if (cJSON_IsString(message) && cJSON_IsNumber(code)) status = mz_fail((mz_status)code->valueint, "%s", message->valuestring);
  cell->refused = cell->ended = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply, "refused"));
  cell->bytes = mz_json_number_or_nan(reply, "bytes");
  cell->bytes_least = mz_json_number_or_nan(reply, "bytes_least");
  cJSON_Delete(reply);
  return status;
cleanup:
  for (int i = 0; i < 2; i++) {
    if (down[i] >= 0 && !(i == 1 && cell->to)) close(down[i]);
    if (up[i] >= 0 && !(i == 0 && cell->from)) close(up[i]);
  }
  return status;
}

static void crashed(mz_cell *cell) {
  int how = 0;
  if (cell->pid <= 0 || waitpid(cell->pid, &how, 0) != cell->pid)
    snprintf(cell->why, sizeof cell->why, "its process is gone");
  else if (WIFSIGNALED(how))
    snprintf(cell->why, sizeof cell->why, "killed by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
  else
    snprintf(cell->why, sizeof cell->why, "its process ended with status %d", WEXITSTATUS(how));
  cell->pid = 0;
  cell->ended = true;
}

/* A process that has died is told by the read that fails, as SIGPIPE is ignored. */
static void send(mz_cell *cell, int phases, uint64_t memory) {
  if (fprintf(cell->to, "%d %" PRIu64 "\n", phases, memory) < 0 || fflush(cell->to) != 0) clearerr(cell->to);
}

void mz_cell_send(mz_cell *cell, int phases, uint64_t memory) {
  MZ_ASSERT(!cell->ended && phases > 0);
  send(cell, phases, memory);
}

void mz_cell_rest(mz_cell *cell) { send(cell, 0, 0); }

mz_status mz_cell_receive(mz_cell *cell) {
  char *line = NULL;
  size_t size = 0;
  if (getline(&line, &size, cell->from) <= 0) {
    free(line);
    crashed(cell);
    return MZ_OK;
  }
  cJSON *reply = cJSON_Parse(line);
  free(line);
  if (!reply) return mz_fail(MZ_E_MEMORY, "compare: no memory for a reply");
  const cJSON *message = cJSON_GetObjectItemCaseSensitive(reply, "message"),
              *reason = cJSON_GetObjectItemCaseSensitive(reply, "reason");
  if (cJSON_IsString(message)) {
    snprintf(cell->why, sizeof cell->why, "%s", message->valuestring);
    cell->ended = true;
    cJSON_Delete(reply);
    return MZ_OK;
  }
  if (cJSON_IsString(reason) && reason->valuestring[0]) cell->ended = true;
  cJSON_AddItemToArray(cell->blocks, reply);
  return MZ_OK;
}

void mz_cell_end(mz_cell *cell) {
  if (cell->to) fclose(cell->to); /* the process reads the end of its input, closes its run and goes */
  if (cell->from) fclose(cell->from);
  cell->to = cell->from = NULL;
  if (cell->pid > 0) waitpid(cell->pid, NULL, 0);
  cell->pid = 0;
}
