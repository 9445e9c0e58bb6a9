/* What a predictor learns from: measured plans of a pipeline, brought to one level of cost (model/drift.h), a lesson for each plan.
 * Plain structs; what they point to stays alive as long as they do. */
#pragma once
#include "allocator/model/drift.h"
#include "allocator/pipeline/telemetry.h"

typedef struct mz_lesson {
  mz_plan plan;
  double log_s; /* mean log of seconds per unit, at the level of the newest observation */
  double sigma; /* of that mean: noise alone */
  double noise; /* of one observation */
  int windows;
} mz_lesson;

typedef struct mz_pretrained mz_pretrained;

typedef struct mz_lessons {
  const mz_pipeline *pipeline;
  mz_pretrained *pretrained; /* networks that learned from other pipelines (pretrained.h), prepared for this one; NULL: none */
  double cores;              /* that all stages share */
  const mz_observation *observations; /* of those plans, oldest first; T_ana reads their stages */
  int observation_count;
  int count; /* plans, the one measured last first */
  mz_lesson items[MZ_DRIFT_PLANS_MAX];
} mz_lessons;

/* Reads the newest MZ_DRIFT_WINDOWS_MAX observations; those without a time are passed over. */
void mz_lessons_init(mz_lessons *lessons, const mz_pipeline *pipeline, double cores, const mz_observation *observations,
                     int count);
/* All but one plan: copies the observations of the others into `room`, which holds lessons->observation_count. Levels stay as they
 * were: they belong to what is known of the time, not of the plan. */
void mz_lessons_without(mz_lessons *out, const mz_lessons *lessons, int left_out, mz_observation *room);
