/* A tape on the twin's device: the same nodes as a planned tape of floats on the host, every value, gradient and list in memory
 * of its own, of exactly the size that it needs. Include after cmocka.h. */
#pragma once
#include "networks/cuda/access.cuh"
#include "tests/cuda/support/cases.h"
#include <map>
#include <vector>

#define OK(call) assert_int_equal(call, cudaSuccess)

struct device_tape {
  mz_tape tape;    /* nodes, values and params as the host's; pointers are to the device */
  const net *host; /* outlives this */
  mz_cuda_lane lane;
  std::vector<mz_node> nodes;
  std::vector<mz_tape_value> values;
  std::map<const void *, void *> memory; /* by what it stands for on the host */
};

/* Prepares the nodes of the ops that the module has, and uploads the parameters. */
void device_tape_open(device_tape *device, const net *host);
void device_tape_close(device_tape *device);

/* The first `rows` rows of the device's become those of the host's from row `from` on; the others are NaN. A NULL of the host's
 * is left out. */
void device_tape_put_data(device_tape *device, int value, int from, int rows);
void device_tape_put_gradient(device_tape *device, int value, int from, int rows);
void device_tape_put_index(device_tape *device, int list, int from, int rows);
/* All rows become NaN (bytes 0xff). */
void device_tape_spoil_data(device_tape *device, int value);
void device_tape_spoil_gradient(device_tape *device, int value);

/* All planned rows, as bytes. */
std::vector<unsigned char> device_tape_data(device_tape *device, int value);
std::vector<unsigned char> device_tape_gradient(device_tape *device, int value);
/* The gradient of a parameter, padding included. */
std::vector<float> device_tape_parameter_gradient(device_tape *device, int param);

/* Copies between the host and the device and waits. */
void device_upload(const mz_cuda_lane *lane, void *to, const void *from, size_t bytes);
void device_download(const mz_cuda_lane *lane, void *to, const void *from, size_t bytes);
/* A lane with nothing but a stream. */
mz_cuda_lane device_lane_open(void);
void device_lane_close(mz_cuda_lane *lane);
