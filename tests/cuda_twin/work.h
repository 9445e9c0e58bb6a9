/* Runs operations. The lock is held. */
#pragma once
#include "stream.h"

/* Runs the kernel, the work or nothing; a fault becomes the device's sticky error, and a violation. */
void twin_work_run(const twin_op &op, int device);
/* Returns "kernel NAME", or the call's name. */
std::string twin_work_name(const twin_op &op);
/* Makes device memory unreadable again; what was written outside of allocations is a fault, too. */
void twin_work_close(void);
