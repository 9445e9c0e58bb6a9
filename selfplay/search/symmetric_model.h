/* A model whose first answers are means over the symmetries of a board. A network is not symmetric: what it has learned of a position is
 * surer in some of its images than in others, and the mean over all of them is surer than any (as in AlphaGo Zero's evaluations, Silver et
 * al. 2017, Methods). Policy logits and values are means; the latent, and all that is searched from it, is of the position as it stands.
 * Belongs to one thread. */
#pragma once
#include "base/spec.h"
#include "base/status.h"
#include "selfplay/search/search_model.h"

typedef struct mz_symmetric_model mz_symmetric_model;
/* Asks `model`, whose context stays where it is; `rows` at a time. */
mz_status mz_symmetric_model_create(mz_symmetric_model **out, const mz_search_model *model, const mz_spec *spec, int rows);
void mz_symmetric_model_free(mz_symmetric_model *m); /* NULL is fine */
/* Bytes that create takes. */
double mz_symmetric_model_bytes(const mz_spec *spec, int rows);
/* The model to search with; it lives as long as `m`. */
mz_search_model mz_search_model_of_symmetric(mz_symmetric_model *m);
