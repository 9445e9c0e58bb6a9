#include "cli/explaining/envs_own.h"
#include "cli/print.h"
#include "envs/own/check.h"
#include <string.h>

enum { ACTIONS_SHOWN = 40 };

mz_status mz_envs_new(const char *path, mz_template_game game) {
  char folder[MZ_SHELL_QUOTE_SIZE(1024)], shown[MZ_SHOWN_SIZE];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  MZ_TRY(mz_templates_write(path, game));
  mz_shell_quote(path, folder, sizeof folder);
  static const char *const kinds[] = {[MZ_TEMPLATE_ONE_PLAYER] = "a small game for one",
                                      [MZ_TEMPLATE_TWO_PLAYERS] = "a small game for two",
                                      [MZ_TEMPLATE_PIXELS] = "a small game of pictures"};
  printf("%s: %s.c is %s that works; change it into yours. Then, and after every change:\n\n", mz_text_shown(path, shown), name,
         kinds[game]);
  printf("  cc -O2 -shared -fPIC -o %s/%s.so %s/%s.c\n", folder, name, folder, name);
  printf("  muzero envs %s/%s.so --check\n", folder, name);
  printf("  muzero train %s/%s.so\n", folder, name);
  return mz_print_flush();
}

static void print_finding(const mz_finding *f) {
  char what[MZ_SHOWN_SIZE];
  printf("\n%s: %s\n", f->function, mz_text_shown(f->what, what));
  if (strcmp(f->function, "muzero_env") == 0) return; /* no game has begun */
  printf("  seed %llu", (unsigned long long)f->seed);
  if (f->action_count > 0) printf(", actions");
  const int skipped = f->action_count > ACTIONS_SHOWN ? f->action_count - ACTIONS_SHOWN : 0;
  if (skipped > 0) printf(" (%d before these)", skipped);
  for (int i = skipped; i < f->action_count; i++) printf(" %d", (int)f->actions[i]);
  printf("\n");
}

static void print_check(const mz_env_check *check) {
  char moves[MZ_TEXT_SIZE], rate[MZ_TEXT_SIZE], file[MZ_SHOWN_SIZE];
  printf("%s: %d games, %s moves, %d in the longest\n", mz_text_shown(check->file, file), check->games,
         mz_text_count((double)check->moves, moves), check->longest);
  for (int i = 0; i < check->findings.count; i++) print_finding(&check->findings.items[i]);
  if (check->findings.count > 0) {
    printf("\n%d finding%s%s\n", check->findings.count, mz_plural(check->findings.count),
           check->complete ? "" : "; other ways of playing are tried when these are mended");
    return;
  }
  printf("no findings: every requirement held in every game; the same again, moved, beside others, in four threads\n");
  if (check->symmetries_declared > 1)
    printf("symmetries: %d of %d could be checked%s\n", check->symmetries, check->symmetries_declared - 1,
           check->symmetries == 0 ? ": that takes starts that are images of each other, and steps without chance" : "");
  if (check->only_alternates)
    printf("players: moved strictly in turn in every game, though alternating is 0; if the rules have it so, alternating 1 "
           "learns better\n");
  printf("speed: %s steps/s on one core, with observations\n", mz_text_count(check->steps_per_s, rate));
}

mz_status mz_envs_check(const char *name, uint64_t seed, bool json) {
  mz_env_check check;
  MZ_TRY(mz_env_check_run(name, seed, &check));
  mz_status status = MZ_OK;
  if (json)
    status = mz_print_json(mz_env_check_to_json(&check));
  else {
    print_check(&check);
    status = mz_print_flush();
  }
  const int count = check.findings.count;
  if (status == MZ_OK && count > 0) status = mz_fail(MZ_E_CONFIG, "%s: %d finding%s", check.file, count, mz_plural(count));
  mz_env_check_deinit(&check);
  return status;
}
