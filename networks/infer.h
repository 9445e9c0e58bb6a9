/* "Evaluate these positions": initial and recurrent inference in the caller's words, over a pool of latents that the caller
 * addresses by index. One mz_infer belongs to one thread; weights are shared, immutable, and outlive the call.
 * Row results do not depend on the batch they are computed in, bit for bit. */
#pragma once
#include "networks/model/model.h"

typedef struct mz_infer mz_infer;

/* rows_max: the largest batch that one internal pass runs; larger requests are cut into tiles. */
mz_status mz_infer_create(mz_infer **out, const mz_model *model, const mz_backend *backend, int rows_max);
void mz_infer_free(mz_infer *infer);
/* Bytes that create takes. */
mz_status mz_infer_bytes(const mz_model *model, const mz_backend *backend, int rows_max, double *bytes);
/* Weights as inference reads them: batch norm folded into convolutions, convolutions packed. Made once per set of weights for any
 * number of mz_infer on this backend; out: [params.packed], not `values`. Where no parameter is a convolution's they are the
 * values themselves, which then need no preparing. */
mz_status mz_infer_prepare(const mz_model *model, const mz_backend *backend, const float *values, float *out);
/* The prepared weights later calls use. Cheap; call it before every search. */
void mz_infer_set_weights(mz_infer *infer, const float *prepared);
/* Floats from one latent of a pool to the next (≥ model->latent, padded). */
int mz_infer_latent_stride(const mz_infer *infer);

/* n observations as the environment stores them, one behind the other → latents pool[out_latent[i]·stride …], policy logits
 * [n][actions] dense, values [n] (scalars, h⁻¹ applied). */
void mz_infer_initial(mz_infer *infer, int n, const void *observations, mz_obs_kind kind, float *pool, const int32_t *out_latent,
                      float *policy, float *value);
/* From pool[in_latent[i]] by action[i] to pool[out_latent[i]]; rewards and values [n], policy logits [n][actions] dense. */
void mz_infer_recurrent(mz_infer *infer, int n, float *pool, const int32_t *in_latent, const int32_t *action,
                        const int32_t *out_latent, float *policy, float *value, float *reward);
