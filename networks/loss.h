/* The K-step unrolled loss on a tape (MuZero equation 1): policy, value and reward cross entropies with row weights.
 * Step 0 has full weight, steps 1 … K are scaled 1/K; the gradient is halved where a latent enters a dynamics step.
 * With consistency, also how far the latent of step k is from the representation of what was observed there, which does not learn
 * from it (Ye et al. 2021, EfficientZero, section 4.1): latents scaled alike, or their projections (model.h), whose mean squared
 * difference is 2 − 2 cos.
 * A model that tells turns has one more cross entropy for steps 1 … K: whether another player moves there than at step 0.
 * Row weights carry importance weight, mask and 1/batch, so that shards of a batch simply add. */
#pragma once
#include "networks/model/model.h"

typedef struct mz_loss_settings {
  int64_t unroll; /* K */
  double value_weight, reward_weight, policy_weight, consistency_weight;
} mz_loss_settings;
extern const mz_settings_table mz_loss_table; /* keys unroll, loss.value_weight … */

enum { MZ_UNROLL_MAX = 16 };

/* Steps whose observations it needs, from 0 on: 1, or K + 1. */
int mz_loss_observed(const mz_loss_settings *settings);

typedef struct mz_loss { /* where the inputs and results of step k are on the tape */
  int unroll;
  mz_value obs;
  mz_value next_obs[MZ_UNROLL_MAX + 1];    /* steps 1 … with consistency, else −1 */
  mz_value next_weight[MZ_UNROLL_MAX + 1]; /* likewise; rows × 1 */
  int action[MZ_UNROLL_MAX + 1];           /* index inputs; [0] unused */
  mz_value policy_target[MZ_UNROLL_MAX + 1], value_target[MZ_UNROLL_MAX + 1], reward_target[MZ_UNROLL_MAX + 1];
  mz_value policy_weight[MZ_UNROLL_MAX + 1], value_weight[MZ_UNROLL_MAX + 1], reward_weight[MZ_UNROLL_MAX + 1]; /* rows × 1 */
  mz_value turn_target[MZ_UNROLL_MAX + 1], turn_weight[MZ_UNROLL_MAX + 1]; /* −1 where the model tells no turns, and at step 0 */
  mz_value policy_loss[MZ_UNROLL_MAX + 1], value_loss[MZ_UNROLL_MAX + 1],
      reward_loss[MZ_UNROLL_MAX + 1];      /* rows × 1, unweighted */
  mz_model_heads heads[MZ_UNROLL_MAX + 1]; /* reward entries at 0 are −1 */
} mz_loss;

/* Loss nodes of a pass at the most: policy and value at step 0; these, reward, turn and consistency at every other step. */
enum { MZ_LOSSES_MAX = 2 + 5 * MZ_UNROLL_MAX };
/* Returns the number of loss nodes that mz_loss_build records. */
int mz_loss_count(const mz_model *model, const mz_loss_settings *settings);

/* Records the whole loss on an empty tape (not yet planned). */
void mz_loss_build(mz_loss *loss, const mz_model *model, const mz_loss_settings *settings, mz_tape *tape);

/* Returns the scalars at the support's ends, a ten-thousandth of its span further out, so that rounding does not lie beyond them. */
void mz_support_ends(const mz_support *support, float *low, float *high);
/* Two-hot over the support; scalars are transformed (if the support says so) and clamped first. out: bins entries. */
void mz_two_hot(const mz_support *support, float scalar, float *out);
/* h⁻¹ of the mean of a categorical given as logits (what MZ_OP_EXPECTATION computes), bit for bit the same. */
float mz_support_expectation(const mz_support *support, const float *logits);
float mz_value_transform(float x);         /* h */
float mz_value_transform_inverse(float x); /* h⁻¹ */
