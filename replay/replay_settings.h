/* Settings of the replay buffer and of the targets that are made from it. */
#pragma once
#include "base/config/config.h"

typedef struct mz_replay_settings {
  int64_t capacity;                              /* replay.capacity: transitions (drawable positions) */
  int64_t bytes_max;                             /* replay.bytes: raw bytes */
  int64_t min_fill;                              /* replay.min_fill: positions before learning starts */
  int64_t segment_moves;                         /* replay.segment_moves; 0: whole games */
  int64_t td_steps;                              /* td_steps; 0: to the end of the game */
  double discount, lambda;                       /* discount, td_lambda */
  double priority_exponent, importance_exponent; /* replay.priority_exponent (0: uniform), replay.importance_exponent */
  bool symmetry;                                 /* replay.symmetry */
  int64_t raw_bytes, packed_bytes;               /* replay.raw_bytes, replay.packed_bytes: bounds of the tiers, 0: none */
} mz_replay_settings;
extern const mz_settings_table mz_replay_table;
