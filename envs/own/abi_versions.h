/* Files of earlier versions of env_abi.h, whose muzero_env_abi is the beginning of the present one. */
#pragma once
#include "envs/env_abi.h"
#include <stdbool.h>
#include <string.h>

/* Returns the bytes of muzero_env_abi in a version, 0 where this program does not know it. */
static inline size_t mz_own_abi_size(uint32_t version) {
  if (version == 1) return offsetof(muzero_env_abi, observation_scale);
  return version == MUZERO_ENV_ABI_VERSION ? sizeof(muzero_env_abi) : 0;
}

/* Copies what a file gives; members that its version lacks are 0. false: version and size do not go together, and nothing else is
 * copied. */
static inline bool mz_own_abi_copy(const muzero_env_abi *from, muzero_env_abi *to) {
  const bool known = from->size == mz_own_abi_size(from->version);
  memset(to, 0, sizeof *to);
  if (known)
    memcpy(to, from, from->size);
  else
    to->version = from->version, to->size = from->size;
  return known;
}
