/* Is it learning, and if not, why: a few numbers on the model itself, each with a warning in plain language. */
#pragma once
#include "muzero/training/learner.h"
#include "muzero/trainer.h"

/* Sets of the phase: value_bias (mean predicted − target), value_correlation, latent_spread, clamped_targets, model_error (policy + value
 * cross entropy after K imagined steps over that at step 0), of its evaluation eval_value_bias and eval_value_correlation, and `warning`
 * (the gravest, or NULL). NAN without updates, or without an evaluation. */
void mz_diagnose(mz_phase *phase, const mz_settings *settings, const mz_learning_stats *stats);
