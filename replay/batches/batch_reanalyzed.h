/* Fresh policies and values for those rows of a batch that are reanalyzed (MuZero Reanalyze, Schrittwieser et al. 2021): which
 * states need them, the calls that get them, and where they are. Internal to this room. */
#pragma once
#include "replay/batches/batch.h"
#include "replay/batches/targets.h"
#include "replay/storage/row_reader.h"

typedef struct mz_batch_reanalyzed {
  int rows, unroll, actions;
  size_t obs_bytes;
  int searches, evaluations; /* evaluations: those that wait */
  int32_t *search;           /* [rows][K+1]: which search has the policy of that step; −1: none */
  int32_t *row;       /* [rows]: where in `values` those of its states begin, the drawn one first; −1: the stored ones hold */
  uint8_t *searched;  /* observations [rows × (K+1)][obs_bytes] */
  uint8_t *evaluated; /* likewise, of evaluations that wait */
  uint8_t *legal;     /* [rows × (K+1)][actions] */
  uint32_t *key;      /* [rows × (K+1)] */
  float *policies;    /* [searches][actions] */
  int32_t *place;     /* of evaluations that wait: where in `values` they go */
  float *found;       /* [rows × (K+1)]: values as a call returns them */
  float *values;      /* what each reanalyzed row's windows take, row by row; 0 where they take nothing */
  int used, capacity; /* of values */
  void *block;
} mz_batch_reanalyzed;

mz_status mz_batch_reanalyzed_init(mz_batch_reanalyzed *reanalyzed, const mz_spec *spec, int rows, int unroll);
void mz_batch_reanalyzed_deinit(mz_batch_reanalyzed *reanalyzed);
/* Bytes that it takes at the most, when no row reads more than `states` states. */
double mz_batch_reanalyzed_bytes(const mz_spec *spec, int rows, int unroll, int states);

/* Row i is chosen by mz_stream_reanalyzed_row; `span` of its moves is read, with all observations. */
mz_status mz_batch_reanalyzed_fill(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, mz_row_reader *reader,
                                   const mz_span *span, const mz_draw *draws, uint32_t update);
/* [actions], or NULL: the stored one holds. */
const float *mz_batch_reanalyzed_policy(const mz_batch_reanalyzed *reanalyzed, int row, int step);
/* Values for the target of a step, from its state on, or NULL: the stored ones hold. */
const float *mz_batch_reanalyzed_values(const mz_batch_reanalyzed *reanalyzed, int row, int step);
