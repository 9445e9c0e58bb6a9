/* Searching the plans of a pipeline for the one of least energy: the logarithm of predicted seconds, or of their price, per unit of
 * work. Three ways with one question and one answer: simulated annealing (anneal.c), random draws (what annealing has to beat) and
 * all plans (what it is measured by). Deterministic: the same question has the same answer, to the bit. Takes no memory of its own. */
#pragma once
#include "allocator/search/space.h"

enum { MZ_SEARCH_KEPT_MAX = 16, MZ_SEARCH_TRACE_MAX = 256, MZ_SEARCH_EVALUATIONS_MAX = 2000 };

typedef struct mz_search_options {
  const mz_pipeline *pipeline;
  const mz_bounds *bounds; /* plans that break them are refused, before they cost anything */
  mz_plan start;           /* may be refused itself */
  uint64_t seed;
  int evaluations; /* different plans at the most; 0: a tenth of the space, at least 100, at most MZ_SEARCH_EVALUATIONS_MAX */
  double (*energy)(void *context, const mz_plan *plan); /* not finite: refused */
  void *context;
  bool (*tabu)(const void *context, const mz_plan *plan); /* NULL: none; true: refused */
  const void *tabu_context;
} mz_search_options;

typedef struct mz_search_step { /* of the trace: after so many evaluations */
  int evaluated;
  double temperature, energy, best; /* of the plan it stands on; the least so far */
  double accepted;                  /* share of the proposals at this temperature */
} mz_search_step;

typedef enum mz_search_end { MZ_SEARCH_COLD, MZ_SEARCH_SPENT, MZ_SEARCH_ALL, MZ_SEARCH_NOTHING } mz_search_end;

typedef struct mz_search_result {
  int count; /* plans found, at most MZ_SEARCH_KEPT_MAX, different, least energy first */
  struct {
    mz_plan plan;
    double energy;
  } kept[MZ_SEARCH_KEPT_MAX];
  int64_t plans; /* in the space */
  int evaluated; /* different plans */
  int64_t proposals;
  int starts;                 /* of chains */
  double temperature, cooled; /* of the last chain that cooled: its first; its last. 0: none did */
  mz_search_end end;
  mz_search_step trace[MZ_SEARCH_TRACE_MAX];
  int trace_count;
} mz_search_result;

/* Simulated annealing (Kirkpatrick et al. 1983): see anneal.c. A space of no more plans than evaluations is looked at whole. */
void mz_search_anneal(const mz_search_options *options, mz_search_result *out);
/* As many draws, uniform over the grid. */
void mz_search_random(const mz_search_options *options, mz_search_result *out);
/* Every plan, whatever options->evaluations says: for spaces of some 20,000. */
void mz_search_all(const mz_search_options *options, mz_search_result *out);
const char *mz_search_end_name(mz_search_end end); /* "cold", "spent", "all", "nothing" */
