/* Standard input, output and error of the process. */
#pragma once
#include "base/status.h"

/* Opens /dev/null for those of descriptors 0, 1 and 2 that are closed: the next files that are opened would take their numbers, and
 * what is printed would go into them. First thing in a program. */
mz_status mz_file_open_standard(void);
