#include "cli/evaluation/gtp_engine.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the new process: only what a signal handler may do, for other threads are not there to let go of their locks. */
static _Noreturn void become(const char *command, int in, int out) {
  sigset_t none; /* threads of ours block signals */
  sigemptyset(&none), sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL), signal(SIGXFSZ, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

static void close_open(int fd) {
  if (fd >= 0) close(fd);
}

mz_status mz_gtp_engine_start(mz_gtp_engine *engine, const char *command) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  mz_status status = MZ_OK;
  *engine = (mz_gtp_engine){.command = command};
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "gtp:%s: no pipe: %s", command, strerror(errno)));
  engine->pid = fork();
  if (engine->pid < 0) MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "gtp:%s: no process: %s", command, strerror(errno)));
  if (engine->pid == 0) become(command, down[0], up[1]);
  engine->to = fdopen(down[1], "w");
  if (engine->to) down[1] = -1;
  engine->from = fdopen(up[0], "r");
  if (engine->from) up[0] = -1;
  if (!engine->to || !engine->from) status = mz_fail(MZ_E_MEMORY, "gtp:%s: no memory for a pipe", command);
cleanup:
  for (int i = 0; i < 2; i++) close_open(down[i]), close_open(up[i]);
  return status;
}

static void wait_for(pid_t pid) {
  enum { POLLS = 200, POLL_US = 10000 }; /* 2 seconds */
  for (int i = 0; i < POLLS; i++) {
    if (waitpid(pid, NULL, WNOHANG) != 0) return;
    usleep(POLL_US);
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

void mz_gtp_engine_stop(mz_gtp_engine *engine) {
  if (engine->to) {
    fputs("quit\n", engine->to);
    fclose(engine->to);
  }
  if (engine->from) fclose(engine->from);
  if (engine->pid > 0) wait_for(engine->pid);
  *engine = (mz_gtp_engine){0};
}

/* A response without its frame, "=ID TEXT" or "?ID TEXT" up to an empty line; false when the program ends before that. */
static bool read_answer(mz_gtp_engine *engine, char *mark) {
  char *line = NULL;
  size_t size = 0, length = 0;
  bool begun = false, whole = false;
  engine->answer[0] = '\0';
  while (!whole && getline(&line, &size, engine->from) > 0) {
    line[strcspn(line, "\r\n")] = '\0';
    const char *text = line;
    if (!begun && !*line) continue;
    if (!begun) {
      *mark = *text++;
      while (isdigit((unsigned char)*text)) text++;
      while (*text == ' ') text++;
    }
    whole = begun ? !*line : *mark != '=' && *mark != '?'; /* who does not speak GTP may never send the empty line */
    begun = true;
    const size_t room = sizeof engine->answer - length;
    const int written = snprintf(engine->answer + length, room, "%s%s", length && *text ? " " : "", text);
    length += (size_t)written < room ? (size_t)written : room - 1;
  }
  free(line);
  return whole;
}

mz_status mz_gtp_engine_ask(mz_gtp_engine *engine, const char *format, ...) {
  char question[128], mark = 0;
  va_list list;
  va_start(list, format);
  vsnprintf(question, sizeof question, format, list);
  va_end(list);
  if (fprintf(engine->to, "%s\n", question) < 0 || fflush(engine->to) != 0 || !read_answer(engine, &mark))
    return mz_fail(MZ_E_IO, "gtp:%s: the program ended instead of answering \"%s\"", engine->command, question);
  if (mark == '=') return MZ_OK;
  if (mark == '?') return mz_fail(MZ_E_CONFIG, "gtp:%s: refuses \"%s\": %s", engine->command, question, engine->answer);
  return mz_fail(MZ_E_IO, "gtp:%s: answers \"%s\" with what is not GTP: \"%c%s\"", engine->command, question, mark,
                 engine->answer);
}
