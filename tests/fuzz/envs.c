/* Names of environments and their options, and traces of given actions: a name, a line break, an action a byte. */
#include "envs/trace.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>
/* Variants stay for the life of a process; here those of an input go with it. */
#include "envs/variants.c"

enum { ACTIONS_MAX = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  return 0;
}

static void forget_variants(void) {
  while (kept) {
    variant *next = kept->next;
    free(kept);
    kept = next;
  }
}

static mz_status see(void *context, cJSON *object) {
  (void)context, (void)object;
  return MZ_OK;
}

/* Most actions are refused at once; the drawn ones are played. */
static void trace(const mz_env *env, const uint8_t *data, size_t size) {
  int32_t actions[ACTIONS_MAX];
  int count = 0;
  for (size_t i = 0; i < size && count < ACTIONS_MAX; i++) actions[count++] = (int8_t)data[i];
  const mz_trace_options given = {.seed = size, .actions = actions, .action_count = count}, drawn = {.seed = size, .steps = 4};
  if (count > 0) (void)mz_env_trace(env, &given, see, NULL);
  fuzz_must(mz_env_trace(env, &drawn, see, NULL));
  cJSON_Delete(mz_env_to_json(env));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char name[256];
  const uint8_t *end = memchr(data, '\n', size);
  const size_t length = end ? (size_t)(end - data) : size;
  const mz_env *env;
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), (const char *)data);
  if (mz_env_find(name, &env) == MZ_OK) {
    const mz_env *again;
    fuzz_must(mz_env_find(env->name, &again));
    MZ_ASSERT(again == env);
    if (end) trace(env, end + 1, size - length - 1);
  }
  forget_variants();
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
