/* How well simulated times of plans agree with measured ones, beside how well those agree with themselves. */
#pragma once
#include "allocator/pipeline/telemetry.h"

typedef struct mz_agreed_plan {
  mz_plan plan;
  double measured_s;    /* median over the measurements */
  int measurements;     /* ≥ 1 */
  double even_s, odd_s; /* medians of every other one, in order; NAN: there is one only */
  double simulated_s;   /* filled in by the caller */
} mz_agreed_plan;

typedef struct mz_agreement {
  mz_agreed_plan *plans;
  int count;
} mz_agreement;

/* Gathers what was measured of every plan, in order. MZ_E_MEMORY. */
mz_status mz_agreement_of(mz_agreement *out, const mz_pipeline *pipeline, const mz_observation *seen, int count);
void mz_agreement_free(mz_agreement *agreement);
/* Once simulated_s is there: the members that mz_simulated_against names, but for "env" and "machine_simulated". cJSON_Delete. */
mz_status mz_agreement_json(const mz_agreement *agreement, const mz_pipeline *pipeline, cJSON **out);
