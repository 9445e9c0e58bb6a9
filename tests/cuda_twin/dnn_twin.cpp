/* The twin of cuDNN's graph API: the calls that networks/cuda makes. Descriptors are obeyed to the letter and refused where
 * the library refuses them; plans enqueue their work on the handle's stream. */
#include "dnn_engine.h"
#include "library.h"
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

struct cudnnContext {
  cudaStream_t stream;
  int device;
};

namespace {

std::mutex lock; /* guards what lives */
std::set<const void *> handles;
std::set<const void *> descriptors;
long plans;
thread_local std::string last_error;

bool is_handle(cudnnHandle_t handle) {
  const std::lock_guard<std::mutex> held(lock);
  return handles.count(handle) > 0;
}

/* ---- finalizing ---- */

cudnnStatus_t program_of(dnn_program *program, const dnn_descriptor *owner, cudnnBackendAttributeName_t name) {
  return dnn_program_read(program, owner->child(name));
}

const dnn_descriptor *engine_of(const dnn_descriptor *configuration) { return configuration->child(CUDNN_ATTR_ENGINECFG_ENGINE); }

int64_t tile_of(const dnn_descriptor *configuration) {
  for (const dnn_reference &choice : configuration->children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
    return choice->value<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
  }
  return 0;
}

cudnnStatus_t engine_and_program(const dnn_descriptor *engine, const dnn_engine **found, dnn_program *program) {
  const cudnnStatus_t status = program_of(program, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  *found = dnn_engine_find(engine->value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), *program);
  return *found != nullptr ? CUDNN_STATUS_SUCCESS : dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "an engine that cannot run the graph");
}

dnn_reference configuration_of(const dnn_choice &choice, const dnn_descriptor *heuristics) {
  dnn_reference engine = dnn_descriptor_make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  dnn_reference configuration = dnn_descriptor_make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = heuristics->attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  engine->attributes[CUDNN_ATTR_ENGINE_DEVICEPROP] = heuristics->attributes.at(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  dnn_descriptor_set(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &choice.engine->index);
  engine->finalized = configuration->finalized = true;
  configuration->attributes[CUDNN_ATTR_ENGINECFG_ENGINE].children = {engine};
  if (choice.has_tile) {
    const cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_TILE_SIZE;
    dnn_reference knob = dnn_descriptor_make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    dnn_descriptor_set(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    dnn_descriptor_set(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &choice.tile);
    knob->finalized = true;
    configuration->attributes[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES].children = {knob};
  }
  return configuration;
}

cudnnStatus_t ask_heuristics(dnn_descriptor *heuristics) {
  dnn_program program;
  const cudnnStatus_t status = program_of(&program, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const cudnnBackendHeurMode_t mode = heuristics->value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  for (const dnn_choice &choice : dnn_engine_choices(mode, program)) {
    heuristics->results.push_back(configuration_of(choice, heuristics));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_configuration(const dnn_descriptor *configuration) {
  dnn_program program;
  const dnn_engine *engine = nullptr;
  const std::vector<dnn_reference> &choices = configuration->children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  const cudnnStatus_t status = engine_and_program(engine_of(configuration), &engine, &program);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (choices.size() > (engine->tiles.empty() ? 0 : 1)) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "a knob that the engine lacks");
  for (const dnn_reference &choice : choices) {
    bool known = choice->value<int>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) == CUDNN_KNOB_TYPE_TILE_SIZE;
    bool found = false;
    for (int64_t tile : engine->tiles) found = found || tile == tile_of(configuration);
    if (!known || !found) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "a knob's value that the engine lacks");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t plan_of(const dnn_descriptor *plan, const dnn_engine **engine, dnn_program *program, int64_t *workspace) {
  const dnn_descriptor *configuration = plan->child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const cudnnStatus_t status = engine_and_program(engine_of(configuration), engine, program);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (plan->has(CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE) != program->is_dynamic) {
    return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a kernel cache goes with dynamic shapes");
  }
  return dnn_engine_plan(**engine, tile_of(configuration), *program, workspace);
}

cudnnStatus_t finalize(dnn_descriptor *d) {
  dnn_program program;
  const dnn_engine *engine = nullptr;
  int64_t workspace = 0;
  switch (d->type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return dnn_program_read(&program, d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return ask_heuristics(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return engine_and_program(d, &engine, &program);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return check_configuration(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return plan_of(d, &engine, &program, &workspace);
    case CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR:
      if (program_of(&program, d, CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH) != CUDNN_STATUS_SUCCESS || !program.is_dynamic) {
        return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a kernel cache for a graph without dynamic shapes");
      }
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return is_handle(d->value<cudnnHandle_t>(CUDNN_ATTR_DEVICEPROP_HANDLE)) ? CUDNN_STATUS_SUCCESS
                                                                              : dnn_refuse(CUDNN_STATUS_BAD_PARAM, "no handle");
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      if (d->values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() !=
          d->values<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size()) {
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "as many pointers as ids are needed");
      }
      return CUDNN_STATUS_SUCCESS;
    default: return dnn_program_check(d);
  }
}

void count_plan(void) {
  const std::lock_guard<std::mutex> held(lock);
  plans++;
}

/* ---- reading ---- */

cudnnStatus_t give_descriptors(const std::vector<dnn_reference> &from, int64_t most, int64_t *count, void *to) {
  const cudnnBackendDescriptor_t *places = static_cast<const cudnnBackendDescriptor_t *>(to);
  *count = (int64_t)from.size();
  for (int64_t i = 0; i < *count && i < most; i++) {
    dnn_reference *place = dnn_handle_read(places[i]);
    if (place == nullptr || (*place)->type != from[(size_t)i]->type) {
      return dnn_refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a place for another descriptor");
    }
    *place = from[(size_t)i];
  }
  return CUDNN_STATUS_SUCCESS;
}

template <typename T> cudnnStatus_t give(const std::vector<T> &from, int64_t most, int64_t *count, void *to) {
  *count = (int64_t)from.size();
  for (int64_t i = 0; i < *count && i < most; i++) static_cast<T *>(to)[i] = from[(size_t)i];
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

long twin_dnn_plans(void) {
  const std::lock_guard<std::mutex> held(lock);
  return plans;
}

dnn_reference *dnn_handle_read(cudnnBackendDescriptor_t handle) {
  const std::lock_guard<std::mutex> held(lock);
  return descriptors.count(handle) > 0 ? static_cast<dnn_reference *>(handle) : nullptr;
}

cudnnStatus_t dnn_refuse(cudnnStatus_t status, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last_error = text;
  twin_library_refuses("cuDNN", text);
  return status;
}

/* Begins a function of the library. */
#define DNN_CALL                                                                                                                 \
  if (twin_fails(__func__)) return dnn_refuse(CUDNN_STATUS_EXECUTION_FAILED, "%s fails on demand", __func__)

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
  }
}

void cudnnGetLastErrorString(char *text, size_t bytes) {
  snprintf(text, bytes, "%s", last_error.c_str());
  last_error.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out) {
  DNN_CALL;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return dnn_refuse(CUDNN_STATUS_NOT_INITIALIZED, "no device");
  *out = new cudnnContext{nullptr, device};
  const std::lock_guard<std::mutex> held(lock);
  handles.insert(*out);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (!is_handle(handle)) return CUDNN_STATUS_BAD_PARAM;
  const std::lock_guard<std::mutex> held(lock);
  handles.erase(handle);
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  DNN_CALL;
  if (!is_handle(handle)) return CUDNN_STATUS_BAD_PARAM;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out) {
  DNN_CALL;
  dnn_reference *made = new dnn_reference(dnn_descriptor_make(type));
  const std::lock_guard<std::mutex> held(lock);
  descriptors.insert(made);
  *out = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  dnn_reference *found = dnn_handle_read(descriptor);
  if (found == nullptr) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor that lives");
  const std::lock_guard<std::mutex> held(lock);
  descriptors.erase(descriptor);
  delete found;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  DNN_CALL;
  dnn_reference *found = dnn_handle_read(descriptor);
  if (found == nullptr) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor that lives");
  return dnn_descriptor_set(found->get(), name, type, count, values);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  DNN_CALL;
  dnn_reference *found = dnn_handle_read(descriptor);
  if (found == nullptr || (*found)->finalized) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "nothing to finalize");
  if (!dnn_descriptor_is_complete(found->get())) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute is missing");
  const cudnnStatus_t status = finalize(found->get());
  (*found)->finalized = status == CUDNN_STATUS_SUCCESS;
  if ((*found)->finalized && (*found)->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) count_plan();
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *count, void *values) {
  DNN_CALL;
  dnn_reference *found = dnn_handle_read(descriptor);
  if (found == nullptr || !(*found)->finalized) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalized");
  const dnn_descriptor *d = found->get();
  dnn_program program;
  const dnn_engine *engine = nullptr;
  int64_t workspace = 0;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) return give_descriptors(d->results, most, count, values);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return give_descriptors(d->children(name), most, count, values);
  if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX || name == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE) {
    return give(d->values<int64_t>(name), most, count, values);
  }
  if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) return give(d->values<cudnnBackendKnobType_t>(name), most, count, values);
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && engine_and_program(d, &engine, &program) == CUDNN_STATUS_SUCCESS) {
    return give(engine->notes, most, count, values);
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && plan_of(d, &engine, &program, &workspace) == CUDNN_STATUS_SUCCESS) {
    return give(std::vector<int64_t>{workspace}, most, count, values);
  }
  return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d cannot be read", name);
}

/* ---- executing ---- */

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *first = static_cast<const char *>(a), *second = static_cast<const char *>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

/* Finds a program's tensors in a variant pack. The result lies over nothing that is read: cuDNN does not say that it may. */
static cudnnStatus_t place_tensors(const dnn_program &program, const dnn_descriptor *pack, int device,
                                   std::vector<void *> *pointers) {
  const std::vector<int64_t> ids = pack->values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const std::vector<void *> data = pack->values<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const std::vector<dnn_tensor> tensors = program.in_memory();
  if (ids.size() != tensors.size()) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "%zu tensors of %zu", ids.size(), tensors.size());
  for (const dnn_tensor &tensor : tensors) {
    void *found = nullptr;
    for (size_t i = 0; i < ids.size(); i++) found = ids[i] == tensor.id ? data[i] : found;
    const twin_memory memory = twin_memory_at(found);
    if (memory.kind != TWIN_DEVICE || memory.device != device || memory.bytes_behind < tensor.bytes()) {
      return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "tensor %lld is not in the device's memory", (long long)tensor.id);
    }
    if (memory.alignment < (size_t)tensor.alignment) {
      return dnn_refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "tensor %lld", (long long)tensor.id);
    }
    pointers->push_back(found);
  }
  void *result = pointers->back();
  for (size_t i = 0; i + 1 < tensors.size(); i++) {
    if (overlap((*pointers)[i], tensors[i].bytes(), result, tensors.back().bytes())) {
      return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "the result lies over tensor %lld", (long long)tensors[i].id);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  DNN_CALL;
  dnn_reference *plan = dnn_handle_read(plan_handle), *pack = dnn_handle_read(pack_handle);
  if (!is_handle(handle) || plan == nullptr || pack == nullptr) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "no handle");
  if (!(*plan)->finalized || !(*pack)->finalized) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "plan or pack");
  dnn_program program;
  const dnn_engine *engine = nullptr;
  int64_t needed = 0;
  cudnnStatus_t status = plan_of(plan->get(), &engine, &program, &needed);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  std::vector<void *> pointers;
  status = place_tensors(program, pack->get(), handle->device, &pointers);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  void *workspace = (*pack)->value<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (twin_memory_at(workspace).kind != TWIN_DEVICE || twin_memory_at(workspace).bytes_behind < (size_t)needed) {
    return dnn_refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "%lld bytes of workspace are needed", (long long)needed);
  }
  std::vector<twin_range> ranges = {{workspace, (size_t)needed}};
  const std::vector<dnn_tensor> tensors = program.in_memory();
  for (size_t i = 0; i < tensors.size(); i++) ranges.push_back({pointers[i], tensors[i].bytes()});
  const dnn_arithmetic arithmetic = dnn_engine_arithmetic(*engine, program);
  const cudaError_t error = twin_enqueue(handle->stream, "cudnnBackendExecute", ranges,
                                         [program, arithmetic, pointers] { dnn_program_run(program, arithmetic, pointers); });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : dnn_refuse(CUDNN_STATUS_EXECUTION_FAILED, "%s", cudaGetErrorString(error));
}
