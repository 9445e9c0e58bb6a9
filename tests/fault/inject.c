#include "tests/fault/inject.h"
#include "base/file/file_calls.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct shared { /* with the processes that are forked */
  atomic_long calls;
} shared;

static fault_kind injected;
static long wanted;
static shared *counter;
static char report_path[4096];
static pid_t first_process;
static mz_file_calls real;

static const char *const names[] = {
    [FAULT_ENOSPC] = "enospc", [FAULT_EIO] = "eio",   [FAULT_FULL] = "full", [FAULT_EINTR] = "eintr",
    [FAULT_SHORT] = "short",   [FAULT_STOP] = "stop", [FAULT_HALF] = "half", [FAULT_MEMORY] = "memory"};

/* Without the C library's streams, which may ask for memory. */
static void report(const char *text) {
  if (report_path[0] == '\0') return;
  const int fd = open(report_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) _exit(FAULT_STOP_STATUS + 1);
  close(fd);
}

bool fault_hits(fault_kind kind, const char *format, ...) {
  if (kind != injected) return false;
  const long call = atomic_fetch_add(&counter->calls, 1) + 1;
  if (call != wanted) return kind == FAULT_FULL && call > wanted;
  char what[512], line[600];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  snprintf(line, sizeof line, "fault: %s\n", what);
  report(line);
  return true;
}

/* ---- the calls ---- */

static void path_of(int fd, char out[256]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, out, 255);
  out[length > 0 ? length : 0] = '\0';
}

/* Each call says which faults it may meet. `mutates`: it changes the disk; `needs_room`: it may find the disk full. */
static bool fails(const char *call, const char *path, bool mutates, bool needs_room, bool interruptible) {
  if (mutates && fault_hits(FAULT_STOP, "%s %s", call, path)) _exit(FAULT_STOP_STATUS);
  if (needs_room && (fault_hits(FAULT_ENOSPC, "%s %s", call, path) || fault_hits(FAULT_FULL, "%s %s", call, path))) {
    errno = ENOSPC;
    return true;
  }
  if (interruptible && fault_hits(FAULT_EINTR, "%s %s", call, path)) {
    errno = EINTR;
    return true;
  }
  if (!fault_hits(FAULT_EIO, "%s %s", call, path)) return false;
  errno = EIO;
  return true;
}

static bool fails_fd(const char *call, int fd, bool mutates, bool needs_room, bool interruptible) {
  char path[256];
  path_of(fd, path);
  return fails(call, path, mutates, needs_room, interruptible);
}

/* Half of the bytes, where that is fewer than all. */
static size_t part_of(const char *call, int fd, size_t size) {
  char path[256];
  path_of(fd, path);
  return size > 1 && fault_hits(FAULT_SHORT, "%s %s", call, path) ? size / 2 : size;
}

static int open_(const char *path, int flags, mode_t mode) {
  const bool makes = (flags & (O_CREAT | O_TMPFILE)) != 0 && (flags & O_DIRECTORY) == 0;
  return fails("open", path, makes, makes, true) ? -1 : real.open(path, flags, mode);
}

/* The file is closed in any case, as Linux has it. */
static int close_(int fd) {
  const bool failed = fails_fd("close", fd, false, false, true);
  const int reason = errno, rc = real.close(fd);
  if (failed) errno = reason;
  return failed ? -1 : rc;
}

static ssize_t read_(int fd, void *out, size_t size) {
  return fails_fd("read", fd, false, false, true) ? -1 : real.read(fd, out, part_of("read", fd, size));
}

static ssize_t pread_(int fd, void *out, size_t size, off_t offset) {
  return fails_fd("pread", fd, false, false, true) ? -1 : real.pread(fd, out, part_of("pread", fd, size), offset);
}

static ssize_t write_(int fd, const void *data, size_t size) {
  char path[256];
  path_of(fd, path);
  if (fails("write", path, true, true, true)) return -1;
  if (fault_hits(FAULT_HALF, "write %s", path)) {
    if (real.write(fd, data, size / 2) < 0) _exit(FAULT_STOP_STATUS + 1);
    _exit(FAULT_STOP_STATUS);
  }
  return real.write(fd, data, part_of("write", fd, size));
}

static int stat_(const char *path, struct stat *out) {
  return fails("stat", path, false, false, false) ? -1 : real.stat(path, out);
}
static int fstat_(int fd, struct stat *out) { return fails_fd("fstat", fd, false, false, false) ? -1 : real.fstat(fd, out); }
static int fsync_(int fd) { return fails_fd("fsync", fd, true, true, true) ? -1 : real.fsync(fd); }
static int ftruncate_(int fd, off_t size) { return fails_fd("ftruncate", fd, true, false, true) ? -1 : real.ftruncate(fd, size); }
static int fallocate_(int fd, int mode, off_t offset, off_t size) {
  return fails_fd("fallocate", fd, true, true, true) ? -1 : real.fallocate(fd, mode, offset, size);
}
static int flock_(int fd, int operation) { return fails_fd("flock", fd, false, false, true) ? -1 : real.flock(fd, operation); }
static int rename_(const char *from, const char *to) {
  return fails("rename", to, true, true, false) ? -1 : real.rename(from, to);
}
static int unlink_(const char *path) { return fails("unlink", path, true, false, false) ? -1 : real.unlink(path); }
static int rmdir_(const char *path) { return fails("rmdir", path, true, false, false) ? -1 : real.rmdir(path); }
static int mkdir_(const char *path, mode_t mode) { return fails("mkdir", path, true, true, false) ? -1 : real.mkdir(path, mode); }
static int mkostemps_(char *pattern, int suffix, int flags) {
  return fails("mkostemps", pattern, true, true, true) ? -1 : real.mkostemps(pattern, suffix, flags);
}
static char *mkdtemp_(char *pattern) { return fails("mkdtemp", pattern, true, true, false) ? NULL : real.mkdtemp(pattern); }
static DIR *opendir_(const char *path) { return fails("opendir", path, false, false, false) ? NULL : real.opendir(path); }
static struct dirent *readdir_(DIR *folder) {
  return fails_fd("readdir", dirfd(folder), false, false, false) ? NULL : real.readdir(folder);
}

static const mz_file_calls faulty = {.open = open_,
                                     .close = close_,
                                     .read = read_,
                                     .pread = pread_,
                                     .write = write_,
                                     .stat = stat_,
                                     .fstat = fstat_,
                                     .fsync = fsync_,
                                     .ftruncate = ftruncate_,
                                     .fallocate = fallocate_,
                                     .flock = flock_,
                                     .rename = rename_,
                                     .unlink = unlink_,
                                     .mkdir = mkdir_,
                                     .rmdir = rmdir_,
                                     .mkostemps = mkostemps_,
                                     .mkdtemp = mkdtemp_,
                                     .opendir = opendir_,
                                     .readdir = readdir_};

/* ---- beginning and end ---- */

static _Noreturn void refuse(const char *value) {
  fprintf(stderr, "MUZERO_FAULT=%s: wanted is KIND:N\n", value);
  _exit(2);
}

enum { INHERITED_MAX = 256 };
static bool inherited[INHERITED_MAX]; /* open when the program began: whoever started it left them so */

static void find_inherited(void) {
  for (int fd = 0; fd < INHERITED_MAX; fd++) inherited[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Not for commands that the program starts through a shell. */
__attribute__((constructor)) static void begin(void) {
  const char *value = getenv("MUZERO_FAULT"), *path = getenv("MUZERO_FAULT_REPORT");
  if (value == NULL) return;
  snprintf(report_path, sizeof report_path, "%s", path ? path : "");
  const char *colon = strchr(value, ':');
  if (colon == NULL || (wanted = atol(colon + 1)) < 1) refuse(value);
  fault_kind kind = FAULT_NONE;
  for (fault_kind k = FAULT_ENOSPC; k <= FAULT_MEMORY; k++)
    if (strlen(names[k]) == (size_t)(colon - value) && strncmp(names[k], value, strlen(names[k])) == 0) kind = k;
  counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (kind == FAULT_NONE || counter == MAP_FAILED) refuse(value);
  first_process = getpid();
  find_inherited();
  real = mz_file_system;
  mz_file_system = faulty;
  injected = kind;
}

static void report_open_file(int fd) {
  char path[256], line[300];
  path_of(fd, path);
  if (fd <= 2 || (fd < INHERITED_MAX && inherited[fd]) || path[0] != '/' || strncmp(path, "/proc", 5) == 0 ||
      strncmp(path, "/dev", 4) == 0)
    return;
  snprintf(line, sizeof line, "open: %s\n", path);
  report(line);
}

__attribute__((destructor)) static void end(void) {
  if (injected == FAULT_NONE || getpid() != first_process) return;
  injected = FAULT_NONE;
  char line[64];
  for (int fd = 3; fd < 256; fd++) report_open_file(fd);
  snprintf(line, sizeof line, "calls: %ld\n", atomic_load(&counter->calls));
  report(line);
}
