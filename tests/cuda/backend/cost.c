/* Counts launches of a pass and of an update: one for each node that computes (networks/tape/cost.h), and so many more. A launch that is
 * added without need is seen here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/infer_state.h"
#include "networks/tape/cost.h"
#include "tests/cuda/device/update_subject.h"
#include "tests/cuda_twin/twin.h"

extern const mz_backend mz_backend_cuda;

typedef struct counted {
  bool conv;
  int32_t precision;
  int nodes;    /* that compute */
  int launches; /* kernels and calls of libraries */
} counted;

static void expect(const counted *c, const char *what, int nodes, long launches) {
  if (nodes != c->nodes || launches != c->launches)
    fail_msg("%s, conv %d, precision %d: %d nodes, %ld launches", what, c->conv, (int)c->precision, nodes, launches);
}

static long launches_since_reset(void) {
  const twin_counters c = twin_counters_get();
  return c.kernels + c.library_calls;
}

/* Beside the nodes: indices and actions arrive, latents are gathered and scattered, answers leave. */
static void an_evaluation(void **state) {
  (void)state;
  static const counted all[] = {
      {false, MZ_PRECISION_F32, 9, 15}, {true, MZ_PRECISION_F32, 20, 28}, {true, MZ_PRECISION_BF16, 20, 28}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const int32_t from[] = {0}, to[] = {1}, action[] = {2};
    float *weights = NULL, policy[ACTIONS], value[1], reward[1];
    mz_lane lane;
    mz_infer *infer;
    mz_prepared *prepared;
    open_model(all[k].conv, all[k].precision);
    check(mz_alloc(&weights, (size_t)model.params.size, sizeof *weights));
    mz_params_init(&model.params, 1, weights);
    check(mz_lane_open(&lane, &(mz_lane){.backend = &mz_backend_cuda}));
    check(mz_infer_create(&infer, &model, &lane, 8, 16));
    check(mz_prepared_create(&prepared, &model, &lane, weights));
    check(mz_infer_set_weights(infer, prepared));
    check(mz_infer_recurrent(infer, 1, from, action, to, policy, value, reward));
    twin_counters_reset();
    check(mz_infer_recurrent(infer, 1, from, action, to, policy, value, reward));
    expect(&all[k], "an evaluation", mz_tape_forward_cost(infer->recurrent.tape).nodes, launches_since_reset());
    mz_infer_free(infer);
    mz_prepared_release(prepared);
    mz_lane_close(&lane);
    free(weights);
  }
}

/* Every shard's two passes, and what is done once for all of them. */
static void an_update(void **state) {
  (void)state;
  static const counted all[] = {
      {false, MZ_PRECISION_F32, 58, 198}, {true, MZ_PRECISION_F32, 125, 378}, {true, MZ_PRECISION_BF16, 129, 432}};
  const mz_update_settings settings = settings_of(0, MZ_ADAM);
  const mz_update_step step = {.rate = 0.01, .average_decay = 0.5};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    mz_update_report report;
    mz_tape *tape;
    mz_loss loss;
    mz_lane lane;
    subject s;
    lesson l;
    open_model(all[k].conv, all[k].precision);
    subject_open(&s, &mz_backend_cuda, &settings);
    lesson_open(&l, 1);
    const mz_update_rows rows = rows_of(&l);
    check(mz_update_run(s.update, &rows, &step, &report));
    twin_counters_reset();
    check(mz_update_run(s.update, &rows, &step, &report));
    const long launches = launches_since_reset();
    check(mz_lane_open(&lane, &(mz_lane){.backend = &mz_backend_cuda}));
    check(mz_update_record(&tape, &lane, &model, &settings, &loss));
    check(mz_tape_plan(tape));
    expect(&all[k], "an update", mz_tape_forward_cost(tape).nodes + mz_tape_backward_cost(tape).nodes, launches);
    mz_tape_free(tape);
    mz_lane_close(&lane);
    subject_close(&s);
    free(l.obs);
  }
}

/* By hand, of one layer of 8 x 4 with its bias, over rows of 8 and 4 floats. */
static void bytes(void **state) {
  (void)state;
  enum { INPUTS = 8, OUTPUTS = 4 };
  mz_params params = {0};
  mz_tape *tape;
  mz_lane lane;
  const int weight = mz_params_add(&params, "w", INPUTS, OUTPUTS, true, MZ_INIT_HE, INPUTS);
  const int bias = mz_params_add(&params, "b", 1, OUTPUTS, false, MZ_INIT_ZERO, 1);
  check(mz_lane_open(&lane, &(mz_lane){.backend = &mz_backend_cuda}));
  check(mz_tape_create(&tape, &lane, &params, 3, false));
  mz_tape_linear(tape, mz_tape_input(tape, INPUTS), weight, bias, MZ_RELU);
  check(mz_tape_plan(tape));
  const mz_tape_cost cost = mz_tape_forward_cost(tape);
  assert_int_equal(cost.nodes, 1);
  assert_true(cost.bytes_per_row == sizeof(float) * (INPUTS + OUTPUTS));
  assert_true(cost.parameter_bytes == sizeof(float) * (INPUTS * OUTPUTS + OUTPUTS));
  mz_tape_free(tape);
  mz_lane_close(&lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_evaluation), cmocka_unit_test(an_update), cmocka_unit_test(bytes)};
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
