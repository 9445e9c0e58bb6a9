/* Random games of Go. */
#include "envs/fast_random.h"
#include "envs/go/go_board.h"
#include <string.h>

/* All neighbours are the player's, and too few diagonal points are the opponent's to make the eye false: none at the edge of the
 * board, one elsewhere. */
static bool is_own_eye(const mz_go_board *board, int point, int colour) {
  const int stride = board->side + 1;
  const mz_go_point *at = &board->points[point];
  const int straight[4] = {-stride, -1, 1, stride}, diagonal[4] = {-stride - 1, -stride + 1, stride - 1, stride + 1};
  for (int d = 0; d < 4; d++) {
    const int other = at[straight[d]].colour;
    if (other != colour && other != MZ_GO_BORDER) return false;
  }
  int hostile = 0, edge = 0;
  for (int d = 0; d < 4; d++) {
    hostile += at[diagonal[d]].colour == (colour ^ 1);
    edge |= at[diagonal[d]].colour == MZ_GO_BORDER;
  }
  return hostile + edge < 2;
}

typedef struct rollout {
  uint32_t empty_count;
  uint16_t empty[MZ_GO_CELLS_MAX]; /* points, in any order */
  union {
    mz_go_board board;
    uint8_t room[MZ_GO_BOARD_BYTES(MZ_GO_SIDE_MAX)];
  };
} rollout;

/* Plays one random move, or false: there is none but to pass. Points that cannot be played are put behind those not yet drawn. */
static bool play_random(rollout *r, int colour, uint64_t *random) {
  for (uint32_t left = r->empty_count; left > 0;) {
    const uint32_t drawn = mz_fast_below(random, left--);
    const uint16_t point = r->empty[drawn];
    if (mz_go_board_legal(&r->board, point, colour) && !is_own_eye(&r->board, point, colour)) {
      r->empty[drawn] = r->empty[--r->empty_count];
      r->empty_count += (uint32_t)mz_go_board_play(&r->board, point, colour, r->empty + r->empty_count);
      return true;
    }
    r->empty[drawn] = r->empty[left];
    r->empty[left] = point;
  }
  return false;
}

int mz_go_board_rollout(const mz_go_board *board, int colour, int passes, int moves_max, uint64_t *random) {
  rollout r;
  memcpy(r.room, board, MZ_GO_BOARD_BYTES(board->side));
  r.empty_count = 0;
  for (int point = 0; point < MZ_GO_POINTS(board->side); point++) {
    if (board->points[point].colour == MZ_GO_EMPTY) r.empty[r.empty_count++] = (uint16_t)point;
  }
  for (int moves = 0; moves < moves_max && passes < 2; moves++, colour ^= 1) {
    if (play_random(&r, colour, random)) {
      passes = 0;
    } else {
      passes++;
      r.board.ko = 0;
    }
  }
  return mz_go_board_area(&r.board);
}
