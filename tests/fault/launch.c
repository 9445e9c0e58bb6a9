#include "tests/fault/launch.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 96, PATH_BYTES = 600, LINGER_MS = 10000 };

static _Noreturn void give_up(const char *what) {
  fprintf(stderr, "faults: %s: %s\n", what, strerror(errno));
  exit(2);
}

static void redirect(const char *folder, const char *suffix, int to) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s.%s", folder, suffix);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || dup2(fd, to) < 0) _exit(126);
  close(fd);
}

static _Noreturn void become(const char *program, const char *command, const char *folder, const char *fault) {
  char text[4096], *words[WORDS_MAX + 2] = {(char *)program}, report[PATH_BYTES];
  int count = 1;
  snprintf(text, sizeof text, "%s", command);
  for (char *word = strtok(text, " "); word != NULL && count <= WORDS_MAX; word = strtok(NULL, " ")) words[count++] = word;
  snprintf(report, sizeof report, "%s.report", folder);
  unlink(report);
  if (fault != NULL && (setenv("MUZERO_FAULT", fault, 1) != 0 || setenv("MUZERO_FAULT_REPORT", report, 1) != 0)) _exit(126);
  redirect(folder, "out", STDOUT_FILENO);
  redirect(folder, "err", STDERR_FILENO);
  if (chdir(folder) != 0) _exit(126);
  alarm(LAUNCH_LIMIT_S);
  execv(program, words);
  _exit(127);
}

static void read_part(const char *folder, const char *suffix, bool end, char out[LAUNCH_TEXT]) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s.%s", folder, suffix);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) give_up(path);
  if (end && lseek(fd, 0, SEEK_END) >= LAUNCH_TEXT)
    lseek(fd, 1 - LAUNCH_TEXT, SEEK_END);
  else
    lseek(fd, 0, SEEK_SET);
  const ssize_t got = read(fd, out, LAUNCH_TEXT - 1);
  out[got > 0 ? got : 0] = '\0';
  close(fd);
}

/* The driver is the reaper of what its children leave: one that lingers is found by waiting. */
static bool left_processes(void) {
  for (int waited_ms = 0; waited_ms < LINGER_MS; waited_ms++) {
    const pid_t ended = waitpid(-1, NULL, WNOHANG);
    if (ended < 0 && errno == ECHILD) return false;
    if (ended == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *file = fopen(path, "r");
  if (file != NULL && fgets(text, sizeof text, file) == NULL) text[0] = '\0';
  if (file != NULL) fclose(file);
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) kill((pid_t)atol(word), SIGKILL);
  while (waitpid(-1, NULL, 0) > 0) continue;
  return true;
}

launch launch_program(const char *program, const char *command, const char *folder, const char *fault) {
  launch l = {0};
  int status;
  const pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) become(program, command, folder, fault);
  while (waitpid(pid, &status, 0) != pid)
    if (errno != EINTR) give_up("waitpid");
  l.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  l.left_processes = left_processes();
  read_part(folder, "err", true, l.err);
  read_part(folder, "out", false, l.out);
  return l;
}

void launch_shell(const char *format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (system(line) == 0) return;
  fprintf(stderr, "faults: this failed: %s\n", line);
  exit(2);
}
