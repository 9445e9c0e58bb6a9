/* A line of the ledger: batches have another size from a round on, by which the work of an item of training changes, not that of a unit.
 * {"event":"batch_size","phase":10,"round":100,"by":"schedule","from":128,"to":256}
 * It has no inputs: replaying it checks that the line is one that this program writes. */
#pragma once
#include "base/json/json.h"

typedef struct mz_batch_move {
  int64_t phase, round; /* at the end of which it was made */
  int64_t from, to;     /* rows of a batch */
  char by[32];          /* who decided: "schedule", "replay-plan", or a strategy's name */
} mz_batch_move;

cJSON *mz_batch_move_to_json(const mz_batch_move *move);
mz_status mz_batch_move_from_json(mz_batch_move *out, const cJSON *json, const char *where, mz_status code);
