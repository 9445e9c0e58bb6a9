/* Faults of work: an access that no device would allow, or misuse that the twin found. The work ends where it is. */
#pragma once
#include "twin.h"
#include <string>

/* Makes the twin hear of accesses to memory that is closed, also where a test's framework has handlers of its own. */
void twin_fault_handler_install(void);

/* Lets work of `device` run on this thread. It may touch `ranges`, or where that is NULL, all memory of that device. */
void twin_fault_begin(int device, const std::vector<twin_range> *ranges);

/* Gives the work that runs this fault; a fiber then leaves by twin_fiber_abandon, once no string of its own lives. */
void twin_fault_set(const std::string &why);

/* Returns whether work has faulted since the last take. */
bool twin_fault_is_set(void);
/* Adds where the work was, in words. */
void twin_fault_append(const std::string &place);
/* Returns why the work faulted, and forgets it. */
std::string twin_fault_take(void);
