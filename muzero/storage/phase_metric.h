/* One table of the numbers in a phase's record. metrics.jsonl, `--json`, the library, the report and docs/metrics.md read it. */
#pragma once
#include "muzero/trainer.h"

typedef enum mz_metric_type { MZ_METRIC_INT, MZ_METRIC_UINT, MZ_METRIC_FLOAT } mz_metric_type; /* int64_t, uint64_t, double */

/* How one number comes from those of several phases. */
typedef enum mz_metric_rule {
  MZ_METRIC_LAST,      /* counters and states: the last phase's */
  MZ_METRIC_MEAN,      /* over the phases that have it */
  MZ_METRIC_SUM,       /* over all phases */
  MZ_METRIC_EVALUATED, /* the last phase's that evaluated */
} mz_metric_rule;

typedef struct mz_phase_metric {
  const char *key;
  mz_metric_type type;
  size_t offset; /* in mz_phase */
  mz_metric_rule rule;
  const char *unit; /* "" for a plain count or ratio */
  const char *help;
} mz_phase_metric;

/* Returns the row, in the order of a record; NULL behind the last. */
const mz_phase_metric *mz_phase_metric_row(int index);
/* NULL: no metric has this key. */
const mz_phase_metric *mz_phase_metric_find(const char *key);
double mz_phase_metric_read(const mz_phase_metric *metric, const mz_phase *phase); /* NAN: unknown */
