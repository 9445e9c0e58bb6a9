#include "networks/loss.h"
#include "networks/math/expectation.h"
#include "networks/math/two_hot.h"
#include "networks/math/value.h"
#include <math.h>

static const mz_setting rows[] = {
    MZ_SETTING(mz_loss_settings, unroll, "unroll_steps", MZ_INT, MZ_ALGORITHMIC, 1, MZ_UNROLL_MAX, "5", "steps",
               "K: dynamics steps that a training row is unrolled", .common = true),
    MZ_SETTING(mz_loss_settings, value_weight, "loss.value_weight", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "0.25", "",
               "of the value's cross entropy"),
    MZ_SETTING(mz_loss_settings, reward_weight, "loss.reward_weight", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "1", "",
               "of the reward's cross entropy"),
    MZ_SETTING(mz_loss_settings, consistency_weight, "loss.consistency_weight", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "0", "",
               "of the distance between latents that the dynamics reaches and those of what was observed there; 0: none"),
    MZ_SETTING(mz_loss_settings, policy_weight, "loss.policy_weight", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "1", "",
               "of the policy's cross entropy"),
};
const mz_settings_table mz_loss_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};

int mz_loss_observed(const mz_loss_settings *settings) {
  return settings->consistency_weight > 0 ? (int)settings->unroll + 1 : 1;
}

int mz_loss_count(const mz_model *model, const mz_loss_settings *settings) {
  const int turn = model->tells_turns, consistency = settings->consistency_weight > 0;
  return 2 + (int)settings->unroll * (3 + turn + consistency);
}

/* Inputs for one head's targets and row weights, and its loss. */
static mz_value head_loss(mz_tape *tape, mz_value logits, int columns, double factor, mz_value *target, mz_value *weight) {
  *target = mz_tape_input(tape, columns);
  *weight = mz_tape_input(tape, 1);
  return mz_tape_softmax_xent(tape, logits, *target, *weight, (float)factor);
}

void mz_loss_build(mz_loss *loss, const mz_model *model, const mz_loss_settings *settings, mz_tape *tape) {
  MZ_ASSERT(settings->unroll >= 1 && settings->unroll <= MZ_UNROLL_MAX);
  const int unroll = (int)settings->unroll;
  *loss = (mz_loss){.unroll = unroll};
  loss->obs = mz_tape_input(tape, model->obs_size);
  for (int k = 0; k <= unroll; k++) {
    if (k == 0) {
      loss->action[k] = -1;
      loss->heads[k] = mz_model_initial(model, tape, loss->obs);
      loss->reward_target[k] = loss->reward_weight[k] = loss->reward_loss[k] = -1;
    } else {
      loss->action[k] = mz_tape_index_input(tape);
      const mz_value latent = mz_tape_scale_gradient(tape, loss->heads[k - 1].latent, 0.5f);
      loss->heads[k] = mz_model_recurrent(model, tape, latent, loss->action[k]);
    }
    loss->next_obs[k] = loss->next_weight[k] = -1;
    const mz_model_heads *heads = &loss->heads[k];
    const double step_weight = k == 0 ? 1.0 : 1.0 / unroll;
    if (k > 0) {
      loss->reward_loss[k] = head_loss(tape, heads->reward, model->reward.bins, step_weight * settings->reward_weight,
                                       &loss->reward_target[k], &loss->reward_weight[k]);
    }
    loss->turn_target[k] = loss->turn_weight[k] = -1;
    if (k > 0 && model->tells_turns)
      head_loss(tape, heads->turn, mz_model_turn_support.bins, step_weight, &loss->turn_target[k], &loss->turn_weight[k]);
    loss->policy_loss[k] = head_loss(tape, heads->policy, model->actions, step_weight * settings->policy_weight,
                                     &loss->policy_target[k], &loss->policy_weight[k]);
    loss->value_loss[k] = head_loss(tape, heads->value, model->value.bins, step_weight * settings->value_weight,
                                    &loss->value_target[k], &loss->value_weight[k]);
    if (k > 0 && settings->consistency_weight > 0) {
      loss->next_obs[k] = mz_tape_input(tape, model->obs_size);
      const mz_value foretold = mz_model_predict_projection(model, tape, heads->latent);
      const mz_value seen = mz_model_project(model, tape, mz_model_represent(model, tape, loss->next_obs[k]));
      loss->next_weight[k] = mz_tape_input(tape, 1);
      mz_tape_mse(tape, foretold, seen, loss->next_weight[k], (float)(step_weight * settings->consistency_weight));
    }
  }
}

float mz_value_transform(float x) { return mz_h_inline(x); }

float mz_value_transform_inverse(float x) { return mz_h_inverse_inline(x); }

void mz_support_ends(const mz_support *support, float *low, float *high) {
  const float slack = 1e-4f * (support->max - support->min);
  *low = support->transform ? mz_h_inverse_inline(support->min - slack) : support->min - slack;
  *high = support->transform ? mz_h_inverse_inline(support->max + slack) : support->max + slack;
}

void mz_two_hot(const mz_support *support, float scalar, float *out) {
  const mz_two_hot_place place = mz_two_hot_inline(support->min, support->max, support->bins, support->transform, scalar);
  for (int i = 0; i < support->bins; i++) out[i] = 0.0f;
  out[place.low] = 1.0f - place.above;
  if (place.low + 1 < support->bins) out[place.low + 1] = place.above;
}

float mz_support_expectation(const mz_support *support, const float *logits) {
  return mz_expectation_inline(support->min, support->max, support->bins, support->transform, logits);
}
