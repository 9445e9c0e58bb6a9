/* CUDA devices come from a module, libmuzero_cuda.so, so that one program runs with and without them. It is sought and opened when it is
 * first asked for: $MUZERO_CUDA_MODULE; in muzero/ beside libmuzero.so, where that is loaded; beside the program; and where the program's
 * installation has it (../lib/muzero from there, or what CMAKE_INSTALL_LIBDIR makes of it). The libraries that it needs (cuBLASLt, cuDNN)
 * are the loader's to find; failing that, they are looked for in $CUDA_HOME and among Python's nvidia wheels. */
#pragma once
#include "networks/tape/backend.h"
#include <stdarg.h>
#include <stdint.h>

enum { MZ_MODULE_INTERFACE = 2 }; /* of everything that program and module share: backend, tape, model, this file */

typedef struct mz_module_device {
  char name[96], uuid[48], pci[16]; /* uuid: "GPU-01234567-…", as NVML has it */
  int major, minor;                 /* compute capability */
  bool usable;                      /* the module has code for it */
  uint64_t memory_bytes, free_bytes;
} mz_module_device;

typedef struct mz_module_versions {   /* as numbers: 13000 is CUDA 13.0, 91900 cuDNN 9.19.0 */
  int built_cuda, built_cudnn;        /* what the module was built with */
  int driver, runtime, cublas, cudnn; /* what it runs with; driver: the newest CUDA that it knows */
} mz_module_versions;

typedef struct mz_module {
  int interface;
  const mz_backend *backend;            /* with updater and searcher */
  const char *architectures;            /* "sm_80 sm_90 compute_90" */
  mz_status (*count_devices)(int *out); /* 0: the driver knows none */
  mz_status (*describe)(int device, mz_module_device *out);
  mz_status (*versions)(mz_module_versions *out);
} mz_module;

/* Opens the module, once in a process; any thread. MZ_E_DEVICE: says what is missing and how to get it, the same each time. */
mz_status mz_module_open(const mz_module **out);
/* Returns the path of the module that is open or was tried last; "" before. */
const char *mz_module_path(void);

/* The program hands this to the module, by the one function that it exports, mz_module_enter. */
typedef struct mz_module_host {
  int interface;
  const char *version; /* of the program; a module of another one is refused */
  mz_status (*fail)(mz_status code, const char *format, va_list arguments);
  mz_status (*alloc)(void *out_pointer, size_t count, size_t element_size);
  mz_status (*reserve_one)(void *items_pointer, int *capacity, int count, size_t element_size);
  const char *(*message)(void);
} mz_module_host;
typedef mz_status mz_module_enter_function(const mz_module_host *host, const mz_module **out);
