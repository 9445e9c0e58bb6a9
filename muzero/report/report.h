/* report.html: one page for runs and comparisons that needs nothing but itself (no network, no other file). The curves are drawn
 * by Dygraphs (MIT; Debian's libjs-dygraphs, taken in when the program is built), all else by the sources in page/.
 * Whatever is in the inputs, names of runs included, reaches the page as data and is shown as text. */
#pragma once
#include <stdbool.h>
#include "base/status.h"

/* Each of `runs` is a run's directory (it has metrics.jsonl) or a comparison's (compare.json), or both, or a folder of seeds
 * (seed-1, seed-2, …), which are shown each and together. Runs of one environment share their plots. The page depends on the
 * files alone, and is written whole or not at all. MZ_E_IO: no such directory, `out_path` cannot be written; MZ_E_CHECKPOINT:
 * neither file is there, or one is damaged (named with the line). */
mz_status mz_report_write(const char *out_path, const char *const *runs, int run_count);
/* Returns whether the folder holds runs of seeds (seed-1, seed-2 …), as `train --seeds` leaves it. */
bool mz_report_has_seeds(const char *dir);
