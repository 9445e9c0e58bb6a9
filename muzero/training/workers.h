/* Threads, queue and scratch memory of a run: everything that may change between rounds without changing a result. The
 * knobs of the plan are carried out here. One thread drives it; scratch belongs to the worker number that uses it. */
#pragma once
#include "allocator/pipeline/devices.h"
#include "muzero/training/activity.h"
#include "base/threads/queue.h"
#include "muzero/training/prequential.h"
#include "muzero/training/state.h"
#include "replay/batches/batch.h"
#include "selfplay/reanalyze.h"

typedef struct mz_workers {
  mz_state *state;
  mz_knobs knobs;
  mz_pool *actor_pool, *batch_pool; /* the learner's pool is the state's learner's */
  mz_stage actor_stage, batch_stage;
  mz_actor *actors[MZ_POOL_MAX]; /* by worker, as mz_workers_actor says when they are made */
  mz_reanalyze *reanalyzers[MZ_POOL_MAX];
  mz_selfplay_result *results; /* one per group of games */
  int groups;
  mz_queue *queue;   /* each round resets it to `capacity` */
  mz_batch *batches; /* [capacity]: the queue's slots */
  int capacity;
  const mz_devices *devices; /* what the knobs name; NULL: threads run anywhere */
  bool bind;                 /* the devices are not simply all cores */
  int64_t replay_raw;        /* as it was last set; 0: never */
  mz_activity activity;      /* of the driving thread */
  mz_prequential prequential;
  bool told; /* that the replay is too small for learning to begin */
} mz_workers;

/* devices: stay alive as long as the workers; may be NULL. The state goes to the devices that the knobs name. */
mz_status mz_workers_init(mz_workers *workers, mz_state *state, const mz_knobs *knobs, const mz_devices *devices);
void mz_workers_deinit(mz_workers *workers);
/* Between rounds, before a resize: its devices are other ones. cores: where the system lets the process run from now on; NULL:
 * where it did. */
void mz_workers_grant(mz_workers *workers, const cpu_set_t *cores);
/* Between rounds. Fields that are 0 keep their values. On failure the old knobs stay in force. */
mz_status mz_workers_resize(mz_workers *workers, const mz_knobs *asked);

/* Between rounds, before a resize, which makes what batches of the new size need: as mz_state_set_batch_size. */
mz_status mz_workers_set_batch_size(mz_workers *workers, int64_t rows, const char *where);

/* Returns how many positions a builder searches together there: on a GPU all rows of a batch, as far as memory is sensible. */
int mz_workers_reanalyze_slots(const mz_settings *settings, const mz_lane *where);

/* Scratch of a worker, made on first use; on a GPU with the plan, so that a plan for which there is no memory is refused. */
mz_status mz_workers_actor(mz_workers *workers, int worker, mz_actor **out);
mz_status mz_workers_reanalyze(mz_workers *workers, int worker, mz_reanalyze **out);
