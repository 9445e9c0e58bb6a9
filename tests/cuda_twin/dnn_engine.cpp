#include "dnn_engine.h"
#include <cstdlib>
#include <cstring>

namespace {

bool mode_is(const char *name) {
  const char *mode = getenv("MUZERO_TWIN_DNN");
  return mode != nullptr && strcmp(mode, name) == 0;
}

bool ends_with_identity(const dnn_program &p) { return !p.steps.empty() && p.steps.back().mode == CUDNN_POINTWISE_IDENTITY; }

/* A lone convolution of one type. */
bool is_plain(const dnn_program &p) { return p.steps.empty() && p.first.bf16 == p.result.bf16 && !p.is_dynamic; }
bool is_plain_f32(const dnn_program &p) { return is_plain(p) && !p.first.bf16; }
bool is_plain_gradient(const dnn_program &p) { return is_plain(p) && p.direction != DNN_FORWARD; }

bool adds_by_channel(const dnn_step &step) { return step.has_operand && step.operand.dimensions[2] == 1; }

/* Bias, and a ReLU or nothing behind it. */
bool is_biased(const dnn_program &p) {
  const size_t count = p.steps.size();
  return p.direction == DNN_FORWARD && !p.is_dynamic && (count == 1 || count == 2) && adds_by_channel(p.steps[0]) &&
         (count == 1 || p.steps[1].mode == CUDNN_POINTWISE_RELU_FWD);
}
bool is_biased_f32(const dnn_program &p) { return is_biased(p) && !p.first.bf16 && !p.end().bf16 && !mode_is("separate"); }

/* Graphs that are compiled at run time. A biased graph whose result has another type is taken for the older kind. */
bool is_chain(const dnn_program &p) {
  if (p.steps.empty() || (is_biased(p) && p.first.bf16 && !p.end().bf16)) return false;
  if (p.is_dynamic && p.direction != DNN_FORWARD) return false;
  return !mode_is("separate") || (p.steps.size() == 1 && ends_with_identity(p));
}
bool is_f32_chain(const dnn_program &p) { return is_chain(p) && !p.first.bf16 && p.direction != DNN_FILTER && !p.is_dynamic; }

const cudnnBackendNumericalNote_t TENSOR_CORE = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;

const std::vector<dnn_engine> &engines() {
  static const std::vector<dnn_engine> all = {
      {60, {TENSOR_CORE}, DNN_TF32, DNN_PLAIN, is_plain, {DNN_TILE_OF_MUCH, 4}},
      {61, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, TENSOR_CORE}, DNN_BF16_INPUTS, DNN_PLAIN, is_plain, {}},
      {12, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, DNN_BY_ROWS, DNN_BY_ROWS, is_plain, {}},
      {25, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, DNN_UNREPEATABLE, DNN_UNREPEATABLE, is_plain_gradient, {}},
      {71, {}, DNN_BACKWARDS, DNN_BACKWARDS, is_plain_f32, {}, true},
      {70, {}, DNN_PLAIN, DNN_PLAIN, is_plain_f32, {DNN_TILE_OF_MUCH, DNN_TILE_OF_MANY, 4}},
      {43, {TENSOR_CORE}, DNN_TF32, DNN_PLAIN, is_biased_f32, {}},
      {45, {}, DNN_BACKWARDS, DNN_BACKWARDS, is_biased_f32, {}, true},
      {44, {}, DNN_PLAIN, DNN_PLAIN, is_biased_f32, {DNN_TILE_OF_MANY, 4}},
      {26, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, TENSOR_CORE}, DNN_TF32, DNN_BY_ROWS, is_chain, {}},
      {9, {TENSOR_CORE}, DNN_TF32, DNN_BACKWARDS, is_chain, {}, true},
      {7, {TENSOR_CORE}, DNN_TF32, DNN_PLAIN, is_chain, {DNN_TILE_OF_MANY, 21}},
  };
  return all;
}

/* Those that the library can merely fall back on. */
const std::vector<dnn_engine> &fallbacks() {
  static const std::vector<dnn_engine> all = {
      {0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, DNN_PLAIN, DNN_PLAIN, is_plain, {}},
      {8, {}, DNN_PLAIN, DNN_PLAIN, is_f32_chain, {}},
  };
  return all;
}

} // namespace

const dnn_engine *dnn_engine_find(int64_t index, const dnn_program &program) {
  for (const std::vector<dnn_engine> *list : {&engines(), &fallbacks()}) {
    for (const dnn_engine &engine : *list) {
      if (engine.index == index && engine.can_run(program)) return &engine;
    }
  }
  return nullptr;
}

std::vector<dnn_choice> dnn_engine_choices(cudnnBackendHeurMode_t mode, const dnn_program &program) {
  std::vector<dnn_choice> choices;
  if (mode_is("direct")) return choices;
  for (const dnn_engine &engine : mode == CUDNN_HEUR_MODE_FALLBACK ? fallbacks() : engines()) {
    if (!engine.can_run(program) || (engine.of_few && program.rows() > DNN_FEW_ROWS)) continue;
    if (engine.tiles.empty()) choices.push_back({&engine, false, 0});
    for (int64_t tile : engine.tiles) choices.push_back({&engine, true, tile});
  }
  return choices;
}

cudnnStatus_t dnn_engine_plan(const dnn_engine &engine, int64_t tile, const dnn_program &program, int64_t *workspace) {
  if (!engine.tiles.empty() && tile == DNN_TILE_OF_MANY && program.rows() < 2) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "engine %lld needs more rows", (long long)engine.index);
  }
  *workspace = !engine.tiles.empty() && tile == DNN_TILE_OF_MUCH ? (int64_t)1 << 40 : 1000 + (int64_t)program.first.bytes();
  return CUDNN_STATUS_SUCCESS;
}

dnn_arithmetic dnn_engine_arithmetic(const dnn_engine &engine, const dnn_program &program) {
  return program.first.bf16 ? engine.bf16 : engine.f32;
}
