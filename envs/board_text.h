/* Boards and points as Go players write them: columns A B C … H J … without I, rows 1, 2 … from the bottom. Cell = (row − 1) ·
 * size + column, so that 0 is A1, as in GTP. */
#pragma once
#include <stddef.h>

/* Both: the length as snprintf. */
int mz_point_text(int size, int cell, char *out, size_t out_size);
/* cells: one character each, in order of the cells. */
int mz_board_text(int size, const char *cells, char *out, size_t out_size);
