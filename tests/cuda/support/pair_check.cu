#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "tests/cuda/support/pair.cuh"
#include "networks/cuda/planned.cuh"
#include "twin.h"

typedef std::vector<unsigned char> bytes;

static const double f32_tolerance = 1e-5, bf16_tolerance = 4e-3; /* a rounding to bf16 is off by up to 2⁻⁸ of a number */

double pair_distance(const std::vector<double> &found, const std::vector<double> &wanted) {
  double square = 0.0, square_error = 0.0;
  assert_int_equal(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); i++) {
    square += wanted[i] * wanted[i];
    square_error += (found[i] - wanted[i]) * (found[i] - wanted[i]);
  }
  assert_true(square > 0.0);
  return std::sqrt(square_error / square);
}

static bool is_tested(const tape_pair *pair, int node) { return pair->device->nodes[node].op == pair->op->op; }

/* The node behind a ReLU's output clears its gradient in place; the reference's may not. */
static std::vector<double> wanted_gradient(const tape_pair *pair, int value, int rows) {
  std::vector<double> wanted = pair_wanted_gradient(pair, value, rows);
  if (!is_tested(pair, value) || pair->reference->nodes[value].activation != MZ_RELU) return wanted;
  const std::vector<double> y = pair_numbers(pair, value, false, pair->found[(size_t)value]);
  for (size_t i = 0; i < wanted.size(); i++) wanted[i] = y[i] > 0.0 ? wanted[i] : 0.0;
  return wanted;
}

static void compare(const tape_pair *pair, int value, bool gradient, int rows, const bytes &found,
                    const std::vector<double> &wanted) {
  const double off = pair_distance(pair_numbers(pair, value, gradient, found), wanted);
  const double tolerance = pair->device->values[value].bf16 && !gradient ? bf16_tolerance : f32_tolerance;
  if (!(off <= tolerance)) {
    fail_msg("%s: %s of value %d, %d rows: off the reference's by %g", pair->own_case->name, gradient ? "gradient" : "data",
             value, rows, off);
  }
}

static void compare_parameter(const tape_pair *pair, int param, int rows) {
  if (param < 0) return;
  const mz_param *item = &pair->params.items[param];
  const std::vector<float> found = pair_parameter_gradient(pair, param);
  const double *wanted = pair->gradients.data() + item->offset;
  const double off = pair_distance(std::vector<double>(found.begin(), found.end()),
                                   std::vector<double>(wanted, wanted + found.size())); /* padding, which is 0, included */
  if (!(off <= f32_tolerance)) {
    fail_msg("%s: gradient of %s, %d rows: off the reference's by %g", pair->own_case->name, item->name, rows, off);
  }
}

/* Values whose gradients nodes of the op wrote or changed. */
static std::vector<int> learning_values(const tape_pair *pair) {
  std::vector<int> values;
  for (int i = 0; i < pair->device->node_count; i++) {
    const mz_node *node = &pair->device->nodes[i];
    for (int k = 0; k < node->input_count && is_tested(pair, i) && node->backward; k++) {
      if (pair->device->values[node->inputs[k]].gradient != nullptr) values.push_back(node->inputs[k]);
    }
  }
  return values;
}

static void compare_all(tape_pair *pair, int rows) {
  pair_forward(pair, 0, rows);
  pair_reference_forward(pair, rows);
  for (int i = 0; i < pair->device->node_count; i++) {
    if (is_tested(pair, i)) compare(pair, i, false, rows, pair->found[(size_t)i], pair->wanted[(size_t)i]);
  }
  if (!pair->own_case->with_backward) return;
  pair_backward(pair, 0, rows);
  pair_reference_backward(pair, rows);
  for (int value : learning_values(pair)) {
    compare(pair, value, true, rows, pair_gradient_bytes(pair, value, rows), wanted_gradient(pair, value, rows));
  }
  for (int i = 0; i < pair->device->node_count; i++) {
    const mz_node *node = &pair->device->nodes[i];
    if (!is_tested(pair, i) || !node->first_use) continue;
    for (int param : {node->weight, node->bias, node->table}) compare_parameter(pair, param, rows);
  }
}

static void append_parameters(const tape_pair *pair, const mz_node *node, std::vector<bytes> *all) {
  for (int param : {node->weight, node->bias, node->table}) {
    if (param < 0) continue;
    const std::vector<float> gradient = pair_parameter_gradient(pair, param);
    const unsigned char *first = (const unsigned char *)gradient.data();
    all->push_back(bytes(first, first + gradient.size() * sizeof(float)));
  }
}

/* Returns the bytes that the nodes leave in rows `from` …, run as the device's first rows; of all rows also the gradients of parameters. */
static std::vector<bytes> results(tape_pair *pair, int from, int rows) {
  std::vector<bytes> all;
  pair_forward(pair, from, rows);
  for (int i = 0; i < pair->device->node_count; i++) {
    if (is_tested(pair, i)) all.push_back(pair->found[(size_t)i]);
  }
  if (!pair->own_case->with_backward) return all;
  pair_backward(pair, from, rows);
  for (int value : learning_values(pair)) all.push_back(pair_gradient_bytes(pair, value, rows));
  for (int i = 0; i < pair->device->node_count && rows == pair->own_case->rows; i++) {
    const mz_node *node = &pair->device->nodes[i];
    if (is_tested(pair, i) && node->first_use) append_parameters(pair, node, &all);
  }
  return all;
}

static void compare_rows(tape_pair *pair, const std::vector<bytes> &together, int from, int rows) {
  const std::vector<bytes> alone = results(pair, from, rows);
  for (size_t i = 0; i < alone.size(); i++) {
    const size_t row_bytes = alone[i].size() / (size_t)rows;
    const bytes wanted(together[i].begin() + (ptrdiff_t)((size_t)from * row_bytes),
                       together[i].begin() + (ptrdiff_t)((size_t)(from + rows) * row_bytes));
    if (alone[i] != wanted) {
      fail_msg("%s: result %zu: %d rows from row %d have other bits than among %d", pair->own_case->name, i, rows, from,
               pair->own_case->rows);
    }
  }
}

void pair_check(const pair_op *op, const pair_case *own_case) {
  tape_pair pair;
  const int most = own_case->rows;
  int last = -1;
  pair_open(&pair, op, own_case);
  compare_all(&pair, most);
  if (most > 2) compare_all(&pair, most - 2);
  const std::vector<bytes> together = results(&pair, 0, most);
  for (int rows = 1; rows < most; rows++) compare_rows(&pair, together, rows % 2 == 0 ? 0 : most - rows, rows);
  if (results(&pair, 0, most) != together) fail_msg("%s: other bits when run again", own_case->name);
  for (int i = 0; i < pair.device->node_count; i++) {
    if (is_tested(&pair, i)) last = i;
  }
  if (pair_replay(&pair) != pair.found[(size_t)last]) fail_msg("%s: other bits when replayed", own_case->name);
  pair_close(&pair);
}

/* ---- failures ---- */

static void release_nodes(tape_pair *pair) {
  for (int i = 0; i < pair->device->node_count; i++) {
    mz_node *node = &pair->device->nodes[i];
    if (node->prepared != nullptr) pair->op->release(pair->device, node);
  }
}

/* From the beginning: what the lane has kept would hide the calls. */
static mz_status prepare_nodes(tape_pair *pair) {
  release_nodes(pair);
  mz_cuda_planned_free(&pair->lane);
  for (int i = 0; i < pair->device->node_count; i++) {
    if (is_tested(pair, i)) MZ_TRY(pair->op->prepare(pair->device, &pair->device->nodes[i]));
  }
  return MZ_OK;
}

static mz_status run_nodes(tape_pair *pair) {
  const int rows = pair->own_case->rows;
  for (int i = 0; i < pair->device->node_count; i++) {
    if (is_tested(pair, i)) MZ_TRY(pair->op->forward(pair->device, &pair->device->nodes[i], rows));
  }
  for (int i = pair->device->node_count - 1; i >= 0; i--) {
    mz_node *node = &pair->device->nodes[i];
    if (is_tested(pair, i) && node->backward) MZ_TRY(pair->op->backward(pair->device, node, rows));
  }
  return MZ_OK;
}

/* Returns how many calls could fail. */
static int fail_each(tape_pair *pair, mz_status (*work)(tape_pair *)) {
  for (int calls = 0;; calls++) {
    twin_fail_after(calls + 1);
    const mz_status status = work(pair);
    const bool all_failed = twin_fail_pending() != 0;
    twin_fail_after(0);
    assert_int_equal(status, all_failed ? MZ_OK : MZ_E_DEVICE);
    if (all_failed) return calls;
  }
}

void pair_check_failures(const pair_op *op, const pair_case *own_case) {
  tape_pair pair;
  pair_open(&pair, op, own_case);
  pair_forward(&pair, 0, own_case->rows);
  if (own_case->with_backward) pair_backward(&pair, 0, own_case->rows);
  assert_true(fail_each(&pair, run_nodes) > 2);
  assert_true(fail_each(&pair, prepare_nodes) > 20);
  pair_close(&pair);
}
