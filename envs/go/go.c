/* Go: the game around the board of go_board.h: turns, repetition, the end. Actions are cells, row by row from A1, the corner at
 * the bottom left (board_text.h), and after them the pass. */
#include "envs/board_text.h"
#include "envs/bundled.h"
#include "envs/go/go_board.h"
#include "envs/variants.h"
#include <string.h>

enum {
  SIDE = 9,
  HISTORY = 4,
  CHANNELS = 2 * HISTORY + 2 + 2 * MZ_GO_LIBERTIES_MAX,
  WORDS = (MZ_GO_CELLS_MAX + 63) / 64,
  FILTER = 1024
};

/* Rules for a move that repeats an earlier position, beyond the simple ko, which is always forbidden. */
typedef enum superko { SUPERKO_FORBID, SUPERKO_LOSS, SUPERKO_DRAW, SUPERKO_NONE } superko;

typedef struct options {
  int64_t size;
  double komi;
  int32_t superko;
} options;

/* Behind it, `hashes`: of every position so far that a stone led to, the first one included. A pass repeats a position without
 * being a repetition. */
typedef struct state {
  double komi;
  uint64_t stones[HISTORY][2][WORDS]; /* [moves % HISTORY][player], bit: cell; the last positions */
  uint64_t taken[2][WORDS];           /* [player]: where stones of theirs have been captured so far */
  uint64_t filter[FILTER / 64];       /* bit h % FILTER is set for every h of `hashes` */
  uint16_t moves, hash_count;
  uint8_t superko, passes; /* passes: in a row, up to now */
  uint8_t ended;
  uint8_t padding;
  mz_go_board board; /* ends with an array */
} state;

static int limit_of(int side) { return 2 * side * side; }

/* A macro, for the constant in mz_env_go. */
#define STATE_BYTES(side)                                                                                                        \
  (offsetof(state, board) + MZ_GO_BOARD_BYTES(side) + (2 * (size_t)(side) * (size_t)(side) + 1) * sizeof(uint64_t))

static size_t state_bytes(int side) { return STATE_BYTES(side); }

static uint64_t *hashes(state *s) { return (uint64_t *)((char *)&s->board + MZ_GO_BOARD_BYTES(s->board.side)); }
static const uint64_t *hashes_of(const state *s) {
  return (const uint64_t *)((const char *)&s->board + MZ_GO_BOARD_BYTES(s->board.side));
}

static const state *state_at(const void *states, int index) {
  const state *first = states;
  return (const state *)((const char *)states + (size_t)index * state_bytes(first->board.side));
}

static bool has_bit(const uint64_t *bits, int cell) { return bits[cell / 64] >> cell % 64 & 1; }
static void set_bit(uint64_t *bits, int cell) { bits[cell / 64] |= 1ull << cell % 64; }
static void clear_bit(uint64_t *bits, int cell) { bits[cell / 64] &= ~(1ull << cell % 64); }

static int mover(const state *s) { return s->moves & 1; }

static void remember_position(state *s) {
  set_bit(s->filter, (int)(s->board.hash % FILTER));
  hashes(s)[s->hash_count++] = s->board.hash;
}

static bool was_position(const state *s, uint64_t hash) {
  if (!has_bit(s->filter, (int)(hash % FILTER))) return false;
  const uint64_t *known = hashes_of(s);
  bool found = false;
  for (int i = 0; i < s->hash_count; i++) found |= known[i] == hash;
  return found;
}

/* Whether a stone of the player to move there leads to an earlier position. That position had the stone on a cell where now there
 * is none, so it has been captured since: all other cells need no look at the hashes. */
static bool repeats(const state *s, int cell) {
  if (!has_bit(s->taken[mover(s)], cell)) return false;
  return was_position(s, mz_go_board_hash_after(&s->board, mz_go_point_of(s->board.side, cell), mover(s)));
}

/* --- moves --- */

static void place_stone(state *s, int cell) {
  const int side = s->board.side, own = mover(s);
  uint64_t(*now)[WORDS] = s->stones[(s->moves + 1) % HISTORY];
  memcpy(now, s->stones[s->moves % HISTORY], sizeof s->stones[0]);
  set_bit(now[own], cell);
  uint16_t captured[MZ_GO_CELLS_MAX];
  const int count = mz_go_board_play(&s->board, mz_go_point_of(side, cell), own, captured);
  for (int i = 0; i < count; i++) {
    const int from = mz_go_cell_of(side, captured[i]);
    clear_bit(now[own ^ 1], from);
    set_bit(s->taken[own ^ 1], from);
  }
  remember_position(s);
  s->passes = 0;
}

static void pass(state *s) {
  memcpy(s->stones[(s->moves + 1) % HISTORY], s->stones[s->moves % HISTORY], sizeof s->stones[0]);
  s->board.ko = 0;
  s->passes++;
}

/* 1, 0 or −1 for the player, by Black's area less White's. */
static float outcome(int area, double komi, int player) {
  const float black = area > komi ? 1 : area < komi ? -1 : 0;
  return player == MZ_GO_BLACK ? black : -black;
}

static mz_step play(state *s, int action) {
  const int side = s->board.side, player = mover(s);
  const bool passing = action == side * side;
  const bool repetition = !passing && (s->superko == SUPERKO_LOSS || s->superko == SUPERKO_DRAW) && repeats(s, action);
  if (passing)
    pass(s);
  else
    place_stone(s, action);
  s->moves++;
  s->ended = repetition || s->passes == 2 || s->moves == limit_of(side);
  mz_step result = {.terminated = s->ended};
  if (repetition)
    result.reward = s->superko == SUPERKO_LOSS ? -1 : 0;
  else if (s->ended)
    result.reward = outcome(mz_go_board_area(&s->board), s->komi, player);
  return result;
}

/* --- the environment --- */

/* The empty board; no position is remembered yet. */
static void clear(const options *o, state *s) {
  memset(s, 0, state_bytes((int)o->size));
  s->komi = o->komi;
  s->superko = (uint8_t)o->superko;
  mz_go_board_init(&s->board, (int)o->size);
}

static mz_status reset(const mz_env *env, void *out, const mz_generator *generator) {
  (void)generator;
  clear(env->options, out);
  remember_position(out);
  return MZ_OK;
}

static bool is_legal(const state *s, int action) {
  const int side = s->board.side;
  if (s->ended || action < 0 || action > side * side) return false;
  if (action == side * side) return true;
  return mz_go_board_legal(&s->board, mz_go_point_of(side, action), mover(s)) &&
         !(s->superko == SUPERKO_FORBID && repeats(s, action));
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  const size_t stride = state_bytes(((const state *)states)->board.side);
  for (int i = 0; i < n; i++) {
    state *s = (state *)((char *)states + (size_t)i * stride);
    MZ_ASSERT(is_legal(s, actions[i]));
    results[i] = play(s, actions[i]);
  }
  return MZ_OK;
}

static int legal(const mz_env *env, const void *from, uint8_t *mask) {
  (void)env;
  const state *s = from;
  const int cells = s->board.side * s->board.side;
  if (s->ended) {
    memset(mask, 0, (size_t)cells + 1);
    return 0;
  }
  int count = 1 + mz_go_board_legal_mask(&s->board, mover(s), mask);
  mask[cells] = 1;
  if (s->superko != SUPERKO_FORBID) return count;
  for (int cell = 0; cell < cells; cell++) {
    if (!mask[cell] || !repeats(s, cell)) continue;
    mask[cell] = 0;
    count--;
  }
  return count;
}

/* The simple ko, and where a stone would repeat a position, unless that has no consequence. */
static bool is_repetition(const state *s, int cell) {
  const int point = mz_go_point_of(s->board.side, cell);
  if (point == s->board.ko) return true;
  return s->superko != SUPERKO_NONE && has_bit(s->taken[mover(s)], cell) && mz_go_board_legal(&s->board, point, mover(s)) &&
         repeats(s, cell);
}

/* NHWC, side × side × 16: {own, opponent's stone} now, one, two and three moves ago; a repetition; Black is to move; own stones whose
 * chain has one, two, three or more liberties; likewise the opponent's. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++) {
    const state *s = state_at(states, i);
    const int own = mover(s), cells = s->board.side * s->board.side;
    const uint64_t(*now)[WORDS] = s->stones[s->moves % HISTORY];
    uint8_t liberties[MZ_GO_CELLS_MAX];
    mz_go_board_liberties(&s->board, liberties);
    for (int cell = 0; cell < cells; cell++) {
      for (int ago = 0; ago < HISTORY; ago++) {
        const uint64_t(*then)[WORDS] = s->stones[(s->moves + HISTORY - ago) % HISTORY];
        *out++ = has_bit(then[own], cell);
        *out++ = has_bit(then[own ^ 1], cell);
      }
      *out++ = is_repetition(s, cell);
      *out++ = own == MZ_GO_BLACK;
      for (int side = 0; side < 2; side++)
        for (int count = 1; count <= MZ_GO_LIBERTIES_MAX; count++)
          *out++ = liberties[cell] == count && has_bit(now[own ^ side], cell);
    }
  }
}

/* --- states from outside --- */

/* Whether no cell beyond the board is in the set. */
static bool is_on_board(const uint64_t *bits, int cells) {
  for (int word = 0; word < WORDS; word++) {
    const int here = cells - 64 * word;
    if (here < 64 && bits[word] >> (here > 0 ? here : 0)) return false;
  }
  return true;
}

/* Whether the last positions are possible ones, the present one that of the board, and those before the first empty. */
static bool is_history(const state *s) {
  const int side = s->board.side, cells = side * side;
  for (int at = 0; at < HISTORY; at++) {
    const uint64_t *black = s->stones[at][MZ_GO_BLACK], *white = s->stones[at][MZ_GO_WHITE];
    if (!is_on_board(black, cells) || !is_on_board(white, cells)) return false;
    for (int word = 0; word < WORDS; word++) {
      if (black[word] & white[word] || (at > s->moves && (black[word] || white[word]))) return false;
    }
  }
  const uint64_t(*now)[WORDS] = s->stones[s->moves % HISTORY];
  for (int cell = 0; cell < cells; cell++) {
    const int colour = s->board.points[mz_go_point_of(side, cell)].colour;
    if (has_bit(now[MZ_GO_BLACK], cell) != (colour == MZ_GO_BLACK) || has_bit(now[MZ_GO_WHITE], cell) != (colour == MZ_GO_WHITE))
      return false;
  }
  return is_on_board(s->taken[MZ_GO_BLACK], cells) && is_on_board(s->taken[MZ_GO_WHITE], cells);
}

/* Whether the hashes, no more than there were moves, end with that of the board, and the filter is theirs. */
static bool are_hashes(const state *s) {
  const uint64_t *known = hashes_of(s);
  const int count = s->hash_count, room = limit_of(s->board.side) + 1;
  if (count < 1 || count > 1 + s->moves - s->passes || known[count - 1] != s->board.hash) return false;
  uint64_t filter[FILTER / 64] = {0};
  for (int i = 0; i < count; i++) set_bit(filter, (int)(known[i] % FILTER));
  for (int i = count; i < room; i++) {
    if (known[i]) return false;
  }
  return memcmp(s->filter, filter, sizeof filter) == 0;
}

static bool valid(const mz_env *env, const void *from) {
  const options *o = env->options;
  const state *s = from;
  if (s->komi != o->komi || s->superko != o->superko || s->ended || s->padding) return false;
  if (s->moves >= limit_of((int)o->size) || s->passes > 1 || (s->passes && s->board.ko)) return false;
  return mz_go_board_valid(&s->board, (int)o->size) && is_history(s) && are_hashes(s);
}

/* --- views --- */

static int to_play(const mz_env *env, const void *from) {
  (void)env;
  return mover(from);
}

static int text(const mz_env *env, const void *from, char *out, size_t size) {
  (void)env;
  const state *s = from;
  char cells[MZ_GO_CELLS_MAX];
  for (int cell = 0; cell < s->board.side * s->board.side; cell++)
    cells[cell] = "XO."[s->board.points[mz_go_point_of(s->board.side, cell)].colour];
  return mz_board_text(s->board.side, cells, out, size);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  const int side = (int)((const options *)env->options)->size;
  return action == side * side ? snprintf(out, size, "pass") : mz_point_text(side, action, out, size);
}

static float rollout(const mz_env *env, const void *from, uint64_t *random) {
  (void)env;
  const state *s = from;
  const int area = mz_go_board_rollout(&s->board, mover(s), s->passes, limit_of(s->board.side) - s->moves, random);
  return outcome(area, s->komi, mover(s));
}

/* The cells: 1 black, −1 white; the cell of the simple ko or −1; passes in a row. */
static int numbers(const mz_env *env, const void *from, double *out) {
  (void)env;
  const state *s = from;
  const int side = s->board.side;
  for (int cell = 0; cell < side * side; cell++) {
    const int colour = s->board.points[mz_go_point_of(side, cell)].colour;
    *out++ = colour == MZ_GO_BLACK ? 1 : colour == MZ_GO_WHITE ? -1 : 0;
  }
  *out++ = s->board.ko ? mz_go_cell_of(side, s->board.ko) : -1;
  *out = s->passes;
  return side * side + 2;
}

/* In whatever order stones are placed, none is captured on the way: a chain that is not complete yet still has the cells to come as
 * liberties. */
static void load(const mz_env *env, void *out, const double *from, int moves) {
  state *s = out;
  clear(env->options, s);
  const int side = s->board.side, cells = side * side;
  s->moves = (uint16_t)moves;
  for (int cell = 0; cell < cells; cell++) {
    if (from[cell] == 0) continue;
    const int colour = from[cell] > 0 ? MZ_GO_BLACK : MZ_GO_WHITE;
    uint16_t captured[MZ_GO_CELLS_MAX];
    const int count = mz_go_board_play(&s->board, mz_go_point_of(side, cell), colour, captured);
    MZ_ASSERT(count == 0);
    set_bit(s->stones[moves % HISTORY][colour], cell);
  }
  s->board.ko = from[cells] >= 0 ? (uint16_t)mz_go_point_of(side, (int)from[cells]) : 0;
  s->passes = (uint8_t)from[cells + 1];
  s->ended = s->passes == 2 || moves == limit_of(side);
  remember_position(s);
}

/* --- variants --- */

static const mz_setting rows[] = {
    MZ_SETTING(options, size, "size", MZ_INT, MZ_ALGORITHMIC, MZ_GO_SIDE_MIN, MZ_GO_SIDE_MAX, "9", "",
               "rows and columns of the board"),
    MZ_SETTING(options, komi, "komi", MZ_FLOAT, MZ_ALGORITHMIC, -MZ_GO_CELLS_MAX, MZ_GO_CELLS_MAX, "7.5", "",
               "points White has from the start"),
    MZ_SETTING(options, superko, "superko", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "loss", "",
               "a stone that repeats an earlier position: is illegal (Tromp-Taylor), loses (pgx), ends in a draw (OpenSpiel), or "
               "nothing",
               .choices = "forbid|loss|draw|none"),
};

#define SPEC(n)                                                                                                                  \
  {                                                                                                                              \
    .obs_kind = MZ_OBS_U8, .obs_shape = {(n), (n), CHANNELS}, .obs_size = (n) * (n)*CHANNELS, .actions = (n) * (n) + 1,          \
    .players = 2, .turns = MZ_TURNS_ALTERNATE, .action_kind = MZ_ACTIONS_CELLS_PASS, .symmetries = 8, .reward_min = -1,          \
    .reward_max = 1, .return_min = -1, .return_max = 1                                                                           \
  }

static mz_status fill(mz_env *env, const char *where) {
  (void)where;
  const int side = (int)((const options *)env->options)->size;
  env->spec = (mz_spec)SPEC(side);
  env->state_size = state_bytes(side);
  return MZ_OK;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_go = {
    .name = "go",
    .title = "Go on a 9 × 9 board, or up to 19 × 19",
    .rules =
        "Two players place stones in turn, Black first, or pass; chains without liberties are taken off. Suicide and taking "
        "back a ko at once are illegal; who repeats an earlier position otherwise loses (superko: what happens instead). Two "
        "passes in a row or 2 size² moves end the game: Tromp-Taylor area scoring, with komi for White. Reward of the mover "
        "at the end: 1 won, 0 drawn, -1 lost. Actions are points, row by row from the bottom left, A1 B1 … without I; then "
        "the pass. As pgx.",
    .observation = "points × 16 planes of 0 and 1: own and opponent's stones now, one, two and three moves ago (eight planes); "
                   "points where a stone would repeat an earlier position; all ones where Black is to move; own stones whose "
                   "chains have one, two, or more liberties, and the opponent's (six planes)",
    .spec = SPEC(SIDE),
    .state_size = STATE_BYTES(SIDE),
    .copies = true,
    .options = &(const options){.size = SIDE, .komi = 7.5, .superko = SUPERKO_LOSS},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .to_play = to_play,
    .text = text,
    .action_text = action_text,
    .rollout = rollout,
    .numbers = numbers,
    .load = load,
};
