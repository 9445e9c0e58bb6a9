/* Fresh searches of stored positions with the target network (MuZero Reanalyze; Schrittwieser et al. 2021). One per worker. */
#pragma once
#include "selfplay/search/network_search.h"

typedef struct mz_reanalyze mz_reanalyze;
mz_status mz_reanalyze_create(mz_reanalyze **out, const mz_search_settings *search, const mz_spec *spec, const mz_model *model,
                              const mz_lane *where, double discount, int slots);
void mz_reanalyze_free(mz_reanalyze *reanalyze);
/* Bytes that create takes. */
mz_status mz_reanalyze_bytes(const mz_search_settings *search, const mz_spec *spec, const mz_model *model, const mz_lane *where,
                             int slots, double *bytes);
/* n stored observations with legal masks [n][actions] → policies [n][actions] and root values [n]. Root noise i comes from the
 * stream (seed, MZ_RNG_REANALYZE, update, key[i] + 2^32). */
mz_status mz_reanalyze_search(mz_reanalyze *reanalyze, const mz_prepared *weights, uint64_t seed, uint32_t update, int n,
                              const void *observations, const uint8_t *legal, const uint32_t *key, float *policies,
                              float *values);
/* Network values only. */
mz_status mz_reanalyze_evaluate(mz_reanalyze *reanalyze, const mz_prepared *weights, int n, const void *observations,
                                float *values);
