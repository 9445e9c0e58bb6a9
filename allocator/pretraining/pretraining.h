/* Trains the networks that predictors bring along (predictors/pretrained.h) on drawn situations: mean squared error, Adam, a held-out
 * part of the situations by which each member keeps its best weights and stops. Deterministic, whatever the number of threads. */
#pragma once
#include "allocator/pretraining/lesson_book.h"
#include "base/threads/pool.h"

typedef struct mz_pretraining_options {
  mz_practice_options practice;
  int exercises, epochs; /* situations; passes over them at the most */
  mz_pool *pool;
  void *context;
  void (*progress)(void *context, const char *what); /* a sentence; NULL: silent */
} mz_pretraining_options;

typedef struct mz_pretraining_result {
  uint8_t *bytes; /* the file; free() */
  size_t size;
  int samples, held_out;
  double analytic_error; /* of T_ana, as the others */
  struct {
    double error[MZ_PRETRAINED_MEMBERS]; /* on held-out situations: of log ratios between plans of one, standard deviation */
    int epochs[MZ_PRETRAINED_MEMBERS];   /* until the best */
  } kinds[MZ_ENSEMBLE_KINDS];
} mz_pretraining_result;

/* MZ_E_CONFIG, MZ_E_MEMORY. */
mz_status mz_pretrain(const mz_pretraining_options *options, mz_pretraining_result *out);
