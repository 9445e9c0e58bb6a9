#include "muzero/training/diagnosis.h"
#include <math.h>

/* The same sums as of an evaluation, with targets for what followed. */
static mz_foresight foresight_of_targets(const mz_learning_stats *s) {
  return (mz_foresight){.positions = s->value_rows,
                        .value = s->value,
                        .value_square = s->value_squared,
                        .outcome = s->target,
                        .outcome_square = s->target_squared,
                        .product = s->value_target};
}

/* 0, which a chart shows, where either is always the same. */
static double correlation(const mz_foresight *f) {
  const double known = mz_foresight_correlation(f);
  return f->positions > 0 && isnan(known) ? 0 : known;
}

static double model_error(const mz_learning_stats *s, int unroll) {
  if (s->step_weight[0] == 0 || s->step_weight[unroll] == 0 || s->step_loss[0] == 0) return NAN;
  return s->step_loss[unroll] / s->step_weight[unroll] / (s->step_loss[0] / s->step_weight[0]);
}

/* Far above what came, by more than what came varies: bootstrapped targets keep such values up, and none of the numbers that compare
 * with targets shows it. Nothing is said where all outcomes are the same, as in games that bring nothing yet. */
static bool foresees_too_much(const mz_foresight *f) {
  const double bias = mz_foresight_bias(f), deviation = mz_foresight_deviation(f);
  return deviation > 0 && bias > 3 * deviation && bias > 2 * fabs(f->outcome / (double)f->positions);
}

void mz_diagnose(mz_phase *p, const mz_settings *settings, const mz_learning_stats *s) {
  enum { SETTLED = 500 }; /* updates before which nothing is worth a warning */
  int unroll = (int)settings->loss.unroll;
  p->warning = NULL;
  const mz_foresight targets = foresight_of_targets(s);
  p->value_bias = mz_foresight_bias(&targets);
  p->value_correlation = correlation(&targets);
  p->latent_spread = s->updates ? s->latent_spread / (double)s->updates : NAN;
  p->model_error = model_error(s, unroll);
  p->eval_value_bias = p->evaluated ? mz_foresight_bias(&p->evaluation.values) : NAN;
  p->eval_value_correlation = p->evaluated ? mz_foresight_correlation(&p->evaluation.values) : NAN;
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
  else if (p->evaluated && foresees_too_much(&p->evaluation.values))
    p->warning =
        "values are far above the returns that followed in the evaluation; values that begin at 0 (network.value_start=zero) or "
        "targets that are searched afresh (reanalyze_ratio) may help";
}
