/* The terminal's window behind stdout. */
#pragma once
#include <stdbool.h>

typedef struct mz_terminal_window {
  int columns, rows;
} mz_terminal_window;

/* Measures the window; 80 × 24 where its size is not known. */
mz_terminal_window mz_terminal_window_measure(void);
/* Measures anew. When the size has changed since *window, terminals have broken the lines in the window differently, or cut them,
 * and nobody knows what lies where: clears the window, puts the cursor into its first line and returns true. */
bool mz_terminal_window_follow(mz_terminal_window *window);
/* Returns the width for text that wraps: the window's, at least 40 and at most `most`; `most` where stdout is no terminal. */
int mz_window_text_columns(int most);
