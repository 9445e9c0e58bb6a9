#include "muzero/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static mz_status fail(const char *path, const char *what) { return mz_fail(MZ_E_IO, "%s: %s: %s", path, what, strerror(errno)); }

/* ---- reading ---- */

static int open_retrying(const char *path, int flags, mode_t mode) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

static mz_status grow(uint8_t **data, size_t used, size_t *capacity) {
  uint8_t *larger = NULL;
  MZ_TRY(mz_alloc(&larger, 1, *capacity * 2));
  memcpy(larger, *data, used);
  free(*data);
  *data = larger;
  *capacity *= 2;
  return MZ_OK;
}

/* Reads until the end and not to the size that stat gave: files under /proc have none, and others may grow. */
static mz_status read_all(int fd, const char *path, size_t limit, uint8_t **data, size_t *size) {
  struct stat st;
  if (fstat(fd, &st) != 0) return fail(path, "cannot read");
  if (limit > 0 && st.st_size > 0 && (uint64_t)st.st_size > limit) {
    return mz_fail(MZ_E_IO, "%s: %" PRIu64 " bytes; at most %zu can be valid here", path, (uint64_t)st.st_size, limit);
  }
  size_t capacity = (st.st_size > 0 ? (size_t)st.st_size : 4096) + 2; /* a NUL, and one byte that shows the end was met */
  MZ_TRY(mz_alloc(data, capacity, 1));
  for (*size = 0;;) {
    if (*size + 1 == capacity) MZ_TRY(grow(data, *size, &capacity));
    const ssize_t got = read(fd, *data + *size, capacity - 1 - *size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(path, "cannot read");
    if (got == 0) break;
    *size += (size_t)got;
    if (limit > 0 && *size > limit) return mz_fail(MZ_E_IO, "%s: at most %zu bytes can be valid here", path, limit);
  }
  (*data)[*size] = '\0';
  return MZ_OK;
}

mz_status mz_file_read(const char *path, size_t limit, uint8_t **data, size_t *size) {
  *data = NULL;
  *size = 0;
  const int fd = open_retrying(path, O_RDONLY, 0);
  if (fd < 0) return fail(path, "cannot open");
  const mz_status status = read_all(fd, path, limit, data, size);
  close(fd); /* nothing was written: no error that matters */
  if (status != MZ_OK) {
    free(*data);
    *data = NULL;
    *size = 0;
  }
  return status;
}

/* ---- writing ---- */

static mz_status write_all(int fd, const char *path, const uint8_t *data, size_t size) {
  while (size > 0) {
    const ssize_t put = write(fd, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(path, "cannot write");
    data += put;
    size -= (size_t)put;
  }
  return MZ_OK;
}

static mz_status write_and_sync(const char *path, const char *temporary, const void *data, size_t size) {
  const int fd = open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (fd < 0) return fail(path, "cannot write");
  mz_status status = write_all(fd, path, data, size);
  if (status == MZ_OK && fsync(fd) != 0) status = fail(path, "cannot write to disk");
  if (close(fd) != 0 && status == MZ_OK) status = fail(path, "cannot write");
  if (status == MZ_OK && rename(temporary, path) != 0) status = fail(path, "cannot replace");
  if (status != MZ_OK) unlink(temporary); /* best effort: the first error is the one to tell */
  return status;
}

/* Without this a crash of the machine may forget the rename. */
static mz_status sync_folder_of(const char *path) {
  char folder[PATH_BYTES];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash == NULL)
    snprintf(folder, sizeof folder, ".");
  else
    slash[slash == folder] = '\0'; /* the root keeps its slash */
  const int fd = open_retrying(folder, O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return fail(folder, "cannot open");
  const int failed = fsync(fd) != 0 && errno != EINVAL; /* EINVAL: this file system has no such need */
  const mz_status status = failed ? fail(folder, "cannot write to disk") : MZ_OK;
  close(fd);
  return status;
}

mz_status mz_file_write_atomic(const char *path, const void *data, size_t size) {
  static atomic_uint serial; /* with the pid: a name no other writer uses */
  char temporary[PATH_BYTES];
  const int length = snprintf(temporary, sizeof temporary, "%s.%d.%u.tmp", path, (int)getpid(), atomic_fetch_add(&serial, 1));
  if (length >= PATH_BYTES) return mz_fail(MZ_E_IO, "%s: path too long", path);
  MZ_TRY(write_and_sync(path, temporary, data, size));
  return sync_folder_of(path);
}

mz_status mz_file_append(int fd, const char *path_for_messages, const void *data, size_t size) {
  struct stat before;
  const bool regular = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
  const mz_status status = write_all(fd, path_for_messages, data, size);
  if (status != MZ_OK && regular && ftruncate(fd, before.st_size) != 0) { /* half a record must not stay */
    return mz_fail(MZ_E_IO, "%s; and cannot be cut back: %s", mz_message(), strerror(errno));
  }
  return status;
}

mz_status mz_file_truncate(const char *path, uint64_t size) {
  const int fd = open_retrying(path, O_WRONLY, 0);
  if (fd < 0) return fail(path, "cannot open");
  struct stat st;
  mz_status status = MZ_OK;
  if (fstat(fd, &st) != 0) {
    status = fail(path, "cannot cut back");
  } else if ((uint64_t)st.st_size < size) {
    status = mz_fail(MZ_E_IO, "%s: has %" PRIu64 " bytes, should have at least %" PRIu64, path, (uint64_t)st.st_size, size);
  } else if ((uint64_t)st.st_size > size && (ftruncate(fd, (off_t)size) != 0 || fsync(fd) != 0)) {
    status = fail(path, "cannot cut back");
  }
  if (close(fd) != 0 && status == MZ_OK) status = fail(path, "cannot cut back");
  return status;
}

/* ---- folders and paths ---- */

mz_status mz_file_mkdirs(const char *path) {
  char part[PATH_BYTES];
  if (snprintf(part, sizeof part, "%s", path) >= PATH_BYTES) return mz_fail(MZ_E_IO, "%s: path too long", path);
  for (char *end = part + 1; part[0] != '\0'; end++) {
    const char c = *end;
    if (c != '/' && c != '\0') continue;
    *end = '\0';
    if (mkdir(part, 0777) != 0 && !(errno == EEXIST && mz_file_is_dir(part))) return fail(part, "cannot make the folder");
    *end = c;
    if (c == '\0') break;
  }
  return MZ_OK;
}

mz_status mz_file_make_temporary(const char *name, char *out, size_t size) {
  const char *given = getenv("TMPDIR"), *base = given && given[0] ? given : "/tmp";
  if (snprintf(out, size, "%s/%s-XXXXXX", base, name) >= (int)size) return mz_fail(MZ_E_IO, "%s: path too long", base);
  return mkdtemp(out) ? MZ_OK : mz_fail(MZ_E_IO, "no temporary folder in %s: %s", base, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind, (void)walk;
  return remove(path);
}

mz_status mz_file_remove_tree(const char *path) {
  if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return MZ_OK;
  return mz_fail(MZ_E_IO, "%s: cannot be removed: %s", path, strerror(errno));
}

bool mz_file_exists(const char *path) {
  struct stat st;
  return stat(path, &st) == 0;
}

bool mz_file_is_dir(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

mz_status mz_path_join(char *out, size_t size, const char *dir, const char *name) {
  const size_t length = strlen(dir);
  const char *slash = length == 0 || dir[length - 1] == '/' ? "" : "/";
  if ((size_t)snprintf(out, size, "%s%s%s", dir, slash, name) < size) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s%s%s: path too long; at most %zu bytes", dir, slash, name, size - 1);
}

/* ---- locks ---- */

static mz_status fail_locked(int fd, const char *path) {
  char owner[32] = "";
  const ssize_t got = pread(fd, owner, sizeof owner - 1, 0);
  const long pid = got > 0 ? strtol(owner, NULL, 10) : 0; /* 0: the owner has not written it yet */
  if (pid > 0) return mz_fail(MZ_E_IO, "%s: in use by process %ld; wait for it to end, or stop it", path, pid);
  return mz_fail(MZ_E_IO, "%s: in use by another process; wait for it to end, or stop it", path);
}

mz_status mz_lock_acquire(const char *path, int *fd) {
  *fd = -1;
  const int file = open_retrying(path, O_RDWR | O_CREAT, 0666);
  if (file < 0) return fail(path, "cannot open");
  int rc;
  do rc = flock(file, LOCK_EX | LOCK_NB);
  while (rc != 0 && errno == EINTR);
  mz_status status = MZ_OK;
  char pid[32];
  const int length = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
  if (rc != 0)
    status = errno == EWOULDBLOCK ? fail_locked(file, path) : fail(path, "cannot lock");
  else if (ftruncate(file, 0) != 0)
    status = fail(path, "cannot write");
  else
    status = write_all(file, path, (const uint8_t *)pid, (size_t)length);
  if (status != MZ_OK)
    close(file);
  else
    *fd = file;
  return status;
}

void mz_lock_release(int fd) {
  if (fd < 0) return;
  /* The file stays: removing it would let two processes lock two files of one name. An owner that cannot be erased only
   * spoils a message, and closing unlocks in any case. */
  if (ftruncate(fd, 0) != 0) errno = 0;
  close(fd);
}
