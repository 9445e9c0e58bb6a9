#include "muzero/training/diagnosis.h"
#include <math.h>

static double correlation(const mz_learning_stats *s) {
  double n = (double)s->rows;
  double covariance = s->value_target / n - s->value / n * (s->target / n);
  double predicted = s->value_squared / n - s->value / n * (s->value / n),
         target = s->target_squared / n - s->target / n * (s->target / n);
  return predicted > 0 && target > 0 ? covariance / sqrt(predicted * target) : 0;
}

static double model_error(const mz_learning_stats *s, int unroll) {
  if (s->step_weight[0] == 0 || s->step_weight[unroll] == 0 || s->step_loss[0] == 0) return NAN;
  return s->step_loss[unroll] / s->step_weight[unroll] / (s->step_loss[0] / s->step_weight[0]);
}

void mz_diagnose(mz_phase *p, const mz_settings *settings, const mz_learning_stats *s) {
  enum { SETTLED = 500 }; /* updates before which nothing is worth a warning */
  int unroll = (int)settings->loss.unroll;
  p->warning = NULL;
  p->value_bias = s->rows ? (s->value - s->target) / (double)s->rows : NAN;
  p->value_correlation = s->rows ? correlation(s) : NAN;
  p->latent_spread = s->updates ? s->latent_spread / (double)s->updates : NAN;
  p->model_error = model_error(s, unroll);
  p->clamped_targets = s->targets ? (double)s->clamped / (double)s->targets : NAN;
  if (p->counters.updates < SETTLED || s->updates == 0) return;
  double clip = settings->optimizer.gradient_clip;
  if (p->latent_spread < 0.005)
    p->warning = "the latent states hardly differ between positions (collapse); a smaller learning rate or weight decay may help";
  else if (clip > 0 && p->gradient_norm > 20 * clip)
    p->warning = "gradients are clipped to a twentieth or less; the learning rate is probably too high";
  else if (p->policy_entropy < 1e-4)
    p->warning =
        "search always prefers one move by far; self-play explores nothing (more noise or a higher temperature may help)";
  else if (p->model_error > 5)
    p->warning =
        "predictions after K imagined steps are far worse than at the root; the dynamics model does not follow the game yet";
}
