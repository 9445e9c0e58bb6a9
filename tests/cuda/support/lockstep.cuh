/* Nodes of the module's own kernels in step with the cpu and the reference: before a node runs, all three have the same numbers,
 * and what differs behind it is the node's own. Where the cpu's order of sums is kept, bits are compared; everywhere the
 * reference's doubles are near; and each row, or group of rows, has the bits that it has alone. Include after cmocka.h. */
#pragma once
#include "tests/cuda/support/device_tape.cuh"

/* A case on all three. */
struct lockstep {
  const char *name;
  net *cpu, *ref; /* closed by lockstep_run */
  device_tape device;
  int rows, unit; /* rows that are run; that stand alone */
};

/* Runs both passes, and compares. */
void lockstep_run(lockstep *t);

/* Gives a net its rows, and its tape what a pass of `rows` rows reads. */
void lockstep_begin(net *n, int rows);

/* Return whether a node of that op was compared in any run. */
bool lockstep_saw_forward(mz_op op);
bool lockstep_saw_backward(mz_op op);
