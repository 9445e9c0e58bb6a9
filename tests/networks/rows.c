/* A row's result depends on nothing but the row: at every position, for every number of rows, forward and backward, it has the
 * bits that it has alone. Where batch norm mixes the rows of a group, that is so of groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "tests/networks/board_cases.h"

enum { ROWS_MAX = 70 };

static size_t data_bytes(const mz_tape_value *value) {
  return (size_t)value->stride * (value->bf16 ? sizeof(uint16_t) : sizeof(float));
}

/* Bytes of one row of all values and gradients, and their place in a copy. */
static size_t row_bytes(const net *n) {
  size_t bytes = 0;
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_tape_value *value = &n->tape->values[i];
    bytes += data_bytes(value) + (value->gradient != NULL ? (size_t)value->stride * sizeof(float) : 0);
  }
  return bytes;
}

static void copy_row(const net *n, int r, char *to) {
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_tape_value *value = &n->tape->values[i];
    const size_t data = data_bytes(value), gradient = (size_t)value->stride * sizeof(float);
    memcpy(to, (const char *)value->data + (size_t)r * data, data);
    to += data;
    if (value->gradient == NULL) continue;
    memcpy(to, (const char *)value->gradient + (size_t)r * gradient, gradient);
    to += gradient;
  }
}

/* Group g of the tape becomes the examples of group `example`. */
static void set_group(net *n, int group, int g, int example) {
  for (int i = 0; i < group; i++) net_set_row(n, g * group + i, example * group + i);
}

static void copy_group(const net *n, int group, int g, char *to) {
  for (int i = 0; i < group; i++) copy_row(n, g * group + i, to + (size_t)i * row_bytes(n));
}

static void groups_stand_alone(const net_case *c, net_size size, int group, int groups_max) {
  net *alone = net_open(c, &mz_backend_cpu, size, group, 9),
      *together = net_open(c, &mz_backend_cpu, size, group * groups_max, 9);
  const size_t bytes = (size_t)group * row_bytes(alone);
  char *expected = NULL, *found = NULL;
  check(mz_alloc(&expected, (size_t)groups_max, bytes));
  check(mz_alloc(&found, 1, bytes));
  for (int example = 0; example < groups_max; example++) {
    set_group(alone, group, 0, example);
    net_run(alone, group);
    copy_group(alone, group, 0, expected + (size_t)example * bytes);
  }
  for (int groups = 1; groups <= groups_max; groups++) {
    for (int shift = 0; shift < 2; shift++) { /* each example at two places, the last row among them */
      for (int g = 0; g < groups; g++) set_group(together, group, g, (g + shift * (groups / 2 + 1)) % groups);
      net_run(together, groups * group);
      for (int g = 0; g < groups; g++) {
        const int example = (g + shift * (groups / 2 + 1)) % groups;
        copy_group(together, group, g, found);
        if (memcmp(found, expected + (size_t)example * bytes, bytes) != 0) {
          fail_msg("%s, width %d, board %d x %d: group %d of %d of %d rows differs from the group alone", c->name, size.width,
                   size.board.height, size.board.width, g, groups, group);
        }
      }
    }
  }
  free(expected);
  free(found);
  net_close(alone);
  net_close(together);
}

static void rows_stand_alone(const net_case *c, int width, int rows_max) {
  groups_stand_alone(c, (net_size){.width = width}, 1, rows_max);
}

static void at_every_level(void **state) {
  (void)state;
  static const int widths[] = {5, 32, 48, 83};
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_LAST; level++) {
    for (int i = 0; i < NET_CASES; i++) {
      const size_t w = (size_t)i % (sizeof widths / sizeof *widths);
      rows_stand_alone(&net_cases[i], widths[w], ROWS_MAX);
    }
    rows_stand_alone(&net_cases[NET_CASES - 1], 130, 9);
  }
  mz_kernels_select(mz_isa_level());
}

/* The library's matmul. */
static void wide_layers(void **state) {
  (void)state;
  rows_stand_alone(&net_cases[5], 1040, 35);
  rows_stand_alone(&net_cases[5], 1030, 5); /* padded: stays with our kernel */
}

static const mz_board sizes[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}};

static void boards(void **state) {
  (void)state;
  for (int b = 0; b < 4; b++) {
    for (int channels = 16; channels <= 64; channels += 16) {
      for (int i = 0; i < BOARD_CASES - 2; i++) {
        if ((i + b + channels / 16) % 3 != 0) continue;
        groups_stand_alone(&board_cases[i], (net_size){.width = channels, .board = sizes[b], .group = 1}, 1, 9);
      }
    }
    for (int i = BOARD_CASES - 2; i < BOARD_CASES; i++) { /* those with norms */
      const int group = 1 + (b + i) % 4;
      groups_stand_alone(&board_cases[i], (net_size){.width = 16 + 16 * b, .board = sizes[b], .group = group}, group, 4);
    }
  }
}

static void boards_in_halves(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  for (int b = 0; b < 4; b++) {
    const net_size size = {.width = 16 + 16 * b, .board = sizes[b], .group = 1 + b % 2, .bf16 = true};
    groups_stand_alone(&board_cases[BOARD_CASES - 1], size, size.group, 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(at_every_level),
      cmocka_unit_test(wide_layers),
      cmocka_unit_test(boards),
      cmocka_unit_test(boards_in_halves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
