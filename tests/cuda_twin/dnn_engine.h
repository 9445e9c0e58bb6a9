/* Engines of cuDNN's twin. Which graphs they run follows the real library as tests/cuda/plans finds it: a lone convolution of
 * one type is precompiled, one with bias and maybe a ReLU in f32, too; everything else is compiled at run time, but never a
 * lone convolution whose result has another type. The heuristics name engines that break rules first: with TF32, rounded
 * inputs, Winograd's transform, results that do not repeat, too much workspace, more rows than some have. For few rows they name
 * others than for many, which add in another order.
 *
 * MUZERO_TWIN_DNN=separate: nothing is fused but a change of type. =direct: the heuristics know no engine. */
#pragma once
#include "dnn_program.h"

struct dnn_engine {
  int64_t index;
  std::vector<cudnnBackendNumericalNote_t> notes;
  dnn_arithmetic f32, bf16; /* by what is convolved */
  bool (*can_run)(const dnn_program &program);
  std::vector<int64_t> tiles; /* values of its knob CUDNN_KNOB_TYPE_TILE_SIZE, in the heuristics' order; empty: it has none */
  bool of_few = false;        /* named for few rows only, and before those for any */
};
enum { DNN_FEW_ROWS = 40 };

enum { DNN_TILE_OF_MANY = 12, DNN_TILE_OF_MUCH = 5 }; /* needs two rows; needs a TiB of workspace */

/* NULL: no such engine, or it cannot run the program. */
const dnn_engine *dnn_engine_find(int64_t index, const dnn_program &program);

/* A configuration, as the heuristics name it. */
struct dnn_choice {
  const dnn_engine *engine;
  bool has_tile;
  int64_t tile;
};
std::vector<dnn_choice> dnn_engine_choices(cudnnBackendHeurMode_t mode, const dnn_program &program);

/* Whether a plan can be made of an engine and a tile, and how much workspace it needs. */
cudnnStatus_t dnn_engine_plan(const dnn_engine &engine, int64_t tile, const dnn_program &program, int64_t *workspace);
dnn_arithmetic dnn_engine_arithmetic(const dnn_engine &engine, const dnn_program &program);
