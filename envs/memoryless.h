/* mz_env_solver.create and .free of decision makers that need no memory. */
#pragma once
#include "envs/env.h"

static inline mz_status mz_create_nothing(void **solver) {
  *solver = NULL;
  return MZ_OK;
}

static inline void mz_free_nothing(void *solver) { (void)solver; }
