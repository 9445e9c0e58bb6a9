#include "base/file/memory_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static mz_status fail(const char *name) { return mz_fail(MZ_E_MEMORY, "%s: no memory to share: %s", name, strerror(errno)); }

mz_status mz_memory_file_create(mz_memory_file *file, const char *name, size_t size) {
  *file = (mz_memory_file){.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), .size = size};
  if (file->fd < 0) return fail(name);
  void *bytes = MAP_FAILED;
  if (ftruncate(file->fd, (off_t)size) == 0 && fcntl(file->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
  if (bytes == MAP_FAILED) {
    const mz_status status = fail(name);
    mz_memory_file_free(file);
    return status;
  }
  file->bytes = bytes;
  return MZ_OK;
}

mz_status mz_memory_file_create_log(mz_memory_file *file, const char *name) {
  *file = (mz_memory_file){.fd = memfd_create(name, MFD_CLOEXEC)};
  if (file->fd < 0) return fail(name);
  if (fcntl(file->fd, F_SETFL, O_APPEND) == 0) return MZ_OK;
  const mz_status status = fail(name);
  mz_memory_file_free(file);
  return status;
}

static size_t size_of(const mz_memory_file *file) {
  struct stat about;
  return fstat(file->fd, &about) == 0 ? (size_t)about.st_size : 0;
}

void mz_memory_file_bound_log(const mz_memory_file *file, size_t most) {
  if (size_of(file) > most && ftruncate(file->fd, 0) != 0) return; /* it is a bound of comfort */
}

void mz_memory_file_tail(const mz_memory_file *file, char *out, size_t size) {
  const size_t has = size_of(file), wanted = has < size - 1 ? has : size - 1;
  const ssize_t got = pread(file->fd, out, wanted, (off_t)(has - wanted));
  out[got > 0 ? got : 0] = '\0';
}

void mz_memory_file_free(mz_memory_file *file) {
  if (file->bytes) munmap(file->bytes, file->size);
  if (file->fd >= 0) close(file->fd);
  *file = (mz_memory_file){.fd = -1};
}
