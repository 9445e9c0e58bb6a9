/* Files that live in memory only, handed to other processes by their descriptors (memfd_create). */
#pragma once
#include "base/status.h"
#include <stddef.h>

typedef struct mz_memory_file {
  int fd; /* −1: none */
  void *bytes;
  size_t size;
} mz_memory_file;

/* Makes a file of `size` zeros that can neither grow nor shrink, mapped at `bytes`. MZ_E_MEMORY. */
mz_status mz_memory_file_create(mz_memory_file *file, const char *name, size_t size);
/* Makes an empty file without a mapping, to which other processes append. MZ_E_MEMORY. */
mz_status mz_memory_file_create_log(mz_memory_file *file, const char *name);
/* Forgets what a log holds once it has more than `most` bytes. */
void mz_memory_file_bound_log(const mz_memory_file *file, size_t most);
/* Writes the last bytes of a log, at most size − 1 of them and a NUL. */
void mz_memory_file_tail(const mz_memory_file *file, char *out, size_t size);
/* Safe on a struct with fd −1. */
void mz_memory_file_free(mz_memory_file *file);
