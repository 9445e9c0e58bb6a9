/* Recording and planning a tape: what gets a gradient, who writes it, what failures leave behind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/board_cases.h"

static const mz_backend *const backends[] = {&mz_backend_cpu, &mz_backend_ref};

/* A hidden layer read twice, a layer that leads to no loss, a parameter that nothing reads. */
typedef struct example {
  mz_params params;
  mz_tape *tape;
  mz_value obs, hidden, scaled, dead, logits, target, weight, loss;
} example;

static example record(const mz_backend *backend, bool with_backward, int rows) {
  example e = {0};
  layer_params(&e.params, "hidden", 3, 20);
  layer_params(&e.params, "head", 20, 4);
  layer_params(&e.params, "dead", 20, 5);
  layer_params(&e.params, "unread", 2, 2);
  static mz_params kept; /* outlives the tape */
  kept = e.params;
  check(mz_tape_create(&e.tape, &(mz_lane){.backend = backend}, &kept, rows, with_backward));
  e.obs = mz_tape_input(e.tape, 3);
  e.hidden = mz_tape_linear(e.tape, e.obs, 0, 1, MZ_RELU);
  e.scaled = mz_tape_scale_gradient(e.tape, e.hidden, 0.5f);
  e.dead = mz_tape_linear(e.tape, e.hidden, 4, 5, MZ_LINEAR_ONLY);
  e.logits = mz_tape_linear(e.tape, mz_tape_add(e.tape, e.scaled, e.hidden), 2, 3, MZ_LINEAR_ONLY);
  e.target = mz_tape_input(e.tape, 4);
  e.weight = mz_tape_input(e.tape, 1);
  e.loss = mz_tape_softmax_xent(e.tape, e.logits, e.target, e.weight, 2.0f);
  return e;
}

static void gradients_only_where_they_matter(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    example e = record(backends[b], true, 5);
    check(mz_tape_plan(e.tape));
    assert_non_null(mz_tape_at(e.tape, e.hidden)->gradient);
    assert_non_null(mz_tape_at(e.tape, e.logits)->gradient);
    assert_null(mz_tape_at(e.tape, e.obs)->gradient);
    assert_null(mz_tape_at(e.tape, e.dead)->gradient);
    assert_null(mz_tape_at(e.tape, e.loss)->gradient);
    assert_ptr_equal(mz_tape_at(e.tape, e.scaled)->data, mz_tape_at(e.tape, e.hidden)->data);
    assert_int_equal(mz_tape_at(e.tape, e.hidden)->stride, 32);
    for (int i = 0; i < e.tape->node_count; i++) { /* whole cache lines */
      assert_int_equal((uintptr_t)e.tape->values[i].data % 64, 0);
    }
    mz_tape_free(e.tape);

    e = record(backends[b], false, 5);
    check(mz_tape_plan(e.tape));
    for (int i = 0; i < e.tape->node_count; i++) assert_null(e.tape->values[i].gradient);
    mz_tape_free(e.tape);
  }
}

static void parameters_without_a_loss_get_zero(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    example e = record(backends[b], true, 2);
    check(mz_tape_plan(e.tape));
    const size_t bytes = (size_t)e.params.size * backends[b]->element_size;
    char *values = NULL, *transposed = NULL, *gradients = NULL;
    check(mz_alloc(&values, 1, bytes));
    check(mz_alloc(&transposed, 1, bytes));
    check(mz_alloc(&gradients, 1, bytes));
    memset(gradients, 0x7f, bytes);
    const float target[] = {1, 0, 0, 0, 0, 1, 0, 0}, weight[] = {1, 0.5f};
    check(mz_tape_put(e.tape, e.target, 0, target, 2));
    check(mz_tape_put(e.tape, e.weight, 0, weight, 2));
    check(mz_tape_forward(e.tape, values, 2));
    /* all weights 0: four equal logits, each row's cross entropy is log 4 */
    assert_true(fabs(tape_loss(e.tape) - 2.0 * 1.5 * log(4.0)) < 1e-6);
    check(mz_tape_backward(e.tape, values, transposed, gradients, 2));
    for (int p = 4; p < 8; p++) {
      const mz_param *param = &e.params.items[p];
      for (size_t i = 0; i < (size_t)param->rows * (size_t)param->stride * backends[b]->element_size; i++) {
        assert_int_equal(gradients[(size_t)param->offset * backends[b]->element_size + i], 0);
      }
    }
    free(values);
    free(transposed);
    free(gradients);
    mz_tape_free(e.tape);
  }
}

/* The plan behind `later ones add` and `completed at the first use`. */
static void first_writers_and_shared_weights(void **state) {
  (void)state;
  net *n = net_open(&net_cases[5], &mz_backend_cpu, (net_size){.width = 8}, 2, 1);
  int shared_uses = 0, first_uses = 0;
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_node *node = &n->tape->nodes[i];
    if (node->op != MZ_OP_LINEAR || node->weight != 2) continue;
    shared_uses++;
    if (!node->first_use) continue;
    first_uses++;
    assert_int_equal(shared_uses, 1);     /* recorded first, so visited last */
    assert_int_equal(node->use_count, 3); /* the fourth leads to no loss */
    for (int u = 1; u < node->use_count; u++) assert_true(node->uses[u] > node->uses[u - 1]);
  }
  assert_int_equal(shared_uses, 4);
  assert_int_equal(first_uses, 1);
  for (int v = 0; v < n->tape->node_count; v++) { /* exactly one writer overwrites, and no reader before it in backward adds */
    int writers = 0;
    for (int i = n->tape->node_count - 1; i >= 0; i--) {
      const mz_node *node = &n->tape->nodes[i];
      for (int k = 0; node->backward && k < node->input_count; k++) {
        if (node->inputs[k] != v || n->tape->values[v].gradient == NULL) continue;
        assert_int_equal(node->overwrites[k], writers == 0);
        writers++;
      }
    }
    assert_int_equal(writers > 0, n->tape->values[v].gradient != NULL);
  }
  net_close(n);
}

/* What a distance's target is computed from learns nothing from it. */
static void nothing_flows_into_a_target(void **state) {
  (void)state;
  mz_params params = {0};
  layer_params(&params, "learner", 3, 16);
  layer_params(&params, "teacher", 3, 16);
  for (int b = 0; b < 2; b++) {
    mz_tape *tape = NULL;
    check(mz_tape_create(&tape, &(mz_lane){.backend = backends[b]}, &params, 2, true));
    const mz_value obs = mz_tape_input(tape, 3), weights = mz_tape_input(tape, 1);
    const mz_value x = mz_tape_linear(tape, obs, 0, 1, MZ_LINEAR_ONLY), target = mz_tape_linear(tape, obs, 2, 3, MZ_LINEAR_ONLY);
    mz_tape_mse(tape, x, target, weights, 1.0f);
    check(mz_tape_plan(tape));
    assert_true(mz_tape_at(tape, x)->gradient != NULL);
    assert_true(mz_tape_at(tape, target)->gradient == NULL);
    mz_tape_free(tape);
  }
}

static void write_and_read_are_inverse(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    mz_tape *tape = NULL;
    check(mz_tape_create(&tape, &(mz_lane){.backend = backends[b]}, NULL, 3, false));
    const mz_value x = mz_tape_input(tape, 5), y = mz_tape_relu(tape, x);
    check(mz_tape_plan(tape));
    const float rows[] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, 12, 13, 14, -15};
    float back[15];
    check(mz_tape_put(tape, x, 0, rows, 3));
    check(mz_tape_get(tape, x, 0, back, 3));
    assert_memory_equal(rows, back, sizeof rows);
    check(mz_tape_forward(tape, NULL, 3));
    check(mz_tape_get(tape, y, 0, back, 3));
    for (int i = 0; i < 15; i++) assert_true(back[i] == (rows[i] > 0 ? rows[i] : 0));
    const mz_tape_value *value = mz_tape_at(tape, y);
    for (int r = 0; r < 3; r++) {
      for (int c = 5; c < value->stride; c++) {
        const size_t at = (size_t)(r * value->stride + c);
        assert_true((b == 0 ? (double)((float *)value->data)[at] : ((double *)value->data)[at]) == 0.0);
      }
    }
    assert_true(mz_tape_bytes(tape) >= 2 * 3 * 16 * backends[b]->element_size);
    mz_tape_free(tape);
  }
}

static mz_tape *loss_of_rows(int rows) {
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &mz_lane_cpu, NULL, rows, true));
  const mz_value x = mz_tape_relu(tape, mz_tape_input(tape, 40)), target = mz_tape_input(tape, 40);
  mz_tape_softmax_xent(tape, x, target, mz_tape_input(tape, 1), 1.0f);
  return tape;
}

static void measuring_is_planning_without_memory(void **state) {
  (void)state;
  for (int rows = 1; rows <= 1 << 20; rows *= 32) {
    mz_tape *measured = loss_of_rows(rows);
    size_t bytes = 0;
    check(mz_tape_measure(measured, &bytes));
    mz_tape_free(measured);
    if (rows > 1024) continue; /* more than would be taken for a test */
    mz_tape *planned = loss_of_rows(rows);
    check(mz_tape_plan(planned));
    assert_true(bytes >= mz_tape_bytes(planned) && bytes < mz_tape_bytes(planned) + (16 << 10));
    mz_tape_free(planned);
  }
}

static void too_many_nodes_are_an_error(void **state) {
  (void)state;
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &mz_lane_cpu, NULL, 1, false));
  mz_value x = mz_tape_input(tape, 1);
  for (int i = 0; i < 5000; i++) x = mz_tape_relu(tape, x);
  assert_int_equal(mz_tape_plan(tape), MZ_E_CONFIG);
  mz_tape_free(tape);

  check(mz_tape_create(&tape, &mz_lane_cpu, NULL, 1, false));
  for (int i = 0; i < 100; i++) mz_tape_index_input(tape);
  assert_int_equal(mz_tape_plan(tape), MZ_E_CONFIG);
  mz_tape_free(tape);
}

/* Whichever allocation fails, building, planning and freeing survive it, and the cause is reported. */
static void fail_each_allocation(const net_case *c, net_size size, const mz_backend *backend) {
  static mz_params params; /* large */
  static net n;
  params = (mz_params){0};
  c->define(&params, size);
  bool planned = false;
  for (long failing = 1; !planned; failing++) {
    n = (net){.backend = backend, .lane = {.backend = backend}};
    mz_alloc_fail_after(failing);
    mz_status status = mz_tape_create(&n.tape, &(mz_lane){.backend = backend}, &params, 4, true);
    if (status == MZ_OK) {
      c->record(&n, size);
      status = mz_tape_plan(n.tape);
    }
    mz_alloc_fail_after(0);
    planned = status == MZ_OK;
    if (!planned) assert_int_equal(status, MZ_E_MEMORY);
    mz_tape_free(n.tape);
    assert_true(failing < 1000);
  }
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    for (int c = 0; c < NET_CASES; c++) fail_each_allocation(&net_cases[c], (net_size){.width = 20}, backends[b]);
    for (int c = 0; c < BOARD_CASES; c++) {
      fail_each_allocation(&board_cases[c], (net_size){.width = 16, .board = {3, 2}, .group = 2}, backends[b]);
    }
  }
}

static void every_op_has_a_row(void **state) {
  (void)state;
  for (int op = 0; op < MZ_OPS; op++) {
    const mz_op_traits *traits = &mz_op_table[op];
    assert_non_null(traits->name);
    assert_false(traits->is_loss && (traits->trains || traits->inference_only));
    for (int other = 0; other < op; other++) assert_string_not_equal(traits->name, mz_op_table[other].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_only_where_they_matter),
      cmocka_unit_test(parameters_without_a_loss_get_zero),
      cmocka_unit_test(nothing_flows_into_a_target),
      cmocka_unit_test(first_writers_and_shared_weights),
      cmocka_unit_test(write_and_read_are_inverse),
      cmocka_unit_test(measuring_is_planning_without_memory),
      cmocka_unit_test(too_many_nodes_are_an_error),
      cmocka_unit_test(memory_may_run_out_anywhere),
      cmocka_unit_test(every_op_has_a_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
