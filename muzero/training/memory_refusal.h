/* What is said of a run that needs more memory than there is: the sum by part, and which setting to lower to what. */
#pragma once
#include "muzero/training/memory.h"

/* Writes what a run under other settings needs at the least. */
typedef mz_status mz_memory_need(void *context, const mz_settings *settings, double *bytes);
/* Refuses a run whose parts exceed `most`: MZ_E_CONFIG with the sum, largest part first, and the setting to lower. */
mz_status mz_memory_refuse(const double parts[MZ_MEMORY_PARTS], double most, const mz_settings *settings, mz_memory_need *need,
                           void *context);
