/* The option `limit` of games that cost 1 a move: moves after which they are truncated. */
#pragma once
#include "envs/variants.h"

enum { MZ_MOVE_LIMIT_MAX = 1000000 };

typedef struct mz_move_limit {
  int64_t limit;
} mz_move_limit;

/* mz_env_variants.fill. */
static inline mz_status mz_move_limit_fill(mz_env *env, const char *where) {
  (void)where;
  const int limit = (int)((const mz_move_limit *)env->options)->limit;
  env->spec.max_moves = limit;
  env->spec.return_min = (float)-limit;
  return MZ_OK;
}
