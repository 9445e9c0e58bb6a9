/* Whether the symmetries that an environment declares are there: a game and its mirror image, played side by side. */
#pragma once
#include "envs/own/repeats.h"

/* *checked: the number of symmetries, besides the identity, for which two starts were found that are images of each other. Games with
 * chance in their steps are left out: *checked is 0. MZ_E_MEMORY. */
mz_status mz_mirrored_check(const mz_repeats *repeats, int *checked);
