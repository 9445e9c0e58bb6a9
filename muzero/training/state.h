/* The state of a run between rounds (DESIGN §1): weights, target weights, optimizer, replay, games in play, counters. It is
 * written to and read from the sections of a checkpoint; the digest is over those very bytes. Everything else (threads,
 * queues, scratch) is in workers.h and determines nothing. */
#pragma once
#include "envs/env.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/training/learner.h"
#include "muzero/muzero.h"
#include "muzero/training/publish.h"
#include "replay/buffer.h"

typedef struct mz_state {
  const mz_env *env;
  mz_settings settings;
  uint64_t seed;
  mz_model model;
  mz_pool *learner_pool; /* the learner's threads */
  mz_stage learner_stage;
  mz_learner *learner;
  float *target; /* weights of the target network, [params.size]; and as inference reads them */
  float *target_prepared;
  mz_snapshot *published; /* what self-play and evaluation use */
  mz_buffer *buffer;
  mz_games *games;
  mz_counters counters;
  struct mz_guard *guard; /* guard.h; NULL unless numerics.guard is `back` */
} mz_state;

/* A fresh state: initial weights by seed, empty replay, new games. settings are resolved. */
mz_status mz_state_init(mz_state *state, const mz_env *env, const mz_settings *settings, uint64_t seed, int learner_threads);
void mz_state_deinit(mz_state *state);

/* Makes `published` from the present weights (or their average). */
mz_status mz_state_publish(mz_state *state);

/* To be called when `target` was changed. */
mz_status mz_state_target_changed(mz_state *state);

/* The sections of a checkpoint that hold it: those of mz_digest_parts, with `average` behind `optimizer`. */
enum { MZ_STATE_SECTIONS = MZ_DIGEST_PARTS + 1 };
extern const char *const mz_state_sections[MZ_STATE_SECTIONS];
/* Writes them; one that a state lacks (`average` without an average) stays empty. sections[i].data: mz_writer_free. */
mz_status mz_state_write(const mz_state *state, mz_writer sections[MZ_STATE_SECTIONS]);
/* Restores from a checkpoint into an initialised state of the same shape; segments come from `load`. */
mz_status mz_state_read(mz_state *state, const mz_checkpoint *checkpoint,
                        mz_status (*load)(void *context, uint64_t hash, mz_segment **out), void *context);
mz_status mz_state_digest(const mz_state *state, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest);

/* Section 'optimizer': steps, parameters (8 bytes each), whether there are second moments and an average (a byte each), then first
 * moments and second moments as the flat vector has them. Section 'average': the average of the weights likewise; in version 1 of
 * section 'optimizer' it stood at the end of that. */
enum { MZ_OPTIMIZER_HEAD_BYTES = 18, MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION = 2 };
/* Section 'counters' holds the seed and then these. */
void mz_counters_read(mz_counters *counters, mz_reader *reader);

/* What a learner needs to know of them. */
mz_learner_settings mz_state_learning(const mz_settings *settings);
/* How an environment's games are cut into segments under these settings. */
mz_cut mz_state_cut(const mz_settings *settings);
