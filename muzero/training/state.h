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
  mz_settings settings;
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
  bool moves_loop_count;  /* settings.learning.loop_count is state: it is moved (steering/pace.c), or was */
  struct mz_guard *guard; /* guard.h, made and freed by whoever guards the state; NULL: nobody */
} mz_state;

/* A fresh state: initial weights by seed, empty replay, new games. settings are resolved. where: NULL: on CPUs. */
mz_status mz_state_init(mz_state *state, const mz_env *env, const mz_settings *settings, uint64_t seed, int learner_threads,
                        const mz_placement *where);
void mz_state_deinit(mz_state *state);
/* Between rounds: the learner and both sets of weights go to other devices. On failure all stay where they were. */
mz_status mz_state_place(mz_state *state, const mz_placement *where);

/* Makes `published` from the present weights (or their average). */
mz_status mz_state_publish(mz_state *state);

/* Call after `target` was changed. */
mz_status mz_state_target_changed(mz_state *state);

/* Returns the settings that a learner needs. */
mz_learner_settings mz_state_learning(const mz_settings *settings);
/* How an environment's games are cut into segments under these settings. */
mz_cut mz_state_cut(const mz_settings *settings);
