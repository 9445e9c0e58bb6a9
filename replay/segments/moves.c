#include "replay/segments/moves.h"
#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie in memory");

static size_t padded_obs_bytes(int length, size_t obs_bytes) { return ((size_t)length * obs_bytes + 3) & ~(size_t)3; }

size_t mz_moves_bytes(int length, size_t entries, size_t obs_bytes) {
  size_t n = (size_t)length;
  return padded_obs_bytes(length, obs_bytes) + n * (sizeof(int32_t) + 2 * sizeof(float) + 1) + (n + 1) * sizeof(uint32_t) +
         entries * (sizeof(float) + sizeof(uint16_t));
}

/* Widest elements first, so that everything lies aligned without gaps. */
void mz_moves_place(mz_moves *moves, void *memory, int length, size_t entries, size_t obs_bytes) {
  size_t n = (size_t)length;
  moves->length = length;
  moves->obs = memory;
  moves->action = (int32_t *)(moves->obs + padded_obs_bytes(length, obs_bytes));
  moves->reward = (float *)(moves->action + n);
  moves->value = moves->reward + n;
  moves->policy_start = (uint32_t *)(moves->value + n);
  moves->policy_weight = (float *)(moves->policy_start + n + 1);
  moves->policy_action = (uint16_t *)(moves->policy_weight + entries);
  moves->player = (uint8_t *)(moves->policy_action + entries);
}

void mz_moves_copy(const mz_moves *from, int first, int count, size_t obs_bytes, mz_moves *to) {
  size_t n = (size_t)count;
  uint32_t base = from->policy_start[first];
  size_t entries = from->policy_start[first + count] - base;
  memmove(to->obs, from->obs + (size_t)first * obs_bytes, n * obs_bytes);
  memmove(to->action, from->action + first, n * sizeof(int32_t));
  memmove(to->reward, from->reward + first, n * sizeof(float));
  memmove(to->value, from->value + first, n * sizeof(float));
  memmove(to->player, from->player + first, n);
  memmove(to->policy_action, from->policy_action + base, entries * sizeof(uint16_t));
  memmove(to->policy_weight, from->policy_weight + base, entries * sizeof(float));
  for (int t = 0; t <= count; t++) to->policy_start[t] = from->policy_start[first + t] - base;
  to->length = count;
}

void mz_moves_write(const mz_moves *moves, size_t obs_bytes, mz_writer *writer) {
  size_t n = (size_t)moves->length;
  size_t entries = moves->policy_start[n];
  mz_write_u32(writer, (uint32_t)obs_bytes);
  mz_write_u32(writer, (uint32_t)n);
  mz_write_u32(writer, (uint32_t)entries);
  mz_write(writer, moves->obs, n * obs_bytes);
  mz_write(writer, moves->action, n * sizeof(int32_t));
  mz_write(writer, moves->reward, n * sizeof(float));
  mz_write(writer, moves->value, n * sizeof(float));
  mz_write(writer, moves->player, n);
  mz_write(writer, moves->policy_start, (n + 1) * sizeof(uint32_t));
  mz_write(writer, moves->policy_action, entries * sizeof(uint16_t));
  mz_write(writer, moves->policy_weight, entries * sizeof(float));
}

static size_t written_per_move(size_t obs_bytes) {
  return obs_bytes + sizeof(int32_t) + 2 * sizeof(float) + 1 + sizeof(uint32_t);
}

static const size_t written_per_entry = sizeof(uint16_t) + sizeof(float);

size_t mz_moves_written_max(const mz_spec *spec, int length) {
  const size_t a_move = written_per_move(mz_spec_obs_bytes(spec)) + (size_t)spec->actions * written_per_entry;
  return 4 * sizeof(uint32_t) + (size_t)length * a_move; /* three sizes, and one offset more than there are moves */
}

int mz_moves_length_max(const mz_spec *spec, size_t bytes) {
  return (int)(bytes / (written_per_move(mz_spec_obs_bytes(spec)) + written_per_entry));
}

mz_status mz_moves_read_sizes(mz_reader *reader, const mz_spec *spec, const char *what, int *length, uint32_t *entries,
                              size_t *bytes) {
  const size_t obs_bytes = mz_spec_obs_bytes(spec);
  uint32_t stored_obs_bytes = mz_read_u32(reader);
  uint32_t stored_length = mz_read_u32(reader);
  *entries = mz_read_u32(reader);
  if (!reader->ok) return mz_fail(MZ_E_CHECKPOINT, "%s: ends within its sizes", what);
  if (stored_obs_bytes != obs_bytes)
    return mz_fail(MZ_E_CHECKPOINT, "%s: holds observations of %u bytes, the environment has %zu", what, stored_obs_bytes,
                   obs_bytes);
  if (spec->max_moves > 0 && stored_length > (uint32_t)spec->max_moves)
    return mz_fail(MZ_E_CHECKPOINT, "%s: %u moves, a game has at most %d", what, stored_length, spec->max_moves);
  size_t per_move = written_per_move(obs_bytes), per_entry = written_per_entry;
  size_t left = mz_reader_left(reader);
  if (stored_length > left / per_move || *entries > left / per_entry || stored_length > INT32_MAX / 2)
    return mz_fail(MZ_E_CHECKPOINT, "%s: %u moves with %u policy entries do not fit the %zu bytes that are there", what,
                   stored_length, *entries, left);
  *bytes = stored_length * per_move + sizeof(uint32_t) + *entries * per_entry;
  if (*bytes > left)
    return mz_fail(MZ_E_CHECKPOINT, "%s: %u moves with %u policy entries need %zu bytes, %zu are there", what, stored_length,
                   *entries, *bytes, left);
  *length = (int)stored_length;
  return MZ_OK;
}

bool mz_policy_valid(const float *weights, int count) {
  float sum = 0;
  bool negative = false;
  for (int i = 0; i < count; i++) {
    sum += weights[i];
    negative |= weights[i] < 0;
  }
  return !negative && fabsf(sum - 1) <= 1e-3f; /* false for NaN and infinity */
}

bool mz_policy_none(const float *weights, int count) {
  for (int i = 0; i < count; i++) {
    if (weights[i] != 0) return false;
  }
  return true;
}

static bool policy_names_legal_actions(const mz_moves *moves, int t, int actions) {
  bool played = false;
  int before = -1;
  for (uint32_t e = moves->policy_start[t]; e < moves->policy_start[t + 1]; e++) {
    int action = moves->policy_action[e];
    if (action <= before || action >= actions) return false;
    played |= action == moves->action[t];
    before = action;
  }
  return played;
}

static mz_status check(const mz_moves *moves, uint32_t entries, const mz_spec *spec, const char *what) {
  if (moves->policy_start[0] != 0 || moves->policy_start[moves->length] != entries)
    return mz_fail(MZ_E_CHECKPOINT, "%s: policy offsets do not span the %u entries", what, entries);
  for (int t = 0; t < moves->length; t++) {
    if (moves->policy_start[t] > moves->policy_start[t + 1] || moves->policy_start[t + 1] > entries)
      return mz_fail(MZ_E_CHECKPOINT, "%s: policy offsets go back at move %d", what, t);
    if (!policy_names_legal_actions(moves, t, spec->actions))
      return mz_fail(MZ_E_CHECKPOINT, "%s: move %d: action %d, or its policy, does not fit the %d actions", what, t,
                     moves->action[t], spec->actions);
    const float *policy = moves->policy_weight + moves->policy_start[t];
    const int legal = (int)(moves->policy_start[t + 1] - moves->policy_start[t]);
    if (!mz_policy_none(policy, legal) && !mz_policy_valid(policy, legal))
      return mz_fail(MZ_E_CHECKPOINT, "%s: move %d: the policy is not a distribution", what, t);
    if (moves->player[t] >= spec->players)
      return mz_fail(MZ_E_CHECKPOINT, "%s: move %d: player %d of %d", what, t, moves->player[t], spec->players);
  }
  size_t n = (size_t)moves->length, random = 0;
  while (random < n && mz_value_none(moves->value[random])) random++;
  if (!mz_all_finite(moves->reward, n) || !mz_all_finite(moves->value + random, n - random))
    return mz_fail(MZ_E_CHECKPOINT, "%s: a reward or a root value is not finite", what);
  if (spec->obs_kind == MZ_OBS_F32 && !mz_all_finite((const float *)moves->obs, n * (size_t)spec->obs_size))
    return mz_fail(MZ_E_CHECKPOINT, "%s: an observation is not finite", what);
  return MZ_OK;
}

mz_status mz_moves_read(mz_moves *moves, uint32_t entries, mz_reader *reader, const mz_spec *spec, const char *what) {
  size_t n = (size_t)moves->length;
  mz_read(reader, moves->obs, n * mz_spec_obs_bytes(spec));
  mz_read(reader, moves->action, n * sizeof(int32_t));
  mz_read(reader, moves->reward, n * sizeof(float));
  mz_read(reader, moves->value, n * sizeof(float));
  mz_read(reader, moves->player, n);
  mz_read(reader, moves->policy_start, (n + 1) * sizeof(uint32_t));
  mz_read(reader, moves->policy_action, entries * sizeof(uint16_t));
  mz_read(reader, moves->policy_weight, entries * sizeof(float));
  if (!reader->ok) return mz_fail(MZ_E_CHECKPOINT, "%s: ends within its moves", what);
  return check(moves, entries, spec, what);
}
