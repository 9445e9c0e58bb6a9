/* Files: the one place that opens, reads, writes, syncs, renames, truncates and removes them, lists folders and holds locks.
 * Errors name the path and the system's reason (MZ_E_IO). Interrupted calls and short reads and writes are retried.
 * Any thread may call; one thread at a time writes to one file. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- open files (file.c) ---- */

typedef enum mz_file_mode {
  MZ_FILE_READ,
  MZ_FILE_APPEND, /* writes at the end; makes the file where there is none */
} mz_file_mode;
/* Opens a file; *fd is -1 on failure. */
mz_status mz_file_open(const char *path, mz_file_mode mode, int *fd);
/* Closes *fd and sets it to -1; -1 is fine. The failure matters where something was written. */
mz_status mz_file_close(int *fd, const char *path);
/* Returns the size of a regular file; anything else is MZ_E_IO. */
mz_status mz_file_size(int fd, const char *path, uint64_t *size);
/* Reads `size` bytes at `offset`. *got: the bytes read, fewer only where the file ends; got NULL: a file that ends before is
 * MZ_E_IO naming the byte. */
mz_status mz_file_read_at(int fd, const char *path, uint64_t offset, void *out, size_t size, size_t *got);
/* All or nothing where `fd` is a regular file: after a failure it is cut back to its old size. */
mz_status mz_file_append(int fd, const char *path, const void *data, size_t size);
/* Returns when everything written is on the disk. */
mz_status mz_file_sync(int fd, const char *path);
/* Cuts the file back to `size` bytes. A file that is shorter stays as it is; *missing: by how many bytes, otherwise 0. */
mz_status mz_file_truncate(int fd, const char *path, uint64_t size, uint64_t *missing);
/* Gives the blocks of bytes [from, to) back to the disk; they read as zeros. MZ_E_IO where the file system cannot. */
mz_status mz_file_punch(int fd, const char *path, uint64_t from, uint64_t to);
/* Opens for reading and appending a new file that is unlinked already, so that nothing stays behind. `pattern`: its path with
 * XXXXXX before `suffix`; becomes the name it had. */
mz_status mz_file_open_unlinked(char *pattern, const char *suffix, int *fd);

/* ---- whole files (file.c) ---- */

/* Reads a whole file; a NUL byte follows the contents. free(*data). limit: refuse larger files (0: no limit). */
mz_status mz_file_read(const char *path, size_t limit, uint8_t **data, size_t *size);
/* Temporary name in the same folder (PATH.….tmp), write, fsync, rename, fsync of the folder: readers see the old or the new file
 * whole. On failure the temporary is removed and the old file untouched. */
mz_status mz_file_write_atomic(const char *path, const void *data, size_t size);
/* The same at a path that a user names: a link stays, and the file that it leads to is replaced; a device or pipe is written to. */
mz_status mz_file_write_output(const char *path, const void *data, size_t size);
/* Fails, as writing would, where no file can be made there: before long work whose result goes there. */
mz_status mz_file_check_output(const char *path);
/* Opens a file of lines for appending and cuts it to *size bytes. One that is shorter, as after a crash of the machine, is cut to
 * its last whole line with a warning. *size: where it ends now. */
mz_status mz_file_open_lines(const char *path, uint64_t *size, int *fd);

/* ---- names and folders (file_folder.c) ---- */

/* Removes a file; one that is not there is fine. */
mz_status mz_file_remove(const char *path);
mz_status mz_file_rename(const char *from, const char *to);
/* Returns false only where nothing has that name: a path that cannot be examined counts as there, and opening it says why. */
bool mz_file_exists(const char *path);
/* A file's size, inode and time of change: together they tell that it was replaced or written to since. */
typedef struct mz_file_stamp {
  uint64_t size, inode;
  int64_t modified_ns;
} mz_file_stamp;
/* Returns false where the file is not there, or cannot be examined. */
bool mz_file_stamp_read(const char *path, mz_file_stamp *out);
bool mz_file_is_dir(const char *path);
/* A device, pipe or socket: one that may never end. */
bool mz_file_is_endless(const char *path);
/* Calls `visit` for every name in the folder but . and .., in no order; its failure ends the list and is returned. The visitor may
 * remove what it is called for. */
typedef mz_status (*mz_file_visitor)(void *context, const char *name);
mz_status mz_file_list(const char *folder, mz_file_visitor visit, void *context);
/* Removes what mz_file_write_atomic, and mz_file_open_unlinked with the suffix ".spill", left in the folder when their process was
 * killed, and no other file, such as one of a process that is at work; a folder that is not there is fine. */
mz_status mz_file_remove_left(const char *folder);
/* Makes the folder and those above it. */
mz_status mz_file_mkdirs(const char *path);
/* Makes a new folder NAME-XXXXXX in $TMPDIR, or /tmp. */
mz_status mz_file_make_temporary(const char *name, char *out, size_t size);
/* Removes an empty folder; one that is not there is fine. */
mz_status mz_file_remove_folder(const char *path);
/* Removes a file, or a folder with all that is in it; one that is not there is fine. */
mz_status mz_file_remove_tree(const char *path);
/* Syncs a folder, without which a crash of the machine may forget the names in it. */
mz_status mz_file_sync_folder(const char *folder);
/* Tells whether files can be made in the folder; nothing is left there. */
bool mz_file_can_write(const char *folder);
/* Joins dir/name; MZ_E_CONFIG when it does not fit. */
mz_status mz_path_join(char *out, size_t size, const char *dir, const char *name);
/* Writes the folder that a path lies in ("." for a bare name). MZ_E_IO when it does not fit. */
mz_status mz_path_folder(const char *path, char *out, size_t size);

/* ---- locks (file_lock.c) ---- */

/* Takes the flock on `path`, which then holds the owner's pid as text. MZ_E_IO naming the pid when another process holds
 * it for longer than a moment. */
mz_status mz_lock_acquire(const char *path, int *fd);
void mz_lock_release(int fd); /* -1 is fine */
/* Tells whether a process holds the lock; nothing is written. A file that is not there, or cannot be examined, is not held. */
bool mz_lock_is_held(const char *path);
/* Takes the flock on a folder, waiting at most `wait_ms` for another process; release it with mz_file_close. */
mz_status mz_lock_folder(const char *folder, int wait_ms, int *fd);
