#include "muzero/training/threads.h"
#include "base/file/file.h"
#include <string.h>
#include <unistd.h>

enum { LINE = 512 };
static const char folder[] = "/proc/self/task";

/* The first line of a thread's file; "" where it cannot be read. */
static void read_line(const char *tid, const char *file, char out[LINE]) {
  char path[64];
  int fd;
  size_t got = 0;
  snprintf(path, sizeof path, "%s/%.20s/%s", folder, tid, file);
  if (mz_file_open(path, MZ_FILE_READ, &fd) == MZ_OK) {
    if (mz_file_read_at(fd, path, 0, out, LINE - 1, &got) != MZ_OK) got = 0;
    mz_file_close(&fd, path);
  }
  out[got] = 0;
  out[strcspn(out, "\n")] = 0;
}

static mz_status log_thread(void *level, const char *tid) {
  char name[LINE], stat[LINE], asleep[LINE], state = '?';
  unsigned long user = 0, system = 0;
  read_line(tid, "comm", name);
  read_line(tid, "stat", stat);
  read_line(tid, "wchan", asleep);
  const char *after_name = strrchr(stat, ')'); /* the name may hold anything */
  if (after_name != NULL)                      /* state, ten numbers that are not asked for, ticks in user and kernel mode */
    sscanf(after_name + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &state, &user, &system);
  const bool known = asleep[0] != 0 && strcmp(asleep, "0") != 0;
  mz_log_write(*(mz_log_level *)level, "thread %s %s: state %c, CPU time %.2f s%s%s", tid, name, state,
               (double)(user + system) / (double)sysconf(_SC_CLK_TCK), known ? ", sleeps in " : "", known ? asleep : "");
  return MZ_OK;
}

void mz_threads_log(mz_log_level level) {
  if (mz_file_list(folder, log_thread, &level) != MZ_OK) mz_log_write(level, "threads: %s", mz_message());
}
