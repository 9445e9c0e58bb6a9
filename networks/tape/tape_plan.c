/* Planning: which values need a gradient, who writes it first, which nodes share a weight; then one arena for everything. */
#include "networks/tape/tape_state.h"
#include <string.h>

/* A value needs a gradient when parameters lie before it and a loss behind it. On return `backward` marks the nodes to visit
 * and needed[v] the values. reached: scratch, false on entry. */
static void find_gradients(mz_tape *tape, bool *needed, bool *reached) {
  for (int i = 0; i < tape->node_count; i++) { /* downstream of a parameter */
    const mz_node *node = &tape->nodes[i];
    needed[i] = mz_node_traits(node)->trains;
    for (int k = 0; k < node->input_count; k++) needed[i] |= needed[node->inputs[k]];
    if (mz_node_traits(node)->inference_only || mz_node_traits(node)->is_loss) needed[i] = false;
  }
  for (int i = tape->node_count - 1; i >= 0; i--) { /* upstream of a loss: reached by backward, in the order of backward */
    mz_node *node = &tape->nodes[i];
    const bool is_loss = mz_node_traits(node)->is_loss;
    needed[i] = needed[i] && reached[i];
    node->backward = is_loss ? needed[node->inputs[0]] : needed[i];
    if (!node->backward) continue;
    for (int k = 0; k < (is_loss ? 1 : node->input_count); k++) {
      const mz_value input = node->inputs[k];
      MZ_ASSERT(node->op != MZ_OP_SOFTMAX_XENT || !reached[input]); /* it has its logits for itself */
      node->overwrites[k] = needed[input] && !reached[input];
      reached[input] = true;
    }
  }
}

/* Groups the nodes of backward that have parameters by weight: uses, use_count, first_use. */
static mz_status find_uses(mz_tape *tape) {
  const int count = tape->params == NULL ? 0 : tape->params->count;
  MZ_TRY(mz_alloc(&tape->uses, (size_t)tape->node_count, sizeof *tape->uses));
  MZ_TRY(mz_alloc(&tape->unused, (size_t)count, sizeof *tape->unused));
  memset(tape->unused, true, (size_t)count * sizeof *tape->unused);
  int at = 0;
  for (int i = 0; i < tape->node_count; i++) {
    mz_node *node = &tape->nodes[i];
    if (!mz_node_traits(node)->trains || !node->backward || !tape->unused[node->weight]) continue;
    node->first_use = true;
    node->uses = tape->uses + at;
    for (int j = i; j < tape->node_count; j++) {
      const mz_node *other = &tape->nodes[j];
      if (!mz_node_traits(other)->trains || other->weight != node->weight) continue;
      MZ_ASSERT(other->op == node->op && other->bias == node->bias && other->table == node->table);
      if (!other->backward) continue;
      tape->uses[at + node->use_count++] = j;
      if (other->op == MZ_OP_NORM) tape->unused[other->norm.mean] = tape->unused[other->norm.variance] = false;
    }
    at += node->use_count;
    tape->unused[node->weight] = false;
    if (node->bias >= 0) tape->unused[node->bias] = false;
    if (node->table >= 0) tape->unused[node->table] = false;
  }
  return MZ_OK;
}

/* Returns the bytes of a value's gradient, which are those of its data unless it is bf16. */
static size_t value_bytes(const mz_tape *tape, int value) {
  return (size_t)tape->rows * (size_t)tape->values[value].stride * tape->lane.backend->element_size;
}

/* Hands out the next `bytes` of the arena, whole cache lines. Without a block it only measures. */
static void *take(const mz_tape *tape, size_t *at, size_t bytes) {
  void *start = tape->block == NULL ? NULL : (char *)tape->block + *at;
  *at += (bytes + 63) / 64 * 64;
  return start;
}

/* Returns whether a convolution writes over the value that it adds, which nobody reads afterwards: a summand, and in inference the
 * value between two blocks. */
static bool adds_in_place(const mz_tape *tape, const mz_node *node) {
  if (node->op != MZ_OP_CONV || node->input_count < 2) return false;
  const mz_node *added = &tape->nodes[node->inputs[1]];
  if (!mz_node_traits(added)->is_summand && (added->op != MZ_OP_CONV || tape->with_backward)) return false;
  for (int i = node->output + 1; i < tape->node_count; i++) {
    for (int k = 0; k < tape->nodes[i].input_count; k++)
      if (tape->nodes[i].inputs[k] == node->inputs[1]) return false;
  }
  return true;
}

/* The value whose buffer is this one's too: SCALE_GRADIENT changes nothing in forward. −1: none. */
static mz_value shares_data(const mz_tape *tape, const mz_node *node) {
  if (node->op == MZ_OP_SCALE_GRADIENT) return node->inputs[0];
  return adds_in_place(tape, node) ? node->inputs[1] : -1;
}

/* A summand has one reader, whose gradient it takes over as it is. */
static bool shares_gradient(const mz_tape *tape, const mz_node *node) {
  return adds_in_place(tape, node) && mz_node_traits(&tape->nodes[node->inputs[1]])->is_summand;
}

/* Returns the bytes used. */
static size_t carve(mz_tape *tape, const bool *needed) {
  size_t at = 0;
  for (int i = 0; i < tape->node_count; i++) {
    mz_tape_value *value = &tape->values[i];
    const mz_node *node = &tape->nodes[i];
    const mz_value shared = shares_data(tape, node);
    value->data = shared >= 0 ? tape->values[shared].data
                              : take(tape, &at,
                                     value->bf16 ? value_bytes(tape, i) / tape->lane.backend->element_size * sizeof(uint16_t)
                                                 : value_bytes(tape, i));
    if (needed[i])
      value->gradient = shares_gradient(tape, node) ? tape->values[shared].gradient : take(tape, &at, value_bytes(tape, i));
  }
  for (int i = 0; i < tape->index_count; i++) {
    const size_t count = (size_t)mz_padded(tape->rows) * (size_t)tape->index_lengths[i];
    tape->indices[i] = take(tape, &at, count * sizeof(int32_t));
  }
  return at;
}

/* Sets tape->bytes; marks: [2 · nodes], false on entry; the first half says on return which values need a gradient. */
static mz_status lay_out(mz_tape *tape, bool *marks) {
  if (tape->with_backward) {
    find_gradients(tape, marks, marks + tape->node_count);
    MZ_TRY(find_uses(tape));
  }
  tape->bytes = carve(tape, marks);
  return MZ_OK;
}

mz_status mz_tape_measure(mz_tape *tape, size_t *bytes) {
  MZ_ASSERT(!tape->planned);
  MZ_TRY(tape->failure);
  bool *needed = NULL;
  MZ_TRY(mz_alloc(&needed, 2 * (size_t)tape->node_count, sizeof *needed));
  const mz_status status = lay_out(tape, needed);
  size_t own = mz_tape_host_bytes(tape);
  for (int i = 0; i < tape->node_count && status == MZ_OK && tape->lane.backend->node_bytes != NULL; i++) {
    const mz_node *node = &tape->nodes[i];
    own += tape->lane.backend->node_bytes(tape, node, node->input_count > 0 && needed[node->inputs[0]]);
  }
  *bytes = own + tape->bytes + tape->scratch_bytes;
  free(needed);
  return status;
}

mz_status mz_tape_plan(mz_tape *tape) {
  MZ_ASSERT(!tape->planned);
  MZ_TRY(tape->failure);
  const size_t count = (size_t)tape->node_count;
  bool *marks = NULL; /* needed, reached */
  mz_status status = MZ_OK;
  MZ_TRY(mz_alloc(&marks, 2 * count, sizeof *marks));
  MZ_TRY_CLEANUP(lay_out(tape, marks));
  MZ_TRY_CLEANUP(mz_lane_alloc(&tape->lane, &tape->block, tape->bytes));
  carve(tape, marks);
  for (size_t i = 0; i < count; i++) MZ_TRY_CLEANUP(tape->lane.backend->prepare(tape, &tape->nodes[i]));
  if (tape->scratch_bytes > 0) MZ_TRY_CLEANUP(mz_lane_alloc(&tape->lane, &tape->scratch, tape->scratch_bytes));
  tape->planned = true;
cleanup:
  free(marks);
  return status;
}
