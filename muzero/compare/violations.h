/* How often the arms of a comparison broke the limits of their runs. A run looks at its limits after each round, so it may be late by
 * one, and by what its closing evaluation takes longer than was foreseen (muzero/game_lengths.h). No seed is dropped: a run that was
 * refused before it began is counted, apart. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "base/json/json.h"

/* Adds to the summary "limits": {"deadline_s", "budget", "score"} (null: none) and to each arm "violations": {"deadline", "budget",
 * "score", "refused"}, numbers of seeds, "late_s": the most by which a run was late. score: the one that runs are after; NAN: none. Where
 * nothing is limited it adds nothing. */
void mz_violations_add(cJSON *summary, const mz_allocation_settings *settings, double score);
