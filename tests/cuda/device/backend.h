/* The CUDA backend as the program has it: that of the module which MUZERO_CUDA_MODULE names, or which lies beside the test. Include after
 * cmocka.h. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
#include "networks/module.h"
#ifdef __cplusplus
}
#endif

static inline const mz_backend *cuda_backend(void) {
  const mz_module *module;
  if (mz_module_open(&module) != MZ_OK) fail_msg("%s", mz_message());
  return module->backend;
}
