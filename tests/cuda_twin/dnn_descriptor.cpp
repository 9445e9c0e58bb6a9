#include "dnn_descriptor.h"
#include <cstring>

namespace {

struct rule {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool required;
};

const cudnnBackendAttributeType_t DESCRIPTOR = CUDNN_TYPE_BACKEND_DESCRIPTOR, INTEGER = CUDNN_TYPE_INT64,
                                  DATA_TYPE = CUDNN_TYPE_DATA_TYPE, FLAG = CUDNN_TYPE_BOOLEAN, FLOAT = CUDNN_TYPE_FLOAT;
enum { MANY = 64 };

#define CONVOLUTION_RULES(kind, prefix, a, b, c)                                                                                 \
  {kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC, DESCRIPTOR, 1, 1, true},                                         \
      {kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##a, DESCRIPTOR, 1, 1, true},                                           \
      {kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##b, DESCRIPTOR, 1, 1, true},                                           \
      {kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##c, DESCRIPTOR, 1, 1, true},                                           \
      {kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA, FLOAT, 1, 1, true}, {                                            \
    kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA, FLOAT, 1, 1, true                                                    \
  }

const rule rules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, DATA_TYPE, 1, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, INTEGER, 1, 8, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, INTEGER, 1, 8, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, INTEGER, 1, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, INTEGER, 1, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, FLAG, 1, 1, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, INTEGER, 1, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, INTEGER, 2, 2, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, INTEGER, 2, 2, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, INTEGER, 2, 2, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, INTEGER, 2, 2, true},
    CONVOLUTION_RULES(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, FORWARD, X, W, Y),
    CONVOLUTION_RULES(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, BWD_DATA, DY, W, DX),
    CONVOLUTION_RULES(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, BWD_FILTER, X, DY, DW),
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, DATA_TYPE, 1, 1, true},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESCRIPTOR, 1, 1, false},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, 1, MANY, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, FLAG, 1, 1, false},
    {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, INTEGER, 1, 1, true},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_DEVICEPROP, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1, true},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, INTEGER, 1, 1, true},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, DESCRIPTOR, 1, MANY, false},
    {CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR, CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, DESCRIPTOR, 1, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE, DESCRIPTOR, 1, 1, false},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, INTEGER, 1, MANY, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, MANY, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1, true},
};

const rule *rule_of(const dnn_descriptor *descriptor, cudnnBackendAttributeName_t name) {
  for (const rule &r : rules) {
    if (r.descriptor == descriptor->type && r.name == name) return &r;
  }
  return nullptr;
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_FLOAT:
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_KNOB_TYPE: return sizeof(int32_t);
    default: return sizeof(int64_t);
  }
}

cudnnStatus_t read_children(dnn_attribute *attribute, int64_t count, const void *values) {
  const cudnnBackendDescriptor_t *handles = static_cast<const cudnnBackendDescriptor_t *>(values);
  for (int64_t i = 0; i < count; i++) {
    const dnn_reference *child = dnn_handle_read(handles[i]);
    if (child == nullptr) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an attribute is no descriptor");
    if (!(*child)->finalized) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that is not finalized");
    attribute->children.push_back(*child);
  }
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

const std::vector<dnn_reference> &dnn_descriptor::children(cudnnBackendAttributeName_t name) const {
  static const std::vector<dnn_reference> none;
  const auto found = attributes.find(name);
  return found == attributes.end() ? none : found->second.children;
}

const dnn_descriptor *dnn_descriptor::child(cudnnBackendAttributeName_t name) const {
  const std::vector<dnn_reference> &all = children(name);
  return all.empty() ? nullptr : all[0].get();
}

dnn_reference dnn_descriptor_make(cudnnBackendDescriptorType_t type) {
  dnn_reference made = std::make_shared<dnn_descriptor>();
  made->type = type;
  return made;
}

cudnnStatus_t dnn_descriptor_set(dnn_descriptor *descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void *values) {
  const rule *r = rule_of(descriptor, name);
  if (descriptor->finalized) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d of a finalized descriptor", name);
  if (r == nullptr) return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "descriptor %d has no attribute %d", descriptor->type, name);
  if (r->type != type) return dnn_refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d is of type %d", name, r->type);
  if (count < r->least || count > r->most || values == nullptr) {
    return dnn_refuse(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, "attribute %d with %lld values", name, (long long)count);
  }
  dnn_attribute attribute;
  const unsigned char *first = static_cast<const unsigned char *>(values);
  attribute.bytes.assign(first, first + (size_t)count * size_of(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const cudnnStatus_t status = read_children(&attribute, count, values);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  descriptor->attributes[name] = attribute;
  return CUDNN_STATUS_SUCCESS;
}

bool dnn_descriptor_is_complete(const dnn_descriptor *descriptor) {
  for (const rule &r : rules) {
    if (r.descriptor == descriptor->type && r.required && !descriptor->has(r.name)) return false;
  }
  return true;
}
