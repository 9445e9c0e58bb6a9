/* Where an action is on a board, as a convolution sees it. A plane that is 1 where the action is and 0 elsewhere, convolved 3 × 3
 * with a learned kernel, is a sum of rows of that kernel stamped around the action's cells: the action enters a convolution
 * without a channel of its own (which would make channel counts odd), and is treated alike all over the board. */
#pragma once
#include "base/spec.h"
#include "networks/parameters/params.h"

typedef struct mz_action_map {
  mz_board board;
  mz_action_kind kind;
  int actions;
} mz_action_map;

/* Rows of the learned table: one of each of the kernel's nine taps, then (pass) one that is added everywhere; or, for actions
 * without a place (PLAIN), one for each action that is added everywhere. */
int mz_action_map_rows(const mz_action_map *map);

/* Adds (`visit`) row `row` of the table at `position` (row · width + column), in a fixed order. */
typedef void (*mz_action_stamp)(void *context, int position, int row);
void mz_action_map_visit(const mz_action_map *map, int action, mz_action_stamp visit, void *context);
