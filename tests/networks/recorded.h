/* A whole unrolled loss, recorded in the reference, which reads and writes doubles. */
#pragma once
#include "networks/loss.h"
#include "networks/tape/tape_state.h"
#include "tests/networks/check.h"
#include <stdlib.h>

typedef struct recorded {
  mz_tape *tape;
  mz_loss loss;
  double *values, *gradients; /* of the parameters */
} recorded;

static inline recorded recorded_create(const mz_model *model, const mz_loss_settings *settings, int rows, uint32_t seed) {
  recorded r = {0};
  float *weights = NULL;
  const size_t size = (size_t)model->params.size;
  check(mz_tape_create(&r.tape, &(mz_lane){.backend = &mz_backend_ref}, &model->params, rows, true));
  mz_loss_build(&r.loss, model, settings, r.tape);
  check(mz_tape_plan(r.tape));
  check(mz_alloc(&weights, size, sizeof *weights));
  check(mz_alloc(&r.values, size, sizeof *r.values));
  check(mz_alloc(&r.gradients, size, sizeof *r.gradients));
  mz_params_init(&model->params, seed, weights);
  for (size_t i = 0; i < size; i++) r.values[i] = weights[i];
  free(weights);
  return r;
}

static inline void recorded_free(recorded *r) {
  mz_tape_free(r->tape);
  free(r->values);
  free(r->gradients);
}
