/* An action's map is what a convolution makes of a plane that is 1 where the action is and 0 elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/conv.h"
#include "tests/networks/board_cases.h"

static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}, {1, 4}};
enum { BOARDS = sizeof boards / sizeof *boards, CELLS_MAX = 81, TAPS = 9, ROWS_MAX = TAPS + 1 };

typedef struct counts { /* how often each row of the table is added at each position */
  int at[CELLS_MAX][ROWS_MAX];
} counts;

static void count(void *context, int position, int row) {
  counts *c = context;
  assert_in_range(position, 0, CELLS_MAX - 1);
  assert_in_range(row, 0, ROWS_MAX - 1);
  c->at[position][row]++;
}

/* plane, with a border of zeros: [height + 2][width + 2] */
static bool is_marked(const mz_action_map *map, int action, int y, int x) {
  if (y < 0 || x < 0 || y >= map->board.height || x >= map->board.width) return false;
  return map->kind == MZ_ACTIONS_COLUMNS ? x == action : y * map->board.width + x == action;
}

static void expect_convolved_plane(const mz_action_map *map, int action) {
  counts found = {0};
  mz_action_map_visit(map, action, count, &found);
  for (int p = 0; p < map->board.height * map->board.width; p++) {
    for (int tap = 0; tap < TAPS; tap++) {
      const int y = p / map->board.width + tap / 3 - 1, x = p % map->board.width + tap % 3 - 1;
      assert_int_equal(found.at[p][tap], is_marked(map, action, y, x));
    }
    assert_int_equal(found.at[p][TAPS], 0);
  }
}

static void expect_everywhere(const mz_action_map *map, int action, int row) {
  counts found = {0};
  mz_action_map_visit(map, action, count, &found);
  for (int p = 0; p < map->board.height * map->board.width; p++) {
    for (int i = 0; i < ROWS_MAX; i++) assert_int_equal(found.at[p][i], i == row);
  }
}

static void cells_and_columns_are_planes(void **state) {
  (void)state;
  for (int b = 0; b < BOARDS; b++) {
    const net_size size = {.board = boards[b]};
    const mz_action_map cells = action_map_of(size, MZ_ACTIONS_CELLS), passes = action_map_of(size, MZ_ACTIONS_CELLS_PASS);
    const mz_action_map columns = action_map_of(size, MZ_ACTIONS_COLUMNS);
    assert_int_equal(mz_action_map_rows(&cells), TAPS);
    assert_int_equal(mz_action_map_rows(&columns), TAPS);
    for (int a = 0; a < positions_of(size); a++) {
      expect_convolved_plane(&cells, a);
      expect_convolved_plane(&passes, a);
    }
    for (int a = 0; a < boards[b].width; a++) expect_convolved_plane(&columns, a);
  }
}

static void a_pass_and_plain_actions_are_everywhere(void **state) {
  (void)state;
  for (int b = 0; b < BOARDS; b++) {
    const net_size size = {.board = boards[b]};
    const mz_action_map passes = action_map_of(size, MZ_ACTIONS_CELLS_PASS), plain = action_map_of(size, MZ_ACTIONS_PLAIN);
    assert_int_equal(mz_action_map_rows(&passes), TAPS + 1);
    assert_int_equal(mz_action_map_rows(&plain), plain.actions);
    expect_everywhere(&passes, positions_of(size), TAPS);
    for (int a = 0; a < plain.actions; a++) expect_everywhere(&plain, a, a);
  }
}

/* The map of each action, beside a convolution that reads the plane as its first channel, with the table as that channel's
 * kernel. */
static void compare_with_convolution(const mz_backend *backend, mz_board board, mz_action_kind kind) {
  enum { CHANNELS = 16 };
  static mz_params params; /* large */
  static float values[(ROWS_MAX + TAPS * 16) * CHANNELS], packed[(ROWS_MAX + MZ_CONV_PACKED * 16) * CHANNELS],
      map[CELLS_MAX * CHANNELS], conv[CELLS_MAX * CHANNELS];
  static double wide[sizeof values / sizeof *values];
  const net_size size = {.width = CHANNELS, .board = board};
  const mz_action_map actions = action_map_of(size, kind);
  const int cells = positions_of(size);
  params = (mz_params){0};
  memset(values, 0, sizeof values);
  const int table = mz_params_add(&params, "table", mz_action_map_rows(&actions), CHANNELS, true, MZ_INIT_HE, 9);
  const int weight = mz_params_add_conv(&params, "weight", board, 16, CHANNELS, MZ_INIT_ZERO);
  mz_params_init(&params, 3, values);
  for (int tap = 0; tap < TAPS; tap++) {
    memcpy(values + params.items[weight].offset + tap * 16 * CHANNELS, values + params.items[table].offset + tap * CHANNELS,
           CHANNELS * sizeof *values);
  }
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &(mz_lane){.backend = backend}, &params, 1, false));
  const int index = mz_tape_index_input(tape);
  const mz_value plane = mz_tape_input(tape, cells);
  const mz_value stamped = mz_tape_action_map(tape, &actions, table, index);
  const mz_value convolved = mz_tape_conv(tape, mz_tape_planes(tape, plane, cells), weight, -1, -1, MZ_LINEAR_ONLY);
  check(mz_tape_plan(tape));
  for (int64_t i = 0; i < params.size; i++) wide[i] = values[i];
  if (backend->pack_forward != NULL) {
    const mz_lane lane = {.backend = backend};
    check(mz_lane_pack(&lane, backend->pack_forward, &params, values, false, packed));
  }
  for (int action = 0; action < (kind == MZ_ACTIONS_COLUMNS ? board.width : cells); action++) {
    float marks[CELLS_MAX];
    for (int p = 0; p < cells; p++) marks[p] = is_marked(&actions, action, p / board.width, p % board.width);
    check(mz_tape_put(tape, plane, 0, marks, 1));
    check(mz_tape_put_list(tape, index, 0, &action, 1));
    check(mz_tape_forward(tape, backend->pack_forward != NULL ? (void *)packed : (void *)wide, 1));
    check(mz_tape_get(tape, stamped, 0, map, 1));
    check(mz_tape_get(tape, convolved, 0, conv, 1));
    for (int i = 0; i < cells * CHANNELS; i++) assert_true(fabsf(map[i] - conv[i]) <= 1e-5f);
  }
  mz_tape_free(tape);
}

static void stamps_equal_the_convolution_on_tapes(void **state) {
  (void)state;
  static const mz_action_kind kinds[] = {MZ_ACTIONS_CELLS, MZ_ACTIONS_CELLS_PASS, MZ_ACTIONS_COLUMNS};
  for (int b = 0; b < BOARDS; b++) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      compare_with_convolution(&mz_backend_cpu, boards[b], kinds[k]);
      compare_with_convolution(&mz_backend_ref, boards[b], kinds[k]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_and_columns_are_planes),
      cmocka_unit_test(a_pass_and_plain_actions_are_everywhere),
      cmocka_unit_test(stamps_equal_the_convolution_on_tapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
