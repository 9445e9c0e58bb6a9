#include "base/json/json_memory.h"
#include "base/status.h"
#include <cjson/cJSON.h>

static _Thread_local bool failed;

static void *allocate(size_t size) {
  void *block = mz_alloc_hook_fails() ? NULL : malloc(size);
  if (block == NULL) failed = true;
  return block;
}

/* Before main: there is one set of hooks in a process, and values made under one are freed under it. */
__attribute__((constructor)) static void install(void) {
  cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = free};
  cJSON_InitHooks(&hooks);
}

bool mz_json_memory_failed(void) {
  const bool before = failed;
  failed = false;
  return before;
}

void mz_json_memory_remember(bool before) { failed = failed || before; }
