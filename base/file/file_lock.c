#include "base/file/file.h"
#include "base/file/file_calls.h"
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, PROBE_MS = 50 };

static int try_lock(int fd) {
  int rc;
  MZ_FILE_RETRY(rc, mz_file_system.flock(fd, LOCK_EX | LOCK_NB));
  return rc;
}

/* Tries for wait_ms; errno is the last try's. */
static int try_lock_for(int fd, int wait_ms) {
  for (int waited_ms = 0;; waited_ms += STEP_MS) {
    const int rc = try_lock(fd);
    if (rc == 0 || errno != EWOULDBLOCK || waited_ms >= wait_ms) return rc;
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
  }
}

static mz_status fail_locked(int fd, const char *path) {
  char owner[32] = "";
  size_t got = 0;
  const mz_status status = mz_file_read_at(fd, path, 0, owner, sizeof owner - 1, &got);
  const long pid = status == MZ_OK && got > 0 ? strtol(owner, NULL, 10) : 0; /* 0: the owner has not written it yet */
  if (pid > 0) return mz_fail(MZ_E_IO, "%s: in use by process %ld; wait for it to end, or stop it", path, pid);
  return mz_fail(MZ_E_IO, "%s: in use by another process; wait for it to end, or stop it", path);
}

static mz_status lock_and_sign(int fd, const char *path) {
  char pid[32];
  const int length = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
  /* who looks whether the lock is held (mz_lock_is_held) holds it for a moment, too */
  if (try_lock_for(fd, PROBE_MS) != 0) return errno == EWOULDBLOCK ? fail_locked(fd, path) : mz_file_fail(path, "cannot lock");
  MZ_TRY(mz_file_truncate(fd, path, 0, &(uint64_t){0}));
  return mz_file_append(fd, path, pid, (size_t)length);
}

mz_status mz_lock_acquire(const char *path, int *fd) {
  MZ_TRY(mz_file_open(path, MZ_FILE_APPEND, fd));
  const mz_status status = lock_and_sign(*fd, path);
  if (status != MZ_OK) mz_file_system.close(*fd), *fd = -1; /* the first error is the one to tell */
  return status;
}

void mz_lock_release(int fd) {
  if (fd < 0) return;
  /* The file stays: removing it would let two processes lock two files of one name. An owner that cannot be erased only
   * spoils a message, and closing unlocks in any case. */
  if (mz_file_system.ftruncate(fd, 0) != 0) errno = 0;
  mz_file_system.close(fd);
}

bool mz_lock_is_held(const char *path) {
  mz_file_stamp stamp;
  /* An owner that released the lock left the file empty: only one that was killed is told from one at work by trying. */
  if (!mz_file_stamp_read(path, &stamp) || stamp.size == 0) return false;
  int fd, rc;
  if (mz_file_open(path, MZ_FILE_READ, &fd) != MZ_OK) return false;
  MZ_FILE_RETRY(rc, mz_file_system.flock(fd, LOCK_SH | LOCK_NB));
  const bool held = rc != 0 && errno == EWOULDBLOCK;
  mz_file_system.close(fd);
  return held;
}

mz_status mz_lock_folder(const char *folder, int wait_ms, int *fd) {
  MZ_TRY(mz_file_open(folder, MZ_FILE_READ, fd));
  if (try_lock_for(*fd, wait_ms) == 0) return MZ_OK;
  const mz_status status = mz_file_fail(folder, "cannot lock");
  mz_file_system.close(*fd);
  *fd = -1;
  return status;
}
