/* Twelve workloads, each a comparison of arms with the best fixed plan of a grid: three games, each as its preset has it, with eight
 * times the search, with a heavy learner, and with few games at a time. The best plan is found by `profile` on another seed, which
 * measures its best five once more. Evaluations are left out.
 *
 * DIR/WORKLOAD is the workload's comparison, DIR/WORKLOAD.json the plan that was found and how many rounds an arm trains; DIR/suite.json
 * the summary. An interrupted suite continues where it was. */
#pragma once
#include "muzero/compare/compare.h"

typedef struct mz_suite_options {
  mz_run_options run; /* of every cell, without env, preset and dir */
  const char *arms;
  int seeds;
  const char *dir; /* NULL: runs/suite-… is made up */
  double seconds;  /* that an arm trains with a seed, about */
} mz_suite_options;

/* *summary: {"workloads": [{"name", "env", "rounds", "best": {knob: value}, "noise": [low, high] of the first arm against itself,
 * "arms": [{"arm", "ratio": time over the best fixed plan's, "ci95"}]}], "arms": [{"arm", "mean": geometric mean of the ratios, "worst",
 * "worst_workload"}]}. cJSON_Delete. Errors as mz_compare. */
mz_status mz_suite(const mz_suite_options *options, const mz_compare_watcher *watcher, cJSON **summary, char *dir,
                   size_t dir_size);
