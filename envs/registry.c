#include "envs/bundled.h"
#include "envs/own/shared_object.h"
#include "envs/variants.h"
#include "envs/worker/worker_env.h"
#include <string.h>

static const mz_env *const bundled[] = {&mz_env_tictactoe,      &mz_env_cartpole, &mz_env_acrobot,      &mz_env_mountain_car,
                                        &mz_env_catch,          &mz_env_2048,     &mz_env_connect_four, &mz_env_othello,
                                        &mz_env_othello6,       &mz_env_gomoku,   &mz_env_hex,          &mz_env_go,
                                        &mz_env_asterix,        &mz_env_breakout, &mz_env_freeway,      &mz_env_seaquest,
                                        &mz_env_space_invaders, &mz_env_pig,      &mz_env_allocation};
enum { BUNDLED_COUNT = sizeof bundled / sizeof bundled[0] };

int mz_env_count(void) { return BUNDLED_COUNT; }

const mz_env *mz_env_at(int index) {
  MZ_ASSERT(index >= 0 && index < BUNDLED_COUNT);
  return bundled[index];
}

mz_status mz_env_check_copies(const mz_env *env, const char *what, const char *nearest) {
  if (env->copies) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: not for %s, whose states cannot be copied; nearest valid value: %s", what, env->name, nearest);
}

mz_status mz_env_find(const char *name, const mz_env **out) {
  char base[MZ_ENV_NAME_MAX];
  const char *names[BUNDLED_COUNT];
  const size_t length = strcspn(name, ":"); /* options follow */
  snprintf(base, sizeof base, "%.*s", (int)length, name);
  for (int i = 0; i < BUNDLED_COUNT; i++) {
    names[i] = bundled[i]->name;
    if (strcmp(base, names[i]) != 0) continue;
    if (name[length]) return mz_env_vary(bundled[i], name + length + 1, out);
    *out = bundled[i];
    return MZ_OK;
  }
  if (mz_worker_env_is_name(name)) return mz_worker_env_find(name, NULL, 0, out);
  if (mz_env_is_path(name)) {
    mz_own_name own;
    MZ_TRY(mz_own_name_read(name, &own));
    return mz_env_open(own.path, own.path, &own.isolation, out);
  }
  if (strchr(base, '/'))
    return mz_fail(MZ_E_CONFIG, "environment: %s: unknown; the path of an environment of your own ends in .so", name);
  const char *nearest = mz_nearest(base, names, BUNDLED_COUNT);
  if (nearest) return mz_fail(MZ_E_CONFIG, "environment: %s: unknown; did you mean %s?", base, nearest);
  return mz_fail(MZ_E_CONFIG, "environment: %s: unknown; `muzero envs` lists the %d there are", base, BUNDLED_COUNT);
}
