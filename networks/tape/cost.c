#include "networks/tape/cost.h"
#include "networks/tape/tape_state.h"

static double bytes_of(const mz_tape_value *value) {
  return (double)value->columns * (value->bf16 ? sizeof(uint16_t) : sizeof(float));
}

static double gradient_bytes(const mz_tape_value *value) {
  return value->gradient == NULL ? 0 : (double)value->columns * sizeof(float);
}

static double parameter_bytes(const mz_tape *tape, const mz_node *node, int parameter) {
  if (parameter < 0) return 0;
  const mz_param *param = &tape->params->items[parameter];
  const bool halves = parameter == node->weight && node->op == MZ_OP_CONV && tape->values[node->inputs[0]].bf16;
  return (double)param->rows * param->columns * (halves ? sizeof(uint16_t) : sizeof(float));
}

mz_tape_cost mz_tape_forward_cost(const mz_tape *tape) {
  mz_tape_cost cost = {0};
  for (int i = 0; i < tape->node_count; i++) {
    const mz_node *node = &tape->nodes[i];
    if (!mz_node_traits(node)->runs) continue;
    cost.nodes++;
    cost.bytes_per_row += bytes_of(&tape->values[i]);
    for (int k = 0; k < node->input_count; k++) cost.bytes_per_row += bytes_of(&tape->values[node->inputs[k]]);
    if (!mz_node_traits(node)->trains) continue;
    cost.parameter_bytes += parameter_bytes(tape, node, node->weight) + parameter_bytes(tape, node, node->bias);
  }
  return cost;
}

mz_tape_cost mz_tape_backward_cost(const mz_tape *tape) {
  mz_tape_cost cost = {0};
  for (int i = 0; i < tape->node_count; i++) {
    const mz_node *node = &tape->nodes[i];
    if (!node->backward) continue;
    cost.nodes++;
    cost.bytes_per_row += gradient_bytes(&tape->values[i]);
    for (int k = 0; k < node->input_count; k++)
      cost.bytes_per_row += bytes_of(&tape->values[node->inputs[k]]) + gradient_bytes(&tape->values[node->inputs[k]]);
    if (mz_node_traits(node)->trains)
      cost.parameter_bytes += 2 * (parameter_bytes(tape, node, node->weight) + parameter_bytes(tape, node, node->bias));
  }
  return cost;
}
