/* Checkpoints of a run on disk: the copy is taken at a round's end (references, priorities, weights), the writing happens in
 * the background. Order: segments → checkpoint → LATEST (and BEST) → old checkpoints removed → packs nobody needs removed; so
 * whatever moment a machine dies at, LATEST names a whole checkpoint. One thread drives a saver. */
#pragma once
#include "muzero/state.h"
#include "replay/store.h"

typedef struct mz_saver mz_saver;

/* Opens DIR/checkpoints and DIR/segments, which are made when missing. keep: latest checkpoints that stay, beside the best.
 * spaced: of each doubling of the rounds, how many stay besides: the first of every 1/spaced of an octave; 0: none. */
mz_status mz_saver_open(mz_saver **out, const char *dir, const mz_spec *spec, int keep, int spaced);
/* Waits for a write under way. */
void mz_saver_close(mz_saver *saver);

/* For mz_state_read. */
mz_status mz_saver_load(void *saver, uint64_t hash, mz_segment **out);

/* Copies the state and starts writing; waits first for the write before it, and returns that write's failure if it had one.
 * config, session: JSON texts, stored as they are. best: BEST will name this checkpoint too. */
mz_status mz_saver_save(mz_saver *saver, const mz_state *state, const char *config, const char *session, bool best);
/* Until what was begun is durable; its failure, once. */
mz_status mz_saver_wait(mz_saver *saver);
