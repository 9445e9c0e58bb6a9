#include "base/file/file.h"
#include "base/file/file_calls.h"
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* ---- names ---- */

mz_status mz_file_remove(const char *path) {
  return mz_file_system.unlink(path) == 0 || errno == ENOENT ? MZ_OK : mz_file_fail(path, "cannot be removed");
}

mz_status mz_file_rename(const char *from, const char *to) {
  return mz_file_system.rename(from, to) == 0 ? MZ_OK : mz_file_fail(from, "cannot be renamed");
}

bool mz_file_exists(const char *path) {
  struct stat st;
  return mz_file_system.stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG);
}

bool mz_file_stamp_read(const char *path, mz_file_stamp *out) {
  struct stat st;
  if (mz_file_system.stat(path, &st) != 0) return false;
  *out = (mz_file_stamp){.size = (uint64_t)st.st_size,
                         .inode = st.st_ino,
                         .modified_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec};
  return true;
}

bool mz_file_is_dir(const char *path) {
  struct stat st;
  return mz_file_system.stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool mz_file_is_endless(const char *path) {
  struct stat st;
  return mz_file_system.stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* ---- paths ---- */

mz_status mz_path_join(char *out, size_t size, const char *dir, const char *name) {
  const size_t length = strlen(dir);
  const char *slash = length == 0 || dir[length - 1] == '/' ? "" : "/";
  if ((size_t)snprintf(out, size, "%s%s%s", dir, slash, name) < size) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s%s%s: path too long; at most %zu bytes", dir, slash, name, size - 1);
}

mz_status mz_path_folder(const char *path, char *out, size_t size) {
  if ((size_t)snprintf(out, size, "%s", path) >= size) return mz_fail(MZ_E_IO, "%s: path too long", path);
  char *slash = strrchr(out, '/');
  if (slash == NULL)
    snprintf(out, size, ".");
  else
    slash[slash == out] = '\0'; /* the root keeps its slash */
  return MZ_OK;
}

/* ---- folders ---- */

mz_status mz_file_list(const char *folder, mz_file_visitor visit, void *context) {
  DIR *handle = mz_file_system.opendir(folder);
  if (handle == NULL) return mz_file_fail(folder, "cannot be read");
  mz_status status = MZ_OK;
  while (status == MZ_OK) {
    errno = 0;
    const struct dirent *entry = mz_file_system.readdir(handle);
    if (entry == NULL && errno != 0) status = mz_file_fail(folder, "cannot be read");
    if (entry == NULL) break;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) status = visit(context, entry->d_name);
  }
  closedir(handle); /* was only read */
  return status;
}

/* "….PID.NUMBER.tmp", as mz_file_write_atomic names what it writes, of a process that is gone, or this one. */
static bool is_left_by_a_write(const char *name) {
  const char *end = strstr(name, ".tmp");
  if (!end || end[4] != '\0') return false;
  for (int parts = 0; parts < 2; parts++) {
    const char *digit = end;
    while (digit > name && isdigit((unsigned char)digit[-1])) digit--;
    if (digit == end || digit == name || digit[-1] != '.') return false;
    end = digit - 1;
  }
  const long pid = strtol(end + 1, NULL, 10);
  const bool at_work = pid > 0 && pid <= INT32_MAX && pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
  return end > name && !at_work;
}

/* "…-XXXXXX.spill", a file that was to have no name. */
static bool is_left_unlinked(const char *name) {
  const char *end = strstr(name, ".spill");
  if (!end || end[6] != '\0' || end - name < 8 || end[-7] != '-') return false;
  for (int i = 1; i <= 6; i++)
    if (!isalnum((unsigned char)end[-i])) return false;
  return true;
}

static mz_status remove_if_left(void *folder, const char *name) {
  char path[PATH_BYTES];
  if (!is_left_by_a_write(name) && !is_left_unlinked(name)) return MZ_OK;
  MZ_TRY(mz_path_join(path, sizeof path, folder, name));
  return mz_file_remove(path);
}

mz_status mz_file_remove_left(const char *folder) {
  return mz_file_exists(folder) ? mz_file_list(folder, remove_if_left, (void *)folder) : MZ_OK;
}

/* A folder that was made lasts when the one above it knows it. One that may not be read cannot be asked to. */
static void sync_above(const char *folder) {
  char above[PATH_BYTES];
  if (mz_path_folder(folder, above, sizeof above) == MZ_OK) (void)mz_file_sync_folder(above);
}

mz_status mz_file_mkdirs(const char *path) {
  char part[PATH_BYTES];
  if (snprintf(part, sizeof part, "%s", path) >= PATH_BYTES) return mz_fail(MZ_E_IO, "%s: path too long", path);
  for (char *end = part + 1; part[0] != '\0'; end++) {
    const char c = *end;
    if (c != '/' && c != '\0') continue;
    *end = '\0';
    const bool made = mz_file_system.mkdir(part, 0777) == 0;
    if (!made && !(errno == EEXIST && mz_file_is_dir(part))) return mz_file_fail(part, "cannot make the folder");
    if (made) sync_above(part);
    *end = c;
    if (c == '\0') break;
  }
  return MZ_OK;
}

mz_status mz_file_make_temporary(const char *name, char *out, size_t size) {
  const char *given = getenv("TMPDIR"), *base = given && given[0] ? given : "/tmp";
  if (snprintf(out, size, "%s/%s-XXXXXX", base, name) >= (int)size) return mz_fail(MZ_E_IO, "%s: path too long", base);
  return mz_file_system.mkdtemp(out) ? MZ_OK : mz_fail(MZ_E_IO, "no temporary folder in %s: %s", base, strerror(errno));
}

mz_status mz_file_remove_folder(const char *path) {
  return mz_file_system.rmdir(path) == 0 || errno == ENOENT ? MZ_OK : mz_file_fail(path, "cannot be removed");
}

static mz_status remove_entry(void *folder, const char *name) {
  char path[PATH_BYTES];
  MZ_TRY(mz_path_join(path, sizeof path, folder, name));
  return mz_file_remove_tree(path);
}

/* Links are removed and not followed. */
mz_status mz_file_remove_tree(const char *path) {
  if (mz_file_system.unlink(path) == 0 || errno == ENOENT) return MZ_OK;
  if (errno != EISDIR) return mz_file_fail(path, "cannot be removed");
  MZ_TRY(mz_file_list(path, remove_entry, (void *)path));
  return mz_file_remove_folder(path);
}

mz_status mz_file_sync_folder(const char *folder) {
  int fd, rc;
  MZ_FILE_RETRY(fd, mz_file_system.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (fd < 0) return mz_file_fail(folder, "cannot open");
  MZ_FILE_RETRY(rc, mz_file_system.fsync(fd));
  const bool failed = rc != 0 && errno != EINVAL; /* EINVAL: this file system has no such need */
  const mz_status status = failed ? mz_file_fail(folder, "cannot write to disk") : MZ_OK;
  mz_file_system.close(fd);
  return status;
}

/* Where a file system has no files without a name, its permissions have to do. */
bool mz_file_can_write(const char *folder) {
  int fd;
  MZ_FILE_RETRY(fd, mz_file_system.open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (fd >= 0) return mz_file_system.close(fd) == 0;
  return errno != EACCES && errno != EROFS && access(folder, W_OK) == 0;
}
