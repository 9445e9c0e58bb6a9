/* Faults of work: an access that no device would allow, or misuse that the twin found. The work ends where it is. */
#pragma once
#include <string>

/* Lets work of `device` run on this thread: from now on its accesses open allocations of that device and of no other. */
void twin_fault_arm(int device);

/* Called by the runner of work: the work has this fault. */
void twin_fault_set(const std::string &why);
/* Called on a fiber: ends the work with this fault. */
[[noreturn]] void twin_fault_raise(const std::string &why);

/* Returns whether work has faulted since the last take, which returns why. */
bool twin_fault_is_set(void);
std::string twin_fault_take(void);
