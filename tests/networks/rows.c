/* A row's result depends on nothing but the row: at every position, for every number of rows, forward and backward, it has the
 * bits that it has alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "tests/networks/cases.h"

enum { ROWS_MAX = 70 };

/* Bytes of one row of all values and gradients, and their place in a copy. */
static size_t row_bytes(const net *n) {
  size_t bytes = 0;
  for (int i = 0; i < n->tape->node_count; i++) {
    bytes += (size_t)n->tape->values[i].stride * sizeof(float) * (n->tape->values[i].gradient != NULL ? 2 : 1);
  }
  return bytes;
}

static void copy_row(const net *n, int r, char *to) {
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_tape_value *value = &n->tape->values[i];
    const size_t bytes = (size_t)value->stride * sizeof(float);
    memcpy(to, (const char *)value->data + (size_t)r * bytes, bytes);
    to += bytes;
    if (value->gradient == NULL) continue;
    memcpy(to, (const char *)value->gradient + (size_t)r * bytes, bytes);
    to += bytes;
  }
}

static void rows_stand_alone(const net_case *c, int width, int rows_max) {
  net *alone = net_open(c, &mz_backend_cpu, width, 1, 9), *together = net_open(c, &mz_backend_cpu, width, rows_max, 9);
  const size_t bytes = row_bytes(alone);
  char *expected = NULL, *found = NULL;
  check(mz_alloc(&expected, (size_t)rows_max, bytes));
  check(mz_alloc(&found, 1, bytes));
  for (int example = 0; example < rows_max; example++) {
    net_set_row(alone, 0, example);
    net_run(alone, 1);
    copy_row(alone, 0, expected + (size_t)example * bytes);
  }
  for (int rows = 1; rows <= rows_max; rows++) {
    for (int shift = 0; shift < 2; shift++) { /* each example at two places, the last row among them */
      for (int r = 0; r < rows; r++) net_set_row(together, r, (r + shift * (rows / 2 + 1)) % rows);
      net_run(together, rows);
      for (int r = 0; r < rows; r++) {
        const int example = (r + shift * (rows / 2 + 1)) % rows;
        copy_row(together, r, found);
        if (memcmp(found, expected + (size_t)example * bytes, bytes) != 0) {
          fail_msg("%s, width %d: row %d of %d differs from the row alone", c->name, width, r, rows);
        }
      }
    }
  }
  free(expected);
  free(found);
  net_close(alone);
  net_close(together);
}

static void at_every_level(void **state) {
  (void)state;
  static const int widths[] = {5, 32, 48, 83};
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_AVX512; level++) {
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(at_every_level),
      cmocka_unit_test(wide_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
