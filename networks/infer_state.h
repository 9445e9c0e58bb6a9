/* Inference from inside, for searches that run on the lane's device: its tapes, their inputs and results, and the pool. */
#pragma once
#include "networks/infer.h"
#include "networks/tape/tape.h"

/* A recorded network with its scalar heads. */
typedef struct mz_infer_pass {
  mz_tape *tape;
  mz_value input;
  int action; /* index input; recurrent alone */
  mz_model_heads heads;
  mz_value value, reward; /* expectations, of one column; reward: recurrent alone */
  mz_value turn;          /* likewise, of models that tell turns */
} mz_infer_pass;

struct mz_infer {
  const mz_model *model;
  mz_lane lane;
  int rows_max, latents;
  mz_infer_pass initial, recurrent;
  const void *weights;     /* that passes read; NULL before the first mz_infer_set_weights */
  void *own_weights;       /* on a device passes read them here, always the same place */
  uint64_t weights_number; /* that are there */
  float *pool;             /* [latents][stride], in the lane's memory */
};
