#include "envs/own/random_source.h"

static uint64_t next64(void *context) {
  const mz_generator *generator = context;
  return generator->next64(generator->context);
}
static double uniform(void *context) { return mz_generator_f64(context); }
static uint32_t below(void *context, uint32_t n) { return n > 1 ? mz_generator_below(context, n) : 0; }

muzero_env_random mz_own_random(const mz_generator *generator) {
  return (muzero_env_random){.context = (void *)generator, .next64 = next64, .f64 = uniform, .below = below};
}
