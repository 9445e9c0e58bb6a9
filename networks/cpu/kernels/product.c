/* The register-tiled product behind every linear layer: forward, data gradient and weight gradient (kernels.h). */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"

#define UNROLL _Pragma("GCC unroll 16")

/* R rows × V vectors of accumulators in registers; R and V are constants in every caller, so that all of this unrolls. `part`
 * (V = 1 only): how many entries of B's row there are to read. */
static inline __attribute__((always_inline)) void tile(const mz_product *p, int row, int column, const int R, const int V,
                                                       int part) {
  vec sum[8][8];
  float *c = p->c + row * p->c_stride + column;
  UNROLL for (int r = 0; r < R; r++) {
    UNROLL for (int v = 0; v < V; v++) {
      const int at = column + v * V_LANES;
      if (p->add) {
        sum[r][v] = v_load(c + r * p->c_stride + v * V_LANES);
        continue;
      }
      sum[r][v] = p->bias != NULL ? v_load(p->bias + at) : v_set(0.0f);
      if (p->table != NULL) sum[r][v] = v_add(sum[r][v], v_load(p->table + p->index[row + r] * p->table_stride + at));
    }
  }
  const ptrdiff_t a_row = p->a_row, a_step = p->a_step, b_stride = p->b_stride;
  const int depth = p->depth;
  for (int t = 0; t < p->term_count; t++) {
    const float *a = p->terms[t].a + row * a_row;
    const float *b = p->terms[t].b + column;
    for (int k = 0; k < depth; k++, a += a_step, b += b_stride) {
      vec y[8];
      UNROLL for (int v = 0; v < V; v++) y[v] = part != 0 ? v_load_first(b, part) : v_load(b + v * V_LANES);
      UNROLL for (int r = 0; r < R; r++) {
        const vec x = v_set(a[r * a_row]);
        UNROLL for (int v = 0; v < V; v++) sum[r][v] = v_fma(x, y[v], sum[r][v]);
      }
    }
  }
  const bool relu = p->relu;
  UNROLL for (int r = 0; r < R; r++) {
    UNROLL for (int v = 0; v < V; v++) {
      /* max(0, x) and not max(x, 0): the second operand is what comes out when one is NaN, and a NaN must not vanish */
      v_store(c + r * p->c_stride + v * V_LANES, relu ? v_max(v_set(0.0f), sum[r][v]) : sum[r][v]);
    }
  }
}

/* The tiles of each level, found by measuring: enough independent accumulators to hide the latency of the multiply-add, few
 * enough to stay in registers beside a row of B. tallest[v]: rows of a tile v vectors wide. A lone row takes WIDEST vectors. */
#if defined(MZ_ISA_avx512)
enum { WIDEST = 8 };
static const int tallest[] = {0, 8, 4, 4, 4};
#define TILES_OF_1(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1) T(7, 1) T(8, 1)
#define TILES_OF_2(T) T(1, 2) T(2, 2) T(3, 2) T(4, 2)
#define TILES_OF_3(T) T(1, 3) T(2, 3) T(3, 3) T(4, 3)
#define TILES_OF_4(T) T(1, 4) T(2, 4) T(3, 4) T(4, 4)
#define TILES_OF_A_ROW(T) T(1, 5) T(1, 6) T(1, 7) T(1, 8)
#define TILES(T) TILES_OF_1(T) TILES_OF_2(T) TILES_OF_3(T) TILES_OF_4(T) TILES_OF_A_ROW(T)
#elif defined(MZ_ISA_avx2)
enum { WIDEST = 4 };
static const int tallest[] = {0, 6, 3};
#define TILES(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1) T(1, 2) T(2, 2) T(3, 2) T(1, 3) T(1, 4)
#elif defined(MZ_ISA_neon) /* not measured: the largest that leave no sum in memory */
enum { WIDEST = 4 };
static const int tallest[] = {0, 5, 2};
#define TILES(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(1, 2) T(2, 2) T(1, 3) T(1, 4)
#else
enum { WIDEST = 2 };
static const int tallest[] = {0, 2};
#define TILES(T) T(1, 1) T(2, 1) T(1, 2)
#endif
enum { WIDE = sizeof tallest / sizeof *tallest - 1, ROWS_MAX = 8 };

typedef void (*tile_function)(const mz_product *p, int row, int column);
#define DEFINE_TILE(R, V)                                                                                                        \
  static void tile_##R##x##V(const mz_product *p, int row, int column) { tile(p, row, column, R, V, 0); }
#define TILE_ENTRY(R, V) [V][R] = tile_##R##x##V,
TILES(DEFINE_TILE)
static const tile_function tiles[WIDEST + 1][ROWS_MAX + 1] = {TILES(TILE_ENTRY)};

static void tile_part(const mz_product *p, int row, int column) { tile(p, row, column, 1, 1, p->columns - column); }

void MZ_LEVEL(mz_product)(const mz_product *p) {
  const int whole = p->columns - p->columns % V_LANES;
  const int widest = p->rows == 1 ? WIDEST : WIDE;
  int column = 0;
  while (column < whole) {
    const int left = (whole - column) / V_LANES;
    const int wide = left < widest ? left : widest;
    const int tall = p->rows == 1 ? 1 : tallest[wide];
    int row = 0;
    for (; row + tall <= p->rows; row += tall) tiles[wide][tall](p, row, column);
    if (row < p->rows) tiles[wide][p->rows - row](p, row, column);
    column += wide * V_LANES;
  }
  if (column < p->columns) {
    for (int row = 0; row < p->rows; row++) tile_part(p, row, column);
  }
}
