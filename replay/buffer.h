/* The replay buffer: a ring of segments bounded in transitions and in raw bytes, the oldest leave first; each drawable
 * position is a leaf of the priority tree. Written only at a round's end by one thread; between writes any number of threads
 * may draw and read. What a draw gives is a pure function of the buffer's state and the stream it draws from. */
#pragma once
#include "muzero/base/config.h"
#include "muzero/base/rng.h"
#include "replay/priority.h"
#include "replay/segment.h"

typedef struct mz_replay_settings {
  int64_t capacity;                              /* replay.capacity: transitions (drawable positions) */
  int64_t bytes_max;                             /* replay.bytes: raw bytes */
  int64_t min_fill;                              /* replay.min_fill: positions before learning starts */
  int64_t segment_moves;                         /* replay.segment_moves; 0: whole games */
  int64_t n_step;                                /* n_step; 0: to the end of the game */
  double discount;                               /* discount */
  double priority_exponent, importance_exponent; /* replay.priority_exponent (0: uniform), replay.importance_exponent */
  bool symmetry;                                 /* replay.symmetry */
} mz_replay_settings;
extern const mz_settings_table mz_replay_table;

typedef struct mz_buffer mz_buffer;
mz_status mz_buffer_create(mz_buffer **out, const mz_replay_settings *settings, const mz_spec *spec);
void mz_buffer_free(mz_buffer *buffer);

/* Takes over one reference, also when it fails; evicts until both bounds hold. First priorities are |root value − n-step
 * target|. Fails only when memory is out or the segment alone exceeds a bound (MZ_E_CONFIG, both numbers shown). */
mz_status mz_buffer_insert(mz_buffer *buffer, mz_segment *segment);

typedef struct mz_draw {
  const mz_segment *segment; /* alive until the next insert */
  int position;
  int64_t leaf;
  uint64_t serial; /* of the segment in this buffer: guards late priority updates */
  double probability;
} mz_draw;
/* Draws 2i and 2i + 1 come from the stream (seed, MZ_RNG_SAMPLE, update, i), whatever n is. The buffer is not empty. */
void mz_buffer_draw(const mz_buffer *buffer, uint64_t seed, uint32_t update, int n, mz_draw *draws);
/* Ignored when that segment has left. */
void mz_buffer_set_priority(mz_buffer *buffer, int64_t leaf, uint64_t serial, float error);

int64_t mz_buffer_positions(const mz_buffer *buffer);
int64_t mz_buffer_bytes(const mz_buffer *buffer);
int mz_buffer_segments(const mz_buffer *buffer);
/* Oldest first; serial increases by one per segment ever inserted. */
const mz_segment *mz_buffer_segment(const mz_buffer *buffer, int index, uint64_t *serial);
/* Everything that determines later draws: segment hashes in order, priorities, serials. Hashes 4 bytes a transition and 8 a
 * segment, so that it can be had every phase. */
uint64_t mz_buffer_digest(const mz_buffer *buffer);

/* Checkpoint: the index (serials, hashes, priorities), without segment contents; read rebuilds from it, asking `load` for
 * each segment by its hash (one reference passes to the buffer), and replaces what the buffer held (empty when it fails). With
 * the settings of the writer the digest is the same; under other bounds the oldest segments leave, under another priority
 * exponent all get first priorities. MZ_E_CHECKPOINT, or what `load` returns. */
void mz_buffer_write(const mz_buffer *buffer, mz_writer *writer);
mz_status mz_buffer_read(mz_buffer *buffer, mz_reader *reader, mz_status (*load)(void *context, uint64_t hash, mz_segment **out),
                         void *context);
