#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "tests/cuda/support/lockstep.cuh"
#include "networks/cuda/quads.cuh"
#include "tests/cuda/support/ops.cuh"

static bool seen_forward[MZ_OPS], seen_backward[MZ_OPS];

bool lockstep_saw_forward(mz_op op) { return seen_forward[op]; }
bool lockstep_saw_backward(mz_op op) { return seen_backward[op]; }

typedef std::vector<unsigned char> bytes;

static const double f32_tolerance = 1e-5, bf16_tolerance = 1e-2;

static const mz_tape_value *value_of(const lockstep &t, int value) { return &t.cpu->tape->values[value]; }

static size_t element_bytes(const mz_tape_value *value) { return value->bf16 ? sizeof(uint16_t) : sizeof(float); }

static double element(const void *data, bool bf16, size_t at) {
  return bf16 ? (double)mz_f32_of_bf16(((const uint16_t *)data)[at]) : (double)((const float *)data)[at];
}

/* ---- comparisons ---- */

/* ‖found − wanted‖ / ‖wanted‖ over columns of rows; wanted as doubles where `reference`. */
static double distance(const void *found, bool bf16, const void *wanted, bool reference, int rows, int columns, int stride) {
  double square = 0.0, square_error = 0.0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      const size_t at = (size_t)r * (size_t)stride + (size_t)c;
      const double x = element(found, bf16, at), y = reference ? ((const double *)wanted)[at] : element(wanted, bf16, at);
      square += y * y;
      square_error += (x - y) * (x - y);
    }
  }
  return square_error == 0.0 ? 0.0 : std::sqrt(square_error / square);
}

/* A matrix of a node's, as the device left it, beside the cpu's and the reference's (NULL: it has none). */
static void compare(const lockstep &t, int node, const char *what, const bytes &found, bool bf16, bool exact, const void *cpu,
                    const void *ref, int columns, int stride) {
  const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float), live = (size_t)t.rows * (size_t)stride;
  const double tolerance = bf16 ? bf16_tolerance : f32_tolerance;
  const int op = (int)t.cpu->tape->nodes[node].op;
  for (size_t at = 0; at < live; at++) {
    const double x = element(found.data(), bf16, at), y = element(cpu, bf16, at);
    const bool same = exact ? x == y : (int)(at % (size_t)stride) < columns || x == 0.0;
    if (!same) fail_msg("%s: %s of node %d (op %d): entry %zu is %.9g, not %.9g", t.name, what, node, op, at, x, y);
  }
  for (size_t i = live * size; i < found.size(); i++) assert_int_equal(found[i], 0xff); /* rows that were not run */
  const double off = distance(found.data(), bf16, cpu, false, t.rows, columns, stride);
  if (!(off <= tolerance)) fail_msg("%s: %s of node %d (op %d): off the cpu's by %g", t.name, what, node, op, off);
  if (ref == nullptr) return;
  const double off_ref = distance(found.data(), bf16, ref, true, t.rows, columns, stride);
  if (!(off_ref <= tolerance)) fail_msg("%s: %s of node %d (op %d): off the reference's by %g", t.name, what, node, op, off_ref);
}

static void compare_alone(const lockstep &t, int node, const char *what, const bytes &alone, const bytes &together, int from,
                          size_t row_bytes) {
  if (memcmp(alone.data(), together.data() + (size_t)from * row_bytes, (size_t)t.unit * row_bytes) != 0)
    fail_msg("%s: %s of node %d: row %d differs alone", t.name, what, node, from);
}

/* ---- the reference takes over the cpu's numbers ---- */

static void take_over(void *to, const void *from, bool bf16, size_t count) {
  if (to == nullptr || from == nullptr) return;
  for (size_t i = 0; i < count; i++) ((double *)to)[i] = element(from, bf16, i);
}

static void take_over_value(const lockstep &t, int value) {
  const mz_tape_value *from = value_of(t, value), *to = &t.ref->tape->values[value];
  const size_t count = (size_t)t.rows * (size_t)from->stride;
  take_over(to->data, from->data, from->bf16, count);
  take_over(to->gradient, from->gradient, false, count);
}

static void take_over_node(const lockstep &t, const mz_node *node) {
  take_over_value(t, node->output);
  for (int k = 0; k < node->input_count; k++) take_over_value(t, node->inputs[k]);
}

/* The reference rounds nothing to bfloat16, and records no node for it: those behind have other numbers. */
static bool has_reference(const lockstep &t, int number) {
  if (number >= t.ref->tape->node_count) return false;
  const mz_node *own = &t.cpu->tape->nodes[number], *other = &t.ref->tape->nodes[number];
  return own->op == other->op && memcmp(own->inputs, other->inputs, sizeof own->inputs) == 0;
}

/* ---- forward ---- */

/* Runs `unit` rows from row `from` on as the first ones. Returns all planned rows of the output. */
static bytes run_forward(lockstep &t, int i, int from, int rows) {
  mz_node *node = &t.device.nodes[(size_t)i];
  for (int k = 0; k < node->input_count; k++) device_tape_put_data(&t.device, node->inputs[k], from, rows);
  if (node->index_input >= 0) device_tape_put_index(&t.device, node->index_input, from, rows);
  device_tape_spoil_data(&t.device, node->output);
  if (node->op == MZ_OP_SOFTMAX_XENT && value_of(t, node->inputs[0])->gradient != nullptr)
    device_tape_spoil_gradient(&t.device, node->inputs[0]);
  check(cuda_op_of(node->op)->forward(&t.device.tape, node, rows));
  return device_tape_data(&t.device, node->output);
}

/* Gives the input of an op that chooses among entries several largest ones, of which the first has to be taken, and smallest. */
static void make_ties(const lockstep &t, const mz_node *node) {
  if (node->op != MZ_OP_MASKED_POOL && node->op != MZ_OP_MINMAX) return;
  const mz_tape_value *x = value_of(t, node->inputs[0]);
  const int channels = node->op == MZ_OP_MINMAX ? MZ_LANES : x->columns / node->positions;
  for (int r = 0; r < t.rows && !x->bf16; r++) {
    float *row = (float *)x->data + (size_t)r * (size_t)x->stride;
    for (int c = channels; c < x->columns; c++) {
      if (c % channels % 3 == 0) row[c] = row[c % channels];
    }
  }
}

/* A row in front, in the middle and at the end. */
static std::vector<int> lone_rows(const lockstep &t) {
  const int units = t.rows / t.unit;
  return {0, units / 2 * t.unit, (units - 1) * t.unit};
}

static void forward_in_step(lockstep &t, int i) {
  const mz_node *node = &t.cpu->tape->nodes[i];
  if (!mz_node_traits(node)->runs) return;
  const cuda_op *op = cuda_op_of(node->op);
  const bool referenced = has_reference(t, i);
  make_ties(t, node);
  check(t.cpu->backend->forward(t.cpu->tape, &t.cpu->tape->nodes[i], t.rows));
  if (op == nullptr) return;
  if (referenced) {
    take_over_node(t, node);
    check(t.ref->backend->forward(t.ref->tape, &t.ref->tape->nodes[i], t.rows));
  }
  const mz_tape_value *y = value_of(t, node->output), *x = node->input_count > 0 ? value_of(t, node->inputs[0]) : nullptr;
  const bytes together = run_forward(t, i, 0, t.rows);
  compare(t, i, "value", together, y->bf16, op->forward_is_exact, y->data,
          referenced ? t.ref->tape->values[node->output].data : nullptr, y->columns, y->stride);
  if (node->op == MZ_OP_SOFTMAX_XENT && x->gradient != nullptr) {
    compare(t, i, "gradient", device_tape_gradient(&t.device, node->inputs[0]), false, true, x->gradient, nullptr, x->columns,
            x->stride);
  }
  for (int from : lone_rows(t)) {
    const bytes alone = run_forward(t, i, from, t.unit);
    compare_alone(t, i, "value", alone, together, from, (size_t)y->stride * element_bytes(y));
  }
  seen_forward[node->op] = true;
}

/* ---- backward ---- */

static int learning_inputs(const mz_node *node) { return mz_node_traits(node)->is_loss ? 1 : node->input_count; }

/* Puts everything that backward of a node reads. */
static void put_node(lockstep &t, const mz_node *node, int from, int rows) {
  for (int k = 0; k < node->input_count; k++) device_tape_put_data(&t.device, node->inputs[k], from, rows);
  if (node->index_input >= 0) device_tape_put_index(&t.device, node->index_input, from, rows);
  device_tape_put_data(&t.device, node->output, from, rows);
  device_tape_put_gradient(&t.device, node->output, from, rows);
}

/* As run_forward; forward goes first, whose statistics backward needs. Returns the gradients of the inputs. */
static std::vector<bytes> run_backward(lockstep &t, int i, int from, int rows, bool parameters) {
  mz_node node = t.device.nodes[(size_t)i];
  const cuda_op *op = cuda_op_of(node.op);
  if (op->forward != nullptr) run_forward(t, i, from, rows);
  node.first_use = node.first_use && parameters;
  for (int u = 0; u < node.use_count && node.first_use; u++) put_node(t, &t.device.nodes[(size_t)node.uses[u]], from, rows);
  put_node(t, &node, from, rows);
  for (int k = 0; k < learning_inputs(&node); k++) {
    if (value_of(t, node.inputs[k])->gradient == nullptr) continue;
    device_tape_put_gradient(&t.device, node.inputs[k], from, rows);
    if (node.overwrites[k]) device_tape_spoil_gradient(&t.device, node.inputs[k]);
  }
  check(op->backward(&t.device.tape, &node, rows));
  std::vector<bytes> gradients;
  for (int k = 0; k < learning_inputs(&node); k++) {
    const bool wanted = value_of(t, node.inputs[k])->gradient != nullptr;
    gradients.push_back(wanted ? device_tape_gradient(&t.device, node.inputs[k]) : bytes());
  }
  return gradients;
}

static void compare_parameter(const lockstep &t, int i, int param, const std::vector<float> &found) {
  const bool referenced = has_reference(t, i);
  const mz_param *item = &t.cpu->params.items[param];
  const float *cpu = (const float *)t.cpu->gradients + item->offset;
  const double *ref = (const double *)t.ref->gradients + item->offset;
  const double off = distance(found.data(), false, cpu, false, item->rows, item->columns, item->stride);
  const double off_ref = referenced ? distance(found.data(), false, ref, true, item->rows, item->columns, item->stride) : 0.0;
  if (!(off <= f32_tolerance && off_ref <= f32_tolerance) && !has_no_gradient(item))
    fail_msg("%s: node %d: gradient of %s: off by %g, %g", t.name, i, item->name, off, off_ref);
  for (size_t at = 0; at < found.size(); at++) {
    if ((int)at % item->stride >= item->columns) assert_true(found[at] == 0.0f);
  }
}

/* Parameters of a node, and of its other uses: statistics may be their own. */
static void compare_parameters(lockstep &t, int i) {
  const mz_node *node = &t.cpu->tape->nodes[i];
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &t.cpu->tape->nodes[node->uses[u]];
    const bool norm = node->op == MZ_OP_NORM;
    for (int param : {use->weight, use->bias, norm ? use->norm.mean : -1, norm ? use->norm.variance : -1}) {
      if (param >= 0) compare_parameter(t, i, param, device_tape_parameter_gradient(&t.device, param));
    }
  }
}

static void backward_in_step(lockstep &t, int i) {
  const mz_node *node = &t.cpu->tape->nodes[i];
  const cuda_op *op = cuda_op_of(node->op);
  const bool compared = op != nullptr && op->backward != nullptr, referenced = has_reference(t, i);
  std::vector<bytes> together;
  if (compared) {
    std::vector<std::vector<bytes>> alone;
    for (int from : lone_rows(t)) alone.push_back(run_backward(t, i, from, t.unit, false));
    together = run_backward(t, i, 0, t.rows, true);
    for (size_t k = 0; k < together.size(); k++) {
      const size_t row_bytes = (size_t)value_of(t, node->inputs[k])->stride * sizeof(float);
      for (size_t l = 0; l < alone.size() && !together[k].empty(); l++)
        compare_alone(t, i, "gradient", alone[l][k], together[k], lone_rows(t)[l], row_bytes);
    }
  }
  if (compared && referenced) {
    for (int u = 0; u < node->use_count; u++) take_over_node(t, &t.cpu->tape->nodes[node->uses[u]]);
    take_over_node(t, node);
    check(t.ref->backend->backward(t.ref->tape, &t.ref->tape->nodes[i], t.rows));
  }
  check(t.cpu->backend->backward(t.cpu->tape, &t.cpu->tape->nodes[i], t.rows));
  if (!compared) return;
  for (size_t k = 0; k < together.size(); k++) {
    const mz_tape_value *x = value_of(t, node->inputs[k]);
    if (together[k].empty()) continue;
    compare(t, i, "gradient", together[k], false, op->backward_is_exact, x->gradient,
            referenced ? t.ref->tape->values[node->inputs[k]].gradient : nullptr, x->columns, x->stride);
  }
  if (node->first_use) compare_parameters(t, i);
  seen_backward[node->op] = true;
}

/* ---- passes ---- */

void lockstep_begin(net *n, int rows) {
  n->tape->weights = n->packed != nullptr ? n->packed : n->values;
  n->tape->transposed = n->transposed;
  n->tape->gradients = n->gradients;
  n->tape->live_rows = rows;
  for (int r = 0; r < rows; r++) net_set_row(n, r, r);
}

void lockstep_run(lockstep *run) {
  lockstep &t = *run;
  lockstep_begin(t.cpu, t.rows);
  lockstep_begin(t.ref, t.rows);
  device_tape_open(&t.device, t.cpu);
  for (int i = 0; i < t.cpu->tape->node_count; i++) forward_in_step(t, i);
  for (int i = t.cpu->tape->node_count - 1; i >= 0; i--) {
    if (t.cpu->tape->nodes[i].backward) backward_in_step(t, i);
  }
  device_tape_close(&t.device);
  net_close(t.cpu);
  net_close(t.ref);
}
