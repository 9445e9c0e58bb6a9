/* What adapting could gain in a scenario, and how much of it an arm that adapts took. Fixed plans are the arms that do not adapt.
 * Room: by how much the best plan of every segment together take less time than the best fixed plan, as a share of its time.
 * Captured: an arm's gain over the best fixed plan, as a share of that. Which plans are best is chosen by the other seeds, so that
 * being lucky in a seed is no merit there; a seed's own blocks then tell the times. */
#pragma once
#include "muzero/compare/scenario.h"
#include "muzero/compare/series.h"

/* Adds "room" to the summary: {"room", "ci95" (95 %, blocks resampled within seeds and segments), "none": a sentence where there is no
 * room or it cannot be told, else null, "captured": [{"arm", "share", "ci95"}], empty without room}. Reads the summary's "noise": less
 * room than an arm shows against itself is none. MZ_E_MEMORY. */
mz_status mz_compare_room(const mz_scenario *scenario, const mz_series *series, const mz_arm *arms, cJSON *summary);
