/* Shared by commands that talk with people or programs: lines typed, boards drawn, and an agent's thoughts in words. */
#pragma once
#include "cli/playing/mover.h"

/* stdout is a terminal that shows colours, and NO_COLOR is not set. */
bool mz_console_colour(void);

typedef struct mz_console_input { /* zeroed at first; free(line) in the end */
  char *line;
  size_t capacity;
} mz_console_input;
/* The next line of stdin without its end, ours to change until the next; NULL at the end of input. MZ_E_IO, MZ_E_MEMORY. */
mz_status mz_console_read(mz_console_input *input, char **line);
/* Without spaces and control characters around it; writes to `line`. */
char *mz_console_trim(char *line);

/* The environment's own picture. Stones are the letters x (player 0) and o (player 1), big or small; with `colour` they are
 * coloured, in lines that have no other letters. lines: how many were printed, or NULL. */
mz_status mz_console_draw(const mz_env *env, const void *state, bool colour, int *lines);
/* The picture as text; free(). */
mz_status mz_console_text(const mz_env *env, const void *state, char **out);
/* "value +0.31 after 25 simulations (+0.10 before): b2 61 %, a1 20 %": shares of the simulations, best first. */
void mz_console_thought(const mz_live_game *game, const mz_thought *thought);
