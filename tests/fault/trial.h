/* One fault: the command with a call that fails, then the judgement of what it said, what it left, and whether the work continues
 * from there to the same end. */
#pragma once
#include "tests/fault/scenarios.h"

typedef struct calm {           /* the scenario without a fault */
  char before[512], after[512]; /* folders */
  char digest[64];
} calm;
/* Prepares the scenario under `base`; ends the driver where it fails. */
void calm_prepare(const scenario *s, const char *base, calm *out);
/* Returns how many calls the command makes that the kind may hit. */
long calm_calls(const scenario *s, const calm *c, const char *base, const char *kind);

typedef enum trial_end { TRIAL_NOT_REACHED, TRIAL_NO_EFFECT, TRIAL_REPORTED, TRIAL_STOPPED } trial_end;
typedef struct trial {
  trial_end end;
  bool lost;        /* the run cannot be verified, taken up, or ends elsewhere */
  bool wrong;       /* anything else that should not be */
  char story[8192]; /* of what is lost or wrong */
} trial;
/* `folder` is the trial's own, and is made anew. */
trial trial_run(const scenario *s, const calm *c, const char *folder, const char *kind, long n);
