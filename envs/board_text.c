#include "envs/board_text.h"
#include <stdio.h>

static const char letters[] = "ABCDEFGHJKLMNOPQRSTUVWXYZ";

int mz_point_text(int size, int cell, char *out, size_t out_size) {
  return snprintf(out, out_size, "%c%d", letters[cell % size], 1 + cell / size);
}

int mz_board_text(int size, const char *cells, char *out, size_t out_size) {
  char text[3 * 26 * 26]; /* the widest line is " 25" and two characters a cell */
  char *at = text + sprintf(text, "  ");
  for (int c = 0; c < size; c++) at += sprintf(at, " %c", letters[c]);
  for (int r = size - 1; r >= 0; r--) {
    at += sprintf(at, "\n%2d", r + 1);
    for (int c = 0; c < size; c++) at += sprintf(at, " %c", cells[r * size + c]);
  }
  return snprintf(out, out_size, "%s\n", text);
}
