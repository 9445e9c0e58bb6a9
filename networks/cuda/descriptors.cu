#include "networks/cuda/descriptors.cuh"

void mz_cudnn_descriptors_free(mz_cudnn_descriptors *descriptors) {
  for (int i = descriptors->count - 1; i >= 0; i--) cudnnBackendDestroyDescriptor(descriptors->items[i]);
  free(descriptors->items);
  *descriptors = {};
}

mz_status mz_cudnn_create(mz_cudnn_descriptors *owner, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out) {
  MZ_TRY(mz_reserve_one(&owner->items, &owner->capacity, owner->count, sizeof *owner->items));
  MZ_CUDNN_TRY(cudnnBackendCreateDescriptor(type, out));
  owner->items[owner->count++] = *out;
  return MZ_OK;
}

mz_status mz_cudnn_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *values) {
  MZ_CUDNN_TRY(cudnnBackendSetAttribute(descriptor, name, type, count, values));
  return MZ_OK;
}

mz_status mz_cudnn_set_integer(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, int64_t value) {
  return mz_cudnn_set(descriptor, name, CUDNN_TYPE_INT64, 1, &value);
}

mz_status mz_cudnn_set_flag(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, bool value) {
  return mz_cudnn_set(descriptor, name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

mz_status mz_cudnn_set_type(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return mz_cudnn_set(descriptor, name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

mz_status mz_cudnn_set_descriptor(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                  cudnnBackendDescriptor_t value) {
  return mz_cudnn_set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

mz_status mz_cudnn_finalize(cudnnBackendDescriptor_t descriptor) {
  MZ_CUDNN_TRY(cudnnBackendFinalize(descriptor));
  return MZ_OK;
}

/* Engines that the heuristics name end in many ways where they cannot be had, internal errors among them: these mean the next one. */
static bool is_refusal(cudnnStatus_t status) {
  return !mz_cudnn_is_out_of_memory(status) && status != CUDNN_STATUS_EXECUTION_FAILED; /* what a lost device answers */
}

mz_status mz_cudnn_try_finalize(cudnnBackendDescriptor_t descriptor, bool *accepted) {
  const cudnnStatus_t status = cudnnBackendFinalize(descriptor);
  *accepted = status == CUDNN_STATUS_SUCCESS;
  return *accepted || is_refusal(status) ? MZ_OK : mz_cudnn_failed(status, "cudnnBackendFinalize");
}

mz_status mz_cudnn_get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t most, int64_t *count, void *values) {
  MZ_CUDNN_TRY(cudnnBackendGetAttribute(descriptor, name, type, most, count, values));
  return MZ_OK;
}
