/* Fibers: functions that run on stacks of their own and can be left in the middle. One host thread at a time uses them (the lock
 * is held); it is called the runner here. */
#pragma once
#include <cstddef>

struct twin_fiber;

/* Returns a fiber that is ready to be given work, and gives one back when its work has finished or was abandoned. The fiber
 * given back last is taken first. Aborts where memory for stacks cannot be had. */
twin_fiber *twin_fiber_take(void);
void twin_fiber_give(twin_fiber *fiber);
/* As give, for a fiber that suspended and shall not be resumed. */
void twin_fiber_drop(twin_fiber *fiber);

/* Runs work(argument) on a fiber from take, until it returns or suspends; returns whether it returned. */
bool twin_fiber_start(twin_fiber *fiber, void (*work)(void *), void *argument);
/* Continues a fiber that suspended; returns as start does. */
bool twin_fiber_resume(twin_fiber *fiber);

/* Called on a fiber: returns to the runner until resumed. */
void twin_fiber_suspend(void);
/* Called on a fiber, or by a signal handler that interrupted it: returns to the runner for good; start or resume returns true
 * there. */
[[noreturn]] void twin_fiber_abandon(void);

/* Returns whether the runner is on a fiber now. */
bool twin_fiber_is_running(void);
/* Returns whether the address is in the guard below a fiber's stack. */
bool twin_fiber_is_guard(const void *address);
