/* Networks that predict the time of plans of pipelines they have never seen, trained beforehand on many (pretraining.h): an ensemble of
 * members, which differ in what they began with, for each kind of prediction. They come as a file in the safetensors format, of which one
 * is part of the program. Handles are used by one thread at a time. */
#pragma once
#include "allocator/graph/graph_network.h"

enum { MZ_PRETRAINED_MEMBERS = 5 };

typedef enum mz_ensemble_kind {
  MZ_ENSEMBLE_MLP,      /* log(time / T_ana), from nodes alone */
  MZ_ENSEMBLE_GRAPH,    /* log time in seconds per unit of work, from a graph in which nothing is explained (the patent's form) */
  MZ_ENSEMBLE_RESIDUAL, /* log(time / T_ana), from a graph in which T_ana's parts are features */
  MZ_ENSEMBLE_KINDS
} mz_ensemble_kind;

mz_graph_form mz_ensemble_form(mz_ensemble_kind kind);
bool mz_ensemble_explained(
    mz_ensemble_kind kind); /* mz_graph_situation's member: T_ana's parts are features, and predictions are over it */
const char *mz_ensemble_name(mz_ensemble_kind kind); /* the predictor's: "mlp", … */

typedef struct mz_ensemble {
  mz_graph_scaling scaling;
  const mz_params *params;
  float *members[MZ_PRETRAINED_MEMBERS]; /* params->size each */
} mz_ensemble;

/* An ensemble of each kind, with room for all members. It stays where it is: ensembles point to their parameters. */
typedef struct mz_ensembles {
  mz_params params[MZ_FORM_ATTENTION + 1]; /* by form */
  mz_ensemble items[MZ_ENSEMBLE_KINDS];
} mz_ensembles;

/* Scalings and weights are 0. MZ_E_MEMORY: deinit it all the same. */
mz_status mz_ensembles_init(mz_ensembles *ensembles);
void mz_ensembles_deinit(mz_ensembles *ensembles);

typedef struct mz_pretrained mz_pretrained;

/* From a file's bytes, which may go afterwards. name: for messages. MZ_E_CONFIG says what is wrong: it is no such file, one of another
 * version, or for other features (by name); MZ_E_MEMORY. */
mz_status mz_pretrained_parse(mz_pretrained **out, const uint8_t *bytes, size_t size, const char *name);
/* The one that is part of the program. */
mz_status mz_pretrained_bundled(mz_pretrained **out);
/* path: a file; "": the one that is part of the program. Also MZ_E_IO. */
mz_status mz_pretrained_open(mz_pretrained **out, const char *path);
/* For whom predictions come without it, too: what cannot be opened costs a warning, and is NULL. path: allocate.pretrained. */
mz_pretrained *mz_pretrained_open_optional(const char *path);
void mz_pretrained_free(mz_pretrained *pretrained);
/* The file's bytes, as long as the handle lives, and their XXH64. */
const uint8_t *mz_pretrained_bytes(const mz_pretrained *pretrained, size_t *size);
uint64_t mz_pretrained_digest(const mz_pretrained *pretrained);

/* Keeps the file in a run's folder, as predictors/DIGEST.safetensors, where a ledger that names the digest is replayed from; one that is
 * there already is left alone. MZ_E_IO. */
mz_status mz_pretrained_keep(const mz_pretrained *pretrained, const char *run);
/* The one of that digest: the program's own, or what the run's folder keeps. MZ_E_IO: there is none; MZ_E_CONFIG: it is damaged. */
mz_status mz_pretrained_recall(mz_pretrained **out, const char *run, uint64_t digest);

/* Makes ready for graphs of the pipeline under any plan. MZ_E_MEMORY. */
mz_status mz_pretrained_prepare(mz_pretrained *pretrained, const mz_pipeline *pipeline);

typedef struct mz_ensemble_output {
  double mean, spread; /* over members; spread: their standard deviation */
} mz_ensemble_output;
/* members: 1 … MZ_PRETRAINED_MEMBERS, the first so many are asked. The graph's pipeline was prepared for. */
mz_ensemble_output mz_pretrained_ask(mz_pretrained *pretrained, mz_ensemble_kind kind, const mz_graph *graph, int members);
/* Tells what the first member of the residual ensemble looks at (mz_graph_tape_attention); out[graph's edges]. */
void mz_pretrained_attention(mz_pretrained *pretrained, const mz_graph *graph, float *out);

/* Writes a file of trained ensembles, weights in bfloat16; about: one sentence, kept in it. *bytes: free(). MZ_E_MEMORY. */
mz_status mz_pretrained_write(const mz_ensembles *ensembles, const char *about, uint8_t **bytes, size_t *size);
