#include "base/file/file_calls.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int open_with_mode(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

mz_file_calls mz_file_system = {.open = open_with_mode,
                                .close = close,
                                .read = read,
                                .pread = pread,
                                .write = write,
                                .stat = stat,
                                .fstat = fstat,
                                .fsync = fsync,
                                .ftruncate = ftruncate,
                                .fallocate = fallocate,
                                .flock = flock,
                                .rename = rename,
                                .unlink = unlink,
                                .mkdir = mkdir,
                                .rmdir = rmdir,
                                .mkostemps = mkostemps,
                                .mkdtemp = mkdtemp,
                                .opendir = opendir,
                                .readdir = readdir};

mz_status mz_file_fail(const char *path, const char *what) { return mz_fail(MZ_E_IO, "%s: %s: %s", path, what, strerror(errno)); }
