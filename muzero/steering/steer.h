/* Steering a run: the roof's side of the allocator. It describes the pipeline, times rounds and stages into windows, asks
 * the allocator after each window, has the workers carry the plan out, and writes ledger and history. One thread drives it. */
#pragma once
#include "allocator/allocator.h"
#include "allocator/records/promise.h"
#include "muzero/steering/outset.h"
#include "muzero/training/round.h"

typedef struct mz_steer mz_steer;

typedef struct mz_steer_options {
  mz_outset_options outset; /* its bounds are those from before the state took its memory; with a choice of devices */
  const mz_memory *memory;  /* as mz_outset_fits counted it */
  const char *history;      /* path; NULL or "none": none is kept */
  bool history_optional;    /* one that cannot be opened costs a warning only */
  const char *source;       /* of history rows: "run", "profile", "compare" */
  const char *plans;        /* ledger whose plans the run repeats, while no allocator decides; NULL: none */
  bool has_parent;          /* the run begins with another run's state: its learning curve is no curve of its settings */
} mz_steer_options;

/* Devices, start plan; reads the history, and probes unless the plan is fixed and no profile is made. MZ_E_CONFIG: unknown strategy
 * or device, limits that contradict each other or leave less than the run needs (says by how much). Fails as mz_plan_list_read does.
 * Nothing is written yet. The state stays alive. */
mz_status mz_steer_create(mz_steer **out, const mz_state *state, const mz_steer_options *options);
void mz_steer_free(mz_steer *steer);
/* The plan in force, as the workers take it; the devices it names. */
mz_knobs mz_steer_knobs(const mz_steer *steer);
mz_knobs mz_steer_kept_knobs(const mz_steer *steer); /* without the plan on trial: what a resumed run begins with */
const mz_devices *mz_steer_devices(const mz_steer *steer);
void mz_steer_device_records(const mz_steer *steer, const mz_knobs *knobs, mz_device_records *out); /* what the plan names */
const mz_pipeline *mz_steer_pipeline(const mz_steer *steer);
double mz_steer_price_s(const mz_steer *steer); /* of the plan in force */
int mz_steer_cores(const mz_steer *steer);      /* that it reserves */
int mz_steer_gpus(const mz_steer *steer);       /* likewise */

/* Bytes that the plan in force may need, and the one that needs least. */
void mz_steer_bytes(const mz_steer *steer, double *plan, double *least);
/* From the next window on the run may need no more, as if the machine granted no more; 0: what the machine grants. */
void mz_steer_limit_memory(mz_steer *steer, uint64_t bytes);

/* A section of dir/ledger.jsonl begins behind `ledger_offset`; sensors are read from here on. */
mz_status mz_steer_begin(mz_steer *steer, const char *dir, uint64_t ledger_offset);
uint64_t mz_steer_ledger_offset(const mz_steer *steer);
mz_status mz_steer_ledger_sync(const mz_steer *steer); /* returns when the ledger is on the disk, up to that offset */
void mz_steer_rest(mz_steer *steer, bool rests);       /* between phases: sensors sleep */

/* After begin, where a run is new: puts in force what the ledger that is followed has for its very beginning, or the first stage's plan;
 * where it is resumed: finds the stage that it is in. */
mz_status mz_steer_begin_stages(mz_steer *steer, mz_workers *workers);
/* After begin, where a run is resumed: takes over the state's loop_count, and the plan that the ledger which is followed has for this
 * round; a new section begins where that is not what the run began with. */
mz_status mz_steer_resume(mz_steer *steer, mz_workers *workers);

/* The plan was changed by hand between phases: the allocator begins anew with it, in a new section of the ledger. */
mz_status mz_steer_restart(mz_steer *steer, mz_workers *workers);

/* Before a phase's first round; after each round (`stats`: the phase's sums so far); around the evaluation, and after the phase's
 * last round in any case: until the next phase nothing is timed. */
void mz_steer_phase(mz_steer *steer, const mz_workers *workers);
void mz_steer_round(mz_steer *steer, mz_workers *workers, const mz_round_stats *stats);
/* The window has as many rounds as it needs, or the ledger that is followed has another plan: mz_steer_decide is due. */
bool mz_steer_window_ended(const mz_steer *steer);
void mz_steer_phase_ends(mz_steer *steer, const mz_workers *workers, const mz_round_stats *stats);
void mz_steer_evaluation_starts(mz_steer *steer, const mz_workers *workers);
void mz_steer_evaluation_ended(mz_steer *steer, const mz_workers *workers, int64_t moves);
/* Decides, resizes, records; with objective goodput it moves the state's loop_count, too. *decision holds until the next call. A plan
 * that cannot be carried out is recorded as refused, and is no failure; a ledger that cannot be written is MZ_E_IO. */
mz_status mz_steer_decide(mz_steer *steer, mz_workers *workers, const mz_round_stats *stats, const mz_training_stage *training,
                          double score, const mz_decision **decision);
/* Behind begin: the run has a plan for the whole of it, whose promise goes into the ledger. */
mz_status mz_steer_promise(mz_steer *steer, const mz_promise *promise);
/* The run has ended: so does what came of it. */
mz_status mz_steer_keep_promise(mz_steer *steer, const mz_promise *promise, const mz_kept_promise *kept);
/* A whole phase has ended: its epoch goes into the history, and with allocate.policy the next stage may begin. Before the batch size
 * moves and before the phase is recorded. *phase is measured; cost: of the run so far; closing_s: of the evaluation that ended the run,
 * 0: none. */
mz_status mz_steer_epoch(mz_steer *steer, mz_workers *workers, const mz_phase *phase, double cost, double closing_s);
/* The run stops for another reason than a signal: sums up its stages. */
mz_status mz_steer_ends(mz_steer *steer, double seconds, double cost);
/* At a round's end, between windows: batches have so many rows from now on, as mz_batch_rule_apply makes of the run's own settings, and
 * the allocator begins anew with `start`, as far as ranges and memory allow, in a new section of the ledger behind a line that says who
 * moved (by: "schedule", a strategy's name). The size is state from then on: a move at a phase's end comes before the phase is recorded and
 * saved, so that digest and checkpoint have it. Nothing happens where batches have that size. MZ_E_CONFIG: it
 * cannot be; MZ_E_MEMORY: it needs more than bounds allow: nothing has changed then, unless there is no memory for what is made anew:
 * then the run has to end. */
mz_status mz_steer_set_batch_size(mz_steer *steer, mz_workers *workers, int64_t rows, const mz_plan *start, const char *by);
/* At a phase's end, behind the decision of a window that ended with it: as setting batch_schedule says; a ledger that is followed, and
 * moves the batch size, takes the setting's place. */
mz_status mz_steer_follow_schedule(mz_steer *steer, mz_workers *workers);
/* Returns the measurements of the last window. */
const mz_window *mz_steer_window(const mz_steer *steer);
