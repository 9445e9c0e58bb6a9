/* Starts a command and kills it with SIGKILL at one instant: after a time, or when files of its run change. For tests/kill.sh and
 * tests/soak.sh.
 *
 *   killer RUN OUTPUT MOMENT [-SIGNAL MICROS]… -- COMMAND [ARGUMENT]…
 *
 * MOMENT is `after:MICROS`; or so many microseconds after the N-th event: `said:N:MICROS`, it printed something; `file:N:MICROS`, a file
 * in RUN, RUN/checkpoints or RUN/segments changed; `checkpoint:N:MICROS`, a checkpoint got its name; or `never`. -usr1 and -term send
 * these signals at their times. The command's output goes to the file OUTPUT.
 * Prints how the command ended (`killed`, `exit CODE`, `signal NUMBER`) and the LATEST that was seen just before the kill, or -. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMED_MAX = 65, PATH_BYTES = 4096 };
static const uint32_t CHANGES = IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_DELETE;

typedef struct timed { /* a signal to send */
  int64_t at_us;
  int number;
} timed;

typedef enum awaited { NOTHING, SAID, FILE_CHANGED, CHECKPOINT_NAMED } awaited;

typedef struct hunt {
  const char *run, *output;
  char **command;
  timed timed[TIMED_MAX];
  int timed_count;
  awaited awaited;
  long left;           /* events until the kill */
  int64_t delay_us;    /* from the last of them to the kill */
  int files, children; /* descriptors: inotify, signalfd */
  pid_t pid;
  int64_t start_us;
  char latest[128];
} hunt;

static void die(const char *what) {
  fprintf(stderr, "killer: %s: %s\n", what, strerror(errno));
  exit(2);
}

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- arguments ---- */

static void add_signal(hunt *h, int number, int64_t at_us) {
  if (h->timed_count < TIMED_MAX) h->timed[h->timed_count++] = (timed){at_us, number};
}

static bool parse_moment(hunt *h, const char *text) {
  static const struct {
    const char *format;
    awaited awaited;
  } moments[] = {{"said:%ld:%lld", SAID}, {"file:%ld:%lld", FILE_CHANGED}, {"checkpoint:%ld:%lld", CHECKPOINT_NAMED}};
  long long micros;
  if (strcmp(text, "never") == 0) return true;
  if (sscanf(text, "after:%lld", &micros) == 1) {
    add_signal(h, SIGKILL, micros);
    return true;
  }
  for (int i = 0; i < 3; i++) {
    if (sscanf(text, moments[i].format, &h->left, &micros) != 2) continue;
    h->awaited = moments[i].awaited;
    h->delay_us = micros;
    return h->left > 0;
  }
  return false;
}

static bool parse(hunt *h, int count, char **words) {
  if (count < 6 || !parse_moment(h, words[3])) return false;
  h->run = words[1];
  h->output = words[2];
  int i = 4;
  for (; i + 1 < count && strcmp(words[i], "--") != 0; i += 2) {
    const int number = strcmp(words[i], "-usr1") == 0 ? SIGUSR1 : strcmp(words[i], "-term") == 0 ? SIGTERM : 0;
    if (!number) return false;
    add_signal(h, number, atoll(words[i + 1]));
  }
  h->command = words + i + 1;
  return i + 1 < count;
}

/* ---- the run's files ---- */

static void watch(hunt *h, const char *folder) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", h->run, folder);
  if (inotify_add_watch(h->files, path, CHANGES) < 0 && errno != ENOENT) die(path);
}

/* What is not there cannot be watched, and is made. */
static void watch_output(hunt *h) {
  const int fd = open(h->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 || inotify_add_watch(h->files, h->output, IN_MODIFY) < 0) die(h->output);
  close(fd);
}

static void watch_run(hunt *h) {
  if (mkdir(h->run, 0777) != 0 && errno != EEXIST) die(h->run);
  watch(h, ".");
  watch(h, "checkpoints");
  watch(h, "segments");
}

static bool counts(const hunt *h, const struct inotify_event *event) {
  if (h->awaited != CHECKPOINT_NAMED) return true;
  return (event->mask & IN_MOVED_TO) && event->len > 0 && strstr(event->name, ".mzc");
}

/* Returns how many events have come; a new folder is watched from here on. */
static long count_events(hunt *h) {
  char buffer[16384] __attribute__((aligned(8)));
  long count = 0;
  for (ssize_t got; (got = read(h->files, buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
      if ((event->mask & (IN_CREATE | IN_ISDIR)) == (IN_CREATE | IN_ISDIR) && event->len > 0) watch(h, event->name);
      count += counts(h, event);
      at += (ssize_t)(sizeof *event + event->len);
    }
  }
  return count;
}

static void read_latest(hunt *h) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/LATEST", h->run);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? 0 : read(fd, h->latest, sizeof h->latest - 1);
  h->latest[got > 0 ? got : 0] = 0;
  h->latest[strcspn(h->latest, "\n")] = 0;
  if (fd >= 0) close(fd);
}

/* ---- the hunt ---- */

static void start(hunt *h) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, NULL) != 0) die("signals");
  h->children = signalfd(-1, &child, SFD_CLOEXEC);
  if (h->children < 0) die("signals");
  h->start_us = now_us();
  h->pid = fork();
  if (h->pid < 0) die("fork");
  if (h->pid > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killer that is stopped leaves nothing running */
  sigprocmask(SIG_UNBLOCK, &child, NULL);
  const int out = open(h->output, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) die(h->output);
  close(out);
  execvp(h->command[0], h->command);
  die(h->command[0]);
}

/* Sends what is due; returns the microseconds to the next signal, or -1 for none. */
static int64_t send_due(hunt *h) {
  int64_t next = -1, since = now_us() - h->start_us;
  for (int i = 0; i < h->timed_count; i++) {
    timed *t = &h->timed[i];
    if (t->number == 0) continue;
    if (t->at_us > since) {
      if (next < 0 || t->at_us - since < next) next = t->at_us - since;
      continue;
    }
    if (t->number == SIGKILL) read_latest(h);
    kill(h->pid, t->number); /* one that has ended is still ours: nobody has waited for it */
    t->number = 0;
  }
  return next;
}

static int hunt_down(hunt *h) {
  struct pollfd polled[2] = {{.fd = h->children, .events = POLLIN}, {.fd = h->files, .events = POLLIN}};
  for (int status;;) {
    const int64_t next = send_due(h);
    if (waitpid(h->pid, &status, WNOHANG) == h->pid) return status;
    const struct timespec wait = {.tv_sec = next / 1000000, .tv_nsec = next % 1000000 * 1000};
    if (ppoll(polled, h->left > 0 ? 2 : 1, next < 0 ? NULL : &wait, NULL) < 0 && errno != EINTR) die("poll");
    if (h->left > 0 && (h->left -= count_events(h)) <= 0) add_signal(h, SIGKILL, now_us() - h->start_us + h->delay_us);
    struct signalfd_siginfo ended;
    if (polled[0].revents && read(h->children, &ended, sizeof ended) < 0) die("signals");
  }
}

int main(int count, char **words) {
  hunt h = {0};
  if (!parse(&h, count, words)) {
    fprintf(stderr, "usage: killer RUN OUTPUT after:MICROS|said:N:MICROS|file:N:MICROS|checkpoint:N:MICROS|never\n"
                    "              [-usr1|-term MICROS]... -- COMMAND...\n");
    return 2;
  }
  h.files = -1;
  if (h.awaited && (h.files = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) < 0) die("inotify");
  if (h.awaited) (h.awaited == SAID ? watch_output : watch_run)(&h);
  start(&h);
  const int status = hunt_down(&h);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!killed) read_latest(&h);
  if (killed)
    printf("killed");
  else if (WIFSIGNALED(status))
    printf("signal %d", WTERMSIG(status));
  else
    printf("exit %d", WEXITSTATUS(status));
  printf(" %s\n", h.latest[0] ? h.latest : "-");
  return 0;
}
