/* A strategy proposes the next plan; it is a pure function of the situation and of its own memory (a plain struct that starts
 * zeroed), so that a decision can be replayed. Whether a proposal is tried, kept or undone is not its business: allocator.h.
 * To add one: a file with one `const mz_strategy`, a line in strategy.c, a test. */
#pragma once
#include "allocator/model/analytic.h"
#include "allocator/model/forecast.h"
#include "allocator/pipeline/allocation_settings.h"
#include "allocator/predictors/champion.h"

enum { MZ_CANDIDATES_MAX = 8, MZ_REASON_BYTES = 240, MZ_ASSIGNED_BYTES = 256 };

typedef struct mz_situation {
  const mz_pipeline *pipeline;
  const mz_allocation_settings *settings;
  const mz_bounds *bounds;
  const mz_plan *plan;              /* in force */
  const mz_window *window;          /* that just ended; NULL: nothing has run yet */
  const mz_analytic *model;         /* fitted to all that was seen */
  const mz_champion *champion;      /* NULL: the strategy does not learn */
  const mz_forecaster *utilisation; /* [stage_count] busy / (threads · wall) of each stage */
  const mz_forecaster *cores;       /* CPU seconds per second of the run */
  const mz_forecaster *memory;      /* resident bytes */
  double noise;                     /* relative, of a window's seconds per unit */
  bool explored_enough;             /* exploring has cost its share (budget.h): a proposal that explores would be refused */
  bool (*tabu)(const void *context, const mz_plan *plan); /* was undone lately */
  const void *tabu_context;
} mz_situation;

typedef struct mz_candidate {
  mz_plan plan;
  mz_prediction prediction;
  char why_not[64]; /* "" for the one chosen */
} mz_candidate;

typedef struct mz_proposal {
  bool change;
  mz_plan plan;             /* the proposed one; the present one when !change */
  const char *predictor;    /* "analytic model", "last value" …: what `prediction` comes from */
  mz_prediction prediction; /* of `plan` */
  bool explores;            /* tried for what it may teach: paid from the share of the time that exploring may cost (budget.h) */
  bool demanded; /* asked for by a threshold, not by a predicted gain: the least gain is not asked of it, verification is */
  mz_candidate candidates[MZ_CANDIDATES_MAX]; /* the best that were looked at, best first */
  int candidate_count;
  const char *binding; /* the limit that kept a better plan out: "limits.cpu_max", "knob range", "" */
  char assigned
      [MZ_ASSIGNED_BYTES];      /* how much of each resource the plan was given (balance/assign.h), in words; "": not by that */
  char reason[MZ_REASON_BYTES]; /* a sentence with numbers */
} mz_proposal;

typedef struct mz_strategy {
  const char *name, *summary, *source; /* of the three documents or "baseline" */
  size_t memory_bytes;
  /* settings->… may be looked at by any; `memory` is the strategy's own. */
  void (*propose)(const mz_situation *situation, void *memory, mz_proposal *out);
  bool algorithmic; /* what is learned may depend on it: it chooses batch sizes, too */
  bool learns;      /* a champion is taught what was measured, and predicts in the model's place */
} mz_strategy;

extern const mz_strategy mz_strategy_fixed, mz_strategy_random, mz_strategy_demand, mz_strategy_greedy, mz_strategy_adaptive,
    mz_strategy_static, mz_strategy_staged;
extern const mz_strategy *const mz_strategies[]; /* NULL-terminated */
const char *mz_strategy_name(int index);         /* NULL past the last one */
/* MZ_E_CONFIG naming the nearest. */
mz_status mz_strategy_find(const char *name, const char *where, const mz_strategy **out);
enum { MZ_STRATEGY_MEMORY_MAX = 4096 };
/* By the champion where there is one, otherwise by the analytic model; all NAN where nothing was seen yet. */
mz_prediction mz_situation_predict(const mz_situation *situation, const mz_plan *plan);
/* Proposes no change. */
void mz_propose_keep(const mz_situation *situation, const char *reason, mz_proposal *out);
