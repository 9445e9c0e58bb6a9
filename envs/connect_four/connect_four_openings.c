#include "envs/connect_four/connect_four_openings.h"
#include <pthread.h>
#include <stdlib.h>

enum {
  PLIES = MZ_CONNECT_FOUR_OPENING_MOVES + 1,
  POSITIONS = 1 + 4 + 25 + 121 + 568,       /* by moves made */
  CHILDREN = 121 * MZ_CONNECT_FOUR_COLUMNS, /* the most that one ply has before copies are dropped */
  PER_CHARACTER = 3,
};

/* Outcomes for the side to move in the order of mz_connect_four_openings, three to a character: 'A' + Σ 3^i · (outcome_i + 1). */
static const char outcomes[] =
    "[TPSFW[RF[OURWZR[XTUYORRMO[YPNRL[[[BV[UXTCRZUI[[I[IPMIPDNYSXKRSEZ[[UJYBVYEPTGWRY[Y[[YCQ[BC[SCU[[[[[ULQZ[UZCVFTW[HPZZ[[ZL"
    "[[[X[XXRS[FVQOY[FS[YWIXEPIZ[[IY[[CSZRI[FRYU[CO[[ZTYX[[U[RYY[[OXRU[J[RZ[IYFS[Z[TCUGELG[[Z[[S[ZY[XZD[[[[[ZF[[RTXIIQLAUBFYO";

static mz_connect_four_board boards[POSITIONS];
static int first_of_ply[PLIES + 1];
static pthread_once_t listed = PTHREAD_ONCE_INIT;

static uint64_t canonical_key(mz_connect_four_board board) {
  const uint64_t key = mz_connect_four_key(board), mirrored = mz_connect_four_mirror_key(key);
  return key < mirrored ? key : mirrored;
}

static mz_connect_four_board board_of_key(uint64_t key) {
  mz_connect_four_board board = {0};
  for (int c = 0; c < MZ_CONNECT_FOUR_COLUMNS; c++) {
    const uint64_t column = key >> 7 * c & 0x7f;
    const uint64_t stones = (UINT64_C(1) << (63 - __builtin_clzll(column + 1))) - 1; /* column = stones + mine, mine <= stones */
    board.all |= stones << 7 * c;
    board.mine |= (column - stones) << 7 * c;
  }
  return board;
}

static int compare_keys(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void list_all(void) {
  static uint64_t keys[CHILDREN];
  boards[0] = (mz_connect_four_board){0};
  first_of_ply[0] = 0;
  first_of_ply[1] = 1;
  for (int ply = 1; ply < PLIES; ply++) {
    int children = 0;
    for (int i = first_of_ply[ply - 1]; i < first_of_ply[ply]; i++) {
      for (int c = 0; c < MZ_CONNECT_FOUR_COLUMNS; c++) {
        if (!mz_connect_four_playable(boards[i], c) || mz_connect_four_wins(boards[i], c)) continue;
        keys[children++] = canonical_key(mz_connect_four_play(boards[i], c));
      }
    }
    qsort(keys, (size_t)children, sizeof *keys, compare_keys);
    int count = first_of_ply[ply];
    for (int i = 0; i < children; i++) {
      if (i == 0 || keys[i] != keys[i - 1]) boards[count++] = board_of_key(keys[i]);
    }
    first_of_ply[ply + 1] = count;
  }
  MZ_ASSERT(first_of_ply[PLIES] == POSITIONS);
}

static void list_once(void) {
  const int failed = pthread_once(&listed, list_all);
  MZ_ASSERT(!failed);
}

int mz_connect_four_openings(const mz_connect_four_board **out) {
  list_once();
  *out = boards;
  return POSITIONS;
}

int mz_connect_four_opening_index(mz_connect_four_board board) {
  const int moves = __builtin_popcountll(board.all);
  if (moves > MZ_CONNECT_FOUR_OPENING_MOVES) return -1;
  list_once();
  const uint64_t key = canonical_key(board);
  int low = first_of_ply[moves], high = first_of_ply[moves + 1];
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (mz_connect_four_key(boards[middle]) <= key)
      low = middle;
    else
      high = middle;
  }
  MZ_ASSERT(mz_connect_four_key(boards[low]) == key);
  return low;
}

bool mz_connect_four_opening(mz_connect_four_board board, int *outcome) {
  static const int powers[PER_CHARACTER] = {1, 3, 9};
  const int index = mz_connect_four_opening_index(board);
  if (index < 0) return false;
  *outcome = (outcomes[index / PER_CHARACTER] - 'A') / powers[index % PER_CHARACTER] % 3 - 1;
  return true;
}
