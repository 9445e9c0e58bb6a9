/* A segment in the compact form of the packed tiers: any move of it can be read alone, without decoding the others. Lossless:
 *   observations    of bytes that are all 0 or 1 a bit an entry; stacked ones (mz_spec.frames) a frame a move
 *   legal actions   a bit an action, or their numbers, whichever takes less; weights of 0 take nothing beside bits
 *   any column      one row where it is the same in every move
 * Immutable and reference-counted, as the segment is. Never written to a file that outlives the process: packs on disk have frames
 * (frame.h). */
#pragma once
#include "replay/segments/segment.h"

typedef struct mz_packed {
  _Atomic int references;
  uint32_t size; /* bytes of `data` */
  uint64_t hash, ordinal, version;
  uint64_t bytes; /* of the segment when raw */
  uint32_t game, entries;
  int32_t moves, length;
  uint8_t end;
  uint8_t constant; /* a bit a column: one row stands for every move */
  bool is_bits;     /* observations: a bit an entry */
  bool is_stacked;  /* observations: frames, those before the first move's newest and then one a move */
  bool is_listed;   /* legal actions: by their numbers, each with its weight */
  bool is_dense;    /* not listed, and no weight is 0: the legal actions say which there are */
  uint8_t data[];   /* columns, one behind the other, then the weights; of listed actions, these and all their weights */
} mz_packed;

/* Has memory for `size` bytes of data; everything but the size is for the caller to fill in. One reference. */
mz_status mz_packed_alloc(uint32_t size, mz_packed **out);
void mz_packed_retain(mz_packed *packed);
void mz_packed_release(mz_packed *packed); /* frees at 0; NULL is fine */
/* Returns the bytes that `size` bytes of data take in memory, the struct before them included. */
size_t mz_packed_bytes(uint32_t size);

/* Packs a segment of this spec. `scratch` is reused from call to call, and the caller's to free. One reference. MZ_E_MEMORY. */
mz_status mz_packed_pack(const mz_segment *segment, const mz_spec *spec, mz_writer *scratch, mz_packed **out);
/* Makes the segment that was packed. One reference. MZ_E_MEMORY. */
mz_status mz_packed_unpack(const mz_packed *packed, const mz_spec *spec, mz_segment **out);

/* How many moves are read from a position on; never past the segment's end. */
typedef struct mz_span {
  int values;       /* rewards, root values and players */
  int policies;     /* actions and policies, at most `values` */
  int observations; /* at most `values` */
} mz_span;

/* Returns the bytes that a span takes when `length` moves are left from its position on. */
size_t mz_span_bytes(const mz_span *span, int length, const mz_spec *spec);
/* Fills in `out` with moves position … of a packed segment, as if it had been cut there: its length is that of the span, and its
 * end is open unless the span reaches the segment's end. Arrays lie in `memory` (aligned to 4, mz_span_bytes for the moves that
 * are left) and hold no more than the span names. `out` is neither retained nor released. */
void mz_packed_read(const mz_packed *packed, const mz_spec *spec, int position, const mz_span *span, void *memory,
                    mz_segment *out);
