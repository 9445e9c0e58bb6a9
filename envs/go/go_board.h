/* A Go board: stones, and the chains they form with their liberties, kept up to date move by move. No history beyond the simple ko.
 *
 * Points lie on a grid with a border, so that every point of the board has four neighbours: point = (row + 1) · (side + 1) + column
 * + 1, where the border column at the right is that at the left of the next row. Cells are the points of the board alone: row ·
 * side + column.
 *
 * A chain counts pseudo-liberties: an empty point as often as it touches the chain. With the sum and the sum of squares of their
 * numbers beside the count, a chain has one true liberty exactly where count · squares = sum² (equality in Cauchy–Schwarz:
 * all are the same point). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MZ_GO_SIDE_MIN = 5, MZ_GO_SIDE_MAX = 19, MZ_GO_CELLS_MAX = MZ_GO_SIDE_MAX * MZ_GO_SIDE_MAX };
enum { MZ_GO_LIBERTIES_MAX = 3 };
enum { MZ_GO_WORDS = 7 };                                     /* of a set of points: bit p % 64 of word p / 64 */
enum { MZ_GO_BLACK, MZ_GO_WHITE, MZ_GO_EMPTY, MZ_GO_BORDER }; /* colours of a point; the other player's is colour ^ 1 */

typedef struct mz_go_point {
  uint8_t colour;
  uint8_t padding;
  /* of a stone */
  uint16_t head; /* the point that stands for its chain */
  uint16_t next; /* stone of the chain, in a circle */
  /* of a head */
  uint16_t liberties; /* pseudo-liberties: how many, the sum of their points and of the squares */
  uint32_t sum, squares;
} mz_go_point;

typedef struct mz_go_board {
  uint64_t hash; /* Zobrist: of the stones alone */
  uint16_t ko;   /* the point where the player to move may not take back; 0: none */
  uint8_t side;
  uint8_t padding[5];
  uint64_t empty[MZ_GO_WORDS]; /* the set of empty points */
  mz_go_point points[];
} mz_go_board;

/* Constant where `side` is. The bytes are a multiple of 8. */
#define MZ_GO_POINTS(side) (((side) + 1) * ((side) + 2) + 1)
#define MZ_GO_BOARD_BYTES(side) (sizeof(mz_go_board) + (size_t)MZ_GO_POINTS(side) * sizeof(mz_go_point))

static inline int mz_go_point_of(int side, int cell) { return (cell / side + 1) * (side + 1) + cell % side + 1; }
static inline int mz_go_cell_of(int side, int point) { return (point / (side + 1) - 1) * side + point % (side + 1) - 1; }

void mz_go_board_init(mz_go_board *board, int side);
/* Returns whether a board from outside is what play could make of its stones: `side`, every chain, liberty and sum. */
bool mz_go_board_valid(const mz_go_board *board, int side);
/* Neither occupied, nor the ko, nor suicide. */
bool mz_go_board_legal(const mz_go_board *board, int point, int colour);
/* mask[cell] = 1 where legal; returns how many. */
int mz_go_board_legal_mask(const mz_go_board *board, int colour, uint8_t *mask);
/* Plays on an empty point, where it is no suicide. Returns how many stones are captured and lists their points, `captured` (room
 * for MZ_GO_CELLS_MAX), in no particular order. */
int mz_go_board_play(mz_go_board *board, int point, int colour, uint16_t *captured);
/* The hash after that move. */
uint64_t mz_go_board_hash_after(const mz_go_board *board, int point, int colour);
/* liberties[cell] = 0 where there is no stone, else those of its chain: 1, 2, or MZ_GO_LIBERTIES_MAX for all larger numbers. */
void mz_go_board_liberties(const mz_go_board *board, uint8_t *liberties);
/* Tromp–Taylor area: Black's stones and the empty points that reach only black ones, minus White's. */
int mz_go_board_area(const mz_go_board *board);

/* Plays at random to the end: every legal move alike but those that fill a single-point eye of one's own; who has no other passes.
 * Two passes or `moves_max` moves end it. passes: 1 where the last move was one. Superko is not looked at. Returns the area. */
int mz_go_board_rollout(const mz_go_board *board, int colour, int passes, int moves_max, uint64_t *random);
