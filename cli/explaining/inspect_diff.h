/* `inspect --diff A B`: where two runs part ways. Two run directories are compared by the digests that each phase recorded;
 * checkpoint files, and runs whose records agree, by the parts of their checkpoints. */
#pragma once
#include "base/status.h"
#include <stdbool.h>

mz_status mz_inspect_diff(const char *a, const char *b, bool json);
