/* Rows of the memory that the program shares with a process that plays a shared object (worker/mailbox.h), and the states that both
 * hold: the file's own state, and behind it all that may be asked of it. */
#pragma once
#include "base/maths/rng.h"
#include "envs/env_abi.h"
#include "envs/numpy_generator.h"
#include "envs/worker/mailbox.h"
#include <stddef.h>

enum { MZ_OWN_ROW_TEXT_BYTES = 2048, MZ_OWN_ROW_RNG_AT = MZ_MAILBOX_BODY_AT, MZ_OWN_ROW_STATE_AT = MZ_MAILBOX_BODY_AT + 64 };
_Static_assert(sizeof(mz_rng) <= MZ_OWN_ROW_STATE_AT - MZ_OWN_ROW_RNG_AT, "layout");
_Static_assert(sizeof(mz_numpy_generator) <= MZ_OWN_ROW_STATE_AT - MZ_OWN_ROW_RNG_AT, "layout");

/* The generator whose state a row holds. */
typedef enum mz_own_draws {
  MZ_OWN_DRAWS_NONE,
  MZ_OWN_DRAWS_PHILOX, /* mz_rng: training */
  MZ_OWN_DRAWS_NUMPY,  /* mz_numpy_generator: `envs --trace` */
} mz_own_draws;

/* Places of a state's parts, in bytes from its beginning; the file's own state is at 0. */
typedef struct mz_own_layout {
  size_t player_at, observation_at, mask_at; /* player: int32_t; mask: one byte an action */
  size_t observation_bytes;
  size_t state_bytes; /* of all parts, a multiple of 8 */
  size_t text_at;     /* from a row's beginning: a text of at most MZ_OWN_ROW_TEXT_BYTES with its NUL */
  size_t row_bytes;
} mz_own_layout;

/* The file's numbers are in their ranges (declared.h). */
static inline mz_own_layout mz_own_layout_of(const muzero_env_abi *abi) {
  mz_own_layout l = {.player_at = abi->state_size, .observation_at = abi->state_size + 8};
  l.observation_bytes = abi->observation_kind == MUZERO_ENV_F32 ? sizeof(float) : 1;
  for (int i = 0; i < 3; i++) l.observation_bytes *= (size_t)abi->observation_shape[i];
  l.mask_at = l.observation_at + l.observation_bytes;
  l.state_bytes = (l.mask_at + (size_t)abi->actions + 7) / 8 * 8;
  l.text_at = MZ_OWN_ROW_STATE_AT + l.state_bytes;
  l.row_bytes = (l.text_at + MZ_OWN_ROW_TEXT_BYTES + 63) / 64 * 64;
  return l;
}
