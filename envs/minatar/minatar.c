#include "envs/minatar/minatar.h"
#include <stdio.h>

const mz_setting mz_minatar_option_rows[MZ_MINATAR_OPTION_COUNT] = {
    MZ_SETTING(mz_minatar_options, sticky, "sticky", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0.1", "",
               "probability that a move repeats the action of the last one"),
    MZ_SETTING(mz_minatar_options, actions, "actions", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "minimal", "",
               "the actions that do something in this game, or all six of MinAtar", .choices = "minimal|all"),
    MZ_SETTING(mz_minatar_options, limit, "limit", MZ_INT, MZ_ALGORITHMIC, 1, 1000000, "5000", "moves",
               "a game that lasts so long is truncated"),
    MZ_SETTING(mz_minatar_options, ramping, "ramping", MZ_BOOL, MZ_ALGORITHMIC, 0, 0, "on", "",
               "whether the game becomes faster as it goes on"),
};

bool mz_minatar_head_valid(const mz_env *env, const mz_minatar_game *game, const mz_minatar_head *head) {
  const mz_minatar_options *options = env->options;
  if (head->terminated || !mz_minatar_zero(head->zero, sizeof head->zero)) return false;
  if (game->limited && head->moves >= options->limit) return false;
  return head->last_action < MZ_MINATAR_ACTIONS && (head->moves > 0 || head->last_action == MZ_MINATAR_NOOP);
}

int mz_minatar_text(const mz_env *env, const mz_minatar_game *game, const void *state, char *out, size_t size) {
  enum { LINE = MZ_MINATAR_SIDE + 1, CHANNELS_MAX = 10 };
  uint8_t planes[MZ_MINATAR_CELLS * CHANNELS_MAX] = {0};
  char picture[MZ_MINATAR_SIDE * LINE + 1];
  MZ_ASSERT(game->channels <= CHANNELS_MAX && env->spec.obs_size <= (int)sizeof planes);
  game->draw(state, planes);
  memset(picture, '\n', sizeof picture);
  picture[sizeof picture - 1] = '\0';
  for (int cell = 0; cell < MZ_MINATAR_CELLS; cell++) {
    char *sign = &picture[cell / MZ_MINATAR_SIDE * LINE + cell % MZ_MINATAR_SIDE];
    *sign = '.';
    for (const char *pair = game->picture; *pair; pair += 2) {
      if (planes[cell * game->channels + (pair[0] - '0')]) *sign = pair[1];
    }
  }
  return snprintf(out, size, "%smove %d\n", picture, (int)((const mz_minatar_head *)state)->moves);
}

int mz_minatar_action_text(const mz_env *env, const mz_minatar_game *game, int action, char *out, size_t size) {
  static const char *const names[MZ_MINATAR_ACTIONS] = {"wait", "left", "up", "right", "down", "fire"};
  return snprintf(out, size, "%s", names[mz_minatar_action_of(game, env->options, action)]);
}

mz_status mz_minatar_fill(mz_env *env, const mz_minatar_game *game) {
  const mz_minatar_options *options = env->options;
  env->spec.actions = options->actions == MZ_MINATAR_ALL ? MZ_MINATAR_ACTIONS : game->minimal_count;
  if (!game->limited) return MZ_OK;
  env->spec.max_moves = (int)options->limit;
  env->spec.return_max = (float)((double)options->limit * game->return_rate + game->return_base);
  return MZ_OK;
}
