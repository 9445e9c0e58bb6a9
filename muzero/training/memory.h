/* The account of a run's memory: one for the limit that a run is refused by and for the plans that the allocator may choose.
 * Each room says what its own things take, beside the function that makes them; here is the sum. */
#pragma once
#include "allocator/pipeline/pipeline.h"
#include "envs/env.h"
#include "muzero/settings.h"
#include "networks/model/model.h"

typedef enum mz_memory_part {
  MZ_MEMORY_PROCESS,   /* what was there before, and what libraries and threads take */
  MZ_MEMORY_NETWORK,   /* weights, averages, moments, target, published */
  MZ_MEMORY_GRADIENTS, /* one for each shard */
  MZ_MEMORY_INDEX,     /* the replay's tree, ring and tables */
  MZ_MEMORY_GAMES,     /* in play, and the segments of a round */
  MZ_MEMORY_ROUND,     /* priorities of a round's updates */
  MZ_MEMORY_SAVE,      /* a checkpoint's copy, the digest's, what is compressed */
  MZ_MEMORY_PROBE,     /* the learner of the timings before a run, as far as it is not less than what comes later */
  MZ_MEMORY_FIXED,     /* parts that no knob changes */
  MZ_MEMORY_ACTORS = MZ_MEMORY_FIXED,
  MZ_MEMORY_BUILDERS,
  MZ_MEMORY_LEARNERS,
  MZ_MEMORY_EVALUATION,
  MZ_MEMORY_ENV, /* processes that play the environment */
  MZ_MEMORY_BATCHES,
  MZ_MEMORY_REPLAY,
  MZ_MEMORY_PARTS
} mz_memory_part;

typedef struct mz_memory { /* bytes, at the most */
  double fixed[MZ_MEMORY_FIXED];
  double actor, actor_slot, actor_tile, tile; /* a thread's: actor + slots · actor_slot + min(slots, tile) · actor_tile */
  double builder, learner, evaluation;        /* a thread's */
  double batch;                               /* a place in the queue */
  double replay, packed, packed_max;          /* contents as they are; packing's share; packed bytes in memory, 0: all */
  mz_model_part networks[MZ_MODEL_PARTS];     /* of the model that was counted */
  struct {
    bool has_workers; /* other processes play the environment */
    bool keeps_games; /* games stay with their process: as many are asked as in the beginning */
    int64_t given;    /* so many by the user, in the environment's name; 0: not */
    double bytes;     /* of a process before it has games, which it may need more for; the monitor sees that */
    int64_t begins;   /* so many when the run begins; 0: not known */
  } env;
  mz_gpu_bytes gpu_actor, gpu_builder, gpu_learner, gpu_evaluation; /* of stages on a GPU; zeros: none was asked for */
  double gpu_host; /* of the host whatever the plan, where stages may be on a GPU; in MZ_MEMORY_PROCESS */
} mz_memory;

/* Counts before anything large is taken. gpu: a lane of the GPUs that stages may be on, NULL: none. MZ_E_CONFIG where the network cannot
 * be. */
mz_status mz_memory_count(mz_memory *out, const mz_env *env, const mz_settings *settings, const mz_lane *gpu);

/* Returns the bytes that are resident now: of this process, and of those that play the environment. */
double mz_memory_resident(const mz_env *env);
