#include "tests/cli/support/process.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 64, PATH_BYTES = 512, WAIT_S = 60 };

static char folder[64];
static int launched;

int process_make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/mz_test_cli_XXXXXX");
  if (!mkdtemp(folder)) return -1;
  return setenv("MUZERO", MUZERO_BINARY, 1);
}

int process_remove_folder(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", folder, folder);
  return system(command);
}

const char *process_folder(void) { return folder; }

const char *process_path(const char *name) {
  static char paths[8][PATH_BYTES];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return path;
}

static void output_path(int number, const char *stream, char out[PATH_BYTES]) {
  snprintf(out, PATH_BYTES, "%s/.%s%d", folder, stream, number);
}

static int create_output(int number, const char *stream) {
  char path[PATH_BYTES];
  output_path(number, stream, path);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(file >= 0);
  return file;
}

static void launch(process *p, char *const *arguments) {
  process_free(p);
  p->number = launched++;
  const int out = create_output(p->number, "out"), err = create_output(p->number, "err");
  p->pid = fork();
  assert_true(p->pid >= 0);
  if (p->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing running */
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 || chdir(folder) != 0) _exit(126);
    execv(arguments[0], arguments);
    _exit(127);
  }
  close(out);
  close(err);
}

static void collect(va_list list, char **arguments) {
  int count = 0;
  arguments[count++] = MUZERO_BINARY;
  while ((arguments[count] = va_arg(list, char *)) && count < ARGUMENTS_MAX - 1) count++;
}

void process_start(process *p, ...) {
  char *arguments[ARGUMENTS_MAX];
  va_list list;
  va_start(list, p);
  collect(list, arguments);
  va_end(list);
  launch(p, arguments);
}

int process_run(process *p, ...) {
  char *arguments[ARGUMENTS_MAX];
  va_list list;
  va_start(list, p);
  collect(list, arguments);
  va_end(list);
  launch(p, arguments);
  return process_wait(p);
}

int process_shell(process *p, const char *command) {
  char *arguments[] = {"/bin/sh", "-c", (char *)command, NULL};
  launch(p, arguments);
  return process_wait(p);
}

static char *read_output(int number, const char *stream) {
  char path[PATH_BYTES];
  output_path(number, stream, path);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = 0, capacity = 1 << 16;
  char *text = malloc(capacity);
  assert_non_null(text);
  for (size_t got; (got = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
    size += got;
    if (capacity - size > 1) continue;
    capacity *= 2;
    text = realloc(text, capacity);
    assert_non_null(text);
  }
  text[size] = 0;
  fclose(file);
  return text;
}

int process_wait(process *p) {
  int status;
  pid_t ended;
  do ended = waitpid(p->pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  assert_int_equal(ended, p->pid);
  p->pid = 0;
  p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  p->out = read_output(p->number, "out");
  p->err = read_output(p->number, "err");
  return p->status;
}

void process_free(process *p) {
  free(p->out);
  free(p->err);
  p->out = p->err = NULL;
}

char *process_output(const process *p) { return read_output(p->number, "out"); }

int process_wait_for(const process *p, const char *text) {
  const time_t end = time(NULL) + WAIT_S;
  while (time(NULL) < end) {
    char *so_far = read_output(p->number, "out");
    const int found = strstr(so_far, text) != NULL;
    free(so_far);
    if (found) return 1;
    siginfo_t ended = {0};
    if (waitid(P_PID, (id_t)p->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) return 0;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  return 0;
}

void assert_says_(const char *text, const char *word, const char *file, int line) {
  if (strstr(text, word)) return;
  print_error("\"%s\" is not in:\n%s\n", word, text);
  _fail(file, line);
}

void assert_status_(const process *p, int wanted, const char *file, int line) {
  if (p->status == wanted) return;
  print_error("exit %d, wanted %d; it said:\n%s\n%s\n", p->status, wanted, p->out, p->err);
  _fail(file, line);
}

void assert_refused(const refusal *refusals, size_t count) {
  process p = {0};
  for (size_t i = 0; i < count; i++) {
    const char *const *a = refusals[i].arguments;
    process_run(&p, a[0], a[1], a[2], a[3], a[4], a[5], NULL);
    assert_status(&p, refusals[i].status);
    assert_says(p.err, refusals[i].says);
    assert_string_equal(p.out, "");
  }
  process_free(&p);
}

char *process_text(const char *name) {
  enum { MOST = 1 << 22 };
  FILE *in = fopen(process_path(name), "rb");
  if (!in) fail_msg("%s: no such file", name);
  char *text = calloc(1, MOST);
  assert_non_null(text);
  assert_true(fread(text, 1, MOST - 1, in) > 0);
  fclose(in);
  return text;
}
