/* The numeric self-test of `muzero doctor`: known values, kernels against the reference in double, and a search that must
 * not depend on its batch. A second or less. */
#pragma once
#include "networks/lane.h"

/* MZ_OK and a summary, or MZ_E_INTERNAL naming what is wrong. */
mz_status mz_selftest(char *summary, size_t size);
/* The same of networks and search on a device of a backend. MZ_E_DEVICE, MZ_E_MEMORY: it could not be asked. */
mz_status mz_selftest_device(const mz_lane *where, char *summary, size_t size);
