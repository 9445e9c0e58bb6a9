#include "cli/run_argument.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/text.h"
#include "muzero/storage/checkpoint_name.h"
#include "muzero/storage/run_list.h"
#include "muzero/storage/run_standing.h"
#include <string.h>

enum { WHOLE_NAMED = 4 };

/* Writes the newest run in `folder` and what follows it ("@best"); leaves `out` where there is none. */
static mz_status take_newest(const char *folder, const char *after, char out[MZ_RUN_ARGUMENT_SIZE]) {
  mz_run_list list;
  MZ_TRY(mz_run_list_read(&list, folder));
  mz_status status = MZ_OK;
  if (list.count > 0) {
    if (snprintf(out, MZ_RUN_ARGUMENT_SIZE, "%s%s", list.items[0].path, after) >= MZ_RUN_ARGUMENT_SIZE)
      status = mz_fail(MZ_E_IO, "%s: path too long", list.items[0].path);
    else
      mz_log_write(MZ_LOG_INFO, "%s: a folder of %d runs; the newest is %s", folder, list.count, list.items[0].path);
  }
  mz_run_list_deinit(&list);
  return status;
}

mz_status mz_run_argument(const char *given, char out[MZ_RUN_ARGUMENT_SIZE]) {
  if (snprintf(out, MZ_RUN_ARGUMENT_SIZE, "%s", given) >= MZ_RUN_ARGUMENT_SIZE)
    return mz_fail(MZ_E_IO, "%s: path too long", given);
  mz_run_path run;
  MZ_TRY(mz_run_path_read(given, &run));
  if (run.choice == MZ_RUN_FILE || mz_run_is_run(run.path)) return MZ_OK;
  return take_newest(run.path, given + strlen(run.path), out);
}

mz_status mz_run_argument_whole(const char *given, const char *what, char out[MZ_RUN_ARGUMENT_SIZE]) {
  mz_run_path run;
  MZ_TRY(mz_run_path_read(given, &run));
  if (run.choice == MZ_RUN_BEST || run.choice == MZ_RUN_ROUND)
    return mz_fail(MZ_E_USAGE, "%s: %s is of a whole run, not of one checkpoint; give %s", given, what, run.path);
  return mz_run_argument(run.path, out);
}

/* ---- a damaged latest checkpoint ---- */

/* The round of the checkpoint that LATEST names; -1 where it names none. */
static int64_t latest_rounds(const char *dir) {
  char name[MZ_CHECKPOINT_NAME_MAX];
  return mz_checkpoint_pointer_read(dir, "LATEST", name) == MZ_OK ? mz_checkpoint_name_rounds(name) : -1;
}

static mz_status name_whole_ones(mz_status status, const char *asked, const char *command) {
  char why[MZ_MESSAGE_MAX], list[MZ_MESSAGE_MAX] = "", one[MZ_RUN_ARGUMENT_SIZE],
                            quoted[MZ_SHELL_QUOTE_SIZE(MZ_RUN_ARGUMENT_SIZE)];
  snprintf(why, sizeof why, "%s", mz_message());
  mz_run_path run;
  int64_t rounds[WHOLE_NAMED];
  int count = 0;
  if (mz_run_path_read(asked, &run) == MZ_OK && run.choice == MZ_RUN_LATEST)
    count = mz_run_whole_checkpoints(run.path, latest_rounds(run.path), WHOLE_NAMED, rounds);
  if (count == 0) return mz_fail(status, "%s", why);
  for (int i = 0; i < count; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s@%lld", i > 0 ? ", " : "", run.path, (long long)rounds[i]);
  }
  snprintf(one, sizeof one, "%s@%lld", run.path, (long long)rounds[0]);
  if (!command) return mz_fail(status, "%s; whole are %s: give one of them instead", why, list);
  return mz_fail(status, "%s; whole are %s: `muzero %s %s` takes the newest of them", why, list, command,
                 mz_shell_quote(one, quoted, sizeof quoted));
}

mz_status mz_run_argument_load(mz_loaded **out, const char *given, const char *command) {
  char run[MZ_RUN_ARGUMENT_SIZE];
  MZ_TRY(mz_run_argument(given, run));
  const mz_status status = mz_loaded_open(out, run);
  return status == MZ_E_CHECKPOINT || status == MZ_E_IO ? name_whole_ones(status, run, command) : status;
}
