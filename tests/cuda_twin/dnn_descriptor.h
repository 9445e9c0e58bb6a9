/* Backend descriptors of cuDNN's twin: attributes by name, refused where the library refuses them. */
#pragma once
#include <cstdint>
#include <cudnn.h>
#include <map>
#include <memory>
#include <vector>

struct dnn_descriptor;
typedef std::shared_ptr<dnn_descriptor> dnn_reference;

struct dnn_attribute {
  std::vector<unsigned char> bytes;
  std::vector<dnn_reference> children; /* of attributes that are descriptors */
};

struct dnn_descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, dnn_attribute> attributes;
  std::vector<dnn_reference> results; /* ENGINEHEUR, finalized: engine configurations */

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }
  /* The values of an attribute that is there, or was optional and is not: then none. */
  template <typename T> std::vector<T> values(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    const T *first = reinterpret_cast<const T *>(found->second.bytes.data());
    return std::vector<T>(first, first + found->second.bytes.size() / sizeof(T));
  }
  template <typename T> T value(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const std::vector<T> all = values<T>(name);
    return all.empty() ? otherwise : all[0];
  }
  const std::vector<dnn_reference> &children(cudnnBackendAttributeName_t name) const;
  /* NULL where there is none. */
  const dnn_descriptor *child(cudnnBackendAttributeName_t name) const;
};

/* Stores an attribute; its name, type and count must be the descriptor's. */
cudnnStatus_t dnn_descriptor_set(dnn_descriptor *descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void *values);
/* Whether everything that is required is there. */
bool dnn_descriptor_is_complete(const dnn_descriptor *descriptor);
/* Builds one for the twin's own use. */
dnn_reference dnn_descriptor_make(cudnnBackendDescriptorType_t type);

/* Returns the object behind a cudnnBackendDescriptor_t; NULL: there is none that lives. */
dnn_reference *dnn_handle_read(cudnnBackendDescriptor_t handle);

/* Keeps why, for cudnnGetLastErrorString and twin_message, and returns `status`. */
cudnnStatus_t dnn_refuse(cudnnStatus_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));
