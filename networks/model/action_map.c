#include "networks/model/action_map.h"

enum { TAPS = MZ_KERNEL * MZ_KERNEL };

int mz_action_map_rows(const mz_action_map *map) {
  switch (map->kind) {
    case MZ_ACTIONS_PLAIN:
    case MZ_ACTIONS_DIRECTIONS: return map->actions; /* conv_model makes them plain */
    case MZ_ACTIONS_CELLS_PASS: return TAPS + 1;
    case MZ_ACTIONS_CELLS:
    case MZ_ACTIONS_COLUMNS: break;
  }
  return TAPS;
}

/* An output at (y, x) sees the cell through the tap that lies at the cell's place in its window. */
static void around(const mz_action_map *map, int cell_y, int cell_x, mz_action_stamp visit, void *context) {
  for (int tap = 0; tap < TAPS; tap++) {
    const int y = cell_y + 1 - tap / MZ_KERNEL, x = cell_x + 1 - tap % MZ_KERNEL;
    if (y < 0 || y >= map->board.height || x < 0 || x >= map->board.width) continue;
    visit(context, y * map->board.width + x, tap);
  }
}

void mz_action_map_visit(const mz_action_map *map, int action, mz_action_stamp visit, void *context) {
  const int row = mz_action_map_everywhere(map, action), width = map->board.width;
  if (row != MZ_NO_ROW) {
    for (int p = 0; p < map->board.height * width; p++) visit(context, p, row);
  } else if (map->kind == MZ_ACTIONS_COLUMNS) {
    for (int y = 0; y < map->board.height; y++) around(map, y, action, visit, context);
  } else {
    around(map, action / width, action % width, visit, context);
  }
}
