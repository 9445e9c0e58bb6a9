/* How a run stands, as its latest checkpoint tells it, and which of its checkpoints are whole. Nothing is written, and a run that
 * trains meanwhile is not disturbed. */
#pragma once
#include "muzero/trainer.h"

typedef struct mz_run_standing {
  char env[128]; /* "" where not even config.json tells */
  uint64_t seed;
  mz_counters counters;             /* zeros where it is damaged, as is seed; wall_s, score, best_score: NAN */
  double wall_s, score, best_score; /* of the last evaluation, of the best; NAN for none */
  bool locked;                      /* a process trains it now */
  char damage[MZ_MESSAGE_MAX];      /* what is wrong with the latest checkpoint; "" when every checksum of it holds */
} mz_run_standing;
/* Reads the standing of the run in `dir`. Damage is no failure; MZ_E_MEMORY is. */
mz_status mz_run_standing_read(const char *dir, mz_run_standing *out);

/* Lists the rounds of the run's checkpoints that are whole, the newest first, and at most `most` of them; `but` is left out.
 * Returns how many there are; none where the folder cannot be read. */
int mz_run_whole_checkpoints(const char *dir, int64_t but, int most, int64_t *rounds);
