/* Mistakes that a check of an environment finds, each with the game that shows it. */
#pragma once
#include "base/json/json.h"
#include "base/status.h"
#include <stdint.h>

enum { MZ_FINDINGS_MAX = 16, MZ_FINDING_ACTIONS_MAX = 20001 };

typedef struct mz_finding {
  const char *function; /* "step"; "max_moves" for a number that the file declares */
  const char *kind;     /* "range": one word; a function has one finding of a kind */
  char what[320];       /* a sentence */
  uint64_t seed;        /* of the game; `muzero envs FILE --check --seed SEED` begins with it */
  int32_t *actions;     /* played up to there; in the findings' room */
  int action_count;
} mz_finding;

typedef struct mz_findings {
  mz_finding items[MZ_FINDINGS_MAX];
  int count;
  int32_t *room; /* [MZ_FINDINGS_MAX · MZ_FINDING_ACTIONS_MAX] for actions; the caller's */
} mz_findings;

/* Adds one, unless the function has one of this kind already or there are MZ_FINDINGS_MAX. `actions`, at most
 * MZ_FINDING_ACTIONS_MAX, are copied. */
void mz_findings_add(mz_findings *findings, const char *function, const char *kind, uint64_t seed, const int32_t *actions,
                     int count, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* {function, kind, what, seed, actions}. NULL when memory is out. */
cJSON *mz_finding_to_json(const mz_finding *finding);
