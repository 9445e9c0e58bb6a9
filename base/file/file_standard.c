#include "base/file/file_standard.h"
#include "base/file/file_calls.h"
#include <fcntl.h>
#include <unistd.h>

mz_status mz_file_open_standard(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    int opened; /* the lowest number that is free, and those below are not */
    MZ_FILE_RETRY(opened, mz_file_system.open("/dev/null", O_RDWR, 0));
    if (opened < 0) return mz_file_fail("/dev/null", "cannot open");
  }
  return MZ_OK;
}
