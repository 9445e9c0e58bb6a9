#include "cli/playing/board.h"
#include "envs/go/go_board.h"
#include "envs/variants.h"

int mz_board_stones(const mz_env *env, const void *state, double out[MZ_ENV_NUMBERS_MAX]) {
  const mz_spec *spec = &env->spec;
  if (!env->numbers || (spec->action_kind != MZ_ACTIONS_CELLS && spec->action_kind != MZ_ACTIONS_CELLS_PASS)) return 0;
  env->numbers(env, state, out);
  return spec->obs_shape[0] * spec->obs_shape[1];
}

bool mz_board_komi(const mz_env *env, double *komi) {
  mz_settings_table table;
  const mz_config config = mz_env_config(env, &table);
  const int row = mz_config_find(&config, "komi");
  if (row < 0) return false;
  *komi = *(const double *)((const char *)env->options + mz_config_row(&config, row)->offset);
  return true;
}

static mz_status area(int side, const double *stones, int *out) {
  mz_go_board *board;
  MZ_TRY(mz_alloc(&board, 1, MZ_GO_BOARD_BYTES(side)));
  mz_go_board_init(board, side);
  uint16_t captured[MZ_GO_CELLS_MAX];
  for (int cell = 0; cell < side * side; cell++)
    if (stones[cell] != 0)
      mz_go_board_play(board, mz_go_point_of(side, cell), stones[cell] > 0 ? MZ_GO_BLACK : MZ_GO_WHITE, captured);
  *out = mz_go_board_area(board);
  free(board);
  return MZ_OK;
}

mz_status mz_board_points(const mz_env *env, const void *state, int *lead) {
  double stones[MZ_ENV_NUMBERS_MAX], komi;
  const int cells = mz_board_stones(env, state, stones);
  if (cells == 0 || env->spec.action_kind != MZ_ACTIONS_CELLS_PASS)
    return mz_fail(MZ_E_CONFIG, "%s is not won by points", env->name);
  if (mz_board_komi(env, &komi)) return area(env->spec.obs_shape[0], stones, lead);
  *lead = 0;
  for (int cell = 0; cell < cells; cell++) *lead += (int)stones[cell];
  return MZ_OK;
}
