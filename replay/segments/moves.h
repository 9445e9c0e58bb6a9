/* A stretch of moves as arrays: the form that segments and trajectories share, with its writing, reading and checking.
 * Internal to this room. */
#pragma once
#include "base/maths/maths.h"
#include "base/bytes.h"
#include "base/spec.h"
#include "base/status.h"
#include <math.h>

typedef struct mz_moves { /* fields as in mz_segment */
  int length;
  uint8_t *obs;
  int32_t *action;
  float *reward, *value;
  uint8_t *player;
  uint32_t *policy_start;
  uint16_t *policy_action;
  float *policy_weight;
} mz_moves;

/* Bytes that `length` moves with `entries` policy entries take in memory. */
size_t mz_moves_bytes(int length, size_t entries, size_t obs_bytes);
/* Points the arrays into that much memory, aligned to 4. */
void mz_moves_place(mz_moves *moves, void *memory, int length, size_t entries, size_t obs_bytes);
/* Copies moves first … first+count−1 to the start of `to`, whose length becomes `count`. `to` may be `from`. */
void mz_moves_copy(const mz_moves *from, int first, int count, size_t obs_bytes, mz_moves *to);

void mz_moves_write(const mz_moves *moves, size_t obs_bytes, mz_writer *writer);
/* Returns the bytes that `length` moves with all actions legal take as written, the sizes before the arrays included. */
size_t mz_moves_written_max(const mz_spec *spec, int length);
/* Returns the most moves that fit into so many bytes, in memory or as written: of each one action is legal. */
int mz_moves_length_max(const mz_spec *spec, size_t bytes);
/* Reads what goes before the arrays and checks that they fit what is left and a game of this spec, so that memory may be had for
 * them. MZ_E_CHECKPOINT; `what` begins the message. *bytes: the size of the arrays as written. */
mz_status mz_moves_read_sizes(mz_reader *reader, const mz_spec *spec, const char *what, int *length, uint32_t *entries,
                              size_t *bytes);
/* Reads and checks the arrays, placed for exactly these sizes. */
mz_status mz_moves_read(mz_moves *moves, uint32_t entries, mz_reader *reader, const mz_spec *spec, const char *what);

/* Finite, none negative, and a sum within 1e-3 of 1. */
bool mz_policy_valid(const float *weights, int count);
/* All zeros: no target. */
bool mz_policy_none(const float *weights, int count);
/* The mark of a random move's value, which is no target, and whether a value is none. */
#define MZ_VALUE_NONE NAN
static inline bool mz_value_none(float value) { return isnan(value); }
