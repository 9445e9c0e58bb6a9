/* Where an action is on a board, as a convolution sees it. A plane that is 1 where the action is and 0 elsewhere, convolved 3 × 3
 * with a learned kernel, is a sum of rows of that kernel stamped around the action's cells: the action enters a convolution
 * without a channel of its own (which would make channel counts odd), and is treated alike all over the board. */
#pragma once
#include "base/shared.h"
#include "base/spec.h"
#include "networks/parameters/params.h"

typedef struct mz_action_map {
  mz_board board;
  mz_action_kind kind;
  int actions;
} mz_action_map;

enum { MZ_NO_ROW = -1 };

/* Rows of the learned table: one of each of the kernel's nine taps, then (pass) one that is added everywhere; or, for actions
 * without a place (PLAIN), one for each action that is added everywhere. */
int mz_action_map_rows(const mz_action_map *map);

/* Adds (`visit`) row `row` of the table at `position` (row · width + column), in a fixed order. */
typedef void (*mz_action_stamp)(void *context, int position, int row);
void mz_action_map_visit(const mz_action_map *map, int action, mz_action_stamp visit, void *context);

/* The same stamps, asked for one by one (shared with GPUs, base/shared.h). A position's stamps in ascending order of their rows are in
 * mz_action_map_visit's order, and so are a row's stamps in ascending order of their positions. */

/* Returns the row that `action` adds everywhere, which is then its only one; MZ_NO_ROW when the action has a place. */
MZ_SHARED int mz_action_map_everywhere(const mz_action_map *map, int action) {
  if (map->kind == MZ_ACTIONS_PLAIN) return action;
  const bool passes = map->kind == MZ_ACTIONS_CELLS_PASS && action == map->board.height * map->board.width;
  return passes ? MZ_KERNEL * MZ_KERNEL : (int)MZ_NO_ROW;
}

/* Returns whether an action that has a place adds row `tap` at `position`: whether the action is where that tap of the position's
 * window lies. */
MZ_SHARED bool mz_action_map_is_seen(const mz_action_map *map, int action, int position, int tap) {
  const int width = map->board.width;
  const int y = position / width + tap / MZ_KERNEL - 1, x = position % width + tap % MZ_KERNEL - 1;
  if (y < 0 || y >= map->board.height || x < 0 || x >= width) return false;
  return map->kind == MZ_ACTIONS_COLUMNS ? x == action : y * width + x == action;
}
