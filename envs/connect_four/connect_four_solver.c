#include "envs/connect_four/connect_four_solver.h"
#include "envs/connect_four/connect_four_openings.h"
#include "base/arena.h"
#include <string.h>

enum {
  CELLS = MZ_CONNECT_FOUR_CELLS,
  COLUMNS = MZ_CONNECT_FOUR_COLUMNS,
  SYMMETRIC_MOVES = 12, /* up to here a position and its mirror image share an entry; later ones seldom meet */
  UNDECIDED = 100,      /* no score */
};
/* Rows as people count them, from 1: the third row is odd. */
#define ODD_ROWS (MZ_CONNECT_FOUR_BOTTOM * 0x15)
#define EVEN_ROWS (MZ_CONNECT_FOUR_BOTTOM * 0x2a)

typedef mz_connect_four_board board;

/* A table entry: key 49 bits, what is known 7 bits (score + 32, then 1 where the score is at most that, 0 where at least), log2
 * of the work that it saved 8 bits. A bucket is two entries: the first keeps what cost most, the second what came last. */
enum { KEY_BITS = 49, BOUND_SHIFT = 49, WORK_SHIFT = 56, SCORE_ZERO = 32, BUCKET = 2 };
#define KEY_MASK ((UINT64_C(1) << KEY_BITS) - 1)

struct mz_connect_four_solver {
  int64_t nodes, limit;
  bool stopped;
  int hash_shift;
  size_t entries;
  uint64_t *table;
};

/* --- bitboards --- */

static inline int count_moves(uint64_t all) { return __builtin_popcountll(all); }

/* Bits of a word that has few: no table and no special instruction. */
static inline int count_few(uint64_t bits) {
  int count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

static inline uint64_t key_of(uint64_t mine, uint64_t all, int moves) {
  const uint64_t key = mz_connect_four_key((board){mine, all});
  if (moves > SYMMETRIC_MOVES) return key;
  const uint64_t mirrored = mz_connect_four_mirror_key(key);
  return key < mirrored ? key : mirrored;
}

/* --- what needs no search: for the side to move, which cannot win at once, against a bound --- */

/* The cells above these, in their columns. */
static inline uint64_t cells_above(uint64_t cells) {
  uint64_t above = cells << 1 & MZ_CONNECT_FOUR_BOARD;
  for (int row = 2; row < MZ_CONNECT_FOUR_ROWS; row++) above |= above << 1 & MZ_CONNECT_FOUR_BOARD;
  return above;
}

/* A pairing strategy lets the side that follows answer every move: above it where the cell is odd ("claimeven"), or in the
 * other of two columns whose next cells are even. So it gets every even cell but those next ones, and whoever leads gets at most
 * the odd cells and those; nothing above an even cell that completes a four, for there the game ends. With White, who began, to
 * lead, the pairs come out even. White cannot win if no four fits into what White may get; and loses if then Black has a
 * four in what is sure to be Black's. */
static inline int score_of_leading_white(uint64_t mine, uint64_t all, uint64_t next_even, uint64_t danger, int bound) {
  const uint64_t empty = MZ_CONNECT_FOUR_BOARD & ~all, winning = danger & EVEN_ROWS & ~next_even;
  const uint64_t out_of_reach = winning ? cells_above(winning) : 0;
  if (mz_connect_four_has_four(mine | (((empty & ODD_ROWS) | next_even) & ~out_of_reach))) return UNDECIDED;
  if (winning) return -1;
  if (bound >= 0) return 0;
  return mz_connect_four_has_four((mine ^ all) | (empty & EVEN_ROWS & ~next_even)) ? -1 : UNDECIDED;
}

/* If Black leads, one column whose next cell is even is left over. If White threatens an odd cell of it, Black must in the end
 * play below that cell: there Black gets the even cells, White the odd ones, and White wins unless Black has four before. */
static inline int score_of_leading_black(uint64_t mine, uint64_t all, uint64_t next_even, uint64_t danger) {
  const uint64_t empty = MZ_CONNECT_FOUR_BOARD & ~all, odd_danger = danger & ODD_ROWS;
  if (!odd_danger) return UNDECIDED;
  const uint64_t winning = danger & EVEN_ROWS & ~next_even;
  const uint64_t out_of_reach = winning ? cells_above(winning) : 0;
  const uint64_t led = ((empty & ODD_ROWS) | next_even) & ~out_of_reach;
  for (int c = 0; c < COLUMNS; c++) {
    const uint64_t column = MZ_CONNECT_FOUR_COLUMN << MZ_CONNECT_FOUR_HEIGHT * c;
    const uint64_t threat = odd_danger & column & -(odd_danger & column);
    if (!threat || !(next_even & column)) continue;
    const uint64_t below = column & (threat - 1) & empty & EVEN_ROWS;
    if (!mz_connect_four_has_four(mine | (led & ~column) | below)) return -1;
  }
  return UNDECIDED;
}

/* The score, or a bound of it on its side of `bound` (at most `bound`, or more than it); UNDECIDED. danger: the other side's
 * threats. */
static inline int score_at_once(uint64_t mine, uint64_t all, int moves, uint64_t danger, int bound) {
  const uint64_t next = mz_connect_four_playable_cells(all), forced = next & danger;
  const uint64_t sensible = (forced ? forced : next) & ~(danger >> 1);
  if ((forced & (forced - 1)) || !sensible) return -(CELLS - moves) / 2; /* the other side wins with its next stone */
  if (moves >= CELLS - 2) return 0;
  const int least = -(CELLS - 2 - moves) / 2, most = (CELLS - 1 - moves) / 2; /* nobody wins before the stones after these */
  if (least > bound) return least;
  if (most <= bound) return most;
  const uint64_t empty = MZ_CONNECT_FOUR_BOARD & ~all, hopeful = bound >= 0 ? mine : mine ^ all;
  if (!mz_connect_four_has_four(hopeful | empty)) return 0;
  if (bound < -1) return UNDECIDED; /* what follows knows nothing of distance */
  const uint64_t next_even = next & EVEN_ROWS;
  if (moves % 2 == 0) return score_of_leading_white(mine, all, next_even, danger, bound);
  return score_of_leading_black(mine, all, next_even, danger);
}

/* --- the transposition table --- */

static inline uint64_t *bucket_of(const mz_connect_four_solver *s, uint64_t key) {
  return s->table + (key * UINT64_C(0x9E3779B97F4A7C15) >> s->hash_shift) * BUCKET;
}

static inline int recall(const mz_connect_four_solver *s, uint64_t key, int bound) {
  const uint64_t *bucket = bucket_of(s, key);
  for (int i = 0; i < BUCKET; i++) {
    if ((bucket[i] & KEY_MASK) != key) continue;
    const int known = (int)(bucket[i] >> BOUND_SHIFT & 0x7f), score = (known >> 1) - SCORE_ZERO;
    const bool at_most = known & 1;
    return at_most == (score <= bound) ? score : UNDECIDED;
  }
  return UNDECIDED;
}

static inline void remember(mz_connect_four_solver *s, uint64_t key, int score, bool at_most, int64_t work) {
  uint64_t *bucket = bucket_of(s, key);
  const uint64_t known = (uint64_t)(score + SCORE_ZERO) << 1 | at_most;
  const uint64_t effort = (uint64_t)(63 - __builtin_clzll((uint64_t)work | 1));
  const uint64_t entry = key | known << BOUND_SHIFT | effort << WORK_SHIFT;
  const bool same = (bucket[0] & KEY_MASK) == key;
  if (same || bucket[0] >> WORK_SHIFT <= effort) {
    if (!same) bucket[1] = bucket[0];
    bucket[0] = entry;
  } else {
    bucket[1] = entry;
  }
}

/* --- search --- */

typedef struct successor {
  uint64_t all, threats, key; /* threats: of who moved here */
  int rank;
} successor;

static const uint8_t middle_first[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};

/* A bound of the score on its side of `bound`. The position is undecided at once and unknown to the table. */
static int search(mz_connect_four_solver *s, uint64_t mine, uint64_t all, int moves, uint64_t danger, uint64_t key, int bound) {
  if (s->nodes == s->limit) {
    s->stopped = true;
    return 0;
  }
  const int64_t before = s->nodes++;
  const uint64_t theirs = mine ^ all, next = mz_connect_four_playable_cells(all), forced = next & danger;
  const uint64_t sensible = (forced ? forced : next) & ~(danger >> 1);
  successor successors[COLUMNS];
  int count = 0, best = -UNDECIDED;
  for (int i = 0; i < COLUMNS; i++) {
    const uint64_t cell = sensible & MZ_CONNECT_FOUR_COLUMN << MZ_CONNECT_FOUR_HEIGHT * middle_first[i];
    if (!cell) continue;
    const uint64_t after = all | cell, threats = mz_connect_four_threats(mine | cell, after);
    const int score = score_at_once(theirs, after, moves + 1, threats, -bound - 1);
    if (score != UNDECIDED) {
      if (-score > bound) return -score;
      if (-score > best) best = -score;
      continue;
    }
    const int rank = count_few(threats);
    int at = count++;
    for (; at > 0 && successors[at - 1].rank < rank; at--) successors[at] = successors[at - 1];
    successors[at] = (successor){after, threats, key_of(theirs, after, moves + 1), rank};
    __builtin_prefetch(bucket_of(s, successors[at].key));
  }
  for (int i = 0; i < count && best <= bound; i++) {
    const successor *to = &successors[i];
    int score = recall(s, to->key, -bound - 1);
    if (score == UNDECIDED) score = search(s, theirs, to->all, moves + 1, to->threats, to->key, -bound - 1);
    if (s->stopped) return 0;
    if (-score > best) best = -score;
  }
  remember(s, key, best, best <= bound, s->nodes - before);
  return best;
}

/* Is the score more than `bound`? */
static bool exceeds(mz_connect_four_solver *s, board b, int bound) {
  const int moves = count_moves(b.all);
  if (mz_connect_four_threats(b.mine, b.all) & mz_connect_four_playable_cells(b.all)) return (CELLS + 1 - moves) / 2 > bound;
  const uint64_t danger = mz_connect_four_threats(b.mine ^ b.all, b.all), key = key_of(b.mine, b.all, moves);
  int score = score_at_once(b.mine, b.all, moves, danger, bound);
  if (score == UNDECIDED) score = recall(s, key, bound);
  if (score == UNDECIDED) score = search(s, b.mine, b.all, moves, danger, key, bound);
  return score > bound;
}

static void begin(mz_connect_four_solver *s, int64_t node_limit) {
  s->nodes = 0;
  s->limit = node_limit > 0 ? node_limit : INT64_MAX;
  s->stopped = false;
}

static int outcome_by_search(mz_connect_four_solver *s, board b) {
  /* Whoever began wins more often: asked that way round, one search mostly does. */
  if (count_moves(b.all) % 2 == 0) return exceeds(s, b, 0) ? 1 : exceeds(s, b, -1) ? 0 : -1;
  return !exceeds(s, b, -1) ? -1 : exceeds(s, b, 0) ? 1 : 0;
}

static int outcome_of(mz_connect_four_solver *s, board b) {
  int outcome;
  return mz_connect_four_opening(b, &outcome) ? outcome : outcome_by_search(s, b);
}

bool mz_connect_four_outcome_by_search(mz_connect_four_solver *s, mz_connect_four_board b, int64_t node_limit, int *outcome) {
  begin(s, node_limit);
  *outcome = outcome_by_search(s, b);
  return !s->stopped;
}

bool mz_connect_four_outcome(mz_connect_four_solver *s, mz_connect_four_board b, int64_t node_limit, int *outcome) {
  begin(s, node_limit);
  *outcome = outcome_of(s, b);
  return !s->stopped;
}

bool mz_connect_four_score(mz_connect_four_solver *s, mz_connect_four_board b, int64_t node_limit, int *score) {
  begin(s, node_limit);
  const int outcome = outcome_of(s, b), moves = count_moves(b.all);
  int low = outcome > 0 ? 1 : -(CELLS - moves) / 2, high = outcome < 0 ? -1 : (CELLS + 1 - moves) / 2;
  if (outcome == 0) low = high = 0;
  while (low < high && !s->stopped) {
    const int middle = outcome > 0 ? low + (high - low) / 2 : high - 1 - (high - low) / 2;
    if (exceeds(s, b, middle))
      low = middle + 1;
    else
      high = middle;
  }
  *score = low;
  return !s->stopped;
}

bool mz_connect_four_optimal(mz_connect_four_solver *s, mz_connect_four_board b, int64_t node_limit, unsigned *columns,
                             int *outcome) {
  begin(s, node_limit);
  *outcome = outcome_of(s, b);
  *columns = 0;
  for (int i = 0; i < COLUMNS && !s->stopped; i++) {
    const int c = middle_first[i];
    if (!mz_connect_four_playable(b, c)) continue;
    int reply;
    bool keeps = *outcome < 0 || mz_connect_four_wins(b, c);
    if (!keeps) {
      const board after = mz_connect_four_play(b, c);
      if (count_moves(after.all) == CELLS)
        keeps = *outcome == 0;
      else if (mz_connect_four_opening(after, &reply))
        keeps = -reply == *outcome;
      else
        keeps = !exceeds(s, after, -*outcome);
    }
    *columns |= (unsigned)keeps << c;
  }
  return !s->stopped;
}

int64_t mz_connect_four_nodes(const mz_connect_four_solver *s) { return s->nodes; }

void mz_connect_four_solver_forget(mz_connect_four_solver *s) { memset(s->table, 0, s->entries * sizeof *s->table); }

mz_status mz_connect_four_solver_create(mz_connect_four_solver **out, size_t table_bytes) {
  int bits = 1; /* of the number of buckets */
  while ((UINT64_C(2) << bits) * BUCKET * sizeof(uint64_t) <= table_bytes && bits < 40) bits++;
  mz_connect_four_solver *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->hash_shift = 64 - bits;
  s->entries = ((size_t)1 << bits) * BUCKET;
  const mz_status status = mz_alloc(&s->table, s->entries, sizeof *s->table);
  if (status != MZ_OK) {
    free(s);
    return status;
  }
  *out = s;
  return MZ_OK;
}

void mz_connect_four_solver_free(mz_connect_four_solver *s) {
  if (!s) return;
  free(s->table);
  free(s);
}
