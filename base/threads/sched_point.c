#include "base/threads/sched_point.h"

void (*mz_sched_hook)(void);
