/* DIR/ledger.jsonl: every decision with the inputs it was made from, one JSON line each; replaying it gives the same decisions
 * byte for byte. An invocation of a run (train, resume) begins a section: a line "open" with everything the allocator was
 * created with, history rows used included; then "decision" lines as they happen, the first of them that of mz_allocator_begin.
 *
 * {"event":"open","format":5,"phase":0,"round":0,"strategy":…,"pipeline":{…},"settings":{…},"bounds":{…},"start":{…},"history":[…],
 *  "pretrained":"DIGEST" (only where predictors bring networks along: predictors/DIGEST.safetensors beside the ledger)}
 * {"event":"decision","phase":7,"action":"keep",…,"rounds":[…],"window":{…}}
 *   in this order of keys: event, phase, action, reverted, strategy, predictor, predicted, low, high, observed, plan, next, expected,
 *   expected_low, expected_high, candidates, contest (only where one was held), baseline (only where one ended: windows, quiet ones, and
 *   log(measured / predicted) of the first quiet one and the last), binding, assigned (only where the plan
 *   was projected into an assignment), reason, ratio, ratio_low, ratio_high, predictions and
 *   predictions_held (from the first prediction on), reverts, round, refused (only where the plan could not be carried out: why), rounds
 *   (seconds of the full rounds since the last decision), took_s (only where it was measured: seconds that deciding took), window (absent:
 *   begin).
 * With objective goodput there are lines "goodput" besides (goodput/goodput.h), each behind the decision of its round; one that moves
 * the training is followed by a new section, for a unit is other work then. A line "batch_size" (records/batch_move.h) is followed by a new
 * section, too.
 * A run with a plan for the whole of it has a line "promise" behind its first decision, and ends with a line "outcome" (records/promise.h).
 * With allocate.policy there are lines "stage" and, at the end of a run, "stages" (runs/stage_record.h). They tell of decisions between
 * stages; a plan that one puts in force is followed by a new section, from which it replays.
 * So a reader can tell phase and action of a line without parsing it. `plan` has every knob; `next` and the plans of candidates
 * have the knobs in which they differ from it. Inputs (rounds, took_s, window, the open line) read back to the same bits; numbers that
 * only inform are cut to 6 significant digits. What is not known or not finite is null. */
#pragma once
#include "allocator/allocator.h"
#include "allocator/goodput/goodput.h"
#include "allocator/records/batch_move.h"
#include "allocator/records/promise.h"
#include "allocator/runs/stage_record.h"

/* Grows with every change of what is decided from the same inputs. 1: until 2026-11, when trials compared windows one after another.
 * 2: until 2026-11, when two blocks could undo nothing, adaptive searched from the first window on, and nothing was pretrained.
 * 3: until 2026-11, when windows did not say how far training is, and pretrained networks did not see it.
 * 4: until 2026-11, when strategies waited longer after they had proposed to explore while that had cost its share, and what was not known
 * of a plan that was given up counted as 0. */
enum { MZ_LEDGER_FORMAT = 5 };

typedef struct mz_ledger {
  char path[640];
  int fd;
  uint64_t offset; /* bytes of whole lines */
} mz_ledger;

/* Writes the ledger's path in a run's directory. MZ_E_IO when it is none. */
mz_status mz_ledger_path(const char *run, char *out, size_t size);
/* Cuts the file to `offset` (0: a new file) and appends from there; from its last whole line, with a warning, where it is shorter.
 * On failure nothing is open. */
mz_status mz_ledger_open(mz_ledger *ledger, const char *dir, uint64_t offset);
void mz_ledger_close(mz_ledger *ledger);
/* Returns when all lines are on the disk: before a checkpoint says how many there are. */
mz_status mz_ledger_sync(const mz_ledger *ledger);
mz_status mz_ledger_begin(mz_ledger *ledger, const mz_allocator_options *options, int64_t phase, int64_t round);
mz_status mz_ledger_append_goodput(mz_ledger *ledger, const mz_goodput_record *record, const mz_goodput_verdict *verdict);
mz_status mz_ledger_append_batch_move(mz_ledger *ledger, const mz_batch_move *move);
mz_status mz_ledger_append_promise(mz_ledger *ledger, const mz_promise *promise);
mz_status mz_ledger_append_kept_promise(mz_ledger *ledger, const mz_promise *promise, const mz_kept_promise *kept);
mz_status mz_ledger_append_stage(mz_ledger *ledger, const mz_stage_record *record, int plan_count);
mz_status mz_ledger_append_stage_epoch(mz_ledger *ledger, const mz_epoch *epoch);
mz_status mz_ledger_append_stages(mz_ledger *ledger, const mz_stages_record *record);
/* rounds: what mz_allocator_round was told since the last decision; window NULL: of mz_allocator_begin; refused: NULL or why. */
mz_status mz_ledger_append(mz_ledger *ledger, const mz_pipeline *pipeline, const mz_decision *decision, const double *rounds,
                           int round_count, const mz_window *window, const char *refused);

/* Reading. Lines in order, from 1; the callback's failure ends it. `line` is NUL-terminated. A last line without an end (a crash)
 * is left out with a warning; what cannot be an event's line is MZ_E_CHECKPOINT naming the line, as are lines above 8 MiB. */
typedef mz_status (*mz_ledger_reader)(void *context, const char *line, size_t length, int64_t number);
mz_status mz_ledger_read(const char *path, mz_ledger_reader reader, void *context);
/* MZ_E_CHECKPOINT naming the events that there are. */
mz_status mz_ledger_unknown_event(const char *where, const char *event);
/* The first promise in it; *found: whether there is one. */
mz_status mz_ledger_promise(const char *path, mz_promise *out, bool *found);
/* Returns whether a line is of this event, without parsing. */
bool mz_ledger_is(const char *line, const char *event);
/* Returns how long a decision's line is without its inputs and the closing brace: rounds, took_s and window, its last keys. All of the
 * line where it has none. */
size_t mz_ledger_before_inputs(const char *line, size_t length);
/* Phase of a decision line and its action, without parsing; false: another line. */
bool mz_ledger_peek(const char *line, int64_t *phase, char action[16]);

/* Replays section after section up to and with the decision of `upto` phase (INT64_MAX: all). Every replayed decision is compared
 * with the recorded one, byte for byte. Sections of earlier formats are followed, not replayed: their windows are evidence, their
 * plans are those recorded. MZ_E_CHECKPOINT names the line that cannot be read. */
typedef struct mz_replayed {
  mz_allocator *allocator;      /* as it stood then; NULL: the ledger is empty */
  mz_allocator_options options; /* of its section; pointers into the block below */
  void *storage;
  mz_pretrained *pretrained; /* of its section; NULL: none */
  int64_t phase;             /* of the last decision; −1: there was none */
  mz_observation newest;     /* the last full window of its section, with the plan that it was under; unit_s 0: there was none */
  int64_t followed;          /* decisions of earlier formats */
  int64_t decisions;   /* replayed, those of mz_allocator_begin and judgements of goodput and moves of the batch size included */
  int64_t differences; /* of them; */
  int64_t first_difference; /* the phase of the first, -1: none */
} mz_replayed;
mz_status mz_ledger_replay(const char *path, int64_t upto, mz_replayed *out);
void mz_replayed_free(mz_replayed *replayed);
