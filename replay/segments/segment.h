/* A segment: an immutable, reference-counted stretch of one game, with the look-ahead that its targets need; and the
 * trajectory that a game in play is recorded in until segments can be cut from it. (The one header of this room that
 * self-play sees.)
 *
 * Index t = 0 … length−1 is the state before move t. Positions 0 … moves−1 may be drawn for training; moves … length−1 are
 * look-ahead. Rewards and root values belong to the player to move at t. */
#pragma once
#include "base/bytes.h"
#include "base/spec.h"
#include "base/status.h"
#include <stdatomic.h>

typedef enum mz_end {
  MZ_END_OPEN,       /* the game continues after the last stored move; the next segment has the rest */
  MZ_END_TERMINATED, /* the last stored move ended the game: past it value and reward are 0 */
  MZ_END_TRUNCATED,  /* a time limit: past it nothing is known, targets bootstrap from the last root value */
} mz_end;

typedef struct mz_segment {
  _Atomic int references;
  uint64_t hash;    /* XXH64 of the content that mz_segment_write writes before this hash */
  uint32_t game;    /* slot */
  uint64_t ordinal; /* of segments of this slot, from 0 */
  uint64_t version; /* weight version of its first move */
  int moves, length;
  mz_end end;
  size_t bytes; /* raw size: what the buffer's bound counts */
  /* one block behind the struct */
  uint8_t *obs;            /* [length][mz_spec_obs_bytes] */
  int32_t *action;         /* [length] */
  float *reward, *value;   /* [length]; value: root value of the search; NaN: the move was random, and the value is no target */
  uint8_t *player;         /* [length] */
  uint32_t *policy_start;  /* [length + 1] into the two below */
  uint16_t *policy_action; /* every legal action, ascending */
  float *policy_weight;    /* the search's policy; 0 where the search gave none; sums to 1, or to 0: no target */
} mz_segment;

/* A segment has at most so many bytes, in memory as when written, and a game in play that none can be cut from yet has no more: what
 * claims to unpack to more is none. */
enum { MZ_SEGMENT_BYTES_MAX = 24 << 20 };

void mz_segment_retain(mz_segment *segment);
void mz_segment_release(mz_segment *segment); /* frees at 0; NULL is fine */
/* The content, then its hash. */
void mz_segment_write(const mz_segment *segment, size_t obs_bytes, mz_writer *writer);
/* Returns the most bytes that mz_segment_write writes of a game of this spec. */
size_t mz_segment_written_max(const mz_spec *spec);
/* Validates everything against the spec (hash, actions in range, monotone offsets, finite numbers, policies that are
 * distributions, random moves only where a game begins) and sizes before anything is allocated: MZ_E_CHECKPOINT. */
mz_status mz_segment_read(mz_reader *reader, const mz_spec *spec, mz_segment **out);

/* How segments are cut: `segment_moves` positions with `look_ahead` further moves; the last of a game has all that is left,
 * so at most the sum of both. */
typedef struct mz_cut {
  int segment_moves; /* positions a segment; 0: whole games */
  int look_ahead;    /* n + K */
} mz_cut;

/* For plans of memory, all actions being legal: moves of the longest segment, its bytes, and those of a drawable position with its
 * part of the look-ahead. Where nothing bounds a whole game, two players of a board are taken to make twice as many moves as it has
 * cells, and other games 4,096. */
int mz_segment_length_max(const mz_spec *spec, mz_cut cut);
double mz_segment_bytes_max(const mz_spec *spec, mz_cut cut);
double mz_transition_bytes(const mz_spec *spec, mz_cut cut);

/* One searched move, as the actor hands it over. */
typedef struct mz_move {
  const void *obs; /* mz_spec_obs_bytes */
  int action, player;
  float reward, value;
  bool random;                /* so what follows is no target for the value; no such move may come after one that is not */
  const float *policy;        /* [actions], 0 for illegal ones; NULL: the search was too small for a target */
  const uint8_t *legal;       /* [actions] */
  bool terminated, truncated; /* by this move */
} mz_move;

typedef struct mz_trajectory mz_trajectory;

mz_status mz_trajectory_create(mz_trajectory **out, const mz_spec *spec, mz_cut cut, uint32_t game);
void mz_trajectory_free(mz_trajectory *trajectory);
double mz_trajectory_bytes(const mz_spec *spec, mz_cut cut); /* at the most, for games of such a length */
/* Appends a move made with weights `version`. After a move that ends the game everything left is cut and the next move
 * starts a new game. Cut segments are passed to `emit` in order of their ordinals, with one reference, to keep whatever it
 * returns; its status is forwarded. MZ_E_DIVERGED: a value, reward, policy or observation is not finite, or the policy is
 * not a distribution; the move was not appended. MZ_E_CONFIG: the moves that wait for a segment exceed MZ_SEGMENT_BYTES_MAX. After
 * any other failure than MZ_E_DIVERGED the trajectory may only be freed or read anew. */
mz_status mz_trajectory_append(mz_trajectory *trajectory, const mz_move *move, uint64_t version,
                               mz_status (*emit)(void *context, mz_segment *segment), void *context);
/* Returns how many moves are recorded that no segment has taken over. */
int mz_trajectory_length(const mz_trajectory *trajectory);
/* The action of the game's last move, −1 where a game begins; and whether that move was random, or there is none. */
int mz_trajectory_last_action(const mz_trajectory *trajectory);
bool mz_trajectory_last_random(const mz_trajectory *trajectory);
/* The ordinal of the next segment; restart drops the moves that no segment holds yet and continues with this ordinal. */
uint64_t mz_trajectory_ordinal(const mz_trajectory *trajectory);
void mz_trajectory_restart(mz_trajectory *trajectory, uint64_t ordinal);
/* State of a game in play, for checkpoints and digests; read replaces the contents (empty when it fails, MZ_E_CHECKPOINT). */
void mz_trajectory_write(const mz_trajectory *trajectory, mz_writer *writer);
mz_status mz_trajectory_read(mz_trajectory *trajectory, mz_reader *reader);
