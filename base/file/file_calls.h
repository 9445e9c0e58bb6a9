/* The system calls on files as one table. The files of base/file make every call through it and no other file makes any
 * (tests/layering), so that a test program which puts its own functions in their place decides which call fails, and how.
 * Holds the C library's functions by default. Change it before threads start. */
#pragma once
#include "base/status.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct mz_file_calls {
  int (*open)(const char *path, int flags, mode_t mode);
  int (*close)(int fd);
  ssize_t (*read)(int fd, void *out, size_t size);
  ssize_t (*pread)(int fd, void *out, size_t size, off_t offset);
  ssize_t (*write)(int fd, const void *data, size_t size);
  int (*stat)(const char *path, struct stat *out);
  int (*fstat)(int fd, struct stat *out);
  int (*fsync)(int fd);
  int (*ftruncate)(int fd, off_t size);
  int (*fallocate)(int fd, int mode, off_t offset, off_t size);
  int (*flock)(int fd, int operation);
  int (*rename)(const char *from, const char *to);
  int (*unlink)(const char *path);
  int (*mkdir)(const char *path, mode_t mode);
  int (*rmdir)(const char *path);
  int (*mkostemps)(char *pattern, int suffix_bytes, int flags);
  char *(*mkdtemp)(char *pattern);
  DIR *(*opendir)(const char *path);
  struct dirent *(*readdir)(DIR *folder);
} mz_file_calls;

extern mz_file_calls mz_file_system;

/* Makes a call again for as long as signals interrupt it. */
#define MZ_FILE_RETRY(result, call)                                                                                              \
  do (result) = (call);                                                                                                          \
  while ((result) < 0 && errno == EINTR)

/* Records "PATH: WHAT: the reason in errno" as MZ_E_IO. */
mz_status mz_file_fail(const char *path, const char *what);
