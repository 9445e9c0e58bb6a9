#include "replay/segments/segment_build.h"
#include <string.h>

struct mz_trajectory {
  mz_spec spec;
  mz_cut cut;
  size_t obs_bytes;
  uint32_t game;
  uint64_t ordinal;  /* of the next segment */
  mz_moves moves;    /* not yet cut: one unfinished game */
  uint64_t *version; /* [capacity] of each move, in the block behind the moves' arrays */
  int capacity;
  size_t entry_capacity;
  void *block;
  mz_writer scratch;
};

enum { FIRST_CAPACITY = 16 };

/* Returns the bytes of room for `capacity` moves and `entries` policy entries. */
static size_t room_bytes(int capacity, size_t entries, size_t obs_bytes) {
  return (size_t)capacity * sizeof(uint64_t) + mz_moves_bytes(capacity, entries, obs_bytes);
}

double mz_trajectory_bytes(const mz_spec *spec, mz_cut cut) {
  const double scratch = 1.5 * mz_segment_bytes_max(spec, cut); /* writers grow by half */
  int capacity = FIRST_CAPACITY;
  while (capacity < mz_segment_length_max(spec, cut)) capacity *= 2;
  return sizeof(mz_trajectory) + scratch +
         (double)room_bytes(capacity, (size_t)capacity * (size_t)spec->actions, mz_spec_obs_bytes(spec));
}

/* Refuses a game of which no segment could be cut any more, whatever comes. */
static mz_status check_size(const mz_trajectory *trajectory, int length, size_t entries) {
  if (sizeof(mz_segment) + mz_moves_bytes(length, entries, trajectory->obs_bytes) <= MZ_SEGMENT_BYTES_MAX) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "replay.segment_moves: %d moves of game %u take more than %d bytes, which no segment may have; %s",
                 length, trajectory->game, MZ_SEGMENT_BYTES_MAX,
                 trajectory->cut.segment_moves > 0 ? "lower it"
                                                   : "it is 0, which keeps games whole: set how many moves a segment has");
}

/* Makes room for `capacity` moves and `entries` policy entries, keeping what is there. */
static mz_status resize(mz_trajectory *trajectory, int capacity, size_t entries) {
  size_t version_bytes = (size_t)capacity * sizeof(uint64_t);
  uint8_t *block;
  MZ_TRY(mz_alloc(&block, 1, room_bytes(capacity, entries, trajectory->obs_bytes)));
  uint64_t *version = (uint64_t *)block;
  mz_moves moves;
  mz_moves_place(&moves, block + version_bytes, capacity, entries, trajectory->obs_bytes);
  moves.length = 0;
  if (trajectory->block) {
    mz_moves_copy(&trajectory->moves, 0, trajectory->moves.length, trajectory->obs_bytes, &moves);
    memcpy(version, trajectory->version, (size_t)moves.length * sizeof *version);
    free(trajectory->block);
  }
  trajectory->block = block;
  trajectory->moves = moves;
  trajectory->version = version;
  trajectory->capacity = capacity;
  trajectory->entry_capacity = entries;
  return MZ_OK;
}

mz_status mz_trajectory_create(mz_trajectory **out, const mz_spec *spec, mz_cut cut, uint32_t game) {
  if (spec->actions < 1 || spec->actions > UINT16_MAX + 1)
    return mz_fail(MZ_E_CONFIG, "replay: %d actions; a policy can hold 1 … %d", spec->actions, UINT16_MAX + 1);
  MZ_ASSERT(cut.segment_moves >= 0 && cut.look_ahead >= 0);
  mz_trajectory *trajectory;
  MZ_TRY(mz_alloc(&trajectory, 1, sizeof *trajectory));
  trajectory->spec = *spec;
  trajectory->cut = cut;
  trajectory->obs_bytes = mz_spec_obs_bytes(spec);
  trajectory->game = game;
  mz_status status = resize(trajectory, FIRST_CAPACITY, FIRST_CAPACITY * (size_t)spec->actions);
  if (status != MZ_OK) {
    mz_trajectory_free(trajectory);
    return status;
  }
  *out = trajectory;
  return MZ_OK;
}

void mz_trajectory_free(mz_trajectory *trajectory) {
  if (!trajectory) return;
  mz_writer_free(&trajectory->scratch);
  free(trajectory->block);
  free(trajectory);
}

/* Cuts a segment of the first `drawable` positions, with the first `length` moves, and drops those positions. */
static mz_status cut(mz_trajectory *trajectory, int drawable, int length, mz_end end,
                     mz_status (*emit)(void *context, mz_segment *segment), void *context) {
  mz_moves *moves = &trajectory->moves;
  mz_segment *segment;
  MZ_TRY(mz_segment_alloc(length, moves->policy_start[length], trajectory->obs_bytes, &segment));
  mz_moves content = mz_segment_moves(segment);
  mz_moves_copy(moves, 0, length, trajectory->obs_bytes, &content);
  segment->game = trajectory->game;
  segment->ordinal = trajectory->ordinal;
  segment->version = trajectory->version[0];
  segment->moves = drawable;
  segment->end = end;
  mz_status status = mz_segment_seal(segment, trajectory->obs_bytes, &trajectory->scratch);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  int rest = moves->length - drawable;
  mz_moves_copy(moves, drawable, rest, trajectory->obs_bytes, moves);
  memmove(trajectory->version, trajectory->version + drawable, (size_t)rest * sizeof *trajectory->version);
  trajectory->ordinal++;
  return emit(context, segment);
}

/* Only numbers can come out wrong (a network that diverged); the rest would be our own mistake. */
static mz_status check_move(const mz_trajectory *trajectory, const mz_move *move, const float *weights, int count) {
  MZ_ASSERT(move->action >= 0 && move->action < trajectory->spec.actions && move->legal[move->action]);
  MZ_ASSERT(move->player >= 0 && move->player < trajectory->spec.players);
  const mz_spec *spec = &trajectory->spec;
  if (!mz_all_finite(&move->value, 1) || !mz_all_finite(&move->reward, 1))
    return mz_fail(MZ_E_DIVERGED, "self-play: game %u: root value %g with reward %g is not finite", trajectory->game,
                   (double)move->value, (double)move->reward);
  if (move->policy && !mz_policy_valid(weights, count))
    return mz_fail(MZ_E_DIVERGED, "self-play: game %u: the search's policy is not a distribution", trajectory->game);
  if (spec->obs_kind == MZ_OBS_F32 && !mz_all_finite(move->obs, (size_t)spec->obs_size))
    return mz_fail(MZ_E_DIVERGED, "self-play: game %u: an observation is not finite", trajectory->game);
  return MZ_OK;
}

static mz_status push(mz_trajectory *trajectory, const mz_move *move, uint64_t version) {
  mz_moves *moves = &trajectory->moves;
  int t = moves->length, actions = trajectory->spec.actions;
  size_t first = moves->policy_start[t];
  if (t == trajectory->capacity || first + (size_t)actions > trajectory->entry_capacity) {
    bool full = t == trajectory->capacity;
    MZ_TRY(resize(trajectory, full ? 2 * trajectory->capacity : trajectory->capacity,
                  full ? trajectory->entry_capacity + first + (size_t)actions : 2 * trajectory->entry_capacity));
  }
  size_t entry = first; /* branch-free: an illegal action's entry is overwritten by the next */
  for (int a = 0; a < actions; a++) {
    moves->policy_action[entry] = (uint16_t)a;
    moves->policy_weight[entry] = move->policy ? move->policy[a] : 0;
    entry += move->legal[a] != 0;
  }
  MZ_TRY(check_size(trajectory, t + 1, entry));
  MZ_TRY(check_move(trajectory, move, moves->policy_weight + first, (int)(entry - first)));
  memcpy(moves->obs + (size_t)t * trajectory->obs_bytes, move->obs, trajectory->obs_bytes);
  moves->action[t] = move->action;
  moves->reward[t] = move->reward;
  moves->value[t] = move->random ? MZ_VALUE_NONE : move->value;
  moves->player[t] = (uint8_t)move->player;
  moves->policy_start[t + 1] = (uint32_t)entry;
  trajectory->version[t] = version;
  moves->length = t + 1;
  return MZ_OK;
}

mz_status mz_trajectory_append(mz_trajectory *trajectory, const mz_move *move, uint64_t version,
                               mz_status (*emit)(void *context, mz_segment *segment), void *context) {
  MZ_TRY(push(trajectory, move, version));
  int length = trajectory->moves.length, positions = trajectory->cut.segment_moves;
  if (move->terminated || move->truncated) {
    mz_end end = move->terminated ? MZ_END_TERMINATED : MZ_END_TRUNCATED;
    return cut(trajectory, length, length, end, emit, context);
  }
  if (positions > 0 && length >= positions + trajectory->cut.look_ahead)
    return cut(trajectory, positions, positions + trajectory->cut.look_ahead, MZ_END_OPEN, emit, context);
  return MZ_OK;
}

int mz_trajectory_length(const mz_trajectory *trajectory) { return trajectory->moves.length; }

int mz_trajectory_last_action(const mz_trajectory *trajectory) {
  const mz_moves *moves = &trajectory->moves;
  return moves->length > 0 ? moves->action[moves->length - 1] : -1;
}

bool mz_trajectory_last_random(const mz_trajectory *trajectory) {
  const mz_moves *moves = &trajectory->moves;
  return moves->length == 0 || mz_value_none(moves->value[moves->length - 1]);
}

uint64_t mz_trajectory_ordinal(const mz_trajectory *trajectory) { return trajectory->ordinal; }

void mz_trajectory_restart(mz_trajectory *trajectory, uint64_t ordinal) {
  trajectory->moves.length = 0;
  trajectory->moves.policy_start[0] = 0;
  trajectory->ordinal = ordinal;
}

void mz_trajectory_write(const mz_trajectory *trajectory, mz_writer *writer) {
  mz_write_u32(writer, trajectory->game);
  mz_write_u64(writer, trajectory->ordinal);
  mz_moves_write(&trajectory->moves, trajectory->obs_bytes, writer);
  for (int t = 0; t < trajectory->moves.length; t++) mz_write_u64(writer, trajectory->version[t]);
}

mz_status mz_trajectory_read(mz_trajectory *trajectory, mz_reader *reader) {
  char what[48];
  snprintf(what, sizeof what, "game in play %u", trajectory->game);
  uint32_t game = mz_read_u32(reader), entries;
  uint64_t ordinal = mz_read_u64(reader);
  int length;
  size_t bytes;
  trajectory->moves.length = 0;
  trajectory->moves.policy_start[0] = 0;
  MZ_TRY(mz_moves_read_sizes(reader, &trajectory->spec, what, &length, &entries, &bytes));
  if (game != trajectory->game) return mz_fail(MZ_E_CHECKPOINT, "%s: the record is of game %u", what, game);

  size_t actions = (size_t)trajectory->spec.actions;
  int capacity = length < trajectory->capacity ? trajectory->capacity : length + 1;
  size_t entry_capacity = entries + actions > trajectory->entry_capacity ? entries + actions : trajectory->entry_capacity;
  MZ_TRY(resize(trajectory, capacity, entry_capacity));
  mz_moves moves = trajectory->moves;
  moves.length = length;
  mz_status status = mz_moves_read(&moves, entries, reader, &trajectory->spec, what);
  for (int t = 0; t < length; t++) trajectory->version[t] = mz_read_u64(reader);
  if (status == MZ_OK && !reader->ok) status = mz_fail(MZ_E_CHECKPOINT, "%s: ends within its weight versions", what);
  if (status != MZ_OK) {
    moves.policy_start[0] = 0;
    return status;
  }
  trajectory->ordinal = ordinal;
  trajectory->moves.length = length;
  return MZ_OK;
}
