/* cuDNN's backend descriptors: objects that are given attributes, one by one, and then finalized. */
#pragma once
#include "networks/cuda/check.cuh"

/* Descriptors with one owner, who frees them together. Descriptors that others refer to are freed after those. */
typedef struct mz_cudnn_descriptors {
  cudnnBackendDescriptor_t *items;
  int count, capacity;
} mz_cudnn_descriptors;

void mz_cudnn_descriptors_free(mz_cudnn_descriptors *descriptors);

/* *out belongs to `owner`. */
mz_status mz_cudnn_create(mz_cudnn_descriptors *owner, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out);

mz_status mz_cudnn_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *values);
/* One value of the kinds that are used most. */
mz_status mz_cudnn_set_integer(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, int64_t value);
mz_status mz_cudnn_set_flag(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, bool value);
mz_status mz_cudnn_set_type(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnDataType_t value);
mz_status mz_cudnn_set_descriptor(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                  cudnnBackendDescriptor_t value);

mz_status mz_cudnn_finalize(cudnnBackendDescriptor_t descriptor);
/* *accepted: the library can do what the descriptor asks for. Fails where the cause is another. */
mz_status mz_cudnn_try_finalize(cudnnBackendDescriptor_t descriptor, bool *accepted);

/* Reads up to `most` values; *count: how many there are. Descriptors are read into ones that exist. */
mz_status mz_cudnn_get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t most, int64_t *count, void *values);
