/* Files: whole reads, atomic writes, locks. Errors name the path and the system's reason (MZ_E_IO). EINTR and short writes
 * are retried. */
#pragma once
#include "muzero/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole file; a NUL byte follows the contents. free(*data). limit: refuse larger files (0: no limit). */
mz_status mz_file_read(const char *path, size_t limit, uint8_t **data, size_t *size);
/* Temporary name in the same folder, write, fsync, rename, fsync of the folder: readers see the old or the new file whole.
 * On failure the temporary is removed and the old file untouched. */
mz_status mz_file_write_atomic(const char *path, const void *data, size_t size);
/* All or nothing where `fd` is a regular file: after a failure it is cut back to its old size. One writer at a time. */
mz_status mz_file_append(int fd, const char *path_for_messages, const void *data, size_t size);
/* Cuts the file back to `size` bytes; one that is shorter is an error. */
mz_status mz_file_truncate(const char *path, uint64_t size);
mz_status mz_file_mkdirs(const char *path);
/* A new folder NAME-XXXXXX in $TMPDIR, or /tmp. */
mz_status mz_file_make_temporary(const char *name, char *out, size_t size);
/* A folder with all that is in it; one that is not there is fine. */
mz_status mz_file_remove_tree(const char *path);
bool mz_file_exists(const char *path);
bool mz_file_is_dir(const char *path);
/* dir/name; MZ_E_CONFIG when it does not fit. */
mz_status mz_path_join(char *out, size_t size, const char *dir, const char *name);

/* flock on `path`, holding the owner's pid as text. MZ_E_IO naming the pid when another process holds it. */
mz_status mz_lock_acquire(const char *path, int *fd);
void mz_lock_release(int fd);
