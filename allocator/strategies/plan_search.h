/* Searches the plans of a situation for what its predictions take to be fastest, or cheapest (outlook.h). Pure functions. */
#pragma once
#include "allocator/search/search.h"
#include "allocator/strategies/strategy.h"

/* By allocate.search, from the plan in force; energies are logarithms of an outlook's cost. */
void mz_plan_search(const mz_situation *situation, mz_search_result *out);
/* Returns the index in `kept` of the plan that reserves least, of those that count as equally good and as better than `base_cost`;
 * −1: none is better. */
int mz_plan_search_choose(const mz_situation *situation, const mz_search_result *found, double base_cost);
