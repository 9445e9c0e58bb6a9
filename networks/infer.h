/* "Evaluate these positions": initial and recurrent inference in the caller's words, over a pool of latents that stays in the memory of
 * the lane's device and that the caller addresses by index. One mz_infer belongs to one thread; weights are shared, immutable, and
 * outlive the call. Row results do not depend on the batch they are computed in, bit for bit. A device's failures are MZ_E_DEVICE. */
#pragma once
#include "networks/prepared.h"

typedef struct mz_infer mz_infer;

/* rows_max: the largest batch that one internal pass runs; larger requests are cut into tiles. latents: the pool's size. */
mz_status mz_infer_create(mz_infer **out, const mz_model *model, const mz_lane *lane, int rows_max, int latents);
void mz_infer_free(mz_infer *infer);
/* Bytes that create takes. */
mz_status mz_infer_bytes(const mz_model *model, const mz_lane *lane, int rows_max, int latents, double *bytes);
/* Returns the bytes that an evaluation of as many rows sends to the lane's memory and fetches from there, at the most. */
double mz_infer_moved(const mz_model *model, int rows);
/* The weights later calls use, prepared for the lane's device. Cheap; call it before every search. */
mz_status mz_infer_set_weights(mz_infer *infer, const mz_prepared *weights);

/* n observations as the environment stores them, one behind the other → latents at pool index out[i], policy logits [n][actions]
 * dense, values [n] (scalars, h⁻¹ applied). */
mz_status mz_infer_initial(mz_infer *infer, int n, const void *observations, mz_obs_kind kind, const int32_t *out, float *policy,
                           float *value);
/* From latent in[i] by action[i] to latent out[i]; rewards and values [n], policy logits [n][actions] dense. */
mz_status mz_infer_recurrent(mz_infer *infer, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                             float *value, float *reward);
/* The same of a model that tells turns (mz_model.tells_turns); turn: [n], the probability that another player moves there than where
 * the unroll began. */
mz_status mz_infer_recurrent_turns(mz_infer *infer, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                   float *policy, float *value, float *reward, float *turn);

/* Floats from one latent to the next (≥ model->latent, padded with zeros); latents first … first+count−1 → [count][stride]. */
int mz_infer_latent_stride(const mz_model *model);
mz_status mz_infer_read_latents(mz_infer *infer, int first, int count, float *latents);
