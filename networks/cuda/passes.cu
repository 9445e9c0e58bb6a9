#include "networks/cuda/passes.cuh"
#include "networks/cuda/nodes.cuh"
#include "networks/cuda/transfer.cuh"
#include <stdlib.h>

enum { KINDS = 40 }; /* forward by bucket, and backward */

typedef struct pass { /* of one number of rows, in one direction */
  int rows;           /* 0: none yet */
  const void *weights, *transposed;
  void *gradients;
  cudaGraphExec_t graph; /* NULL: not captured */
} pass;

typedef struct passes {
  pass forward[KINDS], backward[KINDS];
} passes;

int mz_cuda_pass_rows(const mz_tape *tape, int rows) {
  int bucket = 1;
  if (tape->with_backward) return rows;
  while (bucket < rows) bucket *= 2;
  return bucket < tape->rows ? bucket : tape->rows;
}

static mz_status clear_unused(const mz_tape *tape) {
  for (int i = 0; i < tape->params->count; i++) {
    const mz_param *param = &tape->params->items[i];
    const size_t bytes = (size_t)param->rows * (size_t)param->stride * sizeof(float);
    if (tape->unused[i]) MZ_TRY(mz_cuda_clear(mz_cuda_lane_of(tape), mz_cuda_parameter_gradient(tape, i), bytes));
  }
  return MZ_OK;
}

static mz_status enqueue(mz_tape *tape, bool backward, int rows) {
  for (int i = 0; i < tape->node_count && !backward; i++) {
    if (mz_node_traits(&tape->nodes[i])->runs) MZ_TRY(mz_cuda_node_forward(tape, &tape->nodes[i], rows));
  }
  if (!backward) return MZ_OK;
  for (int i = tape->node_count - 1; i >= 0; i--) {
    if (tape->nodes[i].backward) MZ_TRY(mz_cuda_node_backward(tape, &tape->nodes[i], rows));
  }
  return clear_unused(tape);
}

/* Finds the pass, or an empty place for it. NULL: there are too many; the pass is run node by node then. */
static pass *find(passes *all, bool backward, int rows) {
  for (pass &p : backward ? all->backward : all->forward)
    if (p.rows == rows || p.rows == 0) return &p;
  return nullptr;
}

static bool is_recorded_for(const pass *p, const mz_tape *tape, bool backward) {
  return p->weights == tape->weights && (!backward || (p->transposed == tape->transposed && p->gradients == tape->gradients));
}

/* What is captured is not run; a failure ends the capture, too. */
static mz_status capture(mz_tape *tape, bool backward, int rows, cudaGraphExec_t *out) {
  const cudaStream_t stream = mz_cuda_lane_of(tape)->stream;
  cudaGraph_t graph = nullptr;
  MZ_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const mz_status status = enqueue(tape, backward, rows);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (status == MZ_OK && ended == cudaSuccess) {
    const cudaError_t error = cudaGraphInstantiate(out, graph, 0);
    (void)cudaGraphDestroy(graph);
    MZ_CUDA_TRY(error);
    return MZ_OK;
  }
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  MZ_TRY(status);
  MZ_CUDA_TRY(ended);
  return MZ_OK;
}

static void drop(pass *p) {
  if (p->graph != nullptr) (void)cudaGraphExecDestroy(p->graph);
  *p = {};
}

mz_status mz_cuda_pass_run(mz_tape *tape, bool backward, int rows) {
  mz_cuda_lane *lane;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &lane));
  if (tape->passes == nullptr) MZ_TRY(mz_alloc(&tape->passes, 1, sizeof(passes)));
  const int run = mz_cuda_pass_rows(tape, rows);
  pass *p = find((passes *)tape->passes, backward, run);
  if (p == nullptr) return enqueue(tape, backward, run);
  if (p->rows != 0 && !is_recorded_for(p, tape, backward)) drop(p);
  if (p->rows == 0) {
    *p = {run, tape->weights, tape->transposed, tape->gradients, nullptr};
    return enqueue(tape, backward, run);
  }
  if (p->graph == nullptr) MZ_TRY(capture(tape, backward, run, &p->graph));
  MZ_CUDA_TRY(cudaGraphLaunch(p->graph, lane->stream));
  return MZ_OK;
}

void mz_cuda_passes_free(mz_tape *tape) {
  passes *all = (passes *)tape->passes;
  (void)mz_cuda_device_enter(tape->lane.device);
  for (pass &p : all->forward) drop(&p);
  for (pass &p : all->backward) drop(&p);
  free(all);
  tape->passes = nullptr;
}
