/* Recording: each function appends one node and the value it writes. */
#include "networks/tape/halving.h"
#include "networks/tape/tape_state.h"
#include <string.h>

mz_status mz_tape_create(mz_tape **out, const mz_lane *lane, const mz_params *params, int rows, bool with_backward) {
  MZ_ASSERT(rows >= 1);
  mz_tape *tape = NULL;
  MZ_TRY(mz_alloc(&tape, 1, sizeof *tape));
  *tape = (mz_tape){.lane = *lane, .params = params, .rows = rows, .with_backward = with_backward, .share = 1};
  const mz_status status = mz_alloc(&tape->layout, params == NULL ? 0 : (size_t)params->count, sizeof *tape->layout);
  if (status != MZ_OK) {
    mz_tape_free(tape);
    return status;
  }
  if (params != NULL) mz_backend_layout(lane->backend, params, tape->layout);
  *out = tape;
  return MZ_OK;
}

void mz_tape_free(mz_tape *tape) {
  if (tape == NULL) return;
  if (tape->passes != NULL) tape->lane.backend->forget(tape);
  for (int i = 0; i < tape->node_count; i++) {
    if (tape->nodes[i].prepared != NULL) tape->lane.backend->release(tape, &tape->nodes[i]);
  }
  free(tape->nodes);
  free(tape->values);
  free(tape->uses);
  free(tape->unused);
  free(tape->layout);
  mz_lane_free(&tape->lane, tape->block);
  mz_lane_free(&tape->lane, tape->scratch);
  free(tape);
}

static mz_status grow(mz_tape *tape) {
  if (tape->node_count == MZ_TAPE_NODES_MAX) {
    return mz_fail(MZ_E_CONFIG, "network: more than %d nodes; fewer layers or unroll steps are needed", MZ_TAPE_NODES_MAX);
  }
  const int capacity = tape->node_capacity == 0 ? 32 : 2 * tape->node_capacity;
  mz_node *nodes = NULL;
  mz_tape_value *values = NULL;
  MZ_TRY(mz_alloc(&nodes, (size_t)capacity, sizeof *nodes));
  const mz_status status = mz_alloc(&values, (size_t)capacity, sizeof *values);
  if (status != MZ_OK) {
    free(nodes);
    return status;
  }
  if (tape->node_count > 0) {
    memcpy(nodes, tape->nodes, (size_t)tape->node_count * sizeof *nodes);
    memcpy(values, tape->values, (size_t)tape->node_count * sizeof *values);
  }
  free(tape->nodes);
  free(tape->values);
  tape->nodes = nodes;
  tape->values = values;
  tape->node_capacity = capacity;
  return MZ_OK;
}

/* After a failure every value is 0: the tape is never planned, so it is never used. */
static mz_value append(mz_tape *tape, mz_node node, int columns) {
  MZ_ASSERT(!tape->planned);
  if (tape->failure == MZ_OK && tape->node_count == tape->node_capacity) tape->failure = grow(tape);
  if (tape->failure != MZ_OK) return 0;
  node.output = tape->node_count++;
  tape->nodes[node.output] = node;
  tape->values[node.output] = (mz_tape_value){.columns = columns, .stride = mz_padded(columns)};
  return node.output;
}

static mz_node node_of(mz_op op, int input_count, mz_value a, mz_value b, mz_value c) {
  return (mz_node){.op = op,
                   .inputs = {a, b, c},
                   .input_count = input_count,
                   .weight = -1,
                   .bias = -1,
                   .table = -1,
                   .index_input = -1,
                   .positions = 1};
}

static int columns_of(const mz_tape *tape, mz_value value) {
  if (tape->failure != MZ_OK) return 1;
  MZ_ASSERT(value >= 0 && value < tape->node_count);
  return tape->values[value].columns;
}

mz_value mz_tape_input(mz_tape *tape, int columns) {
  MZ_ASSERT(columns >= 1);
  return append(tape, node_of(MZ_OP_INPUT, 0, 0, 0, 0), columns);
}

int mz_tape_index_list(mz_tape *tape, int count) {
  MZ_ASSERT(!tape->planned && count >= 1);
  if (tape->index_count == MZ_TAPE_INDICES_MAX && tape->failure == MZ_OK) {
    tape->failure = mz_fail(MZ_E_CONFIG, "network: more than %d index inputs; unroll fewer steps", MZ_TAPE_INDICES_MAX);
  }
  if (tape->failure != MZ_OK) return 0;
  tape->index_lengths[tape->index_count] = count;
  return tape->index_count++;
}

int mz_tape_index_input(mz_tape *tape) { return mz_tape_index_list(tape, 1); }

static int length_of(const mz_tape *tape, int list) {
  MZ_ASSERT(list >= 0 && list < tape->index_count);
  return tape->index_lengths[list];
}

mz_value mz_tape_linear(mz_tape *tape, mz_value x, int weight, int bias, mz_activation activation) {
  return mz_tape_linear_table(tape, x, weight, bias, -1, -1, activation);
}

mz_value mz_tape_linear_table(mz_tape *tape, mz_value x, int weight, int bias, int table, int index_input,
                              mz_activation activation) {
  if (tape->failure != MZ_OK) return 0;
  const mz_param *items = tape->params->items;
  MZ_ASSERT(items[weight].rows == columns_of(tape, x));
  MZ_ASSERT(bias < 0 || items[bias].columns == items[weight].columns);
  MZ_ASSERT(table < 0 || (items[table].columns == items[weight].columns && index_input >= 0 && index_input < tape->index_count));
  mz_node node = node_of(MZ_OP_LINEAR, 1, x, 0, 0);
  node.weight = weight;
  node.bias = bias;
  node.table = table;
  node.index_input = index_input;
  node.activation = activation;
  return append(tape, node, items[weight].columns);
}

mz_value mz_tape_pointwise(mz_tape *tape, mz_value x, int positions, int weight, int bias, mz_activation activation) {
  if (tape->failure != MZ_OK) return 0;
  const mz_param *items = tape->params->items;
  MZ_ASSERT(items[weight].rows * positions == columns_of(tape, x) && items[weight].rows % MZ_LANES == 0);
  MZ_ASSERT(items[weight].columns % MZ_LANES == 0 && (bias < 0 || items[bias].columns == items[weight].columns));
  mz_node node = node_of(MZ_OP_LINEAR, 1, x, 0, 0);
  node.weight = weight;
  node.bias = bias;
  node.activation = activation;
  node.positions = positions;
  return append(tape, node, items[weight].columns * positions);
}

/* Returns whether nothing before x learns. */
static bool is_observed(const mz_tape *tape, mz_value x) {
  const mz_node *node = &tape->nodes[x];
  return node->op == MZ_OP_INPUT || (node->op == MZ_OP_SCALE && tape->nodes[node->inputs[0]].op == MZ_OP_INPUT);
}

mz_value mz_tape_planes(mz_tape *tape, mz_value x, int positions) {
  const int columns = columns_of(tape, x);
  MZ_ASSERT(tape->failure != MZ_OK || (columns % positions == 0 && is_observed(tape, x)));
  mz_node node = node_of(MZ_OP_PLANES, 1, x, 0, 0);
  node.positions = positions;
  return append(tape, node, positions * mz_padded(columns / positions));
}

mz_value mz_tape_conv(mz_tape *tape, mz_value x, int weight, int bias, mz_value add, mz_activation activation) {
  if (tape->failure != MZ_OK) return 0;
  const mz_param *param = &tape->params->items[weight];
  const int positions = param->conv.height * param->conv.width, columns = positions * param->columns;
  MZ_ASSERT(positions > 0 && columns_of(tape, x) * MZ_KERNEL * MZ_KERNEL == param->rows * positions);
  MZ_ASSERT(bias < 0 || tape->params->items[bias].columns == param->columns);
  MZ_ASSERT(add < 0 || (add != x && columns_of(tape, add) == columns));
  mz_node node = node_of(MZ_OP_CONV, add < 0 ? 1 : 2, x, add, 0);
  node.weight = weight;
  node.bias = bias;
  node.activation = activation;
  node.positions = positions;
  return append(tape, node, columns);
}

mz_value mz_tape_action_map(mz_tape *tape, const mz_action_map *map, int table, int index_input) {
  if (tape->failure != MZ_OK) return 0;
  const mz_param *param = &tape->params->items[table];
  MZ_ASSERT(param->rows == mz_action_map_rows(map) && index_input >= 0 && index_input < tape->index_count);
  mz_node node = node_of(MZ_OP_ACTION_MAP, 0, 0, 0, 0);
  node.weight = table;
  node.index_input = index_input;
  node.positions = map->board.height * map->board.width;
  node.map = *map;
  return append(tape, node, node.positions * param->columns);
}

/* Checks that `row` has one entry per channel of `value`. */
static int positions_of(const mz_tape *tape, mz_value x, int row) {
  const int channels = tape->params->items[row].columns, columns = columns_of(tape, x);
  MZ_ASSERT(channels % MZ_LANES == 0 && columns % channels == 0);
  return columns / channels;
}

mz_value mz_tape_norm(mz_tape *tape, mz_value x, const mz_norm *norm, int group_rows, mz_activation activation) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(tape->with_backward && group_rows >= 1 && tape->rows % group_rows == 0);
  mz_node node = node_of(MZ_OP_NORM, 1, x, 0, 0);
  node.weight = norm->gamma;
  node.bias = norm->beta;
  node.norm = *norm;
  node.group_rows = group_rows;
  node.activation = activation;
  node.positions = positions_of(tape, x, norm->gamma);
  return append(tape, node, columns_of(tape, x));
}

mz_value mz_tape_affine(mz_tape *tape, mz_value x, int scale, int shift, mz_activation activation) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(!tape->with_backward);
  mz_node node = node_of(MZ_OP_AFFINE, 1, x, 0, 0);
  node.weight = scale;
  node.bias = shift;
  node.activation = activation;
  node.positions = positions_of(tape, x, scale);
  return append(tape, node, columns_of(tape, x));
}

mz_value mz_tape_to_bf16(mz_tape *tape, mz_value x) {
  if (tape->failure != MZ_OK || !mz_lane_halves(&tape->lane)) return x;
  const mz_node *node = &tape->nodes[x];
  mz_value y = x;
  const bool alone = node->op == MZ_OP_CONV && node->input_count == 1 && !tape->with_backward;
  if (!mz_node_traits(node)->writes_bf16 && !alone) y = append(tape, node_of(MZ_OP_TO_BF16, 1, x, 0, 0), columns_of(tape, x));
  if (tape->failure == MZ_OK) tape->values[y].bf16 = true;
  return y;
}

mz_value mz_tape_add(mz_tape *tape, mz_value a, mz_value b) {
  if (tape->failure != MZ_OK) return 0;
  const int columns = columns_of(tape, a);
  MZ_ASSERT(columns == columns_of(tape, b) && a != b);
  return append(tape, node_of(MZ_OP_ADD, 2, a, b, 0), columns);
}

mz_value mz_tape_relu(mz_tape *tape, mz_value x) { return append(tape, node_of(MZ_OP_RELU, 1, x, 0, 0), columns_of(tape, x)); }

mz_value mz_tape_gelu(mz_tape *tape, mz_value x) { return append(tape, node_of(MZ_OP_GELU, 1, x, 0, 0), columns_of(tape, x)); }

mz_value mz_tape_minmax(mz_tape *tape, mz_value x) {
  return append(tape, node_of(MZ_OP_MINMAX, 1, x, 0, 0), columns_of(tape, x));
}

mz_value mz_tape_rms(mz_tape *tape, mz_value x) { return append(tape, node_of(MZ_OP_RMS, 1, x, 0, 0), columns_of(tape, x)); }

mz_value mz_tape_pool(mz_tape *tape, mz_value x, int positions) {
  const int columns = columns_of(tape, x);
  MZ_ASSERT(tape->failure != MZ_OK || columns % (positions * MZ_LANES) == 0);
  mz_node node = node_of(MZ_OP_POOL, 1, x, 0, 0);
  node.positions = positions;
  return append(tape, node, columns / positions * 2);
}

mz_value mz_tape_broadcast(mz_tape *tape, mz_value x, int positions) {
  const int columns = columns_of(tape, x);
  MZ_ASSERT(tape->failure != MZ_OK || columns % MZ_LANES == 0);
  mz_node node = node_of(MZ_OP_BROADCAST, 1, x, 0, 0);
  node.positions = positions;
  return append(tape, node, columns * positions);
}

mz_value mz_tape_scale_gradient(mz_tape *tape, mz_value x, float factor) {
  mz_node node = node_of(MZ_OP_SCALE_GRADIENT, 1, x, 0, 0);
  node.factor = factor;
  return append(tape, node, columns_of(tape, x));
}

mz_value mz_tape_scale(mz_tape *tape, mz_value x, float factor) {
  mz_node node = node_of(MZ_OP_SCALE, 1, x, 0, 0);
  node.factor = factor;
  return append(tape, node, columns_of(tape, x));
}

/* Appends a node that reads windows of x; a position of its output has `columns` entries. */
static mz_value append_halving(mz_tape *tape, mz_op op, mz_value x, mz_board board, int columns) {
  const mz_board half = mz_halved(board);
  mz_node node = node_of(op, 1, x, 0, 0);
  node.board = board;
  node.positions = half.height * half.width;
  return append(tape, node, node.positions * columns);
}

mz_value mz_tape_patches(mz_tape *tape, mz_value x, mz_board board) {
  if (tape->failure != MZ_OK) return 0;
  const int positions = board.height * board.width, channels = columns_of(tape, x) / positions;
  MZ_ASSERT(channels * positions == columns_of(tape, x) && (channels % MZ_LANES == 0 || is_observed(tape, x)));
  return append_halving(tape, MZ_OP_PATCHES, x, board, mz_padded(MZ_KERNEL * MZ_KERNEL * channels));
}

/* Returns the channels of a row of `positions`, a multiple of 16. */
static int channels_of(const mz_tape *tape, mz_value x, int positions) {
  const int columns = columns_of(tape, x);
  MZ_ASSERT(positions >= 1 && columns % (positions * MZ_LANES) == 0);
  return columns / positions;
}

mz_value mz_tape_mean_pool(mz_tape *tape, mz_value x, mz_board board) {
  if (tape->failure != MZ_OK) return 0;
  return append_halving(tape, MZ_OP_MEAN_POOL, x, board, channels_of(tape, x, board.height * board.width));
}

mz_value mz_tape_layer_norm(mz_tape *tape, mz_value x, int gamma, int beta) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(tape->params->items[gamma].columns == tape->params->items[beta].columns);
  mz_node node = node_of(MZ_OP_LAYER_NORM, 1, x, 0, 0);
  node.weight = gamma;
  node.bias = beta;
  node.positions = positions_of(tape, x, gamma);
  return append(tape, node, columns_of(tape, x));
}

/* A node that reads an index list. */
static mz_node graph_node(mz_op op, int input_count, mz_value a, mz_value b, mz_value c, int list, int positions) {
  mz_node node = node_of(op, input_count, a, b, c);
  node.index_input = list;
  node.positions = positions;
  return node;
}

mz_value mz_tape_typed_linear(mz_tape *tape, mz_value x, int types, int weight, int bias) {
  if (tape->failure != MZ_OK) return 0;
  const int positions = length_of(tape, types), inputs = channels_of(tape, x, positions);
  const mz_param *w = &tape->params->items[weight], *b = bias < 0 ? NULL : &tape->params->items[bias];
  MZ_ASSERT(w->rows % inputs == 0 && w->columns % MZ_LANES == 0);
  MZ_ASSERT(b == NULL || (b->rows * inputs == w->rows && b->columns == w->columns));
  mz_node node = graph_node(MZ_OP_TYPED_LINEAR, 1, x, 0, 0, types, positions);
  node.weight = weight;
  node.bias = bias;
  return append(tape, node, positions * w->columns);
}

mz_value mz_tape_gather(mz_tape *tape, mz_value x, int positions, int index) {
  if (tape->failure != MZ_OK) return 0;
  const int count = length_of(tape, index);
  return append(tape, graph_node(MZ_OP_GATHER, 1, x, 0, 0, index, count), count * channels_of(tape, x, positions));
}

mz_value mz_tape_concat(mz_tape *tape, const mz_value *parts, int count, int positions) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(count >= 2 && count <= MZ_NODE_INPUTS && parts[0] != parts[1]);
  MZ_ASSERT(count == 2 || (parts[2] != parts[0] && parts[2] != parts[1]));
  mz_node node = node_of(MZ_OP_CONCAT, count, parts[0], parts[1], count == 2 ? 0 : parts[2]);
  node.positions = positions;
  int channels = 0;
  for (int k = 0; k < count; k++) channels += channels_of(tape, parts[k], positions);
  return append(tape, node, positions * channels);
}

mz_value mz_tape_edge_attention(mz_tape *tape, mz_value q, mz_value k, mz_value v, int heads, int targets) {
  if (tape->failure != MZ_OK) return 0;
  const int edges = length_of(tape, targets), channels = channels_of(tape, k, edges), columns = columns_of(tape, q);
  MZ_ASSERT(columns % channels == 0 && columns_of(tape, v) == columns_of(tape, k));
  MZ_ASSERT(heads >= 1 && channels % heads == 0 && q != k && q != v && k != v);
  mz_node node = graph_node(MZ_OP_EDGE_ATTENTION, 3, q, k, v, targets, columns / channels);
  node.heads = heads;
  return append(tape, node, columns);
}

mz_value mz_tape_masked_pool(mz_tape *tape, mz_value x, int types) {
  if (tape->failure != MZ_OK) return 0;
  const int positions = length_of(tape, types);
  return append(tape, graph_node(MZ_OP_MASKED_POOL, 1, x, 0, 0, types, positions), 2 * channels_of(tape, x, positions));
}

mz_value mz_tape_softmax_xent(mz_tape *tape, mz_value logits, mz_value targets, mz_value row_weights, float factor) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(columns_of(tape, targets) == columns_of(tape, logits) && columns_of(tape, row_weights) == 1);
  MZ_ASSERT(tape->nodes[targets].op == MZ_OP_INPUT && tape->nodes[row_weights].op == MZ_OP_INPUT);
  mz_node node = node_of(MZ_OP_SOFTMAX_XENT, 3, logits, targets, row_weights);
  node.factor = factor;
  return append(tape, node, 1);
}

mz_value mz_tape_mse(mz_tape *tape, mz_value x, mz_value target, mz_value row_weights, float factor) {
  if (tape->failure != MZ_OK) return 0;
  MZ_ASSERT(columns_of(tape, x) == columns_of(tape, target) && columns_of(tape, row_weights) == 1);
  MZ_ASSERT(x != target && tape->nodes[row_weights].op == MZ_OP_INPUT);
  mz_node node = node_of(MZ_OP_MSE, 3, x, target, row_weights);
  node.factor = factor;
  return append(tape, node, 1);
}

mz_value mz_tape_expectation(mz_tape *tape, mz_value logits, float support_min, float support_max, bool transform) {
  MZ_ASSERT(columns_of(tape, logits) >= 2 || tape->failure != MZ_OK);
  mz_node node = node_of(MZ_OP_EXPECTATION, 1, logits, 0, 0);
  node.support_min = support_min;
  node.support_max = support_max;
  node.transform = transform;
  return append(tape, node, 1);
}

mz_value mz_tape_softmax(mz_tape *tape, mz_value logits) {
  return append(tape, node_of(MZ_OP_SOFTMAX, 1, logits, 0, 0), columns_of(tape, logits));
}

void mz_tape_set_share(mz_tape *tape, double share) { tape->share = share; }

bool mz_tape_trains(const mz_tape *tape) { return tape->with_backward; }
