/* Places of the columns of a packed segment. Internal to this room. */
#pragma once
#include "replay/segments/packed.h"

typedef enum mz_column_id { /* rows of a fixed width, one a move */
                            MZ_COLUMN_VALUE,
                            MZ_COLUMN_REWARD,
                            MZ_COLUMN_START, /* weights, or listed entries, before the move's; constant: those of each move */
                            MZ_COLUMN_ACTION,
                            MZ_COLUMN_PLAYER,
                            MZ_COLUMN_LEGAL,    /* bit a: action a is legal; left out where they are listed */
                            MZ_COLUMN_WEIGHTED, /* bit a: its weight is not 0; left out where all legal ones have one, too */
                            MZ_COLUMN_OBSERVATION,
                            MZ_COLUMNS,
} mz_column_id;

typedef struct mz_column {
  const uint8_t *rows;
  size_t width, stride; /* bytes; stride 0: one row stands for every move */
} mz_column;

/* Returns how many rows a column has that is not constant: one a move, and of stacked frames those before the first. */
int mz_column_rows(const mz_packed *packed, const mz_spec *spec, mz_column_id id);
/* Returns the bytes of a row; of `packed` only the flags count. 0: the column is left out. */
size_t mz_column_width(const mz_packed *packed, const mz_spec *spec, mz_column_id id);
/* Finds every column (for one that is left out, that which stands for it). Returns where the weights begin, or the listed actions. */
const uint8_t *mz_columns_find(const mz_packed *packed, const mz_spec *spec, mz_column columns[MZ_COLUMNS]);
