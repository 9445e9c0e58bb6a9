#include "envs/go/go_board.h"
#include "base/status.h"
#include <string.h>

static void neighbours(const mz_go_board *board, int point, int out[4]) {
  const int stride = board->side + 1;
  out[0] = point - stride, out[1] = point - 1, out[2] = point + 1, out[3] = point + stride;
}

/* The finaliser of SplitMix64 over point and colour, in place of a table of random numbers. */
static uint64_t zobrist(int point, int colour) {
  uint64_t z = (uint64_t)(2 * point + colour + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static void set_point(uint64_t *set, int point) { set[point / 64] |= 1ull << point % 64; }
static void clear_point(uint64_t *set, int point) { set[point / 64] &= ~(1ull << point % 64); }

void mz_go_board_init(mz_go_board *board, int side) {
  MZ_ASSERT(side >= MZ_GO_SIDE_MIN && side <= MZ_GO_SIDE_MAX);
  memset(board, 0, MZ_GO_BOARD_BYTES(side));
  board->side = (uint8_t)side;
  for (int p = 0; p < MZ_GO_POINTS(side); p++) board->points[p].colour = MZ_GO_BORDER;
  for (int cell = 0; cell < side * side; cell++) {
    const int point = mz_go_point_of(side, cell);
    board->points[point].colour = MZ_GO_EMPTY;
    set_point(board->empty, point);
  }
}

/* --- chains --- */

static mz_go_point *head_of(mz_go_board *board, int point) { return &board->points[board->points[point].head]; }
static const mz_go_point *chain_at(const mz_go_board *board, int point) { return &board->points[board->points[point].head]; }

static bool in_atari(const mz_go_point *head) {
  return (uint64_t)head->liberties * head->squares == (uint64_t)head->sum * head->sum;
}

static void add_liberty(mz_go_point *head, uint32_t point) {
  head->liberties++;
  head->sum += point;
  head->squares += point * point;
}

static void remove_liberty(mz_go_point *head, uint32_t point) {
  head->liberties--;
  head->sum -= point;
  head->squares -= point * point;
}

/* Makes the stones of chain `from` part of chain `into`. Both are heads. */
static void merge(mz_go_board *board, int into, int from) {
  mz_go_point *points = board->points, *a = &points[into], *b = &points[from];
  a->liberties = (uint16_t)(a->liberties + b->liberties);
  a->sum += b->sum;
  a->squares += b->squares;
  b->liberties = 0;
  b->sum = b->squares = 0;
  int stone = from;
  do {
    points[stone].head = (uint16_t)into;
    stone = points[stone].next;
  } while (stone != from);
  const uint16_t next = a->next;
  a->next = b->next;
  b->next = next;
}

/* Takes the chain off; returns how many stones, which it lists. */
static int capture(mz_go_board *board, int head, uint16_t *captured) {
  const int colour = board->points[head].colour;
  int count = 0, stone = head;
  do {
    const int next = board->points[stone].next;
    captured[count++] = (uint16_t)stone;
    board->hash ^= zobrist(stone, colour);
    board->points[stone] = (mz_go_point){.colour = MZ_GO_EMPTY};
    set_point(board->empty, stone);
    stone = next;
  } while (stone != head);
  for (int i = 0; i < count; i++) { /* once all are off, so that only chains which stay gain liberties */
    int around[4];
    neighbours(board, captured[i], around);
    for (int d = 0; d < 4; d++) {
      if (board->points[around[d]].colour <= MZ_GO_WHITE) add_liberty(head_of(board, around[d]), captured[i]);
    }
  }
  return count;
}

/* How many different points they are, at most MZ_GO_LIBERTIES_MAX. */
static int liberties_of(const mz_go_board *board, int head) {
  int found[MZ_GO_LIBERTIES_MAX] = {0}, count = 0, stone = head;
  if (in_atari(&board->points[head])) return 1;
  do {
    int around[4];
    neighbours(board, stone, around);
    for (int d = 0; d < 4; d++) {
      if (board->points[around[d]].colour != MZ_GO_EMPTY) continue;
      int at = 0;
      while (at < count && found[at] != around[d]) at++;
      if (at < count) continue;
      found[count++] = around[d];
      if (count == MZ_GO_LIBERTIES_MAX) return count;
    }
    stone = board->points[stone].next;
  } while (stone != head);
  return count;
}

void mz_go_board_liberties(const mz_go_board *board, uint8_t *liberties) {
  const int side = board->side, cells = side * side;
  uint8_t of_head[MZ_GO_POINTS(MZ_GO_SIDE_MAX)] = {0}; /* 0: not counted yet */
  for (int cell = 0; cell < cells; cell++) {
    const mz_go_point *point = &board->points[mz_go_point_of(side, cell)];
    liberties[cell] = 0;
    if (point->colour > MZ_GO_WHITE) continue;
    if (of_head[point->head] == 0) of_head[point->head] = (uint8_t)liberties_of(board, point->head);
    liberties[cell] = of_head[point->head];
  }
}

/* --- moves --- */

static bool is_legal(const mz_go_board *board, int point, int colour) {
  if (board->points[point].colour != MZ_GO_EMPTY || point == board->ko) return false;
  int around[4];
  neighbours(board, point, around);
  for (int d = 0; d < 4; d++) {
    const int other = board->points[around[d]].colour;
    if (other == MZ_GO_EMPTY) return true;
    if (other == MZ_GO_BORDER) continue;
    if (in_atari(chain_at(board, around[d])) == (other != colour)) return true; /* captures, or joins what has another liberty */
  }
  return false;
}

bool mz_go_board_legal(const mz_go_board *board, int point, int colour) { return is_legal(board, point, colour); }

/* The 64 points from `first` on (which may be negative) of a set of `words` words. */
static uint64_t window(const uint64_t *set, int words, int first) {
  const int word = first >> 6, shift = first & 63;
  const uint64_t low = word >= 0 && word < words ? set[word] : 0, high = word + 1 >= 0 && word + 1 < words ? set[word + 1] : 0;
  return shift ? low >> shift | high << (64 - shift) : low;
}

/* An empty point beside an empty one is legal, whoever plays there; the few others, a ko among them, are looked at one by one. */
int mz_go_board_legal_mask(const mz_go_board *board, int colour, uint8_t *mask) {
  const int side = board->side, stride = side + 1, words = (MZ_GO_POINTS(side) + 63) / 64;
  uint64_t legal[MZ_GO_WORDS];
  for (int w = 0; w < words; w++) {
    const uint64_t beside = window(board->empty, words, 64 * w - stride) | window(board->empty, words, 64 * w - 1) |
                            window(board->empty, words, 64 * w + 1) | window(board->empty, words, 64 * w + stride);
    legal[w] = board->empty[w] & beside;
    for (uint64_t left = board->empty[w] & ~beside; left; left &= left - 1) {
      if (is_legal(board, 64 * w + __builtin_ctzll(left), colour)) legal[w] |= left & -left;
    }
  }
  int count = 0;
  for (int w = 0; w < words; w++) count += __builtin_popcountll(legal[w]);
  for (int row = 0; row < side; row++) {
    const uint64_t points = window(legal, words, (row + 1) * stride + 1);
    for (int column = 0; column < side; column++) *mask++ = points >> column & 1;
  }
  return count;
}

int mz_go_board_play(mz_go_board *board, int point, int colour, uint16_t *captured) {
  mz_go_point *points = board->points;
  int around[4];
  neighbours(board, point, around);
  points[point] = (mz_go_point){.colour = (uint8_t)colour, .head = (uint16_t)point, .next = (uint16_t)point};
  clear_point(board->empty, point);
  board->hash ^= zobrist(point, colour);
  bool enclosed = true; /* by the opponent: what a stone in a ko is */
  for (int d = 0; d < 4; d++) {
    const int other = points[around[d]].colour;
    if (other == MZ_GO_EMPTY) add_liberty(&points[point], (uint32_t)around[d]);
    if (other <= MZ_GO_WHITE) remove_liberty(head_of(board, around[d]), (uint32_t)point);
    enclosed = enclosed && other != MZ_GO_EMPTY && other != colour;
  }
  int count = 0;
  for (int d = 0; d < 4; d++) {
    const int other = points[around[d]].colour;
    if (other == colour && points[around[d]].head != points[point].head)
      merge(board, points[around[d]].head, points[point].head);
    else if (other == (colour ^ 1) && head_of(board, around[d])->liberties == 0)
      count += capture(board, points[around[d]].head, captured + count);
  }
  MZ_ASSERT(head_of(board, point)->liberties > 0);
  board->ko = enclosed && count == 1 ? captured[0] : 0;
  return count;
}

uint64_t mz_go_board_hash_after(const mz_go_board *board, int point, int colour) {
  uint64_t hash = board->hash ^ zobrist(point, colour);
  int around[4], taken[4], chains = 0;
  neighbours(board, point, around);
  for (int d = 0; d < 4; d++) {
    if (board->points[around[d]].colour != (colour ^ 1) || !in_atari(chain_at(board, around[d]))) continue;
    const int head = board->points[around[d]].head;
    bool known = false;
    for (int i = 0; i < chains; i++) known |= taken[i] == head;
    if (known) continue;
    taken[chains++] = head;
    int stone = head;
    do {
      hash ^= zobrist(stone, colour ^ 1);
      stone = board->points[stone].next;
    } while (stone != head);
  }
  return hash;
}

/* --- boards from outside --- */

static bool same_liberties(const mz_go_point *a, const mz_go_point *b) {
  return a->liberties == b->liberties && a->sum == b->sum && a->squares == b->squares;
}

/* Whether `next` leads from the head through `count` stones of its chain and back. */
static bool is_circle(const mz_go_board *board, int head, int count) {
  int stone = head;
  for (int i = 1; i <= count; i++) {
    stone = board->points[stone].next;
    if (stone >= MZ_GO_POINTS(board->side) || board->points[stone].head != head || (stone == head) != (i == count)) return false;
  }
  return true;
}

/* Whether the stones connected to `first` are one chain, with at least one liberty. Sets `seen` for each. */
static bool is_chain(const mz_go_board *board, int first, bool *seen) {
  const mz_go_point *points = board->points, none = {0};
  const int colour = points[first].colour, head = points[first].head;
  uint16_t queue[MZ_GO_CELLS_MAX];
  int count = 0;
  bool has_head = false;
  mz_go_point found = {0};
  seen[first] = true;
  queue[count++] = (uint16_t)first;
  for (int i = 0; i < count; i++) {
    const mz_go_point *stone = &points[queue[i]];
    if (stone->head != head || (queue[i] != head && !same_liberties(stone, &none))) return false;
    has_head |= queue[i] == head;
    int around[4];
    neighbours(board, queue[i], around);
    for (int d = 0; d < 4; d++) {
      if (points[around[d]].colour == MZ_GO_EMPTY) add_liberty(&found, (uint32_t)around[d]);
      if (points[around[d]].colour != colour || seen[around[d]]) continue;
      seen[around[d]] = true;
      queue[count++] = (uint16_t)around[d];
    }
  }
  return has_head && found.liberties > 0 && same_liberties(&points[head], &found) && is_circle(board, head, count);
}

/* Whether the border is where it belongs, nothing is recorded of points without a stone, and `empty` and the hash are those of the
 * points. */
static bool are_points(const mz_go_board *board) {
  const int stride = board->side + 1;
  uint64_t empty[MZ_GO_WORDS] = {0}, hash = 0;
  for (int point = 0; point < MZ_GO_POINTS(board->side); point++) {
    const mz_go_point *p = &board->points[point];
    const int row = point / stride;
    const bool inside = row >= 1 && row <= board->side && point % stride > 0;
    if (inside ? p->colour > MZ_GO_EMPTY : p->colour != MZ_GO_BORDER) return false;
    const mz_go_point blank = {.colour = p->colour};
    if (p->padding || (p->colour >= MZ_GO_EMPTY && memcmp(p, &blank, sizeof blank) != 0)) return false;
    if (p->colour == MZ_GO_EMPTY) set_point(empty, point);
    if (p->colour <= MZ_GO_WHITE) hash ^= zobrist(point, p->colour);
  }
  return board->hash == hash && memcmp(board->empty, empty, sizeof empty) == 0;
}

/* Whether the point of the ko is empty and enclosed by one player. */
static bool is_ko(const mz_go_board *board, int point) {
  if (point >= MZ_GO_POINTS(board->side) || board->points[point].colour != MZ_GO_EMPTY) return false;
  int around[4], colours = 0;
  neighbours(board, point, around);
  for (int d = 0; d < 4; d++) colours |= 1 << board->points[around[d]].colour;
  colours &= ~(1 << MZ_GO_BORDER);
  return colours == 1 << MZ_GO_BLACK || colours == 1 << MZ_GO_WHITE;
}

bool mz_go_board_valid(const mz_go_board *board, int side) {
  if (board->side != side) return false;
  for (size_t i = 0; i < sizeof board->padding; i++) {
    if (board->padding[i]) return false;
  }
  if (!are_points(board) || (board->ko && !is_ko(board, board->ko))) return false;
  bool seen[MZ_GO_POINTS(MZ_GO_SIDE_MAX)] = {false};
  for (int point = 0; point < MZ_GO_POINTS(side); point++) {
    if (board->points[point].colour <= MZ_GO_WHITE && !seen[point] && !is_chain(board, point, seen)) return false;
  }
  return true;
}

/* --- the end --- */

/* Flood fill of the empty region around `point`: returns its size and which colours it touches (bit 0: Black, bit 1: White). */
static int fill_region(const mz_go_board *board, int point, bool *seen, int *touches) {
  uint16_t queue[MZ_GO_CELLS_MAX];
  int count = 0;
  *touches = 0;
  seen[point] = true;
  queue[count++] = (uint16_t)point;
  for (int i = 0; i < count; i++) {
    int around[4];
    neighbours(board, queue[i], around);
    for (int d = 0; d < 4; d++) {
      const int colour = board->points[around[d]].colour;
      if (colour <= MZ_GO_WHITE) *touches |= 1 << colour;
      if (colour != MZ_GO_EMPTY || seen[around[d]]) continue;
      seen[around[d]] = true;
      queue[count++] = (uint16_t)around[d];
    }
  }
  return count;
}

int mz_go_board_area(const mz_go_board *board) {
  bool seen[MZ_GO_POINTS(MZ_GO_SIDE_MAX)] = {false};
  int area = 0;
  for (int point = 0; point < MZ_GO_POINTS(board->side); point++) {
    const int colour = board->points[point].colour;
    if (colour == MZ_GO_BLACK) area++;
    if (colour == MZ_GO_WHITE) area--;
    if (colour != MZ_GO_EMPTY || seen[point]) continue;
    int touches;
    const int size = fill_region(board, point, seen, &touches);
    if (touches == 1 << MZ_GO_BLACK) area += size;
    if (touches == 1 << MZ_GO_WHITE) area -= size;
  }
  return area;
}
