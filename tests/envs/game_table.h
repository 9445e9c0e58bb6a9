/* Some games of one environment that are played side by side, with random numbers of their own. */
#pragma once
#include "envs/env.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { GAMES = 5, STATE_MAX = 256 };

typedef struct table {
  const mz_env *env;
  _Alignas(8) uint8_t states[GAMES * STATE_MAX];
  mz_rng rngs[GAMES];
  mz_generator generators[GAMES];
  mz_step results[GAMES];
} table;

static inline uint8_t *state_at(table *t, int i) { return t->states + (size_t)i * t->env->state_size; }

static inline void sit_down(table *t, const mz_env *env) {
  *t = (table){.env = env};
  assert_true(env->state_size <= STATE_MAX);
  for (int i = 0; i < GAMES; i++) {
    t->rngs[i] = mz_rng_at(5, MZ_RNG_TEST, (uint32_t)i, 0);
    t->generators[i] = mz_generator_from_rng(&t->rngs[i]);
    if (env->reset(env, state_at(t, i), &t->generators[i]) != MZ_OK) fail_msg("reset: %s", mz_message());
  }
}
