#include "base/file/file.h"
#include "base/file/file_calls.h"
#include "base/log.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static int open_retrying(const char *path, int flags, mode_t mode) {
  int fd;
  MZ_FILE_RETRY(fd, mz_file_system.open(path, flags | O_CLOEXEC, mode));
  return fd;
}

/* ---- open files ---- */

mz_status mz_file_open(const char *path, mz_file_mode mode, int *fd) {
  *fd = open_retrying(path, mode == MZ_FILE_READ ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND, 0666);
  return *fd >= 0 ? MZ_OK : mz_file_fail(path, "cannot open");
}

/* Linux has closed the file when it reports EINTR: closing again could close another's. */
mz_status mz_file_close(int *fd, const char *path) {
  const int was = *fd;
  *fd = -1;
  if (was < 0 || mz_file_system.close(was) == 0 || errno == EINTR) return MZ_OK;
  return mz_file_fail(path, "cannot close");
}

mz_status mz_file_size(int fd, const char *path, uint64_t *size) {
  struct stat st;
  if (mz_file_system.fstat(fd, &st) != 0) return mz_file_fail(path, "cannot examine");
  if (!S_ISREG(st.st_mode)) return mz_fail(MZ_E_IO, "%s: not a regular file", path);
  *size = (uint64_t)st.st_size;
  return MZ_OK;
}

mz_status mz_file_read_at(int fd, const char *path, uint64_t offset, void *out, size_t size, size_t *got) {
  size_t done = 0;
  for (ssize_t part = 1; done < size && part > 0; done += (size_t)part) {
    MZ_FILE_RETRY(part, mz_file_system.pread(fd, (uint8_t *)out + done, size - done, (off_t)(offset + done)));
    if (part < 0) return mz_file_fail(path, "cannot read");
  }
  if (got != NULL) *got = done;
  return done == size || got != NULL ? MZ_OK : mz_fail(MZ_E_IO, "%s: cut off at byte %" PRIu64, path, offset + done);
}

static mz_status write_all(int fd, const char *path, const uint8_t *data, size_t size) {
  while (size > 0) {
    ssize_t put;
    MZ_FILE_RETRY(put, mz_file_system.write(fd, data, size));
    if (put < 0) return mz_file_fail(path, "cannot write");
    data += put;
    size -= (size_t)put;
  }
  return MZ_OK;
}

static int cut(int fd, uint64_t size) {
  int rc;
  MZ_FILE_RETRY(rc, mz_file_system.ftruncate(fd, (off_t)size));
  return rc;
}

mz_status mz_file_append(int fd, const char *path, const void *data, size_t size) {
  struct stat before;
  if (mz_file_system.fstat(fd, &before) != 0) return mz_file_fail(path, "cannot examine");
  const mz_status status = write_all(fd, path, data, size);
  if (status != MZ_OK && S_ISREG(before.st_mode) && cut(fd, (uint64_t)before.st_size) != 0) { /* half a record must not stay */
    return mz_fail(MZ_E_IO, "%s; and cannot be cut back: %s", mz_message(), strerror(errno));
  }
  return status;
}

mz_status mz_file_sync(int fd, const char *path) {
  int rc;
  MZ_FILE_RETRY(rc, mz_file_system.fsync(fd));
  return rc == 0 ? MZ_OK : mz_file_fail(path, "cannot write to disk");
}

mz_status mz_file_truncate(int fd, const char *path, uint64_t size, uint64_t *missing) {
  uint64_t before = 0;
  MZ_TRY(mz_file_size(fd, path, &before));
  *missing = before < size ? size - before : 0;
  return before <= size || cut(fd, size) == 0 ? MZ_OK : mz_file_fail(path, "cannot cut back");
}

mz_status mz_file_punch(int fd, const char *path, uint64_t from, uint64_t to) {
  int rc;
  MZ_FILE_RETRY(rc, mz_file_system.fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)));
  return rc == 0 ? MZ_OK : mz_file_fail(path, "cannot give space back");
}

mz_status mz_file_open_unlinked(char *pattern, const char *suffix, int *fd) {
  MZ_FILE_RETRY(*fd, mz_file_system.mkostemps(pattern, (int)strlen(suffix), O_APPEND | O_CLOEXEC));
  if (*fd < 0) return mz_file_fail(pattern, "cannot make the file");
  const mz_status status = mz_file_remove(pattern);
  if (status != MZ_OK) mz_file_system.close(*fd), *fd = -1; /* the first error is the one to tell */
  return status;
}

/* ---- whole files ---- */

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
  if (mz_file_system.fstat(fd, &st) != 0) return mz_file_fail(path, "cannot read");
  if (limit > 0 && st.st_size > 0 && (uint64_t)st.st_size > limit) {
    return mz_fail(MZ_E_IO, "%s: %" PRIu64 " bytes; at most %zu can be valid here", path, (uint64_t)st.st_size, limit);
  }
  size_t capacity = (st.st_size > 0 ? (size_t)st.st_size : 4096) + 2; /* a NUL, and one byte that shows the end was met */
  MZ_TRY(mz_alloc(data, capacity, 1));
  for (*size = 0;;) {
    if (*size + 1 == capacity) MZ_TRY(grow(data, *size, &capacity));
    ssize_t got;
    MZ_FILE_RETRY(got, mz_file_system.read(fd, *data + *size, capacity - 1 - *size));
    if (got < 0) return mz_file_fail(path, "cannot read");
    if (got == 0) break;
    *size += (size_t)got;
    if (limit > 0 && *size > limit) return mz_fail(MZ_E_IO, "%s: at most %zu bytes can be valid here", path, limit);
  }
  (*data)[*size] = '\0';
  return MZ_OK;
}

mz_status mz_file_read(const char *path, size_t limit, uint8_t **data, size_t *size) {
  int fd = -1;
  *data = NULL;
  *size = 0;
  MZ_TRY(mz_file_open(path, MZ_FILE_READ, &fd));
  const mz_status status = read_all(fd, path, limit, data, size);
  mz_file_system.close(fd); /* nothing was written: no error that matters */
  if (status != MZ_OK) {
    free(*data);
    *data = NULL;
    *size = 0;
  }
  return status;
}

static mz_status write_and_sync(int fd, const char *path, const char *temporary, const void *data, size_t size) {
  mz_status status = write_all(fd, path, data, size);
  if (status == MZ_OK) status = mz_file_sync(fd, path);
  if (status == MZ_OK)
    status = mz_file_close(&fd, path);
  else
    mz_file_system.close(fd);
  if (status == MZ_OK && mz_file_system.rename(temporary, path) != 0) status = mz_file_fail(path, "cannot replace");
  if (status != MZ_OK) mz_file_system.unlink(temporary); /* best effort: the first error is the one to tell */
  return status;
}

/* Under a name that no other writer uses. One that was killed may have left a file of it where processes have few numbers. */
static mz_status open_temporary(const char *path, char temporary[PATH_BYTES], int *fd) {
  enum { TRIES = 1000 };
  static atomic_uint serial;
  for (int i = 0; i < TRIES; i++) {
    const int length = snprintf(temporary, PATH_BYTES, "%s.%d.%u.tmp", path, (int)getpid(), atomic_fetch_add(&serial, 1));
    if (length >= PATH_BYTES) return mz_fail(MZ_E_IO, "%s: path too long", path);
    *fd = open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (*fd >= 0) return MZ_OK;
    if (errno != EEXIST) break;
  }
  return mz_file_fail(path, "cannot write");
}

mz_status mz_file_write_atomic(const char *path, const void *data, size_t size) {
  char temporary[PATH_BYTES], folder[PATH_BYTES];
  int fd = -1;
  MZ_TRY(mz_path_folder(path, folder, sizeof folder));
  MZ_TRY(open_temporary(path, temporary, &fd));
  MZ_TRY(write_and_sync(fd, path, temporary, data, size));
  return mz_file_sync_folder(folder);
}

static mz_status write_special(const char *path, const void *data, size_t size) {
  int fd = open_retrying(path, O_WRONLY, 0);
  if (fd < 0) return mz_file_fail(path, "cannot open");
  const mz_status status = write_all(fd, path, data, size);
  if (status == MZ_OK) return mz_file_close(&fd, path);
  mz_file_system.close(fd); /* the first error is the one to tell */
  return status;
}

mz_status mz_file_write_output(const char *path, const void *data, size_t size) {
  struct stat there;
  if (mz_file_system.stat(path, &there) != 0) return mz_file_write_atomic(path, data, size); /* nothing, or a link to nothing */
  if (!S_ISREG(there.st_mode)) return write_special(path, data, size);
  char *target = realpath(path, NULL);
  if (target == NULL) return mz_file_fail(path, "cannot examine");
  const mz_status status = mz_file_write_atomic(target, data, size);
  free(target);
  return status;
}

static mz_status try_beside(const char *path, const char *target) {
  char pattern[PATH_BYTES];
  int fd;
  if (snprintf(pattern, sizeof pattern, "%s.XXXXXX", target) >= PATH_BYTES) return mz_fail(MZ_E_IO, "%s: path too long", path);
  if (mz_file_open_unlinked(pattern, "", &fd) != MZ_OK)
    return mz_fail(MZ_E_IO, "%s: no file can be made there: %s", path, mz_message());
  return mz_file_close(&fd, path);
}

mz_status mz_file_check_output(const char *path) {
  struct stat there;
  if (mz_file_system.stat(path, &there) != 0) return try_beside(path, path);
  if (S_ISDIR(there.st_mode)) return mz_fail(MZ_E_IO, "%s: is a folder; a file's name is wanted", path);
  if (!S_ISREG(there.st_mode)) return MZ_OK;
  char *target = realpath(path, NULL);
  if (target == NULL) return mz_file_fail(path, "cannot examine");
  const mz_status status = try_beside(path, target);
  free(target);
  return status;
}

/* ---- files of lines ---- */

/* Finds where the last whole line within the first `size` bytes ends; 0: there is none. */
static mz_status find_last_line(int fd, const char *path, uint64_t size, uint64_t *end) {
  char block[PATH_BYTES];
  for (uint64_t at = size; at > 0;) {
    const size_t part = at < sizeof block ? (size_t)at : sizeof block;
    at -= part;
    MZ_TRY(mz_file_read_at(fd, path, at, block, part, NULL));
    const char *newline = memrchr(block, '\n', part);
    *end = at + (newline != NULL ? (uint64_t)(newline - block) + 1 : 0);
    if (newline != NULL) return MZ_OK;
  }
  *end = 0;
  return MZ_OK;
}

static mz_status cut_to_lines(int fd, const char *path, uint64_t *size) {
  uint64_t wanted = *size, missing = 0, end = 0, length = 0;
  MZ_TRY(mz_file_size(fd, path, &length));
  MZ_TRY(mz_file_truncate(fd, path, wanted, &missing));
  if (missing > 0) {
    MZ_TRY(find_last_line(fd, path, wanted - missing, &end));
    MZ_TRY(mz_file_truncate(fd, path, end, &(uint64_t){0}));
    mz_log_write(MZ_LOG_WARNING,
                 "%s: %" PRIu64 " of %" PRIu64 " bytes are missing (was the machine switched off?); the run continues, and "
                 "appends behind the last whole line, at byte %" PRIu64,
                 path, missing, wanted, end);
    *size = end;
  }
  return *size < length ? mz_file_sync(fd, path) : MZ_OK;
}

mz_status mz_file_open_lines(const char *path, uint64_t *size, int *fd) {
  MZ_TRY(mz_file_open(path, MZ_FILE_APPEND, fd));
  const mz_status status = cut_to_lines(*fd, path, size);
  if (status != MZ_OK) mz_file_system.close(*fd), *fd = -1; /* the first error is the one to tell */
  return status;
}
