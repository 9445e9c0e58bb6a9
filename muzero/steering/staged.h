/* The agent that plans a run stage by stage: it was trained by self-play on `allocation:course=FILE`, where FILE is a course that was
 * fitted to runs like this one (allocator/runs/course_fit.h). Between stages it is shown what was measured, in the terms of the course,
 * and proposes one of the course's plans. It begins in shadow: another strategy drives, and what the agent would have done is recorded
 * beside its regret. It may drive once such a record says that it did no worse than the best fixed plan. Regrets are
 * differences of mz_course_values (base/course/course_policy.h). One thread uses it. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "allocator/records/curve_history.h"
#include "allocator/records/stage_lines.h"
#include "muzero/settings.h"

typedef struct mz_staged mz_staged;

/* The run that it plans. */
typedef struct mz_staged_run {
  const mz_pipeline *pipeline; /* on all the cores that it may have */
  const mz_bounds *bounds;
  double batch_size;                                         /* rows of a batch now */
  bool (*has_batch)(const void *context, double batch_size); /* whether it may move to batches of so many rows */
  const void *context;
  int64_t phase, round;
} mz_staged_run;

/* Sets *asked to whether an agent plans a run by these settings or accompanies it. MZ_E_CONFIG, beginning with the setting's key: it
 * cannot. moves_loop_count: the run moves it, or did. */
mz_status mz_staged_is_asked(const mz_settings *settings, bool moves_loop_count, bool *asked);
/* Opens the agent of settings->policy, which drives where the strategy is `staged`. key: env, network and learning of the run; simulated:
 * the machine that it is simulated on, as the user named it, "": it is real. MZ_E_CONFIG, beginning with the setting's key: a run that is
 * none of `allocation`; a course that is built in, not fitted, damaged or changed since the agent was trained; one of another
 * environment, network, learning, machine or other prices. Driving is refused, too, where the course's error is too large, and where
 * settings->shadow names no run that shows that the agent may. What mz_loaded_open fails with. */
mz_status mz_staged_open(mz_staged **out, const mz_allocation_settings *settings, const mz_curve_key *key, const char *simulated,
                         const mz_pipeline *pipeline);
void mz_staged_free(mz_staged *staged); /* NULL is fine */
bool mz_staged_drives(const mz_staged *staged);
int mz_staged_epochs(const mz_staged *staged); /* of a whole run of the course */
int mz_staged_plan_count(const mz_staged *staged);
const mz_plan *mz_staged_plan(const mz_staged *staged, int plan); /* knobs of a plan of the course */
double mz_staged_batch_size(const mz_staged *staged, int plan);
int mz_staged_cores(const mz_staged *staged, int plan);

/* Asks the agent about the stage that begins. *out->chosen is the plan that comes into force, the best that the agent finds among those
 * that this run can take: those with its batch size now whose knobs are within range and bounds, and those with a batch size that it may
 * move to, for which knobs are brought within both; −1: there is none, or another strategy drives. MZ_E_MEMORY, MZ_E_DIVERGED. */
mz_status mz_staged_decide(mz_staged *staged, const mz_staged_run *run, mz_stage_record *out);
/* An epoch has ended; cost: of the run so far. Returns whether the stage has ended with it, and the next one begins. */
bool mz_staged_epoch(mz_staged *staged, const mz_epoch *epoch, double cost);
/* Returns whether all stages were run: nothing is left to decide. */
bool mz_staged_is_over(const mz_staged *staged);
/* Sums up the stages that were run. seconds, cost: of the run. */
void mz_staged_sum_up(const mz_staged *staged, const mz_staged_run *run, double seconds, double cost, mz_stages_record *out);
/* Continues where the lines of a ledger end. MZ_E_CONFIG: there are none, or they are another agent's. */
mz_status mz_staged_resume(mz_staged *staged, const mz_stage_lines *lines, const char *path);
