#include "networks/ref/graph.h"
#include "base/maths/maths.h"
#include "networks/ref/access.h"
#include <math.h>

/* ---- gather, concat ---- */

void mz_ref_gather(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *index = mz_tape_list_at(tape, node->index_input, r);
  const int channels = tape->values[node->output].columns / node->positions;
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int c = 0; c < channels; c++) y[p * channels + c] = index[p] < 0 ? 0.0 : x[index[p] * channels + c];
  }
}

void mz_ref_gather_backward(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *index = mz_tape_list_at(tape, node->index_input, r);
  const int channels = tape->values[node->output].columns / node->positions;
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  for (int p = 0; p < node->positions; p++) {
    if (index[p] < 0) continue;
    for (int c = 0; c < channels; c++) dx[index[p] * channels + c] += dy[p * channels + c];
  }
}

void mz_ref_concat(mz_tape *tape, const mz_node *node, int r) {
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int k = 0; k < node->input_count; k++) {
      const int channels = tape->values[node->inputs[k]].columns / node->positions;
      const double *x = mz_ref_data(tape, node->inputs[k], r);
      for (int c = 0; c < channels; c++) *y++ = x[p * channels + c];
    }
  }
}

void mz_ref_concat_backward(mz_tape *tape, const mz_node *node, int r) {
  const double *dy = mz_ref_gradient(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int k = 0; k < node->input_count; k++) {
      const int channels = tape->values[node->inputs[k]].columns / node->positions;
      double *dx = mz_ref_gradient(tape, node->inputs[k], r);
      for (int c = 0; c < channels && dx != NULL; c++) dx[p * channels + c] += dy[c];
      dy += channels;
    }
  }
}

/* ---- attention ---- */

/* One head of one graph. Channel c of position p lies at p · channels + c. */
typedef struct head {
  int nodes, edges, channels, size; /* size: channels of the head */
  const int32_t *targets;
  const double *q, *k, *v;
} head;

static head head_of(const mz_tape *tape, const mz_node *node, int r, int m) {
  const int channels = tape->values[node->output].columns / node->positions, first = m * (channels / node->heads);
  return (head){.nodes = node->positions,
                .edges = tape->index_lengths[node->index_input],
                .channels = channels,
                .size = channels / node->heads,
                .targets = mz_tape_list_at(tape, node->index_input, r),
                .q = mz_ref_data(tape, node->inputs[0], r) + first,
                .k = mz_ref_data(tape, node->inputs[1], r) + first,
                .v = mz_ref_data(tape, node->inputs[2], r) + first};
}

static double dot(const double *a, const double *b, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static double score(const head *h, int edge) {
  return dot(h->q + h->targets[edge] * h->channels, h->k + edge * h->channels, h->size) / sqrt(h->size);
}

/* Returns the weight of an edge among those with its target. */
static double weight_of(const head *h, int edge) {
  double sum = 0.0;
  for (int e = 0; e < h->edges; e++) {
    if (h->targets[e] == h->targets[edge]) sum += mz_exp(score(h, e) - score(h, edge));
  }
  return 1.0 / sum;
}

void mz_ref_edge_attention(mz_tape *tape, const mz_node *node, int r) {
  for (int m = 0; m < node->heads; m++) {
    const head h = head_of(tape, node, r, m);
    double *y = mz_ref_data(tape, node->output, r) + m * h.size;
    for (int i = 0; i < h.nodes; i++) {
      for (int c = 0; c < h.size; c++) y[i * h.channels + c] = 0.0;
    }
    for (int e = 0; e < h.edges; e++) {
      if (h.targets[e] < 0) continue;
      const double weight = weight_of(&h, e);
      for (int c = 0; c < h.size; c++) y[h.targets[e] * h.channels + c] += weight * h.v[e * h.channels + c];
    }
  }
}

/* Let a_e be the weights and g_e = dy · v_e. Then ∂L/∂score_e = a_e (g_e − Σ a_f g_f), f over the edges with e's target. */
static double score_gradient(const head *h, const double *dy, int edge) {
  const double *of_target = dy + h->targets[edge] * h->channels;
  double mean = 0.0;
  for (int f = 0; f < h->edges; f++) {
    if (h->targets[f] == h->targets[edge]) mean += weight_of(h, f) * dot(of_target, h->v + f * h->channels, h->size);
  }
  return weight_of(h, edge) * (dot(of_target, h->v + edge * h->channels, h->size) - mean);
}

void mz_ref_edge_attention_backward(mz_tape *tape, const mz_node *node, int r) {
  for (int m = 0; m < node->heads; m++) {
    const head h = head_of(tape, node, r, m);
    const double *dy = mz_ref_gradient(tape, node->output, r) + m * h.size;
    double *gradients[3];
    for (int k = 0; k < 3; k++) gradients[k] = mz_ref_gradient(tape, node->inputs[k], r);
    for (int e = 0; e < h.edges; e++) {
      if (h.targets[e] < 0) continue;
      const int of_node = h.targets[e] * h.channels, of_edge = e * h.channels, first = m * h.size;
      const double weight = weight_of(&h, e), dproduct = score_gradient(&h, dy, e) / sqrt(h.size);
      for (int c = 0; c < h.size; c++) {
        if (gradients[0] != NULL) gradients[0][first + of_node + c] += dproduct * h.k[of_edge + c];
        if (gradients[1] != NULL) gradients[1][first + of_edge + c] += dproduct * h.q[of_node + c];
        if (gradients[2] != NULL) gradients[2][first + of_edge + c] += weight * dy[of_node + c];
      }
    }
  }
}

/* ---- pool ---- */

static int count_present(const int32_t *types, int positions) {
  int count = 0;
  for (int p = 0; p < positions; p++) count += types[p] >= 0;
  return count;
}

/* Returns the first position at which channel c is largest; −1: none is present. */
static int position_of_largest(const double *x, const int32_t *types, int positions, int channels, int c) {
  int best = -1;
  for (int p = 0; p < positions; p++) {
    if (types[p] >= 0 && (best < 0 || x[p * channels + c] > x[best * channels + c])) best = p;
  }
  return best;
}

void mz_ref_masked_pool(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *types = mz_tape_list_at(tape, node->index_input, r);
  const int channels = tape->values[node->output].columns / 2, count = count_present(types, node->positions);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *mean = mz_ref_data(tape, node->output, r), *largest = mean + channels;
  for (int c = 0; c < channels; c++) {
    mean[c] = 0.0;
    for (int p = 0; p < node->positions; p++) mean[c] += types[p] < 0 ? 0.0 : x[p * channels + c] / count;
    const int best = position_of_largest(x, types, node->positions, channels, c);
    largest[c] = best < 0 ? 0.0 : x[best * channels + c];
  }
}

void mz_ref_masked_pool_backward(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *types = mz_tape_list_at(tape, node->index_input, r);
  const int channels = tape->values[node->output].columns / 2, count = count_present(types, node->positions);
  const double *x = mz_ref_data(tape, node->inputs[0], r), *dmean = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  if (count == 0) return;
  for (int c = 0; c < channels; c++) {
    for (int p = 0; p < node->positions; p++) dx[p * channels + c] += types[p] < 0 ? 0.0 : dmean[c] / count;
    dx[position_of_largest(x, types, node->positions, channels, c) * channels + c] += dmean[channels + c];
  }
}
