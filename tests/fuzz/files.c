#include "tests/fuzz/fuzz.h"
#include "base/file/file.h"
#include "base/file/file_calls.h"
#include "base/log.h"
#include <fcntl.h>
#include <string.h>

enum { FIRST_FD = 1 << 20, SCRATCH_FD = FIRST_FD + FUZZ_FILES_MAX }; /* beyond any real one */

typedef struct file {
  char path[256];
  const uint8_t *data;
  size_t size, at;
} file;

static file files[FUZZ_FILES_MAX];
static int count, listed;
static mz_file_calls real;
static struct dirent entry;

static bool is_ours(const char *path) { return strncmp(path, FUZZ_FOLDER, sizeof FUZZ_FOLDER - 1) == 0; }

static file *find(const char *path) {
  for (int i = 0; i < count; i++)
    if (strcmp(files[i].path, path) == 0) return &files[i];
  errno = ENOENT;
  return NULL;
}

static bool is_folder(const char *path) {
  const size_t length = strlen(path);
  if (strcmp(path, FUZZ_FOLDER) == 0) return true;
  for (int i = 0; i < count; i++)
    if (strncmp(files[i].path, path, length) == 0 && files[i].path[length] == '/') return true;
  return false;
}

static int open_file(const char *path, int flags, mode_t mode) {
  if (!is_ours(path)) return real.open(path, flags, mode);
  if ((flags & O_ACCMODE) != O_RDONLY || is_folder(path)) return SCRATCH_FD;
  file *f = find(path);
  if (!f) return -1;
  f->at = 0;
  return FIRST_FD + (int)(f - files);
}

static int close_file(int fd) { return fd < FIRST_FD ? real.close(fd) : 0; }

static ssize_t pread_file(int fd, void *out, size_t size, off_t offset) {
  if (fd < FIRST_FD) return real.pread(fd, out, size, offset);
  if (fd == SCRATCH_FD) return 0;
  const file *f = &files[fd - FIRST_FD];
  if (offset < 0 || (size_t)offset >= f->size) return 0;
  if (size > f->size - (size_t)offset) size = f->size - (size_t)offset;
  memcpy(out, f->data + offset, size);
  return (ssize_t)size;
}

static ssize_t read_file(int fd, void *out, size_t size) {
  if (fd < FIRST_FD) return real.read(fd, out, size);
  if (fd == SCRATCH_FD) return 0;
  file *f = &files[fd - FIRST_FD];
  const ssize_t got = pread_file(fd, out, size, (off_t)f->at);
  f->at += (size_t)got;
  return got;
}

static ssize_t write_file(int fd, const void *data, size_t size) {
  return fd < FIRST_FD ? real.write(fd, data, size) : (ssize_t)size;
}

static int stat_file(const char *path, struct stat *out) {
  if (!is_ours(path)) return real.stat(path, out);
  const bool folder = is_folder(path);
  const file *f = folder ? NULL : find(path);
  if (!folder && !f) return -1;
  *out = (struct stat){.st_mode = folder ? S_IFDIR : S_IFREG, .st_size = f ? (off_t)f->size : 0};
  return 0;
}

static int fstat_file(int fd, struct stat *out) {
  if (fd < FIRST_FD) return real.fstat(fd, out);
  *out = (struct stat){.st_mode = S_IFREG, .st_size = fd == SCRATCH_FD ? 0 : (off_t)files[fd - FIRST_FD].size};
  return 0;
}

static int fsync_file(int fd) { return fd < FIRST_FD ? real.fsync(fd) : 0; }
static int ftruncate_file(int fd, off_t size) { return fd < FIRST_FD ? real.ftruncate(fd, size) : 0; }
static int rename_file(const char *from, const char *to) { return is_ours(from) ? 0 : real.rename(from, to); }
static int unlink_file(const char *path) { return is_ours(path) ? 0 : real.unlink(path); }
static int mkdir_file(const char *path, mode_t mode) { return is_ours(path) ? 0 : real.mkdir(path, mode); }

/* A list of ours is that of all files, by their last names; the handle is of some real folder, which is not read. */
static DIR *open_folder(const char *path) {
  listed = is_ours(path) ? 0 : -1;
  return real.opendir(is_ours(path) ? "/" : path);
}

static struct dirent *read_folder(DIR *folder) {
  if (listed < 0) return real.readdir(folder);
  if (listed == count) return NULL;
  snprintf(entry.d_name, sizeof entry.d_name, "%s", strrchr(files[listed++].path, '/') + 1);
  return &entry;
}

static void install(void) {
  if (real.open) return;
  real = mz_file_system;
  mz_file_system.open = open_file;
  mz_file_system.close = close_file;
  mz_file_system.read = read_file;
  mz_file_system.pread = pread_file;
  mz_file_system.write = write_file;
  mz_file_system.stat = stat_file;
  mz_file_system.fstat = fstat_file;
  mz_file_system.fsync = fsync_file;
  mz_file_system.ftruncate = ftruncate_file;
  mz_file_system.rename = rename_file;
  mz_file_system.unlink = unlink_file;
  mz_file_system.mkdir = mkdir_file;
  mz_file_system.opendir = open_folder;
  mz_file_system.readdir = read_folder;
}

void fuzz_file_put(const char *path, const void *data, size_t size) {
  install();
  file *f = find(path);
  if (!f) {
    MZ_ASSERT(count < FUZZ_FILES_MAX);
    f = &files[count++];
    snprintf(f->path, sizeof f->path, "%s", path);
  }
  f->data = data;
  f->size = size;
}

void fuzz_files_clear(void) { count = 0; }

void fuzz_seed_read(const char *name, uint8_t **data, size_t *size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FUZZ_SEEDS, name);
  fuzz_must(mz_file_read(path, 0, data, size));
}

void fuzz_must(mz_status status) {
  if (status == MZ_OK) return;
  fprintf(stderr, "fuzz: %s\n", mz_message());
  exit(1);
}

static void drop(void *context, mz_log_level level, const char *line) { (void)context, (void)level, (void)line; }

void fuzz_quiet(void) { mz_log_set_sink(drop, NULL); }
