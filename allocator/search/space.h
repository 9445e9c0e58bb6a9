/* The plans that a pipeline can have, as points of a grid: one axis for each knob that can move, of its steps in order. A value
 * that is no step, in the plan a search begins with, is one there. Knobs that pack stores stay: what that costs no model knows. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "base/maths/rng.h"

enum { MZ_AXIS_MAX = 80 }; /* steps: 64 powers of two and what the start adds, or the devices */

typedef struct mz_space {
  const mz_pipeline *pipeline;
  mz_plan start; /* of knobs that stay, and of steps it adds */
  int axes, knob[MZ_PLAN_KNOBS_MAX], count[MZ_PLAN_KNOBS_MAX];
  int64_t values[MZ_PLAN_KNOBS_MAX][MZ_AXIS_MAX];
} mz_space;

/* A step on every axis. */
typedef struct mz_point {
  int16_t at[MZ_PLAN_KNOBS_MAX];
} mz_point;

void mz_space_init(mz_space *space, const mz_pipeline *pipeline, const mz_plan *start);
int64_t mz_space_plans(const mz_space *space); /* INT64_MAX: that many or more */
mz_plan mz_space_plan(const mz_space *space, const mz_point *point);
mz_point mz_space_point(const mz_space *space, const mz_plan *plan); /* the nearest step on each axis */
mz_point mz_space_draw(const mz_space *space, mz_rng *rng);          /* every point alike */
/* The next point in lexicographic order; false after the last. Begins with a zeroed one. */
bool mz_space_next(const mz_space *space, mz_point *point);
