/* Predictors of a plan's seconds per unit of work, from the plans that were measured. All are fitted to the same lessons and asked
 * the same question, so that they can be compared (contest.h) and the best one drives.
 * To add one: a file with one `const mz_predictor`, a line in predictor.c, a test. */
#pragma once
#include "allocator/model/analytic.h"
#include "allocator/predictors/lessons.h"

typedef struct mz_predictor {
  const char *name, *summary, *source;
  bool pretrained;     /* it tells plans apart before any was measured, where lessons have networks (pretrained.h) */
  size_t memory_bytes; /* of a fitted one: plain memory, without pointers into itself */
  /* Anew: `memory` comes zeroed. lessons stay alive while the memory is asked. Few lessons, or none, are no error: what cannot be
   * predicted is NAN. Deterministic. */
  void (*fit)(void *memory, const mz_lessons *lessons);
  /* 90 % interval by the predictor's own means; contest.h measures whether it holds. */
  mz_prediction (*predict)(const void *memory, const mz_plan *plan);
} mz_predictor;

/* Simplest first: of two that predict equally well the earlier one drives. */
extern const mz_predictor mz_predictor_last_value, mz_predictor_nearest, mz_predictor_ridge, mz_predictor_analytic,
    mz_predictor_isotonic, mz_predictor_residual, mz_predictor_mlp, mz_predictor_graph, mz_predictor_graph_residual;
enum { MZ_PREDICTORS_MAX = 12 };
extern const mz_predictor *const mz_predictors[]; /* NULL-terminated */
const char *mz_predictor_name(int index);         /* NULL past the last one */
/* MZ_E_CONFIG naming the nearest. */
mz_status mz_predictor_find(const char *name, const char *where, const mz_predictor **out);
/* By allocate.predictor; *out NULL: "auto", the winner of the contest. */
mz_status mz_predictor_chosen(const char *setting, const mz_predictor **out);
/* Bytes of the one that needs most. */
size_t mz_predictor_memory_most(void);

/* exp(log_s), and 90 % of a normal distribution of the logarithm about it. */
mz_prediction mz_prediction_of(double log_s, double sigma);
