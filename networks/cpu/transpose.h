/* Transposed matrices. */
#pragma once
#include <stddef.h>

/* to[c][r] = from[r][c], rows of `from` from_stride apart, of `to` to_stride. */
void mz_transpose(const float *from, int rows, int columns, ptrdiff_t from_stride, float *to, ptrdiff_t to_stride);
