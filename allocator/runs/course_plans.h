/* The plans that a fitted course offers: which pairs of batch size and amounts of cores and GPUs runs tell enough of, and which of
 * them are worth choosing. Rules: course_fit.h. Plain structs. */
#pragma once
#include "allocator/runs/stage_pool.h"

enum { MZ_CHOICE_SETUPS_MAX = 64, MZ_CHOICE_BATCHES_MAX = 16 };
enum { MZ_CHOICES_MAX = MZ_CHOICE_SETUPS_MAX * MZ_CHOICE_BATCHES_MAX };

typedef struct mz_course_choice {
  mz_pool_plan plan;
  mz_pool_plan near; /* the plan that was run, and use, stall and memory are of: `plan` where it was */
  bool composed;     /* the plan was not run: its seconds are composed of those of others */
  double memory;     /* GiB */
  double seconds[MZ_COURSE_STAGES_MAX], growths[MZ_COURSE_STAGES_MAX];
  double total_s, cost, growth; /* of the whole run; growth: share of the distance to the ceiling that it closes */
  double until_s, until_cost,
      until_stages; /* of the typical run until it has reached the target, or of all stages where it does not */
} mz_course_choice;

typedef struct mz_course_choices {
  int found;                              /* pairs that runs tell enough of */
  int count;                              /* those of them that no other beats */
  mz_course_choice items[MZ_CHOICES_MAX]; /* by batch size, then by amounts */
  int batch_count;
  double batches[MZ_CHOICE_BATCHES_MAX]; /* that runs had, ascending */
  /* Pairs that runs tell too little of ("batch 64 on 2 cores, …; batch 512 for 40 epochs"), and values for --grid that would make
   * them. "": none. */
  char lacking[512], grid[160];
} mz_course_choices;

typedef struct mz_course_ask {
  int epochs;           /* of a whole run, for messages */
  double target;        /* score */
  const double *prices; /* [MZ_COURSE_RESOURCES], per hour */
} mz_course_ask;

/* Finds the plans, at most MZ_COURSE_PLANS_MAX, none of which another beats: in seconds and cost, both of the whole run and until the
 * target, and in growth. MZ_E_MEMORY. */
mz_status mz_course_choose(mz_course_choices *out, const mz_stage_pool *pool, const mz_course_ask *ask);
