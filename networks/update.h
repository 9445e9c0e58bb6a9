/* One update of the weights: batch → K-step unroll on tapes, a shard of rows each → losses → backward → sum of the shards' gradients
 * over the fixed shard tree (parameters/shard_sum.h) → norm → clip → step → average. A backend has its own (mz_updater); on one kind of
 * device the same bits come out whatever the threads. One thread drives an update.
 *
 * The host's vectors (mz_update_vectors) are the truth between rounds. A device works on its own copies: mz_update_fetch brings them
 * back. On CPUs they are one and the same, and fetching does nothing. */
#pragma once
#include "networks/lane.h"
#include "networks/loss.h"
#include "networks/parameters/optimizer.h"

typedef struct mz_pool mz_pool; /* base/threads/pool.h */

typedef struct mz_update_settings {
  mz_loss_settings loss;
  mz_optimizer_settings optimizer;
  int64_t batch_size, shards; /* shards divide the batch */
  double average;             /* decay of the weight average; 0: none */
} mz_update_settings;

typedef struct mz_update_vectors { /* the caller's, [params.size]; they outlive the update */
  float *weights, *average;        /* average: NULL where there is none */
  mz_optimizer *optimizer;
} mz_update_vectors;

/* A batch, step by step: K = unroll. Row weights are mask × importance / rows. */
typedef struct mz_update_rows {
  int rows, unroll;
  const float *obs, *obs_weight; /* [steps][rows][obs_size], [steps][rows]: of mz_loss_observed steps */
  const int32_t *action;         /* [K+1][rows]; step 0 unused */
  const float *policy;           /* [K+1][rows][actions] */
  const float *value, *reward;   /* [K+1][rows] scalars */
  const float *policy_weight, *value_weight, *reward_weight; /* [K+1][rows]; reward's step 0 unused */
  /* Likewise, of a model that tells turns, NULL for others; turn: 1 where another player moves than at step 0, else 0. */
  const float *turn, *turn_weight;
} mz_update_rows;

/* Arrays are the update's, until its next run. */
typedef struct mz_update_report {
  double loss, norm;    /* of the batch; of its gradient, before clipping */
  double shard_square;  /* Σ over shards of |gradient|², where it was asked for */
  double latent_spread; /* mean over latent units of their standard deviation over the first shard's rows */
  const float *value;   /* [rows]: predicted at step 0 */
  const float *policy_loss, *value_loss,
      *reward_loss; /* [K+1][rows]: cross entropies, before their weights; reward's step 0: 0 */
} mz_update_report;

typedef struct mz_update_step {
  double rate, average_decay;
  bool shard_squares; /* the shards' gradients are read once more: mz_update_report.shard_square */
} mz_update_step;

typedef struct mz_update mz_update;

/* pool: threads of CPUs; its size may change between runs. On a device an own lane is opened there. The vectors may still be empty:
 * mz_update_changed tells when they are set. */
mz_status mz_update_create(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                           const mz_update_vectors *vectors, mz_pool *pool);
void mz_update_free(mz_update *update);
/* Return the bytes that create takes beside the vectors, and that are moved; and those that each thread takes when it first works: its
 * tape. */
mz_lane_bytes mz_update_bytes(const mz_lane *where, const mz_model *model, const mz_update_settings *settings);
mz_status mz_update_thread_bytes(const mz_lane *where, const mz_model *model, const mz_update_settings *settings, double *bytes);

/* The vectors were set from outside. */
mz_status mz_update_changed(mz_update *update);
/* One update; optimizer->steps counts it. A loss or norm that is not finite is no failure: the report says it, and nothing changed. */
mz_status mz_update_run(mz_update *update, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report);
/* Brings weights and average to the host's vectors; moments: these, too. */
mz_status mz_update_fetch(mz_update *update, bool moments);
/* The loss of the first shard's rows with the present weights; nothing is learned. */
mz_status mz_update_probe(mz_update *update, const mz_update_rows *rows, double *loss);

/* For backends: the functions behind these; `mz_update` is what theirs begins with. */
struct mz_updater {
  mz_status (*create)(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                      const mz_update_vectors *vectors, mz_pool *pool);
  void (*free)(mz_update *update);
  mz_lane_bytes (*bytes)(const mz_model *model, const mz_update_settings *settings);
  mz_status (*changed)(mz_update *update);
  mz_status (*run)(mz_update *update, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report);
  mz_status (*fetch)(mz_update *update, bool moments); /* NULL: the vectors are the host's */
  mz_status (*probe)(mz_update *update, const mz_update_rows *rows, double *loss);
};
struct mz_update {
  const mz_updater *updater;
};
/* Records the pass over a shard and its losses, for a backend to plan. */
mz_status mz_update_record(mz_tape **out, const mz_lane *lane, const mz_model *model, const mz_update_settings *settings,
                           mz_loss *loss);
