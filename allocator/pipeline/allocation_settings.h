/* The allocator's own settings: strategy, thresholds, limits, prices, devices. All operational but the devices (exact). */
#pragma once
#include "allocator/pipeline/pipeline.h"

/* Goodput: as time, and the owner of the pipeline may move how much a unit trains (goodput/goodput.h). */
typedef enum mz_objective { MZ_OBJECTIVE_TIME, MZ_OBJECTIVE_COST, MZ_OBJECTIVE_GOODPUT } mz_objective;

typedef enum mz_start { MZ_START_AUTO, MZ_START_PLAIN } mz_start; /* made for the machine; every knob at its least */

typedef enum mz_search_kind { MZ_SEARCH_ANNEAL, MZ_SEARCH_RANDOM } mz_search_kind;

typedef struct mz_allocation_settings {
  char strategy[64];    /* allocate.strategy, or --allocate */
  int32_t objective;    /* allocate.objective: mz_objective */
  double high, low;     /* allocate.high, allocate.low: demand's thresholds, as shares of capacity */
  double gain_min;      /* allocate.gain_min: a change that promises less is not tried */
  int64_t window;       /* allocate.window: rounds; 0: by time */
  int64_t windows;      /* allocate.windows: those that judge a trial, at least */
  int32_t start;        /* allocate.start: mz_start */
  double monitor_hz;    /* monitor.rate */
  char predictor[64];   /* allocate.predictor: a predictor's name, or "auto": the winner of the contest */
  char pretrained[512]; /* allocate.pretrained: a file; "": the program's own */
  char policy[512];     /* allocate.policy: a run of allocation:course=FILE whose agent proposes plans by stages; "": none */
  char shadow[2048];    /* allocate.shadow: the runs that show that the agent may drive, RUN:RUN…; "": none */
  int32_t search;       /* allocate.search: mz_search_kind */
  bool balance;         /* allocate.balance */
  bool verify;          /* allocate.verify */
  bool share;           /* allocate.share */
  bool numeric;         /* allocate.numeric: stages may move to devices that round otherwise */

  /* limits.*; 0: what the machine grants, or none */
  double cpu_min, cpu_max; /* cores */
  int64_t gpu_min, gpu_max;
  int64_t memory_min, memory_max; /* bytes */
  int64_t gpu_memory;             /* bytes, of each GPU */
  double deadline;                /* seconds of the whole run */
  double budget;                  /* in the prices' currency */
  double score;                   /* target score */

  double core_hour, gpu_hour, gib_hour; /* prices.* */

  char cpu[64]; /* devices.cpu: "auto", or core sets: "0-3,4-7" */
} mz_allocation_settings;
extern const mz_settings_table mz_allocation_table;

#define MZ_FREE_SHARE 0.85 /* of the memory that is free: what else runs must not be pushed out */

/* The bounds in force once the machine's own are known. */
typedef struct mz_bounds {
  double cpu_min, cpu_max; /* cores */
  double gpu_min, gpu_max;
  double memory_min, memory_max; /* bytes; max: least of limit, cgroup's and 85 % of what is available; or MZ_BYTES_UNBOUNDED */
} mz_bounds;
typedef struct mz_grants { /* of the machine */
  int cores, gpus;
  double memory_bytes, available_bytes; /* 0: unknown */
} mz_grants;
#define MZ_BYTES_UNBOUNDED 0x1p60 /* of memory: no bound is known; finite, so that it can be compared with and written as JSON */
/* Contradictions are MZ_E_CONFIG naming both keys and what would do; so is a least above what is granted, by how much. A greatest
 * above it is cut to it. */
mz_status mz_bounds_resolve(mz_bounds *out, const mz_allocation_settings *settings, const mz_grants *grants);

/* Why a plan cannot be: the name of the limit that it breaks ("limits.cpu_max"), "knob range", NULL when it may be. More threads
 * than cores share the cores: they are refused only where cpu_max is below the cores of the plan's devices. */
const char *mz_plan_refused(const mz_pipeline *pipeline, const mz_bounds *bounds, const mz_plan *plan);
/* Refuses a start plan that needs more of a GPU's memory than may be had: MZ_E_CONFIG with the sum. */
mz_status mz_plan_check_gpus(const mz_pipeline *pipeline, const mz_plan *plan);
/* Price of a second under a plan: its reserved cores, devices and memory. */
double mz_plan_price_s(const mz_pipeline *pipeline, const mz_allocation_settings *settings, const mz_plan *plan);
/* Lowers exact knobs until the plan needs no more bytes, and no more of any GPU's memory than there is: rather packed, slower and
 * with less at a time than refused. Each time the step down that gives most is taken. False: it still needs more, with every knob as
 * low as helps. */
bool mz_plan_shrink(const mz_pipeline *pipeline, double bytes, mz_plan *plan);
