/* The replay buffer: a ring of segments bounded in transitions and in raw bytes, the oldest leave first; each drawable
 * position is a leaf of the priority tree. Written only at a round's end by one thread; between writes any number of threads
 * may draw and read. What a draw gives is a pure function of the buffer's state and the stream it draws from.
 *
 * Segments are kept in three tiers: the newest raw, older ones packed in memory, the oldest packed in a temporary file. No draw,
 * digest or checkpoint depends on which is where. */
#pragma once
#include "base/maths/rng.h"
#include "replay/segments/content.h"
#include "replay/batches/priority.h"
#include "replay/replay_settings.h"
#include "replay/storage/entry.h"

typedef struct mz_buffer mz_buffer;
mz_status mz_buffer_create(mz_buffer **out, const mz_replay_settings *settings, const mz_spec *spec);
void mz_buffer_free(mz_buffer *buffer);
/* Bytes of what is had for any contents (tree, ring, tables), and of the contents while they are raw, at the most. */
double mz_buffer_index_bytes(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut);
double mz_buffer_content_bytes(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut);
/* Segments that it then has, and positions, about at the most. */
double mz_buffer_segments_most(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut);
double mz_buffer_positions_most(const mz_replay_settings *settings, const mz_spec *spec, mz_cut cut);

/* Takes over one reference, also when it fails; evicts until both bounds hold. First priorities are |root value − n-step
 * target|. Packs and spills what the segment pushes out of its tier: about as many bytes as it has. Fails only when memory is
 * out or the segment alone exceeds a bound (MZ_E_CONFIG, both numbers shown). */
mz_status mz_buffer_insert(mz_buffer *buffer, mz_segment *segment);

typedef struct mz_draw {
  const mz_segment *segment; /* NULL: packed (mz_row_read reads of it); alive until the next insert or change of tiers */
  int position;
  int64_t leaf;
  uint64_t serial; /* of the segment in this buffer: guards late priority updates */
  double probability;
} mz_draw;
/* Draws 2i and 2i + 1 come from mz_stream_sample(seed, update, i), whatever n is. The buffer is not empty. */
void mz_buffer_draw(const mz_buffer *buffer, uint64_t seed, uint32_t update, int n, mz_draw *draws);
/* Ignored when that segment has left. */
void mz_buffer_set_priority(mz_buffer *buffer, int64_t leaf, uint64_t serial, float error);

int64_t mz_buffer_positions(const mz_buffer *buffer);
int64_t mz_buffer_bytes(const mz_buffer *buffer); /* raw bytes, whatever the tiers */
int mz_buffer_segments(const mz_buffer *buffer);

/* ---- the tiers ---- */

/* Changes the bounds, between rounds: what no longer fits goes down, what has room comes back up. Before anything is changed all
 * that comes up is in memory twice; where that fails the old bounds stay and nothing has moved (MZ_E_MEMORY; MZ_E_IO naming
 * the file when it is damaged). Bounds are in bytes of segments, raw and packed; 0: none. */
mz_status mz_buffer_set_tiers(mz_buffer *buffer, int64_t raw_bytes, int64_t packed_bytes);
/* The folder where packed segments beyond their bound go to a temporary file that has no name and is gone with the process.
 * Until it is given, and when the file cannot be written, they stay in memory, with one warning. A file that there is already
 * stays. MZ_E_MEMORY. */
mz_status mz_buffer_spill_to(mz_buffer *buffer, const char *folder);

typedef struct mz_tier_use {
  int segments[MZ_TIERS];
  int64_t bytes[MZ_TIERS]; /* as they are kept: raw, packed in memory, packed in the file */
} mz_tier_use;
mz_tier_use mz_buffer_tier_use(const mz_buffer *buffer);

/* ---- its segments ---- */

/* Oldest first. */
mz_entry mz_buffer_entry(const mz_buffer *buffer, int index);
/* Its contents as they are kept, without packing or unpacking; those of a spilled one are read (MZ_E_MEMORY, MZ_E_IO naming the
 * file). One reference for the caller. */
mz_status mz_buffer_content(const mz_buffer *buffer, int index, mz_content *out);

/* Everything that determines later draws: segment hashes in order, priorities, serials. For tests. */
uint64_t mz_buffer_digest(const mz_buffer *buffer);

/* Checkpoint: the index (serials, hashes, priorities), without segment contents; read rebuilds from it, asking `load` for
 * each segment by its hash (one reference passes to the buffer; NULL: it is lost, and left out), and replaces what the buffer
 * held (empty when it fails). With the settings of the writer the digest is the same; under other bounds the oldest segments
 * leave, under another priority exponent all get first priorities. MZ_E_CHECKPOINT, MZ_E_CONFIG for a segment beyond a bound of
 * this buffer, or what `load` returns. */
void mz_buffer_write(const mz_buffer *buffer, mz_writer *writer);
mz_status mz_buffer_read(mz_buffer *buffer, mz_reader *reader, mz_status (*load)(void *context, uint64_t hash, mz_segment **out),
                         void *context);
