#include "networks/cpu/planes.h"
#include "networks/cpu/access.h"
#include "networks/cpu/kernels.h"
#include <string.h>

/* ---- action map ---- */

typedef struct stamping { /* the table's rows onto a board, or a board's gradient onto the table's */
  const float *from;
  float *to;
  size_t channels;
  bool backward;
} stamping;

static void stamp(void *context, int position, int row) {
  const stamping *s = context;
  const size_t on_board = (size_t)position * s->channels, in_table = (size_t)row * s->channels;
  float *to = s->to + (s->backward ? in_table : on_board);
  mz_kernels_get()->add(to, s->from + (s->backward ? on_board : in_table), to, s->channels);
}

void mz_action_map_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *y = &tape->values[node->output];
  const int32_t *action = tape->indices[node->index_input];
  memset(y->data, 0, (size_t)rows * (size_t)y->stride * sizeof(float));
  stamping s = {.from = mz_parameter(tape, tape->weights, node->weight),
                .channels = (size_t)tape->params->items[node->weight].stride};
  for (int r = 0; r < rows; r++) {
    s.to = (float *)y->data + (size_t)r * (size_t)y->stride;
    mz_action_map_visit(&node->map, action[r], stamp, &s);
  }
}

/* Uses and rows in order. */
void mz_action_map_backward(mz_tape *tape, mz_node *node, int rows) {
  if (!node->first_use) return;
  const mz_param *table = &tape->params->items[node->weight];
  stamping s = {.to = mz_gradient_of(tape, node->weight), .channels = (size_t)table->stride, .backward = true};
  memset(s.to, 0, (size_t)table->rows * (size_t)table->stride * sizeof(float));
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const mz_tape_value *y = &tape->values[use->output];
    for (int r = 0; r < rows; r++) {
      s.from = (const float *)y->gradient + (size_t)r * (size_t)y->stride;
      mz_action_map_visit(&use->map, tape->indices[use->index_input][r], stamp, &s);
    }
  }
}

/* ---- planes ---- */

static void planes_half(const float *from, uint16_t *to, int positions, int channels, int padded) {
  for (int p = 0; p < positions; p++, from += channels, to += padded) mz_kernels_get()->to_bf16(from, to, (size_t)channels);
}

void mz_planes_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const int channels = x->columns / node->positions, padded = y->columns / node->positions;
  for (int r = 0; r < rows; r++) {
    const float *from = (const float *)x->data + (size_t)r * (size_t)x->stride;
    float *to = (float *)y->data + (size_t)r * (size_t)y->stride;
    if (y->bf16) {
      planes_half(from, (uint16_t *)y->data + (size_t)r * (size_t)y->stride, node->positions, channels, padded);
      continue;
    }
    for (int p = 0; p < node->positions; p++, from += channels, to += padded) memcpy(to, from, (size_t)channels * sizeof *to);
  }
}
