#include "base/symmetry.h"
#include <string.h>

static bool mirrors(const mz_spec *spec, int s) { return s >= 4 || (s == 1 && spec->symmetries == 2 && !spec->half_turn); }

/* Clockwise, after the mirroring. */
static int quarter_turns(const mz_spec *spec, int s) {
  if (spec->symmetries == 2) return s == 1 && spec->half_turn ? 2 : 0;
  return s % 4;
}

int mz_symmetry_cell(const mz_spec *spec, int s, int cell) {
  const int width = spec->obs_shape[1], cells = spec->obs_shape[0] * width, turns = quarter_turns(spec, s);
  if (mirrors(spec, s)) cell += width - 1 - 2 * (cell % width);
  if (turns >= 2) cell = cells - 1 - cell;
  return turns % 2 == 0 ? cell : cell % width * width + width - 1 - cell / width; /* a quarter turn: of a square board */
}

/* Directions are numbered clockwise from up; the mirroring exchanges right and left. */
static int turn_direction(const mz_spec *spec, int s, int direction) {
  if (mirrors(spec, s)) direction = (4 - direction) % 4;
  return (direction + quarter_turns(spec, s)) % 4;
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
