/* The state of a run between rounds (docs/architecture.md, "The round"): weights, target weights, optimizer, replay, games in
 * play, counters. Sections of a checkpoint hold it (muzero/storage/sections.h); the digest is over those very bytes. Everything
 * else (threads, queues, scratch) is in workers.h and determines nothing. */
#pragma once
#include "envs/env.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/training/learner.h"
#include "muzero/training/placement.h"
#include "muzero/trainer.h"
#include "networks/prepared.h"
#include "replay/buffer.h"

typedef struct mz_state {
  const mz_env *env;
  mz_settings own;      /* the run's settings, as they were resolved */
  mz_settings settings; /* those for the present batch size: mz_batch_rule_apply(own); loop_count may be moved besides */
  uint64_t seed;
  mz_model model;
  mz_placement where;    /* determines nothing but rounding */
  mz_pool *learner_pool; /* the learner's threads */
  mz_stage learner_stage;
  mz_learner *learner;
  float *target;                /* weights of the target network, [params.size] */
  mz_prepared *target_prepared; /* on reanalysis' device */
  mz_prepared *published;       /* what self-play of this round and evaluation use, on self-play's device */
  uint64_t published_version;   /* updates that led to it */
  mz_buffer *buffer;
  mz_games *games;
  mz_counters counters;
  bool moves_batch_size;  /* settings.learning.batch_size is state: it was moved (steering/batch_size.c) */
  int64_t trained_rows;   /* rows of all updates so far, where it was; mz_state_trained_rows gives it for every run */
  bool moves_loop_count;  /* settings.learning.loop_count is state: it is moved (steering/pace.c), or was */
  struct mz_guard *guard; /* guard.h, made and freed by whoever guards the state; NULL: nobody */
} mz_state;

/* A fresh state: initial weights by seed, empty replay, new games. settings are resolved. where: NULL: on CPUs. */
mz_status mz_state_init(mz_state *state, const mz_env *env, const mz_settings *settings, uint64_t seed, int learner_threads,
                        const mz_placement *where);
void mz_state_deinit(mz_state *state);
/* Between rounds: the learner and both sets of weights go to other devices. On failure all stay where they were. */
mz_status mz_state_place(mz_state *state, const mz_placement *where);

/* Between rounds: batches have so many rows from now on, and settings are own settings after mz_batch_rule_apply. Nothing happens where
 * they have that; otherwise the size is state from then on. MZ_E_CONFIG, beginning with `where`, and nothing has changed; or the state is
 * not to be used any more, for there is no memory (MZ_E_MEMORY) or no device (MZ_E_DEVICE) for the new learner. */
mz_status mz_state_set_batch_size(mz_state *state, int64_t rows, const char *where);
/* Returns the rows that updates were trained on so far. Schedules go by them, and so do copies to the target network: by as many rows as
 * that many updates of the run's own batch size have, whatever sizes batches had. */
int64_t mz_state_trained_rows(const mz_state *state);
double mz_state_progress(const mz_state *state); /* of train.horizon, 0 … 1; 0 without a horizon */
/* Returns where the next update stands in the learning rate's schedule. */
mz_rate_position mz_state_rate_position(const mz_state *state);
/* Returns the count of updates at which as many rows will be trained as so many updates of the run's own batch size have, if batches keep
 * their present size. At least 1. */
int64_t mz_state_updates_at(const mz_state *state, int64_t own_updates);

/* Makes `published` from the present weights (or their average). */
mz_status mz_state_publish(mz_state *state);

/* Call after `target` was changed. */
mz_status mz_state_target_changed(mz_state *state);

/* Returns the settings that a learner needs. */
mz_learner_settings mz_state_learning(const mz_settings *settings);
/* How an environment's games are cut into segments under these settings. */
mz_cut mz_state_cut(const mz_settings *settings);
