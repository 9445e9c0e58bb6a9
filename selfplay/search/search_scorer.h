/* A search's settings as scoring (score.h) and roots (roots.h) read them, made on the host. */
#pragma once
#include "selfplay/search/roots.h"
#include "selfplay/search/search.h"

/* Tabulates the settings for nodes of up to `visits_max` visits. discount: −γ for players in turn. MZ_E_CONFIG when the bounds of
 * min_max are not in order. */
mz_status mz_scorer_init(mz_scorer *scorer, const mz_search_settings *settings, float discount, int visits_max);
void mz_scorer_deinit(mz_scorer *scorer); /* a zeroed one is fine */
double mz_scorer_bytes(int visits_max);   /* that init takes */

/* Sets what the settings say about roots with so many actions; the arrays stay. */
void mz_roots_configure(mz_roots *roots, const mz_search_settings *settings, int actions);
