/* Tells other threads what the thread that drives a run is doing: one word, written as often as that changes. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

typedef enum mz_doing {
  MZ_DOING_NOTHING, /* the run is in its caller's hands: between phases, or while progress is shown */
  MZ_DOING_UPDATES,
  MZ_DOING_WAIT_BATCHES,  /* the last batches' tasks have not ended */
  MZ_DOING_WAIT_SELFPLAY, /* games have not been advanced */
  MZ_DOING_FOLD,          /* the round's results go into the state */
  MZ_DOING_EVALUATION,
  MZ_DOING_DECISION, /* of the allocator */
  MZ_DOING_RECORD,
  MZ_DOING_SAVE,            /* the state is checked, and copied for a checkpoint */
  MZ_DOING_WAIT_CHECKPOINT, /* the one before is still being written */
} mz_doing;

typedef struct mz_activity {
  _Atomic int doing;
  _Atomic int64_t round;  /* the round it is about: for MZ_DOING_WAIT_CHECKPOINT the checkpoint's */
  _Atomic uint64_t steps; /* changes so far */
} mz_activity;

/* Counts a step of what is being done already. */
static inline void mz_activity_step(mz_activity *a) { atomic_fetch_add_explicit(&a->steps, 1, memory_order_relaxed); }

/* Begins something else, about `round`; returns what was done before. */
static inline mz_doing mz_activity_begin(mz_activity *a, mz_doing doing, int64_t round) {
  atomic_store_explicit(&a->round, round, memory_order_relaxed);
  mz_activity_step(a);
  return (mz_doing)atomic_exchange_explicit(&a->doing, (int)doing, memory_order_relaxed);
}
