/* The parts of steering a run, for the files of this folder that do it. */
#pragma once
#include "allocator/records/history.h"
#include "allocator/records/plan_list.h"
#include "allocator/sensors/monitor.h"
#include "muzero/steering/granted.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/kept.h"
#include "muzero/steering/staged.h"
#include "muzero/steering/steer.h"
#include "muzero/steering/window.h"

enum { MZ_STEER_ROUNDS_MAX = 4096 };

/* The judgement of goodput under way (pace.c). */
typedef struct mz_pace {
  mz_goodput memory;
  mz_goodput_evidence evidence; /* sums so far */
  double rounds;                /* that it covers */
  mz_prequential_stats told;    /* of the phase under way */
} mz_pace;

struct mz_steer {
  const mz_state *state;
  mz_memory memory;
  int threads; /* budget; 0: none */
  mz_granted granted;
  mz_roster roster;
  uint64_t memory_limit; /* set by mz_steer_limit_memory; 0: none */
  int core_limit;        /* set by mz_steer_limit_cores; 0: none */
  mz_bounds bounds;
  mz_device_choice choice;
  mz_outset outset;
  mz_kept kept;
  mz_pace pace;
  mz_plan_list plans; /* that the run repeats; none: the allocator decides */
  mz_allocator_options options;
  mz_allocator *allocator;
  mz_observation *rows; /* of the history, as the allocator was given them */
  mz_history *history;
  mz_history_key key;
  const char *source;
  char run[128]; /* its directory, or the end of a long path */
  struct {
    bool off; /* it would tell nothing of the settings */
    bool begun;
    int64_t id; /* of the run in the history */
  } curve;
  mz_staged *staged; /* NULL: no agent plans by stages */
  struct {
    mz_pipeline *pipeline; /* on all cores, whatever a stage is limited to; NULL: no agent plans */
    mz_bounds bounds;
  } whole;
  bool resumes; /* the run is continued */
  mz_monitor *monitor;
  mz_ledger ledger;
  mz_window_meter meter;
  mz_evaluation_clock evaluation;
  double window_s; /* least length of the present window, where the user sets none */
  mz_window window;
  mz_decision decision;
  double rounds[MZ_STEER_ROUNDS_MAX]; /* told to the allocator since the last decision */
  int round_count;
};

/* Reads the rows of s->key into s->options. */
mz_status mz_steer_read_history(mz_steer *s);
/* Into the history, for the key. */
mz_status mz_steer_keep_pipeline(mz_steer *s);
/* A new section of the ledger, of a new allocator. */
mz_status mz_steer_begin_anew(mz_steer *s, mz_workers *workers, const mz_allocator_options *options);
/* At a window's end: looks at what the machine grants. Where that has changed, the plan moves into the new bounds at once, a new section
 * begins, and the window judges nothing: true. What cannot be followed costs a warning. (adapt.c) */
bool mz_steer_adapt(mz_steer *s, mz_workers *workers);

/* From now on the run has no more than so many cores of those that it is granted, with a plan for them, in a new section; its caller puts
 * another plan in force. On failure it keeps what it has. (adapt.c) */
mz_status mz_steer_limit_cores(mz_steer *s, mz_workers *workers, int cores);

/* For a run that moves loop_count: takes in the losses of a round, the costs of a window; judges when there is enough of both, and moves
 * it. A phase begins: its sums are 0. (pace.c) */
void mz_steer_pace_phase(mz_steer *s);
void mz_steer_pace_round(mz_steer *s, const mz_round_stats *stats);
mz_status mz_steer_pace(mz_steer *s, mz_workers *workers);
/* Describes the pipeline under other settings, and what a run takes under them: ranges, work and memory follow; devices and what was
 * timed on them stay. (loop_count.c) */
mz_status mz_steer_describe(mz_steer *s, const mz_settings *settings, const mz_memory *memory, mz_outset *out);
/* Turns to the history of the present settings and devices, after either has changed. (loop_count.c) */
mz_status mz_steer_turn_to_work(mz_steer *s);
/* Puts in force that a round has `loops` updates, and `start`, in a new section. (loop_count.c) */
mz_status mz_steer_set_loop_count(mz_steer *s, mz_workers *workers, int64_t loops, const mz_plan *start);

/* Reads the ledger at `path`, whose plans the run repeats from now on, with the first of them unless it resumes. (follow.c) */
mz_status mz_steer_read_plans(mz_steer *s, const char *path, bool resumes);
static inline bool mz_steer_follows(const mz_steer *s) { return s->plans.count > 0; }
/* Returns whether the ledger has another plan for this round than the one in force. (follow.c) */
bool mz_steer_plan_is_due(const mz_steer *s);
/* Puts that plan in force, in a new section. (follow.c) */
mz_status mz_steer_follow(mz_steer *s, mz_workers *workers);

/* For a run with allocate.policy: opens the agent. (steer_stage.c) */
mz_status mz_steer_open_staged(mz_steer *s, bool has_parent);
/* After an epoch; cost: of the run so far. Where a stage ends with it, asks the agent, records, and puts its plan in force if it drives. */
mz_status mz_steer_stage_epoch(mz_steer *s, mz_workers *workers, const mz_epoch *epoch, double cost);
