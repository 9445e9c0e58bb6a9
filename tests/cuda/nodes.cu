/* Every op of the module's own kernels, over the cases of tests/networks and a few more, in step with the cpu and the reference
 * (support/lockstep.cuh). */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "tests/cuda/support/lockstep.cuh"
#include "tests/cuda/support/ops.cuh"
#include "twin.h"

static void run_case(int number, net_size size, int rows, int planned) {
  lockstep t = {};
  t.name = test_case_name(number);
  t.rows = rows;
  t.unit = size.group > 0 ? size.group : 1;
  t.cpu = test_case_open(number, &mz_backend_cpu, size, planned, 5);
  t.ref = test_case_open(number, &mz_backend_ref, size, planned, 5);
  lockstep_run(&t);
}

static net_size width_of(int width) {
  net_size size = {};
  size.width = width;
  return size;
}

static net_size board_of(int width, int height, int across, int group) {
  net_size size = width_of(width);
  size.board = {height, across};
  size.group = group;
  return size;
}

static void vectors_and_graphs(void **) {
  for (int i = 0; i < test_case_count(); i++) {
    if (test_case_is_board(i)) continue;
    run_case(i, width_of(3), 2, 2);
    run_case(i, width_of(23), 9, 12);
    run_case(i, width_of(65), 19, 19);
  }
}

/* Rows of several hundred entries, whose threads go over them in turns. */
static void wide_rows(void **) {
  for (int i = 0; i < test_case_count(); i++) {
    const char *name = test_case_name(i);
    if (strcmp(name, "minmax") == 0 || strcmp(name, "rms") == 0 || strcmp(name, "distance") == 0)
      run_case(i, width_of(1030), 5, 6);
  }
}

static void boards(void **) {
  for (int i = 0; i < test_case_count(); i++) {
    if (!test_case_is_board(i)) continue;
    run_case(i, board_of(16, 3, 3, 1), 2, 2);
    run_case(i, board_of(32, 3, 4, 3), 9, 12);
    run_case(i, board_of(48, 5, 2, 2), 6, 6);
  }
}

/* A group's positions, as many as a block of threads takes several times. */
static void large_groups(void **) {
  for (int i = 0; i < test_case_count(); i++) {
    if (strcmp(test_case_name(i), "norm") == 0) run_case(i, board_of(32, 9, 9, 17), 34, 34);
    if (strcmp(test_case_name(i), "unrolled loss, boards") == 0) run_case(i, board_of(16, 3, 3, 8), 16, 24); /* it projects */
  }
}

/* More uses of a parameter than one launch takes. */
static void many_uses(void **) {
  lockstep t = {};
  t.name = "many uses";
  t.rows = t.unit = 2;
  t.cpu = test_many_uses_open(&mz_backend_cpu, board_of(16, 3, 2, 2), 2, 5);
  t.ref = test_many_uses_open(&mz_backend_ref, board_of(16, 3, 2, 2), 2, 5);
  lockstep_run(&t);
}

static bool yes(const mz_lane *) { return true; }

/* The cpu, which rounds to bfloat16 on every processor; cases without convolutions multiply none. */
static mz_backend rounding_cpu(void) {
  mz_backend backend = mz_backend_cpu;
  backend.halves = yes;
  return backend;
}

static void rounding(void **) {
  const mz_backend backend = rounding_cpu();
  lockstep t = {};
  t.name = "rounding";
  t.rows = 6;
  t.unit = 3;
  t.cpu = test_rounding_open(&backend, board_of(32, 4, 5, 3), 9, 5);
  t.ref = test_rounding_open(&mz_backend_ref, board_of(32, 4, 5, 3), 9, 5);
  lockstep_run(&t);
}

static void inference(void **) {
  const mz_backend backend = rounding_cpu();
  for (int rows = 1; rows <= 21; rows += 10) {
    lockstep t = {};
    t.name = "inference";
    t.rows = rows;
    t.unit = 1;
    t.cpu = test_inference_open(&backend, board_of(32, 4, 3, 0), rows + rows / 2, 5);
    t.ref = test_inference_open(&mz_backend_ref, board_of(32, 4, 3, 0), rows + rows / 2, 5);
    lockstep_run(&t);
  }
}

/* Lets each call of a node function fail in turn: it says so. */
typedef mz_status node_function(mz_tape *tape, mz_node *node, int rows);
static void fail_in_turn(lockstep &t, int i, node_function *function) {
  bool through = function == nullptr;
  for (long n = 1; !through; n++) {
    twin_fail_after(n);
    const mz_status status = function(&t.device.tape, &t.device.nodes[(size_t)i], t.rows);
    through = twin_fail_pending() != 0;
    twin_fail_after(0);
    assert_int_equal(status, through ? MZ_OK : MZ_E_DEVICE);
    if (!through) assert_non_null(strstr(mz_message(), "device 0"));
  }
}

static void failures_are_passed_on(void **) {
  for (int number = 0; number < test_case_count(); number++) {
    lockstep t = {};
    t.rows = 2;
    t.cpu = test_case_open(number, &mz_backend_cpu, board_of(16, 3, 3, 1), t.rows, 5);
    lockstep_begin(t.cpu, t.rows);
    check(mz_tape_forward(t.cpu->tape, t.cpu->tape->weights, t.rows));
    check(mz_tape_backward(t.cpu->tape, t.cpu->tape->weights, t.cpu->transposed, t.cpu->gradients, t.rows));
    device_tape_open(&t.device, t.cpu);
    for (int i = 0; i < t.cpu->tape->index_count; i++) device_tape_put_index(&t.device, i, 0, t.rows);
    for (int i = t.cpu->tape->node_count - 1; i >= 0; i--) {
      const cuda_op *op = cuda_op_of(t.cpu->tape->nodes[i].op);
      if (op == nullptr) continue;
      fail_in_turn(t, i, op->forward);
      if (t.cpu->tape->nodes[i].backward) fail_in_turn(t, i, op->backward);
    }
    OK(cudaStreamSynchronize(t.device.lane.stream));
    device_tape_close(&t.device);
    net_close(t.cpu);
  }
}

static void every_op_was_compared(void **) {
  for (int op = 0; op < MZ_OPS; op++) {
    const cuda_op *own = cuda_op_of((mz_op)op);
    if (own == nullptr) continue;
    if (own->forward != nullptr && !lockstep_saw_forward((mz_op)op)) fail_msg("op %d: forward was never run", op);
    if (own->backward != nullptr && !lockstep_saw_backward((mz_op)op)) fail_msg("op %d: backward was never run", op);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_and_graphs),
      cmocka_unit_test(wide_rows),
      cmocka_unit_test(boards),
      cmocka_unit_test(large_groups),
      cmocka_unit_test(many_uses),
      cmocka_unit_test(rounding),
      cmocka_unit_test(inference),
      cmocka_unit_test(failures_are_passed_on),
      cmocka_unit_test(every_op_was_compared),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
