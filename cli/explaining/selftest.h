/* The numeric self-test of `muzero doctor`: known values, kernels against the reference in double, and a search that must
 * not depend on its batch. A second or less. */
#pragma once
#include "base/status.h"

/* MZ_OK and a summary, or MZ_E_INTERNAL naming what is wrong. */
mz_status mz_selftest(char *summary, size_t size);
