/* bfloat16: rounding to it, at every instruction-set level, and buffers of it on a tape. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "networks/math/bf16.h"
#include "tests/networks/board_cases.h"

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* NaN that rounding would carry into the sign, or cut to infinity, and the numbers beside them. */
static void nan_stays_nan(void **state) {
  (void)state;
  static const struct {
    uint32_t bits;
    uint16_t half;
  } rows[] = {{0x7fffffff, 0x7fff}, {0xffffffff, 0xffff}, {0x7fff8000, 0x7fff}, {0x7f800001, 0x7fc0}, {0xff800001, 0xffc0},
              {0x7fc00000, 0x7fc0}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f7fffff, 0x7f80}, {0x3f808000, 0x3f80}};
  enum { COUNT = sizeof rows / sizeof *rows, TIMES = 5 }; /* more than any vector */
  float x[COUNT * TIMES];
  uint16_t halves[COUNT * TIMES];
  for (int i = 0; i < COUNT * TIMES; i++) x[i] = float_of(rows[i % COUNT].bits);
  for (int i = 0; i < COUNT; i++) assert_int_equal(mz_bf16_of_f32(x[i]), rows[i].half);
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
    mz_kernels_get()->to_bf16(x, halves, COUNT * TIMES);
    for (int i = 0; i < COUNT * TIMES; i++) assert_int_equal(halves[i], rows[i % COUNT].half);
  }
  mz_kernels_select(mz_isa_level());
}

/* It is a float's upper half: the nearer of the two neighbours, the even one of two as near. */
static void halves_are_the_nearest(void **state) {
  (void)state;
  enum { VALUES = 1 << 16 };
  static float x[VALUES];
  static uint16_t halves[VALUES];
  mz_rng rng = mz_rng_at(9, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < VALUES; i++) {
    uint32_t bits = mz_rng_u32(&rng);
    if (i % 3 == 0) bits = (bits & 0xffff0000u) | 0x8000u; /* half-way */
    memcpy(&x[i], &bits, sizeof bits);
    if (!isfinite(x[i]) || fabsf(x[i]) > 3e38f) x[i] = 0.0f;
  }
  x[0] = INFINITY;
  x[1] = -INFINITY;
  x[2] = NAN;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
    mz_kernels_get()->to_bf16(x, halves, VALUES - 3); /* any count */
    for (int i = 0; i < VALUES - 3; i++) {
      float near[3]; /* the half and its neighbours */
      for (int k = 0; k < 3; k++) {
        const uint32_t bits = (uint32_t)(uint16_t)(halves[i] + k - 1) << 16;
        memcpy(&near[k], &bits, sizeof bits);
      }
      if (!isfinite(x[i])) {
        assert_true(isnan(x[i]) ? isnan(near[1]) : near[1] == x[i]);
        continue;
      }
      const double off = fabs((double)near[1] - x[i]);
      for (int k = 0; k < 3; k += 2) {
        const double other = fabs((double)near[k] - x[i]);
        if (!isfinite(near[k])) continue;
        assert_true(off < other || (off == other && halves[i] % 2 == 0) || x[i] == 0.0f);
      }
    }
  }
  mz_kernels_select(mz_isa_level());
}

/* A tape for inference with halves of two kinds: as they are written, and copied. */
static void buffers_begin_on_cache_lines(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  const net_size size = {.width = 16, .board = {3, 3}};
  static mz_params params; /* large */
  params = (mz_params){0};
  board_params(&params, size);
  for (int rows = 1; rows <= 9; rows++) {
    mz_tape *tape = NULL;
    check(mz_tape_create(&tape, &mz_lane_cpu, &params, rows, false));
    const mz_value obs = mz_tape_input(tape, positions_of(size) * OBS_PLANES);
    const mz_value planes = mz_tape_to_bf16(tape, mz_tape_planes(tape, obs, positions_of(size)));
    const mz_value x = mz_tape_conv(tape, planes, STEM, STEM + 1, -1, MZ_LINEAR_ONLY);
    const mz_value latent = mz_tape_minmax(tape, x), copy = mz_tape_to_bf16(tape, latent);
    const mz_value y = mz_tape_conv(tape, copy, CONV_A, CONV_A + 1, latent, MZ_RELU);
    check(mz_tape_plan(tape));
    assert_true(copy != latent && mz_tape_at(tape, planes)->bf16 && mz_tape_at(tape, copy)->bf16);
    assert_false(mz_tape_at(tape, latent)->bf16 || mz_tape_at(tape, y)->bf16);
    for (int i = 0; i < tape->node_count; i++) assert_int_equal((uintptr_t)tape->values[i].data % 64, 0);
    mz_tape_free(tape);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nan_stays_nan),
      cmocka_unit_test(halves_are_the_nearest),
      cmocka_unit_test(buffers_begin_on_cache_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
