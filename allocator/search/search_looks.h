/* One search's looks at plans: a memo of what was evaluated, so that a plan costs once; what may not be; the best ones. For the files
 * of this folder. */
#pragma once
#include "allocator/search/search.h"
#include "base/maths/rng.h"

enum { MZ_LOOK_PLACES = 8192 }; /* a power of two, several times the evaluations */

typedef struct mz_looks {
  const mz_search_options *options;
  mz_search_result *result;
  mz_space space;
  int budget;
  uint64_t keys[MZ_LOOK_PLACES]; /* hashes of points; 0: free */
  float energies[MZ_LOOK_PLACES];
} mz_looks;

void mz_looks_init(mz_looks *looks, const mz_search_options *options, mz_search_result *result);
/* The energy of a plan, without memo or budget; INFINITY: refused. */
double mz_looks_evaluate(mz_looks *looks, const mz_point *point);
/* The energy of a plan; INFINITY: refused, or the budget is spent and it was not seen before. */
double mz_looks_at(mz_looks *looks, const mz_point *point);
bool mz_looks_spent(const mz_looks *looks);
