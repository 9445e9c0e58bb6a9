/* Numbers that a user's environment declares of itself: checked one by one, then a spec. */
#pragma once
#include "base/spec.h"
#include "base/status.h"
#include "envs/env_abi.h"

enum { MZ_OWN_STATE_BYTES_MAX = 1 << 20, MZ_OWN_OBS_MAX = 1 << 20, MZ_OWN_ACTIONS_MAX = 1 << 16 };

/* MZ_E_CONFIG: "PATH: MEMBER: VALUE …; nearest valid value: …". */
mz_status mz_own_declared_check(const muzero_env_abi *abi, const char *path, mz_spec *spec);
