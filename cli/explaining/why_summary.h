/* The summary that `why` begins with: what the allocator tried over a whole ledger, and what became of it. */
#pragma once
#include "base/json/json.h"

enum { MZ_SUMMARY_ROUNDS = 1024 };

typedef struct mz_why_summary {
  int64_t decisions, tries, kept, undone;
  int64_t predictions, held;                                    /* of the present section, as its last decision has them */
  int64_t earlier_predictions, earlier_held;                    /* of the sections before it */
  double all_s, trial_s;                                        /* of the rounds told; of those on trial */
  bool on_trial;                                                /* the plan in force at the last decision */
  char first[512], last[512];                                   /* plans, as JSON: of the first window, of the last */
  double first_s[MZ_SUMMARY_ROUNDS], last_s[MZ_SUMMARY_ROUNDS]; /* seconds of rounds under them: the last ones under `first` … */
  int first_count, last_count;                                  /* … and under `last` since it came into force */
} mz_why_summary;

/* Takes a decision of the ledger, in order; a summary starts zeroed. */
void mz_why_summary_add(mz_why_summary *summary, const cJSON *decision);
void mz_why_summary_print(const mz_why_summary *summary);
