/* How busy pools, queues, cores and memory are under the plan in force, by the window that just ended and by the forecasts: what
 * thresholds are compared with. A pool is the threads of one knob; it may serve several stages, of one step or of several, and
 * its time is that of the steps it works in. Plain structs, deterministic. */
#pragma once
#include "allocator/strategies/strategy.h"

/* The level to provision for: the forecast's 80 % quantile where the forecast is to be trusted, otherwise the last value. */
typedef struct mz_level {
  double value; /* NAN: unknown */
  bool forecast;
  mz_forecast_model model; /* behind the value */
  double mase;
} mz_level;

typedef struct mz_pool_load {
  const char *name; /* of its first stage */
  int knob, device; /* of its threads; its first stage's */
  int64_t threads;
  mz_level busy;     /* share of its threads' time */
  double blocked;    /* share of its threads' time that they waited for room in an output queue */
  double missed;     /* the largest share of its threads' time that a consumer of its output waited for input */
  double cpu_s;      /* CPU seconds per unit of work */
  double cores_used; /* on its device, by all stages; of the steps it works in, the one that leaves most cores free */
} mz_pool_load;

typedef struct mz_queue_load {
  double blocked; /* share of its producer's time that it waited for room */
  double starved; /* share of its consumer's time that it waited for an item */
} mz_queue_load;

typedef struct mz_load {
  int pool_count;
  mz_pool_load pools[MZ_STAGES_MAX]; /* in the order of their first stages */
  mz_queue_load queues[MZ_QUEUES_MAX];
  double step_s[MZ_STAGES_MAX]; /* wall time of each step in the window */
  mz_level cores;               /* in use by the whole run */
  double capacity;              /* cores that it may use */
  mz_level memory;              /* resident bytes */
} mz_load;

/* The situation has a window with some work. !settled: the plan changed lately, and forecasts, which learned under another one,
 * are left out. */
void mz_load_read(mz_load *load, const mz_situation *situation, bool settled);
const char *mz_level_predictor(const mz_level *level); /* "forecast (EWMA)": what made the value, as a proposal names it */
/* "forecast (EWMA, MASE 0.80)" or "(last value)". */
void mz_level_text(const mz_level *level, char *out, size_t size);
