#include "networks/cuda/dnn_engine.cuh"
#include "networks/cuda/arithmetic.cuh"

enum { CONFIGURATIONS_MAX = 64 };

mz_status mz_cuda_conv_target_init(mz_cuda_conv_target *target, mz_cudnn_descriptors *owner, const mz_cuda_lane *lane) {
  target->workspace_bytes = lane->workspace_bytes;
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target->properties));
  MZ_TRY(mz_cudnn_set(target->properties, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &lane->dnn));
  return mz_cudnn_finalize(target->properties);
}

/* ---- finding ---- */

static bool is_forbidden(cudnnBackendNumericalNote_t note, bool bf16) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return !bf16 && !mz_cuda_allows_tf32;
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: return false;
    default: return true; /* rounds inputs or sums, transforms, does not repeat, or is not known yet */
  }
}

static mz_status keeps_rules(cudnnBackendDescriptor_t engine, bool bf16, bool *keeps) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t count = 0;
  MZ_TRY(mz_cudnn_get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
                      &count, notes));
  *keeps = count <= CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
  for (int64_t i = 0; i < count && *keeps; i++) *keeps = !is_forbidden(notes[i], bf16);
  return MZ_OK;
}

static mz_status read_knobs(mz_cudnn_descriptors *owner, cudnnBackendDescriptor_t configuration, mz_cuda_conv_engine *out,
                            bool *complete) {
  cudnnBackendDescriptor_t choices[MZ_CUDA_CONV_KNOBS];
  int64_t count = 0, one = 0;
  for (cudnnBackendDescriptor_t &choice : choices) MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &choice));
  MZ_TRY(mz_cudnn_get(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, MZ_CUDA_CONV_KNOBS, &count,
                      choices));
  *complete = count <= MZ_CUDA_CONV_KNOBS;
  out->knob_count = *complete ? (int)count : 0;
  for (int i = 0; i < out->knob_count; i++) {
    MZ_TRY(mz_cudnn_get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &one, &out->knobs[i]));
    MZ_TRY(mz_cudnn_get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &one, &out->values[i]));
  }
  return MZ_OK;
}

static mz_status read_engine(mz_cudnn_descriptors *owner, cudnnBackendDescriptor_t configuration, bool bf16,
                             mz_cuda_conv_engine *out, bool *keeps) {
  cudnnBackendDescriptor_t engine;
  int64_t one = 0;
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
  MZ_TRY(mz_cudnn_get(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one, &engine));
  MZ_TRY(keeps_rules(engine, bf16, keeps));
  if (!*keeps) return MZ_OK;
  MZ_TRY(mz_cudnn_get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &one, &out->index));
  return read_knobs(owner, configuration, out, keeps);
}

mz_status mz_cuda_conv_engines_find(mz_cudnn_descriptors *owner, const mz_cuda_conv_target *target,
                                    cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode, bool bf16,
                                    mz_cuda_conv_engine *engines, int most, int *count) {
  cudnnBackendDescriptor_t heuristics, configurations[CONFIGURATIONS_MAX];
  int64_t found = 0;
  bool accepted = false;
  *count = 0;
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
  MZ_TRY(mz_cudnn_set_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  MZ_TRY(mz_cudnn_set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  MZ_TRY(mz_cudnn_set_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target->properties));
  MZ_TRY(mz_cudnn_try_finalize(heuristics, &accepted));
  if (!accepted) return MZ_OK;
  for (cudnnBackendDescriptor_t &configuration : configurations) {
    MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configuration));
  }
  MZ_TRY(mz_cudnn_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, CONFIGURATIONS_MAX, &found,
                      configurations));
  for (int64_t i = 0; i < found && i < CONFIGURATIONS_MAX && *count < most; i++) {
    bool keeps = false;
    MZ_TRY(read_engine(owner, configurations[i], bf16, &engines[*count], &keeps));
    if (keeps) ++*count;
  }
  return MZ_OK;
}

/* ---- planning ---- */

mz_status mz_cuda_conv_kernels_init(mz_cuda_conv_kernels *kernels, mz_cudnn_descriptors *owner, cudnnBackendDescriptor_t graph,
                                    bool *accepted) {
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR, &kernels->cache));
  MZ_TRY(mz_cudnn_set_descriptor(kernels->cache, CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH, graph));
  return mz_cudnn_try_finalize(kernels->cache, accepted);
}

static mz_status configure(const mz_cuda_conv_engine *engine, mz_cudnn_descriptors *owner, const mz_cuda_conv_target *target,
                           cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t *configuration, bool *accepted) {
  cudnnBackendDescriptor_t described, choices[MZ_CUDA_CONV_KNOBS];
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &described));
  MZ_TRY(mz_cudnn_set_descriptor(described, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph));
  MZ_TRY(mz_cudnn_set_integer(described, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, engine->index));
  MZ_TRY(mz_cudnn_set_descriptor(described, CUDNN_ATTR_ENGINE_DEVICEPROP, target->properties));
  MZ_TRY(mz_cudnn_try_finalize(described, accepted));
  if (!*accepted) return MZ_OK;
  for (int i = 0; i < engine->knob_count; i++) {
    MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &choices[i]));
    MZ_TRY(mz_cudnn_set(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &engine->knobs[i]));
    MZ_TRY(mz_cudnn_set_integer(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, engine->values[i]));
    MZ_TRY(mz_cudnn_finalize(choices[i]));
  }
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, configuration));
  MZ_TRY(mz_cudnn_set_descriptor(*configuration, CUDNN_ATTR_ENGINECFG_ENGINE, described));
  if (engine->knob_count > 0) {
    MZ_TRY(mz_cudnn_set(*configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knob_count,
                        choices));
  }
  return mz_cudnn_try_finalize(*configuration, accepted);
}

mz_status mz_cuda_conv_engine_plan(const mz_cuda_conv_engine *engine, mz_cudnn_descriptors *owner,
                                   const mz_cuda_conv_target *target, cudnnBackendDescriptor_t graph,
                                   const mz_cuda_conv_kernels *kernels, cudnnBackendDescriptor_t *plan, bool *built) {
  cudnnBackendDescriptor_t configuration;
  int64_t one = 0, workspace = 0;
  MZ_TRY(configure(engine, owner, target, graph, &configuration, built));
  if (!*built) return MZ_OK;
  MZ_TRY(mz_cudnn_create(owner, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, plan));
  MZ_TRY(mz_cudnn_set_descriptor(*plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
  MZ_TRY(mz_cudnn_set_descriptor(*plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target->properties));
  if (kernels->cache != nullptr) MZ_TRY(mz_cudnn_set_descriptor(*plan, CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE, kernels->cache));
  MZ_TRY(mz_cudnn_try_finalize(*plan, built));
  if (!*built) return MZ_OK;
  MZ_TRY(mz_cudnn_get(*plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one, &workspace));
  *built = workspace >= 0 && (uint64_t)workspace <= target->workspace_bytes;
  return MZ_OK;
}
