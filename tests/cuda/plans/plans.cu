/* The real cuDNN, without a device: which form our convolutions take on devices that are only described (convolutions.cuh).
 * The library compiles for a device that it is told of; the driver that it asks for is stood in for (tests/cuda/plans/no_driver.c).
 * Says the forms and fails where one is not what the trainer is built for. */
#include "networks/cuda/convolutions.cuh"
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

typedef struct described_device {
  const char *name;
  int version, processors, shared_bytes;
} described_device;

static const described_device devices[] = {{"NVIDIA H100 80GB HBM3", 900, 132, 232448},
                                           {"NVIDIA A100-SXM4-80GB", 800, 108, 166912}};

/* The library's own text for the properties of a device. */
static void describe(const described_device *device, char *text, size_t size) {
  snprintf(text, size,
           "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
           "\"multiProcessorCount\":%d,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
           "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"
           "\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":85017755648,"
           "\"smClockRateKHz\":1500000,\"memClockRateKHz\":2000000,\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,"
           "\"l2CacheSize\":41943040,\"deviceName\":\"%s\"}",
           device->processors, device->shared_bytes, device->version, device->name);
}

typedef struct conv_case {
  const char *name;
  mz_cuda_conv_graph_settings graph;
  bool any_rows;
  mz_cuda_conv_form form; /* expected */
} conv_case;

/* board, inputs and outputs are filled in. */
static const conv_case cases[] = {
    {"inference, bf16: bias, ReLU, to bf16",
     {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, true, true, false, true},
     true,
     MZ_CUDA_CONV_FUSED},
    {"inference, bf16: bias", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, true, false, false}, true, MZ_CUDA_CONV_FUSED},
    {"inference, bf16: add", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, false, true, false}, true, MZ_CUDA_CONV_FUSED},
    {"inference, bf16: bias, add, ReLU",
     {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, true, true, true},
     true,
     MZ_CUDA_CONV_FUSED},
    {"inference, bf16: alone", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, false, false, false}, true, MZ_CUDA_CONV_FUSED},
    {"inference, f32: bias, ReLU", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, false, false, true, false, true}, true, MZ_CUDA_CONV_FUSED},
    {"inference, f32: add", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, false, false, false, true, false}, true, MZ_CUDA_CONV_SEPARATE},
    {"training, bf16", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
    {"training, bf16: add", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, true, false, false, true, false}, false, MZ_CUDA_CONV_FUSED},
    {"training, f32", {MZ_CUDA_CONV_FORWARD, {}, 0, 0, false, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
    {"training, f32: bias, add, ReLU",
     {MZ_CUDA_CONV_FORWARD, {}, 0, 0, false, false, true, true, true},
     false,
     MZ_CUDA_CONV_SEPARATE},
    {"data gradient, bf16", {MZ_CUDA_CONV_DATA, {}, 0, 0, true, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
    {"data gradient, f32", {MZ_CUDA_CONV_DATA, {}, 0, 0, false, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
    {"weight gradient, bf16", {MZ_CUDA_CONV_WEIGHTS, {}, 0, 0, true, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
    {"weight gradient, f32", {MZ_CUDA_CONV_WEIGHTS, {}, 0, 0, false, false, false, false, false}, false, MZ_CUDA_CONV_FUSED},
};

static const char *const forms[] = {"cudnn fused", "cudnn + kernel", "direct"};

/* Returns whether the form is the expected one, or one that is tried before it. */
static bool plan(const conv_case *c, const mz_cuda_conv_target *target, mz_board board, int channels, int rows) {
  mz_cuda_convolution *convolution = nullptr;
  mz_cuda_convolution_settings settings = {c->graph, rows, c->any_rows};
  settings.graph.board = board;
  settings.graph.inputs = settings.graph.outputs = channels;
  const mz_status status = mz_cuda_convolution_create(&convolution, target, &settings);
  const mz_cuda_conv_form form = status == MZ_OK ? mz_cuda_convolution_form(convolution) : MZ_CUDA_CONV_DIRECT;
  printf("  %-40s %s%s%s\n", c->name, forms[form], status == MZ_OK && form <= c->form ? "" : "  UNEXPECTED ",
         status == MZ_OK ? "" : mz_message());
  mz_cuda_convolution_free(convolution);
  return status == MZ_OK && form <= c->form;
}

/* Returns whether the library took the description. */
static bool target_of(const described_device *device, mz_cudnn_descriptors *owner, mz_cuda_conv_target *target) {
  char text[1024];
  describe(device, text, sizeof text);
  target->workspace_bytes = MZ_CUDA_WORKSPACE_BYTES;
  return mz_cudnn_create(owner, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target->properties) == MZ_OK &&
         mz_cudnn_set(target->properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(text) + 1,
                      text) == MZ_OK &&
         mz_cudnn_finalize(target->properties) == MZ_OK;
}

int main(void) {
  const struct {
    mz_board board;
    int channels, rows;
  } networks[] = {{{6, 7}, 64, 256}, {{19, 19}, 128, 64}, {{6, 7}, 256, 1024}};
  int failures = 0;
  for (const described_device &device : devices) {
    mz_cudnn_descriptors owner = {};
    mz_cuda_conv_target target = {};
    const bool described = target_of(&device, &owner, &target);
    if (!described)
      printf("skipped: cuDNN %zu does not compile for a device that is described: %s\n", cudnnGetVersion(), mz_message());
    const size_t count = &device == devices ? sizeof networks / sizeof *networks : 1; /* each takes its time to compile */
    for (size_t n = 0; described && n < count; n++) {
      printf("%s, %d x %d, %d channels, %d rows\n", device.name, networks[n].board.height, networks[n].board.width,
             networks[n].channels, networks[n].rows);
      for (const conv_case &c : cases) failures += !plan(&c, &target, networks[n].board, networks[n].channels, networks[n].rows);
    }
    mz_cudnn_descriptors_free(&owner);
    if (!described) return SKIPPED;
  }
  return failures > 0;
}
