/* From cells to claims: totals of each arm, ratios between arms with intervals, and what may be said.
 *
 * Arms of exact settings share a trajectory: blocks of equal rounds are paired and resampled within seeds, in runs. Otherwise arms are
 * paired by seed. A metric's ratio is a over b: below 1, a takes less. A claim needs 14 paired blocks (10 seeds otherwise), a 95 %
 * bootstrap interval without 1 (10,000 resamples), a p-value below 0.05 after Holm's correction over all pairs and metrics, and more
 * difference than the twin (A/A) showed. Arms that did not reach the target are censored: their times count as lower bounds and no claim
 * is made in their favour. */
#pragma once
#include "base/json/json.h"
#include "muzero/compare/arm.h"

/* plan: as in plan.json; seeds: array of {"seed", "cells": [{"arm", "run", "crashed", "blocks"}]}, cells in the order of the
 * arms, the last being the first one's twin. *out: what compare.json holds. */
mz_status mz_compare_summarise(const cJSON *plan, const cJSON *seeds, const mz_arm *arms, int count, cJSON **out);
