#include "envs/worker/process.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "envs/worker/mailbox.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors in the new process. Ours are moved above them first, so that none is overwritten before it is used. */
enum { SOCKET_FD = 3, PROGRAM_FD = 4, OBJECT_FD = 5, ABOVE = 10 };
enum { LOOK_MS = 10 /* where the system does not tell of ends */ };

static const char *python(void) {
  const char *named = getenv("MUZERO_PYTHON");
  return named && named[0] ? named : "python3";
}

/* Its own group, so that Ctrl-C, which lets the program end its round, does not end the worker; no signal blocked or ignored. */
static int spawn(pid_t *pid, bool is_native, int socket, int program, int object, int log) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  char *const arguments[] = {is_native ? "muzero-env" : (char *)python(), is_native ? NULL : "/dev/fd/4", NULL};
  sigemptyset(&none);
  sigfillset(&all);
  int failed = posix_spawn_file_actions_init(&files);
  if (failed) return failed;
  failed = posix_spawnattr_init(&attributes);
  if (!failed) {
    failed = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, socket, SOCKET_FD);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, program, PROGRAM_FD);
    if (!failed && object >= 0) failed = posix_spawn_file_actions_adddup2(&files, object, OBJECT_FD);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failed) failed = posix_spawnp(pid, is_native ? "/dev/fd/4" : arguments[0], &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return failed;
}

static void close_open(int fd) {
  if (fd >= 0) close(fd);
}

static mz_status copy_bytes(mz_memory_file *file, const char *name, const unsigned char *bytes, size_t size) {
  MZ_TRY(mz_memory_file_create(file, name, size));
  memcpy(file->bytes, bytes, size);
  return MZ_OK;
}

static int move_up(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
  close_open(fd);
  return moved;
}

mz_status mz_worker_process_start(mz_worker_process *process, const mz_worker_program *program, double timeout_s) {
  int ends[2] = {-1, -1};
  mz_memory_file file = {.fd = -1}, object = {.fd = -1};
  *process = (mz_worker_process){.socket = -1, .end = -1, .timeout_s = timeout_s, .log = {.fd = -1}, .mailbox = {.fd = -1}};
  mz_status status;
  MZ_TRY_CLEANUP(copy_bytes(&file, "muzero-worker", program->bytes, program->size));
  if (program->object) MZ_TRY_CLEANUP(copy_bytes(&object, "muzero-object", program->object, program->object_size));
  MZ_TRY_CLEANUP(mz_memory_file_create_log(&process->log, "muzero-worker-log"));
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "worker: no socket: %s", strerror(errno)));
  ends[1] = move_up(ends[1]);
  file.fd = move_up(file.fd);
  if (program->object) object.fd = move_up(object.fd);
  process->log.fd = move_up(process->log.fd);
  if (ends[1] < 0 || file.fd < 0 || (program->object && object.fd < 0) || process->log.fd < 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "worker: no descriptor: %s", strerror(errno)));
  pid_t pid;
  const int failed = spawn(&pid, program->is_native, ends[1], file.fd, object.fd, process->log.fd);
  if (failed && program->is_native)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG,
                           "isolate=1: the process cannot be started from memory: %s; without isolate=1 none is needed",
                           strerror(failed)));
  if (failed)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "%s: cannot be started: %s; install Python 3.9 or later, or name it by MUZERO_PYTHON",
                           python(), strerror(failed)));
  process->pid = pid;
  process->end = mz_machine_child_end(pid);
  process->socket = ends[0];
  ends[0] = -1;
cleanup:
  for (int i = 0; i < 2; i++) close_open(ends[i]);
  mz_memory_file_free(&file);
  mz_memory_file_free(&object);
  if (status != MZ_OK) mz_memory_file_free(&process->log);
  return status;
}

bool mz_worker_process_send(const mz_worker_process *process, const char *message) {
  return send(process->socket, message, strlen(message), MSG_NOSIGNAL) >= 0;
}

mz_status mz_worker_process_share(mz_worker_process *process, size_t bytes, const char *message, bool *sent) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control = {0};
  mz_memory_file_free(&process->mailbox);
  MZ_TRY(mz_memory_file_create(&process->mailbox, "muzero-mailbox", bytes));
  struct iovec text = {.iov_base = (void *)message, .iov_len = strlen(message)};
  struct msghdr packet = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &process->mailbox.fd, sizeof(int));
  *sent = sendmsg(process->socket, &packet, MSG_NOSIGNAL) >= 0;
  return MZ_OK;
}

static int ms_until(uint64_t until_ns) {
  const uint64_t now_ns = mz_clock_ns();
  return now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000 + 1) : 0;
}

/* A process that has ended is waited for no longer, though what it has started may hold its end of the socket. Signals that come
 * meanwhile do not lengthen the wait. */
static bool comes_in_time(const mz_worker_process *process) {
  struct pollfd wait[] = {{.fd = process->socket, .events = POLLIN}, {.fd = process->end, .events = POLLIN}};
  const uint64_t until_ns = mz_clock_ns() + (uint64_t)(process->timeout_s * 1e9);
  for (;;) {
    const int found = poll(wait, 2, ms_until(until_ns));
    if (found != -1 || errno != EINTR) return found != 0;
  }
}

mz_worker_answer mz_worker_process_receive(const mz_worker_process *process, char *out, size_t size) {
  ssize_t got;
  out[0] = '\0';
  if (!comes_in_time(process)) return MZ_WORKER_SILENT;
  do got = recv(process->socket, out, size - 1, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  out[got > 0 ? got : 0] = '\0';
  return got > 0 ? MZ_WORKER_ANSWERED : MZ_WORKER_DIED;
}

static double seconds(const struct timeval *time) { return (double)time->tv_sec + 1e-6 * (double)time->tv_usec; }

void mz_worker_process_leave(const mz_worker_process *process) {
  if (process->pid > 0) shutdown(process->socket, SHUT_WR);
}

static bool has_ended(const mz_worker_process *process) {
  siginfo_t about = {0};
  return waitid(P_PID, (id_t)process->pid, &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == process->pid;
}

/* Returns whether the process ends by itself within that time. */
static bool ends_in_time(const mz_worker_process *process, double patience_s) {
  struct pollfd end = {.fd = process->end, .events = POLLIN};
  const uint64_t until_ns = mz_clock_ns() + (uint64_t)(patience_s * 1e9);
  for (;;) {
    const int left_ms = ms_until(until_ns);
    if (has_ended(process)) return true;
    if (left_ms == 0) return false;
    poll(&end, 1, process->end >= 0 ? left_ms : LOOK_MS);
  }
}

double mz_worker_process_end(mz_worker_process *process, double patience_s, char *how, size_t size) {
  int state = 0;
  struct rusage used = {0};
  const bool by_itself = process->pid <= 0 || ends_in_time(process, patience_s);
  if (process->pid > 0) {
    kill(process->pid, SIGKILL);  /* one that has ended already stays as it ended */
    kill(-process->pid, SIGKILL); /* what it has started: it leads a group of its own */
    while (wait4(process->pid, &state, 0, &used) < 0 && errno == EINTR) continue;
  }
  if (!by_itself)
    snprintf(how, size, "it closed its socket, and did not end, so it was killed");
  else if (WIFSIGNALED(state))
    snprintf(how, size, "killed by signal %d (%s)", WTERMSIG(state), strsignal(WTERMSIG(state)));
  else
    snprintf(how, size, "exit status %d", WEXITSTATUS(state));
  close_open(process->socket);
  close_open(process->end);
  mz_memory_file_free(&process->log);
  mz_memory_file_free(&process->mailbox);
  process->pid = 0;
  process->socket = -1;
  return seconds(&used.ru_utime) + seconds(&used.ru_stime);
}
