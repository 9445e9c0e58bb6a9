/* Shared by the twin's own tests. */
#pragma once
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/launch.cuh"
#include "twin.h"

enum { SEEDS = 20 };

#define OK(call) assert_int_equal(call, cudaSuccess)

/* Each runs one group of tests and returns how many failed. */
int test_kernels(void);
int test_shared(void);
int test_memory(void);
int test_streams(void);
int test_graphs(void);
int test_devices(void);

/* Tells on stderr of the settings that the twin read from the environment; run in a process of its own. */
void print_environment(void);

/* Runs `body` in a child, which exits with 0 unless it ends otherwise, and returns the status that waitpid gives; `text`
 * receives what it wrote on stderr, ended by 0. */
int run_child(void (*body)(void), char *text, size_t bytes);

/* A stream and some memory, which most tests need. */
struct fixture {
  cudaStream_t stream;
  float *device; /* `count` floats, not initialised */
  float *pinned; /* as many */
  size_t count;
};
fixture fixture_create(size_t count);
void fixture_free(fixture *made);
/* Copies the device's floats to the pinned ones and waits. */
cudaError_t fixture_read(const fixture *made);
/* Expects that `call` reports this error because of a violation whose message holds `text`; the device works again afterwards. */
void expect_violation(cudaError_t got, cudaError_t error, const char *text);
