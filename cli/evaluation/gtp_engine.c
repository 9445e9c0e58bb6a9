#include "cli/evaluation/gtp_engine.h"
#include "base/machine/clock.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFE_FD = 3, PATIENCE_MS = 2000, POLL_MS = 10 };

/* Watches over the command, which a shell often has for a child that would outlive it: all that it starts is of one group, and ends
 * when the command ends, or when nobody holds the other end of LIFE_FD any more, however that came. */
static const char watcher[] = "exec 4<&0; { sh -c \"$1\" <&4 3<&- 4<&-; kill -9 0; } & exec <&- 4<&- >&-; read x <&3; kill -9 0";

/* In the new process: only what a signal handler may do, for other threads are not there to let go of their locks. */
static _Noreturn void become(const char *command, int in, int out, int life) {
  sigset_t none; /* threads of ours block signals */
  sigemptyset(&none), sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL), signal(SIGXFSZ, SIG_DFL);
  setpgid(0, 0);
  if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(life, LIFE_FD) >= 0 && fcntl(LIFE_FD, F_SETFD, 0) == 0)
    execl("/bin/sh", "sh", "-c", watcher, "sh", command, (char *)NULL);
  _exit(127);
}

static void close_open(int fd) {
  if (fd >= 0) close(fd);
}

mz_status mz_gtp_engine_start(mz_gtp_engine *engine, const char *command) {
  int down[2] = {-1, -1}, up[2] = {-1, -1}, life[2] = {-1, -1};
  mz_status status = MZ_OK;
  *engine = (mz_gtp_engine){.command = command, .life = -1};
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 || pipe2(life, O_CLOEXEC) != 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "gtp:%s: no pipe: %s", command, strerror(errno)));
  engine->pid = fork();
  if (engine->pid < 0) MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "gtp:%s: no process: %s", command, strerror(errno)));
  if (engine->pid == 0) become(command, down[0], up[1], life[0]);
  setpgid(engine->pid, engine->pid); /* whoever comes first */
  engine->life = life[1];
  life[1] = -1;
  engine->to = fdopen(down[1], "w");
  if (engine->to) down[1] = -1;
  engine->from = fdopen(up[0], "r");
  if (engine->from) up[0] = -1;
  if (!engine->to || !engine->from) status = mz_fail(MZ_E_MEMORY, "gtp:%s: no memory for a pipe", command);
cleanup:
  for (int i = 0; i < 2; i++) close_open(down[i]), close_open(up[i]), close_open(life[i]);
  return status;
}

/* The answer to "quit": a program whose answer nobody takes would be killed by giving it. */
static void read_farewell(FILE *from, uint64_t until_ns) {
  enum { MOST = 1 << 16 };
  struct pollfd wait = {.fd = fileno(from), .events = POLLIN};
  char text[512], last = 0;
  if (fcntl(wait.fd, F_SETFL, O_NONBLOCK) != 0) return;
  for (size_t length = 0, got; length < MOST; length += got) {
    errno = 0;
    got = fread(text, 1, sizeof text, from);
    for (size_t i = 0; i < got; i++) {
      if (text[i] == '\r') continue;
      if (text[i] == '\n' && last == '\n') return;
      last = text[i];
    }
    if (got == sizeof text) continue;
    if (feof(from) || errno != EAGAIN) return;
    clearerr(from);
    const uint64_t now_ns = mz_clock_ns();
    if (now_ns >= until_ns || poll(&wait, 1, (int)((until_ns - now_ns) / 1000000 + 1)) <= 0) return;
  }
}

static void wait_for(pid_t pid, uint64_t until_ns) {
  while (mz_clock_ns() < until_ns) {
    if (waitpid(pid, NULL, WNOHANG) != 0) return;
    usleep(1000 * POLL_MS);
  }
  kill(-pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

void mz_gtp_engine_stop(mz_gtp_engine *engine) {
  const uint64_t until_ns = mz_clock_ns() + 1000000ull * PATIENCE_MS;
  if (engine->to) {
    fputs("quit\n", engine->to);
    fclose(engine->to);
  }
  if (engine->to && engine->from) read_farewell(engine->from, until_ns);
  if (engine->from) fclose(engine->from);
  if (engine->pid > 0) {
    wait_for(engine->pid, until_ns);
    close_open(engine->life);
  }
  *engine = (mz_gtp_engine){0};
}

/* As the protocol says of what arrives: no control characters, tabs are spaces. */
static void clean(char *line, size_t length) {
  char *to = line;
  for (const char *from = line; from < line + length; from++) {
    if (*from == '\t')
      *to++ = ' ';
    else if ((unsigned char)*from >= ' ' && *from != 127)
      *to++ = *from;
  }
  *to = '\0';
}

/* A response without its frame, "=ID TEXT" or "?ID TEXT" up to an empty line, and without spaces behind it; false when the program
 * ends before that. */
static bool read_answer(mz_gtp_engine *engine, char *mark) {
  char *line = NULL;
  size_t size = 0, length = 0;
  ssize_t got;
  bool begun = false, whole = false;
  engine->answer[0] = '\0';
  while (!whole && (got = getline(&line, &size, engine->from)) > 0) {
    clean(line, (size_t)got);
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
  while (length > 0 && engine->answer[length - 1] == ' ') engine->answer[--length] = '\0';
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
