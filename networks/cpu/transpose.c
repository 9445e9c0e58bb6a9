#include "networks/cpu/transpose.h"
#include <string.h>

typedef float four __attribute__((vector_size(16)));

/* Four rows of four from `from` become four columns at `to`. */
static inline void transpose_four(const float *from, ptrdiff_t from_stride, float *to, ptrdiff_t to_stride) {
  four row[4], pair[4], column[4];
  for (int i = 0; i < 4; i++) memcpy(&row[i], from + i * from_stride, sizeof row[i]);
  pair[0] = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  pair[1] = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  pair[2] = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  pair[3] = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  column[0] = __builtin_shufflevector(pair[0], pair[1], 0, 1, 4, 5);
  column[1] = __builtin_shufflevector(pair[0], pair[1], 2, 3, 6, 7);
  column[2] = __builtin_shufflevector(pair[2], pair[3], 0, 1, 4, 5);
  column[3] = __builtin_shufflevector(pair[2], pair[3], 2, 3, 6, 7);
  for (int i = 0; i < 4; i++) memcpy(to + i * to_stride, &column[i], sizeof column[i]);
}

/* In blocks that stay in the first-level cache. */
void mz_transpose(const float *from, int rows, int columns, ptrdiff_t from_stride, float *to, ptrdiff_t to_stride) {
  enum { BLOCK = 32 };
  const int whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int block_row = 0; block_row < whole_rows; block_row += BLOCK) {
    for (int c = 0; c < whole_columns; c += 4) {
      for (int r = block_row; r < block_row + BLOCK && r < whole_rows; r += 4) {
        transpose_four(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      }
    }
  }
  for (int r = 0; r < rows; r++) {
    for (int c = r < whole_rows ? whole_columns : 0; c < columns; c++) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
