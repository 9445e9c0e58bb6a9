/* Symmetries of a board: where cells, actions and observations go. Symmetry 0 is the identity. spec.symmetries is 1 (none), 2
 * (columns mirrored, or with spec.half_turn both rows and columns) or, on a square board, 8: the dihedral group, s % 4 quarter turns
 * clockwise after a mirroring where s >= 4. */
#pragma once
#include "base/spec.h"

int mz_symmetry_cell(const mz_spec *spec, int s, int cell); /* cell = row · width + column */
int mz_symmetry_action(const mz_spec *spec, int s, int action);
/* Maps an observation as the environment stores it; out: another one. */
void mz_symmetry_observe(const mz_spec *spec, int s, const void *observation, void *out);
