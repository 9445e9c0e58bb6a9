/* A training batch: B rows of an observation, K actions and K+1 steps of targets, step-major so that a shard of rows is
 * contiguous within a step. Built from draws, with symmetry augmentation and optional reanalyze; learns nothing of networks. */
#pragma once
#include "replay/buffer.h"

typedef struct mz_batch {
  int rows, unroll, observed;
  float *obs;                                          /* [observed][rows][obs_size]; 0 past a stored state */
  int32_t *action;                                     /* [K+1][rows]; step 0 unused */
  float *policy;                                       /* [K+1][rows][actions] */
  float *value, *reward;                               /* [K+1][rows] scalars */
  float *policy_weight, *value_weight, *reward_weight; /* [K+1][rows]: mask × importance weight / rows; reward step 0: 0 */
  float *turn, *turn_weight; /* [K+1][rows] of games with MZ_TURNS_TOLD, else NULL: see mz_batch_build */
  float *obs_weight;         /* [observed][rows] likewise: the mask is that a state is stored */
  int64_t *leaf;             /* [rows] */
  uint64_t *serial;          /* [rows] */
  float *importance;         /* [rows], the largest is 1 */
  uint64_t version_sum;      /* Σ weight version over rows: for the mean age of data */
  void *block;
  struct mz_batch_scratch *scratch;
} mz_batch;

/* observed: steps whose observations it holds, 1 … unroll + 1. */
mz_status mz_batch_init(mz_batch *batch, const mz_spec *spec, int rows, int unroll, int observed);
void mz_batch_deinit(mz_batch *batch);
/* Bytes that a batch takes at the most, with what it needs to read rows and, `reanalyzed`, for their targets. */
double mz_batch_bytes(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut, int rows, int unroll, int observed,
                      bool reanalyzed);

/* Fresh results from the target network, supplied by the roof (selfplay/reanalyze). One call of `search` serves all rows
 * of a batch, `evaluate` gets at most rows × (K + 1) states a call.
 * search: policies [n][actions] and root values [n]; evaluate: network values [n] only. Observations as stored, one behind the
 * other; legal [n][actions]; key[i] = row × (K + 1) + step, unique in the batch, names the noise stream with the update. */
typedef struct mz_reanalyzer {
  void *context;
  double ratio; /* share of rows, 0 … 1 */
  mz_status (*search)(void *context, uint32_t update, int n, const void *observations, const uint8_t *legal, const uint32_t *key,
                      float *policies, float *values);
  mz_status (*evaluate)(void *context, int n, const void *observations, float *values);
} mz_reanalyzer;

typedef struct mz_batch_source {
  const mz_buffer *buffer;
  const mz_replay_settings *settings;
  const mz_spec *spec;
  uint64_t seed;
  const mz_reanalyzer *reanalyzer; /* NULL: none */
} mz_batch_source;

/* Fills the batch for update number `update`: a pure function of buffer, settings, seed and update; a row depends on the others
 * only through the normalisation of importance. Importance: w = (positions · probability)^−β over the largest of the batch. Past
 * an end the actions fed to the dynamics are uniform draws. Targets that are not known are 0 with weight 0. Reanalyzed rows:
 * policies of t … t+K by reanalyzed search; the values that their windows take, at the end and, with λ < 1, on the way, by the target
 * network (by the reanalyzed search where that state is one of those searched). Symmetries are applied last, to stored and
 * reanalyzed targets alike. Of segments that are not raw only the moves that a row needs are unpacked, row by row. With MZ_TURNS_TOLD
 * values and rewards of a row are of the player who moves at step 0, and turn is 1 at steps where another one moves, with weight 0
 * past the last stored state. Fails as the reanalyzer does, when memory is out, or when a spilled segment cannot be read (MZ_E_IO). */
mz_status mz_batch_build(mz_batch *batch, const mz_batch_source *source, uint32_t update);
