/* The guard watches the numbers of training: loss and gradient of an update, the values that it predicts, and whether weights are
 * finite. `stop` ends the run at its last sound checkpoint. `back` puts network and optimizer back to where they were when the last
 * phase ended soundly, a limited number of times, while replay and games continue, so that the same batches do not come again.
 * Rounds decide when, never time: equal runs stay equal. */
#pragma once
#include "muzero/training/state.h"

typedef enum mz_guard_mode { MZ_GUARD_STOP, MZ_GUARD_OFF, MZ_GUARD_BACK } mz_guard_mode;

/* Checks what one update showed. MZ_E_DIVERGED naming update, value, bound and setting. */
mz_status mz_guard_check(const mz_guard_settings *settings, int64_t update, const mz_update_seen *seen);

typedef struct mz_guard mz_guard;
/* Takes the state as it is for sound. */
mz_status mz_guard_create(mz_guard **out, const mz_state *state);
void mz_guard_free(mz_guard *guard); /* NULL is fine */
/* Keeps a copy of network and optimizer, to go back to. */
void mz_guard_keep(mz_guard *guard, const mz_state *state);
/* Puts network, their average, target and optimizer back to the copy; counters, replay and games stay. MZ_E_DIVERGED, with the
 * message that led here, when that was done numerics.backs times. */
mz_status mz_guard_go_back(mz_guard *guard, mz_state *state);
/* Counts from 0 again: a new run has taken over what it reads. */
void mz_guard_begin_run(mz_guard *guard);
int64_t mz_guard_backs(const mz_guard *guard);       /* so often since the run began */
int64_t mz_guard_kept_rounds(const mz_guard *guard); /* when the copy was taken */
const char *mz_guard_why(const mz_guard *guard);     /* the message that led to the last time */

/* Section 'guard' of a checkpoint: what a resumed run goes back to. */
void mz_guard_write(const mz_guard *guard, mz_writer *writer);
mz_status mz_guard_read(mz_guard *guard, const mz_checkpoint *checkpoint);
