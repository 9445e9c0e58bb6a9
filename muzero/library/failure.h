/* Failures of the library's functions: a status, and this thread's message. */
#pragma once
#include "base/status.h"
#include "muzero/library/include/muzero.h"

/* Sets this thread's message and returns `status`. */
muzero_status mz_failure(muzero_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The rooms' status as the library's: the numbers are the same. */
muzero_status mz_failure_of(mz_status status);
