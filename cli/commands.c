#include "cli/commands.h"
#include <string.h>

const mz_command *const mz_commands[] = {
    &mz_command_train,
    &mz_command_resume,
    &mz_command_runs,
    &mz_command_eval,
    &mz_command_play,
    &mz_command_watch,
    &mz_command_gtp,
    &mz_command_compare,
    &mz_command_report,
    &mz_command_profile,
    &mz_command_plan,
    &mz_command_why,
    &mz_command_what_if,
    &mz_command_inspect,
    &mz_command_envs,
    &mz_command_bench,
    &mz_command_pretrain,
    &mz_command_doctor,
    NULL,
};

int mz_command_count(void) { return (int)(sizeof mz_commands / sizeof mz_commands[0]) - 1; }

mz_status mz_command_find(const char *name, const mz_command **out) {
  const char *names[MZ_COMMANDS_MAX];
  const int count = mz_command_count();
  for (int i = 0; i < count; i++) {
    names[i] = mz_commands[i]->name;
    if (strcmp(name, names[i]) != 0) continue;
    *out = mz_commands[i];
    return MZ_OK;
  }
  const char *nearest = mz_nearest(name, names, count);
  if (nearest) return mz_fail(MZ_E_USAGE, "'%s' is no command; did you mean '%s'?", name, nearest);
  return mz_fail(MZ_E_USAGE, "'%s' is no command; `muzero --help` lists them", name);
}
