/* Measurements: plain structs that the monitor and the owner of the pipeline fill, window by window. */
#pragma once
#include "allocator/pipeline/pipeline.h"

/* Sums over a window and over a stage's threads. busy + waits ≤ threads × wall. */
typedef struct mz_stage_sample {
  double items;
  double busy_s, cpu_s;         /* wall time, CPU time inside tasks */
  double device_s;              /* in which the stage's GPU was at work for it; 0 on a CPU, or where nothing measures it */
  double wait_in_s, wait_out_s; /* blocked on an empty input, a full output */
  double elapsed_s;             /* wall time in which the stage was at work at all; 0: unknown */
  double waited_for_s;          /* in which threads of other stages waited, within their tasks, for what this one does for them */
} mz_stage_sample;

void mz_stage_sample_add(mz_stage_sample *sum, const mz_stage_sample *part, double share); /* share of every member */

/* From the system, over a window. A sensor that is missing has its bit set and its value 0: missing is never zero. */
typedef enum mz_sensor {
  MZ_SENSOR_CPU,       /* cpu_s, /proc/self/stat or getrusage */
  MZ_SENSOR_THREADS,   /* whether CPU seconds of single threads can be read, /proc/self/task; no member has them */
  MZ_SENSOR_RSS,       /* rss_bytes, /proc/self/statm */
  MZ_SENSOR_MEMORY,    /* available_bytes, /proc/meminfo and the cgroup's limit */
  MZ_SENSOR_LOAD,      /* others_cpu_s: CPU seconds that other processes of the machine used, /proc/stat */
  MZ_SENSOR_PRESSURE,  /* pressure_*: shares of the window in which some task waited, /proc/pressure or the cgroup's */
  MZ_SENSOR_THROTTLED, /* throttled_s, cgroup cpu.stat */
  MZ_SENSOR_GPU,       /* gpu_*, NVML */
  MZ_SENSOR_COUNT
} mz_sensor;
const char *mz_sensor_name(mz_sensor sensor); /* "cpu", "threads", "rss", … */

typedef struct mz_usage {
  uint32_t missing; /* bit per mz_sensor */
  double wall_s, cpu_s, others_cpu_s, throttled_s;
  double rss_bytes, rss_peak_bytes, available_bytes; /* mean, largest sample; at the end */
  double pressure_cpu, pressure_memory, pressure_io;
  double gpu_busy, gpu_bytes; /* share of time, mean over devices in use; sum */
  double core_share_p95;      /* 95th percentile over samples of cores in use / cores that the run may use */
  int samples;                /* taken in the window; a short window may have 0: then sums are read at its end */
} mz_usage;

static inline bool mz_usage_lacks(const mz_usage *usage, mz_sensor sensor) { return usage->missing >> sensor & 1; }
/* What else happened, alike for any plan. NAN: the sensor was missing, or no time went by. */
double mz_usage_others(const mz_usage *usage);    /* cores that other processes used */
double mz_usage_waiting(const mz_usage *usage);   /* share of the time in which some task of the machine waited for a core */
double mz_usage_throttled(const mz_usage *usage); /* share of the time in which a quota held the run up */

/* How far training is when a window ends, alike for any plan. NAN: not known. */
typedef struct mz_training_stage {
  double replay_fill;    /* share of the replay's capacity that is used, 0 … 1 */
  double episode_length; /* steps, mean over the episodes that ended last */
  double horizon;        /* share of the run that is still to come, 0 … 1; unknown where only a score ends it */
  double score_slope; /* rise of the score from the last evaluation but one to the last, over the score that the run is after */
} mz_training_stage;
mz_training_stage mz_training_stage_unknown(void);

enum { MZ_WINDOW_ROUNDS_MAX = 32 };
typedef struct mz_window {
  int64_t number;                        /* from 1 on, without gaps; 0: not numbered, there is one a phase */
  int64_t phase, round;                  /* numbers at its end */
  double units;                          /* of full work */
  double wall_s;                         /* of those units, with all steps but those apart; wall_s / units: seconds per unit */
  int round_count;                       /* whole rounds timed; more than fit below are averaged in runs of equal length */
  double round_s[MZ_WINDOW_ROUNDS_MAX];  /* of the first step only (a unit each): what trials are judged by */
  mz_stage_sample stages[MZ_STAGES_MAX]; /* by stage of the pipeline */
  mz_usage usage;
  mz_training_stage training;
  double score; /* NAN: never evaluated */
} mz_window;

/* Every number cut to 6 significant digits, before anything is decided from it: ledger lines stay short and replay exactly. What
 * is not finite becomes NAN. */
void mz_window_quantise(mz_window *window);
double mz_quantised(double value); /* one number, likewise; NAN when not finite */
/* Reading is strict: every stage and no other, every key; null is NAN. *window is written only when all is well. */
cJSON *mz_window_to_json(const mz_pipeline *pipeline, const mz_window *window);
mz_status mz_window_from_json(const mz_pipeline *pipeline, mz_window *window, const cJSON *json, const char *where,
                              mz_status code);

/* A window as the models see it: one plan, its seconds per unit, its stages per unit. Kept in the history. */
typedef struct mz_observation {
  mz_plan plan;
  int32_t run;    /* 0: the one that is observed; another number for each earlier one */
  double unit_s;  /* seconds per unit of work, all steps but those apart */
  double round_s; /* median of the first step; NAN: no round was timed */
  double noise;   /* standard deviation of log round_s, by its median absolute deviation from 8 rounds on; 0: fewer than two */
  int rounds;     /* behind the two above */
  mz_stage_sample stages[MZ_STAGES_MAX]; /* per unit */
  double cpu_s, rss_bytes;               /* per unit; resident; NAN: the sensor was missing, here and below */
  double others, waiting, throttled;     /* what else happened: mz_usage_others, … */
  mz_training_stage training;
} mz_observation;
/* false: the window holds no full unit of work, or its time is unknown. */
bool mz_observation_from_window(mz_observation *out, const mz_plan *plan, const mz_window *window);
/* As strict; a plan that lacks a knob or has another is an error. */
cJSON *mz_observation_to_json(const mz_pipeline *pipeline, const mz_observation *observation);
mz_status mz_observation_from_json(const mz_pipeline *pipeline, mz_observation *observation, const cJSON *json, const char *where,
                                   mz_status code);
