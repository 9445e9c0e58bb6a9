/* What a comparison's summary says in words beside its claims: whether arms learned alike, how far one differs from its twin, what this
 * machine leaves to adapt, who missed the target. */
#pragma once
#include "base/maths/statistics.h"
#include "muzero/compare/series.h"

/* Adds "sentences" and "same_digest" to the summary `o`. count: of the arms, the twin included; noise: the ratio of an arm to its twin;
 * noise_log: its distance from 1 as a logarithm, INFINITY: not known. */
void mz_sentences_add(cJSON *o, const mz_series *series, const mz_arm *arms, int count, const mz_interval *noise,
                      double noise_log);
