/* Fresh policies and bootstrap values for those rows of a batch that are reanalyzed (MuZero Reanalyze, Schrittwieser et al.
 * 2021): which states need them, the two calls that get them, and where they are. Internal to this room. */
#pragma once
#include "replay/batches/batch.h"
#include "replay/storage/row_reader.h"

typedef struct mz_batch_reanalyzed {
  int rows, unroll, actions;
  int searches, evaluations;
  int32_t *search;    /* [rows][K+1]: which search has the policy of that step; −1: none */
  int32_t *bootstrap; /* [rows][K+1]: which of `values` ends the window of that step; −1: the stored one does */
  uint8_t *searched;  /* observations [searches][obs_bytes] */
  uint8_t *evaluated; /* observations [evaluations][obs_bytes] */
  uint8_t *legal;     /* [searches][actions] */
  uint32_t *key;      /* [searches] */
  float *policies;    /* [searches][actions] */
  float *values;      /* [searches], then [evaluations] from rows × (K+1) on */
  void *block;
} mz_batch_reanalyzed;

mz_status mz_batch_reanalyzed_init(mz_batch_reanalyzed *reanalyzed, const mz_spec *spec, int rows, int unroll);
void mz_batch_reanalyzed_deinit(mz_batch_reanalyzed *reanalyzed);
double mz_batch_reanalyzed_bytes(const mz_spec *spec, int rows, int unroll); /* that init takes */

/* Row i is chosen by mz_stream_reanalyzed_row; `span` of its moves is read, with all observations. */
mz_status mz_batch_reanalyzed_fill(mz_batch_reanalyzed *reanalyzed, const mz_batch_source *source, mz_row_reader *reader,
                                   const mz_span *span, const mz_draw *draws, uint32_t update);
/* [actions], or NULL: the stored one holds. */
const float *mz_batch_reanalyzed_policy(const mz_batch_reanalyzed *reanalyzed, int row, int step);
/* NULL: the stored one holds. */
const float *mz_batch_reanalyzed_bootstrap(const mz_batch_reanalyzed *reanalyzed, int row, int step);
