#include "base/symmetry.h"
#include <string.h>

int mz_symmetry_cell(const mz_spec *spec, int s, int cell) {
  const int width = spec->obs_shape[1];
  int row = cell / width, column = cell % width;
  if (s >= 4 || (s == 1 && spec->symmetries == 2)) column = width - 1 - column;
  if (spec->symmetries == 2) return row * width + column;
  for (int turn = 0; turn < s % 4; turn++) {
    const int old_row = row;
    row = column;
    column = width - 1 - old_row;
  }
  return row * width + column;
}

/* Directions are numbered clockwise from up; the mirroring exchanges right and left. */
static int turn_direction(const mz_spec *spec, int s, int direction) {
  if (s >= 4 || (s == 1 && spec->symmetries == 2)) direction = (4 - direction) % 4;
  return spec->symmetries == 2 ? direction : (direction + s % 4) % 4;
}

int mz_symmetry_action(const mz_spec *spec, int s, int action) {
  const int cells = spec->obs_shape[0] * spec->obs_shape[1];
  if (spec->action_kind == MZ_ACTIONS_DIRECTIONS) return turn_direction(spec, s, action);
  if (spec->action_kind == MZ_ACTIONS_PLAIN || action >= cells) return action;
  return mz_symmetry_cell(spec, s, action); /* a column is a cell of the first row */
}

void mz_symmetry_observe(const mz_spec *spec, int s, const void *observation, void *out) {
  const int cells = spec->obs_shape[0] * spec->obs_shape[1];
  const size_t size = mz_spec_obs_bytes(spec) / (size_t)cells;
  for (int cell = 0; cell < cells; cell++)
    memcpy((char *)out + (size_t)mz_symmetry_cell(spec, s, cell) * size, (const char *)observation + (size_t)cell * size, size);
}
