/* Checkpoints of a run on disk: the copy is taken at a round's end (references, priorities, weights), the writing happens in
 * the background. Order: the run's logs → segments → checkpoint → LATEST (and BEST) → old checkpoints removed → packs nobody
 * needs removed; so whatever moment a machine dies at, LATEST names a whole checkpoint. One thread drives a saver. */
#pragma once
#include "muzero/training/state.h"
#include "replay/storage/store.h"

typedef struct mz_saver mz_saver;

typedef struct mz_saver_options {
  int keep;   /* latest checkpoints that stay, beside the best */
  int spaced; /* so many of each doubling of the rounds stay besides: the first of every 1/spaced of an octave; 0: none */
  int64_t best_rounds; /* of the best checkpoint so far; -1: as BEST says */
  /* Makes the run's logs durable, before a checkpoint that records their lengths; called on the writing thread. NULL: there are
   * none. */
  mz_status (*sync_logs)(void *context);
  void *context;
} mz_saver_options;

/* Opens DIR/checkpoints and DIR/segments, which are made when missing. A BEST that says something else is put right. */
mz_status mz_saver_open(mz_saver **out, const char *dir, const mz_spec *spec, const mz_saver_options *options);
/* Waits for a write under way. */
void mz_saver_close(mz_saver *saver);

/* For mz_state_read. */
mz_status mz_saver_load(void *saver, uint64_t hash, mz_segment **out);
/* The same, where what is lost may be left out: damage gives *out NULL and MZ_OK, and is counted. */
mz_status mz_saver_load_or_skip(void *saver, uint64_t hash, mz_segment **out);
int64_t mz_saver_skipped(const mz_saver *saver);

/* Copies the state and starts writing; waits first for the write before it, and returns that write's failure if it had one.
 * config, session: JSON texts, stored as they are. best: BEST will name this checkpoint too. Segments whose packs were removed or
 * changed on disk are written again from memory. */
mz_status mz_saver_save(mz_saver *saver, const mz_state *state, const char *config, const char *session, bool best);
/* Until what was begun is durable; its failure, once. */
mz_status mz_saver_wait(mz_saver *saver);
