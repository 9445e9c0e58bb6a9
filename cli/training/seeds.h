/* `train --seeds N`: one run after another, and what they have in common. */
#pragma once
#include "muzero/trainer.h"

/* Seeds options->seed, +1, … in options->dir/seed-S (dir NULL: each in a new directory of its own). The last line has
 * scores[], their median and worst, and the curve of both by phase. A stop ends the running seed, saved, and the rest. */
mz_status mz_seeds_train(const mz_run_options *options, int count, const mz_limits *limits, bool json);
