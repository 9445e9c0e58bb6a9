/* Names of environments that workers play: "gym:LunarLander-v3,enable_wind=true,workers=2", "spiel:breakthrough(rows=6,columns=6)".
 * Items are separated by commas outside of brackets and quotes. The first is the id; of the others, key=value, some are the
 * program's, and the rest goes to the worker as it is written. */
#pragma once
#include "base/status.h"
#include <stdbool.h>

enum { MZ_WORKER_OPTIONS_MAX = 32, MZ_WORKER_NAME_MAX = 1024, MZ_WORKER_TIMEOUT_S = 60 /* by default */ };

/* Each lower end is followed by its upper one. */
typedef enum mz_worker_range { MZ_REWARD_MIN, MZ_REWARD_MAX, MZ_RETURN_MIN, MZ_RETURN_MAX, MZ_WORKER_RANGES } mz_worker_range;

typedef struct mz_worker_options {
  char text[MZ_WORKER_NAME_MAX]; /* the items, each with a NUL behind it */
  const char *id;
  const char *others[MZ_WORKER_OPTIONS_MAX]; /* the worker's, in their order */
  int other_count;
  int workers, limit;                 /* 0: not given */
  double timeout_s;                   /* default MZ_WORKER_TIMEOUT_S */
  float ranges[MZ_WORKER_RANGES];     /* NAN: not given */
  char canonical[MZ_WORKER_NAME_MAX]; /* the name without what cannot change results (workers, timeout) */
} mz_worker_options;

/* An option of the program's, as against those that go to the worker. */
typedef struct mz_worker_option {
  const char *key;
  double min, max;
  bool whole; /* takes whole numbers only */
  const char *help;
} mz_worker_option;
/* Returns the option at `index`, from 0; NULL past the last one. */
const mz_worker_option *mz_worker_option_at(int index);

/* Returns the option of a key, which is there. */
const mz_worker_option *mz_worker_option_named(const char *key);
/* Reads its value. MZ_E_CONFIG naming the range and the nearest valid value. */
mz_status mz_worker_option_read(const char *name, const mz_worker_option *row, const char *text, double *out);

/* Returns whether a name begins with "gym:" or "spiel:". */
bool mz_worker_env_is_name(const char *name);
/* Reads such a name. MZ_E_CONFIG naming the option, its range and the nearest valid value. */
mz_status mz_worker_options_read(const char *name, mz_worker_options *out);
/* Checks that neither range of `ranges` ends below its beginning; NAN is no end. named: the ends that the name gives, NAN otherwise;
 * `source` is said behind the others: " (measured in random games)". MZ_E_CONFIG naming both ends. */
mz_status mz_worker_ranges_check(const char *name, const float *ranges, const float *named, const char *source);
