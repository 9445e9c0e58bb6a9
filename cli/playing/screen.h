/* The live view of a run on a terminal: a few lines redrawn in place with plain ANSI, below whatever was on the screen before and
 * left there when the run ends. Log lines scroll above it. Honours NO_COLOR, the locale's charset and the window's size: fields
 * that have no room are left out, and when the size changes the window is cleared and drawn anew after the round. One screen at a
 * time; progress and phase come from the thread that drives the run. */
#pragma once
#include "muzero/trainer.h"

typedef struct mz_screen mz_screen;

/* stdout is a terminal that can move its cursor. */
bool mz_screen_possible(void);
mz_status mz_screen_create(mz_screen **out, const char *title, const char *score_name);
void mz_screen_free(mz_screen *screen); /* leaves the last picture */

void mz_screen_progress(mz_screen *screen, const mz_progress *progress);
void mz_screen_phase(mz_screen *screen, const mz_phase *phase);
