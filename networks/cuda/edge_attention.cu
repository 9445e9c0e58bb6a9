#include "networks/cuda/edge_attention.cuh"
#include "base/maths/maths_inline.h"

enum { THREADS = 128 };

/* The graphs of a tape. Channel c of position p lies at p · channels + c. */
typedef struct graphs {
  int nodes, edges, channels, heads, weight_stride; /* weight_stride: weights of a graph */
  int overwrite[3];                                 /* of dq, dk, dv */
  size_t node_stride, edge_stride;                  /* from one graph's to the next one's */
  const int32_t *targets;                           /* [rows][edges], −1: absent */
  const float *q, *k, *v;
  float *y, *weights; /* weights: [rows][edges · heads] */
  const float *dy;
  float *dq, *dk, *dv; /* NULL: not wanted */
} graphs;

/* One head of one node. Pointers are to the head's first channel, `node` and `first` include. */
typedef struct head {
  int node, first, size, m; /* first: channel; m: number */
  const int32_t *targets;
  size_t at_node, at_edges; /* of the node's channels, of the first edge's */
  float *weights;
  float scale;
} head;

static __device__ head head_of(const graphs &g, unsigned thread) {
  head h;
  const unsigned at = thread / (unsigned)g.heads, row = at / (unsigned)g.nodes;
  h.m = (int)(thread % (unsigned)g.heads);
  h.node = (int)(at % (unsigned)g.nodes);
  h.size = g.channels / g.heads;
  h.first = h.m * h.size;
  h.targets = g.targets + (size_t)row * (size_t)g.edges;
  h.at_node = row * g.node_stride + (size_t)(h.node * g.channels + h.first);
  h.at_edges = row * g.edge_stride + (size_t)h.first;
  h.weights = g.weights + (size_t)row * (size_t)g.weight_stride + h.m;
  h.scale = 1.0f / sqrtf((float)h.size);
  return h;
}

static __device__ float dot(const float *a, const float *b, int size) {
  float sum = 0.0f;
  for (int c = 0; c < size; c++) sum = sum + a[c] * b[c];
  return sum;
}

#define EACH_EDGE(e)                                                                                                             \
  for (int e = 0; e < g.edges; e++)                                                                                              \
    if (h.targets[e] == h.node)

/* Offset of edge e's channels. */
#define AT_EDGE(e) (h.at_edges + (size_t)(e) * (size_t)g.channels)

/* The softmax of scores, then the mean of v. */
static __global__ void attend(unsigned count, graphs g) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const head h = head_of(g, i);
  float largest = -INFINITY, sum = 0.0f;
  EACH_EDGE(e) {
    const float score = dot(g.q + h.at_node, g.k + AT_EDGE(e), h.size) * h.scale;
    h.weights[e * g.heads] = score;
    largest = score > largest ? score : largest;
  }
  EACH_EDGE(e) {
    const float weight = mz_expf_inline(h.weights[e * g.heads] - largest);
    h.weights[e * g.heads] = weight;
    sum = sum + weight;
  }
  const float inverse = 1.0f / sum; /* infinite where no edge leads, and not read */
  EACH_EDGE(e) h.weights[e * g.heads] *= inverse;
  for (int c = 0; c < h.size; c++) {
    float mean = 0.0f;
    EACH_EDGE(e) mean = mean + h.weights[e * g.heads] * g.v[AT_EDGE(e) + (size_t)c];
    g.y[h.at_node + (size_t)c] = mean;
  }
}

static __device__ void accumulate(float *to, float x, bool overwrite) { *to = overwrite ? x : *to + x; }

/* Sends an edge's part to k and v: gradient · q and weight · dy. */
static __device__ void send_to_edge(const graphs &g, const head &h, size_t at_edge, float gradient, float weight) {
  for (int c = 0; c < h.size; c++) {
    const size_t from = h.at_node + (size_t)c, to = at_edge + (size_t)c;
    if (g.dk != nullptr) accumulate(g.dk + to, gradient * g.q[from], g.overwrite[1]);
    if (g.dv != nullptr) accumulate(g.dv + to, weight * g.dy[from], g.overwrite[2]);
  }
}

static __device__ void clear_edge(const graphs &g, const head &h, size_t at_edge) {
  for (int c = 0; c < h.size; c++) {
    if (g.dk != nullptr && g.overwrite[1]) g.dk[at_edge + (size_t)c] = 0.0f;
    if (g.dv != nullptr && g.overwrite[2]) g.dv[at_edge + (size_t)c] = 0.0f;
  }
}

/* A score's gradient is weight · (dy·v − Σ over the node's edges of weight · dy·v). The threads of node 0 clear what absent edges
 * have, too. */
static __global__ void attend_backward(unsigned count, graphs g) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const head h = head_of(g, i);
  float mean = 0.0f;
  EACH_EDGE(e) mean = mean + h.weights[e * g.heads] * dot(g.dy + h.at_node, g.v + AT_EDGE(e), h.size);
  for (int c = 0; c < h.size && g.dq != nullptr && g.overwrite[0]; c++) g.dq[h.at_node + (size_t)c] = 0.0f;
  for (int e = 0; e < g.edges; e++) {
    if (h.targets[e] < 0 && h.node == 0) clear_edge(g, h, AT_EDGE(e));
    if (h.targets[e] != h.node) continue;
    const float weight = h.weights[e * g.heads];
    const float gradient = weight * (dot(g.dy + h.at_node, g.v + AT_EDGE(e), h.size) - mean) * h.scale;
    for (int c = 0; c < h.size && g.dq != nullptr; c++) {
      accumulate(g.dq + h.at_node + (size_t)c, gradient * g.k[AT_EDGE(e) + (size_t)c], false);
    }
    send_to_edge(g, h, AT_EDGE(e), gradient, weight);
  }
}

/* ---- nodes ---- */

static int edges_of(const mz_tape *tape, const mz_node *node) { return tape->index_lengths[node->index_input]; }

size_t mz_cuda_edge_attention_bytes(const mz_tape *tape, const mz_node *node) {
  return (size_t)tape->rows * (size_t)(edges_of(tape, node) * node->heads) * sizeof(float);
}

mz_status mz_cuda_edge_attention_prepare(mz_tape *tape, mz_node *node) {
  MZ_CUDA_TRY(cudaMalloc(&node->prepared, mz_cuda_edge_attention_bytes(tape, node)));
  return MZ_OK;
}

void mz_cuda_edge_attention_release(mz_node *node) {
  (void)cudaFree(node->prepared);
  node->prepared = nullptr;
}

static graphs graphs_of(const mz_tape *tape, const mz_node *node) {
  const mz_tape_value *q = mz_cuda_input(tape, node, 0), *k = mz_cuda_input(tape, node, 1), *v = mz_cuda_input(tape, node, 2);
  const mz_tape_value *y = mz_cuda_output(tape, node);
  graphs g = {};
  g.nodes = node->positions;
  g.edges = edges_of(tape, node);
  g.channels = y->columns / node->positions;
  g.heads = node->heads;
  g.weight_stride = g.edges * g.heads;
  g.node_stride = (size_t)y->stride;
  g.edge_stride = (size_t)k->stride;
  g.targets = tape->indices[node->index_input];
  g.q = mz_cuda_data(q);
  g.k = mz_cuda_data(k);
  g.v = mz_cuda_data(v);
  g.y = mz_cuda_data(y);
  g.weights = (float *)node->prepared;
  g.dy = mz_cuda_gradient(y);
  g.dq = mz_cuda_gradient(q);
  g.dk = mz_cuda_gradient(k);
  g.dv = mz_cuda_gradient(v);
  for (int i = 0; i < 3; i++) g.overwrite[i] = node->overwrites[i];
  return g;
}

static mz_status run(const mz_tape *tape, const mz_node *node, int rows, void (*kernel)(unsigned, graphs)) {
  const unsigned count = (unsigned)(rows * node->positions * node->heads);
  MZ_CUDA_TRY(mz_launch(kernel, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, count,
                        graphs_of(tape, node)));
  return MZ_OK;
}

mz_status mz_cuda_edge_attention_forward(mz_tape *tape, mz_node *node, int rows) { return run(tape, node, rows, attend); }

mz_status mz_cuda_edge_attention_backward(mz_tape *tape, mz_node *node, int rows) {
  return run(tape, node, rows, attend_backward);
}
