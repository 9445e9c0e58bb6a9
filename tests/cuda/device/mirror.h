/* A network on a device as the host sees it: every value, gradient and list of its tape copied, so that the questions of
 * tests/networks can be asked of it. Include after cmocka.h. */
#pragma once
#include "tests/networks/agreement.h"

typedef struct mirror {
  net seen;
  mz_tape tape;
  void *blocks[8192]; /* to be freed */
  int count;
} mirror;

static inline void *mirror_bytes(mirror *m, const net *n, const void *from, size_t bytes) {
  void *to;
  check(mz_alloc(&to, bytes, 1));
  check(mz_lane_fetch(&n->lane, to, from, bytes));
  assert_true(m->count < (int)(sizeof m->blocks / sizeof *m->blocks));
  m->blocks[m->count++] = to;
  return to;
}

static inline void mirror_halves(mirror *m, mz_tape_value *value, size_t elements) {
  const uint16_t *halves = value->data;
  float *wide;
  check(mz_alloc(&wide, elements, sizeof *wide));
  for (size_t i = 0; i < elements; i++) {
    const uint32_t bits = (uint32_t)halves[i] << 16;
    memcpy(&wide[i], &bits, sizeof bits);
  }
  value->data = wide;
  value->bf16 = false;
  m->blocks[m->count++] = wide;
}

/* After a run; the mirror shows this run for good. */
static inline net *mirror_open(mirror *m, const net *n) {
  const mz_tape *from = n->tape;
  *m = (mirror){.seen = *n, .tape = *from};
  mz_tape *to = &m->tape;
  check(mz_alloc(&to->values, (size_t)from->node_count, sizeof *to->values));
  m->blocks[m->count++] = to->values;
  memcpy(to->values, from->values, (size_t)from->node_count * sizeof *to->values);
  for (int i = 0; i < from->node_count; i++) {
    mz_tape_value *value = &to->values[i];
    const size_t elements = (size_t)from->rows * (size_t)value->stride;
    value->data = mirror_bytes(m, n, value->data, elements * (value->bf16 ? sizeof(uint16_t) : sizeof(float)));
    if (value->gradient != NULL) value->gradient = mirror_bytes(m, n, value->gradient, elements * sizeof(float));
  }
  for (int i = 0; i < from->index_count; i++)
    to->indices[i] = mirror_bytes(m, n, from->indices[i], (size_t)from->rows * (size_t)from->index_lengths[i] * sizeof(int32_t));
  m->seen.gradients = mirror_bytes(m, n, n->gradients, (size_t)n->params.size * sizeof(float));
  check(mz_lane_sync(&n->lane));
  for (int i = 0; i < from->node_count; i++)
    if (to->values[i].bf16) mirror_halves(m, &to->values[i], (size_t)from->rows * (size_t)to->values[i].stride);
  to->lane = m->seen.lane = mz_lane_cpu;
  m->seen.backend = &mz_backend_cpu;
  m->seen.tape = to;
  return &m->seen;
}

static inline void mirror_close(mirror *m) {
  for (int i = 0; i < m->count; i++) free(m->blocks[i]);
}
