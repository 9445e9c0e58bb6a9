#include "selfplay/evaluation/lines.h"
#include "base/arena.h"
#include "base/maths/digest.h"
#include <string.h>

/* --- positions of one ply with one player to move, merged --- */

typedef struct position_set {
  size_t state_size;
  int count, capacity;
  uint8_t *states; /* [capacity][state_size] */
  double *returns; /* [capacity] so far; positions that differ in it are distinct */
  int64_t *lines;  /* [capacity] that lead here */
  int32_t *table;  /* [2 capacity] open addressing: index + 1, 0: free */
  void *block;
} position_set;

enum { THEIRS, OURS, SIDES };

typedef struct enumeration {
  const mz_env *env;
  int seat, plies;
  int64_t limit, open_lines;            /* open: in `next` */
  position_set now[SIDES], next[SIDES]; /* by whose turn it is */
  uint8_t *state;                       /* scratch */
  uint8_t *mask;                        /* [actions], scratch */
  void *block;
  int32_t *actions; /* [now[OURS].capacity] */
  int action_capacity;
  mz_lines *out;
} enumeration;

/* The place in the table of this position, or the free one where it belongs. */
static int32_t *lookup(const position_set *set, const void *state, double so_far) {
  uint64_t key;
  memcpy(&key, &so_far, sizeof key);
  const uint64_t mask = 2 * (uint64_t)set->capacity - 1; /* capacity is a power of two */
  uint64_t at = mz_hash(state, set->state_size, key) & mask;
  for (; set->table[at]; at = (at + 1) & mask) {
    const size_t i = (size_t)set->table[at] - 1;
    if (memcmp(&set->returns[i], &so_far, sizeof so_far) == 0 &&
        memcmp(set->states + i * set->state_size, state, set->state_size) == 0) {
      break;
    }
  }
  return &set->table[at];
}

static mz_status grow(const enumeration *e, position_set *set) {
  position_set larger = {.state_size = set->state_size, .count = set->count, .capacity = set->capacity ? 2 * set->capacity : 64};
  const size_t capacity = (size_t)larger.capacity, count = (size_t)set->count;
  mz_carver carver = {0};
  mz_carve(&carver, &larger.states, capacity, set->state_size);
  mz_carve(&carver, &larger.returns, capacity, sizeof *larger.returns);
  mz_carve(&carver, &larger.lines, capacity, sizeof *larger.lines);
  mz_carve(&carver, &larger.table, 2 * capacity, sizeof *larger.table);
  if (carver.bytes > MZ_LINES_BYTES / (2 * SIDES))
    return mz_fail(MZ_E_CONFIG,
                   "opponent: all: %s has more than %d different positions after %d moves; play a sample of games instead",
                   e->env->name, set->count, e->plies + 1);
  MZ_TRY(mz_carve_commit(&carver, &larger.block));
  if (count) {
    memcpy(larger.states, set->states, count * set->state_size);
    memcpy(larger.returns, set->returns, count * sizeof *set->returns);
    memcpy(larger.lines, set->lines, count * sizeof *set->lines);
  }
  for (int i = 0; i < larger.count; i++) {
    *lookup(&larger, larger.states + (size_t)i * larger.state_size, larger.returns[i]) = i + 1;
  }
  free(set->block);
  *set = larger;
  return MZ_OK;
}

static void clear(position_set *set) {
  set->count = 0;
  if (set->table) memset(set->table, 0, 2 * (size_t)set->capacity * sizeof *set->table);
}

static mz_status add(const enumeration *e, position_set *set, const void *state, double so_far, int64_t lines) {
  if (set->count == set->capacity) MZ_TRY(grow(e, set));
  int32_t *place = lookup(set, state, so_far);
  if (!*place) {
    const size_t i = (size_t)set->count++;
    memcpy(set->states + i * set->state_size, state, set->state_size);
    set->returns[i] = so_far;
    set->lines[i] = 0;
    *place = (int32_t)i + 1;
  }
  set->lines[*place - 1] += lines;
  return MZ_OK;
}

/* --- the enumeration, ply by ply --- */

/* All lines of position i of that side continue by one action. */
static mz_status follow(enumeration *e, int side, int i, int32_t action) {
  const position_set *set = &e->now[side];
  mz_step step;
  memcpy(e->state, set->states + (size_t)i * set->state_size, set->state_size);
  MZ_TRY(e->env->step(e->env, e->state, 1, &action, NULL, &step));
  const double so_far = set->returns[i] + mz_spec_gain(&e->env->spec, side == OURS, step.reward);
  if (step.terminated || step.truncated) {
    mz_tally_add(&e->out->tally, &e->out->square_sum, so_far, set->lines[i]);
    e->out->moves += set->lines[i] * (e->plies + 1);
  } else {
    position_set *next = &e->next[mz_env_to_play(e->env, e->state) == e->seat ? OURS : THEIRS];
    e->open_lines += set->lines[i];
    MZ_TRY(add(e, next, e->state, so_far, set->lines[i]));
  }
  if (e->out->tally.games + e->open_lines > e->limit) {
    return mz_fail(MZ_E_CONFIG, "opponent: all: %s has more than %lld lines of play; play a sample of games instead",
                   e->env->name, (long long)e->limit);
  }
  return MZ_OK;
}

static mz_status follow_ours(enumeration *e, mz_chooser choose, void *context) {
  const position_set *set = &e->now[OURS];
  if (set->count > e->action_capacity) {
    free(e->actions);
    e->actions = NULL;
    e->action_capacity = 0;
    MZ_TRY(mz_alloc(&e->actions, (size_t)set->capacity, sizeof *e->actions));
    e->action_capacity = set->capacity;
  }
  if (set->count == 0) return MZ_OK;
  e->out->positions += set->count;
  MZ_TRY(choose(context, set->count, set->states, e->actions));
  for (int i = 0; i < set->count; i++) MZ_TRY(follow(e, OURS, i, e->actions[i]));
  return MZ_OK;
}

static mz_status follow_theirs(enumeration *e) {
  const position_set *set = &e->now[THEIRS];
  for (int i = 0; i < set->count; i++) {
    mz_env_legal(e->env, set->states + (size_t)i * set->state_size, e->mask);
    for (int a = 0; a < e->env->spec.actions; a++) {
      if (e->mask[a]) MZ_TRY(follow(e, THEIRS, i, a));
    }
  }
  return MZ_OK;
}

mz_status mz_lines_count(const mz_env *env, int seat, mz_chooser choose, void *context, int64_t limit, mz_lines *out) {
  MZ_ASSERT(env->spec.players == 2 && !env->draws);
  *out = (mz_lines){0};
  enumeration e = {.env = env, .seat = seat, .limit = limit, .out = out};
  for (int side = 0; side < SIDES; side++) e.now[side].state_size = e.next[side].state_size = env->state_size;
  mz_carver carver = {0};
  mz_carve(&carver, &e.state, 1, env->state_size);
  mz_carve(&carver, &e.mask, (size_t)env->spec.actions, 1);
  mz_status status;
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &e.block));
  MZ_TRY_CLEANUP(env->reset(env, e.state, NULL));
  MZ_TRY_CLEANUP(add(&e, &e.now[mz_env_to_play(env, e.state) == seat ? OURS : THEIRS], e.state, 0, 1));
  for (; e.now[OURS].count + e.now[THEIRS].count > 0; e.plies++) {
    e.open_lines = 0;
    MZ_TRY_CLEANUP(follow_ours(&e, choose, context));
    MZ_TRY_CLEANUP(follow_theirs(&e));
    for (int side = 0; side < SIDES; side++) {
      const position_set done = e.now[side];
      e.now[side] = e.next[side];
      e.next[side] = done;
      clear(&e.next[side]);
    }
  }
cleanup:
  for (int side = 0; side < SIDES; side++) {
    free(e.now[side].block);
    free(e.next[side].block);
  }
  free(e.actions);
  free(e.block);
  return status;
}
