/* Settings as nobody has set them. Compiles as C and C++. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
#include "base/config/config.h"
#ifdef __cplusplus
}
#endif
#include <string.h>

static inline void test_defaults(mz_settings_table table, void *values) {
  mz_config config;
  memset(&config, 0, sizeof config);
  config.tables = &table;
  config.table_count = 1;
  config.values = values;
  mz_config_defaults(&config);
}
