/* The plans that a profile measures: the default twice (how much it differs from itself is the noise), the plain one, and drawn ones or
 * a grid. */
#pragma once
#include "allocator/pipeline/pipeline.h"

enum { MZ_PROFILE_PLANS_MAX = 512, MZ_PROFILE_DEFAULT = 0, MZ_PROFILE_TWIN, MZ_PROFILE_PLAIN, MZ_PROFILE_DRAWN };

typedef struct mz_profile_plan {
  mz_plan plan;
  const char *source; /* "default", "plain", "hypercube", "random", "grid" */
} mz_profile_plan;

/* Fills out[MZ_PROFILE_PLANS_MAX] and *count. drawn: plans by a Latin hypercube over the knobs that can move, and a quarter of them
 * uniform; grid: instead of those every combination of "cpu_actor=1,2,4;mcts_storage_size=1,8,64", NULL: none. MZ_E_CONFIG: what is
 * wrong with the grid. */
mz_status mz_profile_plans(const mz_pipeline *pipeline, const mz_plan *usual, uint64_t seed, int drawn, const char *grid,
                           mz_profile_plan *out, int *count);

/* Hands the parts of a grid over, "name=v,v" of "name=v,v;name=v", in order. MZ_E_CONFIG: one is too long; fails as `take` does. */
mz_status mz_grid_read(const char *grid, mz_status (*take)(void *context, const char *part), void *context);
