#include "envs/own/random_source.h"

static uint64_t next64(void *context) {
  const mz_generator *generator = context;
  return generator->next64(generator->context);
}
static double uniform(void *context) { return mz_generator_f64(context); }
static uint32_t below(void *context, uint32_t n) { return n > 1 ? mz_generator_below(context, n) : 0; }

static void refuse(const mz_own_refusal *refusal) {
  refusal->note(refusal->context, "draws a random number, but draws is 0; nearest valid value: 1");
}
static uint64_t refuse_next64(void *context) { return refuse(context), 0; }
static double refuse_f64(void *context) { return refuse(context), 0; }
static uint32_t refuse_below(void *context, uint32_t n) { return (void)n, refuse(context), 0; }

muzero_env_random mz_own_refusing(const mz_own_refusal *refusal) {
  return (muzero_env_random){.context = (void *)refusal, .next64 = refuse_next64, .f64 = refuse_f64, .below = refuse_below};
}

muzero_env_random mz_own_random(const mz_generator *generator) {
  return (muzero_env_random){.context = (void *)generator, .next64 = next64, .f64 = uniform, .below = below};
}
