#include "muzero/base/sched_point.h"

void (*mz_sched_hook)(void);
