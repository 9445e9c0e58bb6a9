#include "networks/cuda/passes.cuh"
#include "networks/cuda/nodes.cuh"
#include "networks/cuda/sequence.cuh"
#include "networks/cuda/transfer.cuh"
#include <stdlib.h>

/* Passes of a tape that are kept, in each direction: on a tape without backward there is one for every power of two up to its rows, and
 * one for these; on others, one for each number of rows that was run. */
enum { PASSES_MAX = 40 };

typedef struct pass { /* of one number of rows, in one direction */
  int rows;           /* 0: none yet */
  const void *weights, *transposed;
  void *gradients;
  mz_cuda_sequence sequence;
} pass;

typedef struct passes {
  pass forward[PASSES_MAX], backward[PASSES_MAX];
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

mz_status mz_cuda_pass_enqueue(mz_tape *tape, bool backward, int rows) {
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

typedef struct work { /* one sequence of launches */
  mz_tape *tape;
  bool backward;
  int rows;
} work;

static mz_status enqueue_work(void *context) {
  const work *w = (const work *)context;
  return mz_cuda_pass_enqueue(w->tape, w->backward, w->rows);
}

static void drop(pass *p) {
  mz_cuda_sequence_drop(&p->sequence);
  *p = {};
}

mz_status mz_cuda_pass_run(mz_tape *tape, bool backward, int rows) {
  mz_cuda_lane *lane;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &lane));
  if (tape->passes == nullptr) MZ_TRY(mz_alloc(&tape->passes, 1, sizeof(passes)));
  const int run = mz_cuda_pass_rows(tape, rows);
  pass *p = find((passes *)tape->passes, backward, run);
  if (p == nullptr) return mz_cuda_pass_enqueue(tape, backward, run);
  if (p->rows != 0 && !is_recorded_for(p, tape, backward)) drop(p);
  if (p->rows == 0) *p = {run, tape->weights, tape->transposed, tape->gradients, {}};
  work w = {tape, backward, run};
  return mz_cuda_sequence_run(&p->sequence, lane, enqueue_work, &w);
}

void mz_cuda_passes_free(mz_tape *tape) {
  passes *all = (passes *)tape->passes;
  (void)mz_cuda_device_enter(tape->lane.device);
  for (pass &p : all->forward) drop(&p);
  for (pass &p : all->backward) drop(&p);
  free(all);
  tape->passes = nullptr;
}
