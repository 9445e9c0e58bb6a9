/* Inference of the convolutional model: the same bits however requests are cut, in both precisions, and those of the reference
 * backend but for rounding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/isa.h"
#include "tests/networks/board_model.h"

static bool same_bits(const answers *a, const answers *b) {
  bool same = memcmp(a->reward, b->reward, N * sizeof(float)) == 0;
  for (int k = 0; k < 2; k++) {
    same = same && memcmp(a->latent[k], b->latent[k], a->latents * sizeof(float)) == 0;
    same = same && memcmp(a->policy[k], b->policy[k], a->policies * sizeof(float)) == 0;
    same = same && memcmp(a->value[k], b->value[k], N * sizeof(float)) == 0;
  }
  return same;
}

static double largest_distance(const answers *a, const answers *b) {
  double largest = distance(a->reward, b->reward, N);
  for (int k = 0; k < 2; k++) {
    largest = fmax(largest, distance(a->latent[k], b->latent[k], a->latents));
    largest = fmax(largest, distance(a->policy[k], b->policy[k], a->policies));
    largest = fmax(largest, distance(a->value[k], b->value[k], N));
  }
  return largest;
}

static void cut_in_many_ways(mz_board board, int channels, int32_t precision) {
  open_model(board, channels, precision);
  answers together = ask(&mz_backend_cpu, N, N);
  static const int ways[][2] = {{1, N}, {3, 8}, {7, N}, {33, 20}, {64, N}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    answers cut = ask(&mz_backend_cpu, ways[i][0], ways[i][1]);
    if (!same_bits(&cut, &together)) {
      fail_msg("board %d x %d, %d channels, %s: %d requests at a time in passes of %d give other bits than all in one",
               board.height, board.width, channels, precision == MZ_PRECISION_F32 ? "f32" : "bf16", ways[i][1], ways[i][0]);
    }
    answers_free(&cut);
  }
  answers_free(&together);
  close_model();
}

static void cut_everywhere(int32_t precision) {
  for (int b = 0; b < BOARDS; b++) {
    for (int channels = 16; channels <= 64; channels += 16) cut_in_many_ways(boards[b], channels, precision);
  }
  cut_in_many_ways((mz_board){15, 15}, 16, precision);
  cut_in_many_ways((mz_board){6, 7}, 128, precision);
  cut_in_many_ways((mz_board){3, 3}, 256, precision);
}

static void however_requests_are_cut(void **state) {
  (void)state;
  cut_everywhere(MZ_PRECISION_F32);
}

static void however_requests_are_cut_in_halves(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  cut_everywhere(MZ_PRECISION_BF16);
}

static void reference_backend_agrees(void **state) {
  (void)state;
  for (int b = 0; b < BOARDS; b++) {
    open_model(boards[b], 16 + 16 * (b % 3), MZ_PRECISION_F32);
    answers cpu = ask(&mz_backend_cpu, 16, N), ref = ask(&mz_backend_ref, 16, N);
    assert_true(largest_distance(&cpu, &ref) <= 1e-5);
    answers_free(&cpu);
    answers_free(&ref);
    close_model();
  }
}

/* bfloat16 keeps eight bits: off by some thousandths, not by nothing. */
static void halves_are_near(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  for (int b = 0; b < BOARDS; b++) {
    open_model(boards[b], 32, MZ_PRECISION_BF16);
    answers halves = ask(&mz_backend_cpu, 16, N), ref = ask(&mz_backend_ref, 16, N);
    const double off = largest_distance(&halves, &ref);
    print_message("board %d x %d: bfloat16 is off by %.1e\n", boards[b].height, boards[b].width, off);
    assert_true(off >= 1e-5 && off <= 5e-2);
    answers_free(&halves);
    answers_free(&ref);
    close_model();
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  open_model((mz_board){3, 3}, 16, mz_isa_has_bf16() ? MZ_PRECISION_BF16 : MZ_PRECISION_F32);
  mz_status status = MZ_E_MEMORY;
  for (long failing = 1; status != MZ_OK; failing++) {
    mz_infer *infer = NULL;
    mz_prepared *prepared = NULL;
    mz_alloc_fail_after(failing);
    status = mz_infer_create(&infer, &model, &mz_lane_cpu, 3, 6);
    if (status == MZ_OK) status = mz_prepared_create(&prepared, &model, &mz_lane_cpu, weights);
    mz_alloc_fail_after(0);
    if (status != MZ_OK) assert_int_equal(status, MZ_E_MEMORY);
    mz_infer_free(infer);
    mz_prepared_release(prepared);
    assert_true(failing < 1000);
  }
  close_model();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(however_requests_are_cut), cmocka_unit_test(however_requests_are_cut_in_halves),
      cmocka_unit_test(reference_backend_agrees), cmocka_unit_test(halves_are_near),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
