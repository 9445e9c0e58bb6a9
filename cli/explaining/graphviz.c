#include "cli/explaining/graphviz.h"
#include "base/file/file.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 512, SVG_BYTES_MAX = 1 << 26 };

/* Anything else that dot prints goes to stderr: stdout is the command's own. */
static mz_status spawn(pid_t *pid, char *const *arguments) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return mz_fail(MZ_E_IO, "dot: cannot be started: %s", strerror(error));
  error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (error == 0) error = posix_spawnp(pid, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return mz_fail(MZ_E_IO, "Graphviz's dot is not on PATH");
  if (error != 0) return mz_fail(MZ_E_IO, "dot: cannot be started: %s", strerror(error));
  return MZ_OK;
}

static mz_status run(char *const *arguments) {
  pid_t pid;
  int status;
  MZ_TRY(spawn(&pid, arguments));
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return mz_fail(MZ_E_IO, "dot: cannot be waited for: %s", strerror(errno));
  if (WIFSIGNALED(status)) return mz_fail(MZ_E_IO, "dot: was ended by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return mz_fail(MZ_E_IO, "dot: failed with exit status %d", WEXITSTATUS(status));
  return MZ_OK;
}

static mz_status draw_in(const char *folder, mz_drawing *svg, const mz_drawing *dot) {
  char in[PATH_BYTES], out[PATH_BYTES], name[] = "dot", format[] = "-Tsvg", to[] = "-o";
  uint8_t *text;
  size_t size;
  MZ_TRY(mz_path_join(in, sizeof in, folder, "graph.dot"));
  MZ_TRY(mz_path_join(out, sizeof out, folder, "graph.svg"));
  MZ_TRY(mz_file_write_atomic(in, dot->text, dot->used));
  MZ_TRY(run((char *const[]){name, format, to, out, in, NULL}));
  MZ_TRY(mz_file_read(out, SVG_BYTES_MAX, &text, &size));
  mz_status status = MZ_OK;
  if (strstr((const char *)text, "<svg"))
    mz_drawing_add(svg, "%s", (const char *)text);
  else
    status = mz_fail(MZ_E_IO, "dot: what it wrote is no SVG");
  free(text);
  return status;
}

mz_status mz_graphviz_draw(mz_drawing *svg, const mz_drawing *dot) {
  char folder[PATH_BYTES];
  MZ_TRY(dot->status);
  MZ_TRY(mz_file_make_temporary("muzero-graph", folder, sizeof folder));
  const mz_status status = draw_in(folder, svg, dot);
  if (mz_file_remove_tree(folder) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
  return status;
}
