#include "envs/bundled.h"
#include "muzero/base/config.h"
#include <string.h>

static const mz_env *const bundled[] = {&mz_env_tictactoe, &mz_env_cartpole};
enum { BUNDLED_COUNT = sizeof bundled / sizeof bundled[0] };

int mz_env_count(void) { return BUNDLED_COUNT; }

const mz_env *mz_env_at(int index) {
  MZ_ASSERT(index >= 0 && index < BUNDLED_COUNT);
  return bundled[index];
}

mz_status mz_env_find(const char *name, const mz_env **out) {
  const char *names[BUNDLED_COUNT];
  for (int i = 0; i < BUNDLED_COUNT; i++) {
    names[i] = bundled[i]->name;
    if (strcmp(name, names[i]) == 0) {
      *out = bundled[i];
      return MZ_OK;
    }
  }
  const char *nearest = mz_nearest(name, names, BUNDLED_COUNT);
  if (nearest) return mz_fail(MZ_E_CONFIG, "environment: %s: unknown; did you mean %s?", name, nearest);
  return mz_fail(MZ_E_CONFIG, "environment: %s: unknown; `muzero envs` lists the %d there are", name, BUNDLED_COUNT);
}
