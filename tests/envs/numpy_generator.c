/* NumPy's default_rng: the first words of numpy.random.PCG64(SeedSequence(seed)).random_raw(3), from NumPy 2.4.6. */
#include "envs/numpy_generator.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct known {
  uint64_t seed, words[3];
  double random; /* default_rng(seed).random() */
} known;

static const known answers[] = {
    {0, {0xa30febcfd9c2825f, 0x4510bdf882d9d721, 0x0a7d3da94ecde8b8}, 0x1.461fd79fb3850p-1},
    {1, {0x8306bdf37922e4ff, 0xf35196bbc152a866, 0x24e7a4f608ec18cd}, 0x1.060d7be6f245cp-1},
    {12345, {0x3a32b18db2ffc19d, 0x51171315c9e4c4de, 0xcc2024823444efd9}, 0x1.d1958c6d97fe0p-3},
    {UINT64_C(1) << 32, {0xe3c5ebe285ac1625, 0x8ea09968fe31dbcc, 0xcd084ff84d8de9be}, 0x1.c78bd7c50b582p-1},
    {UINT64_MAX, {0xae163a7a8c47568f, 0xd86659f5f3382359, 0x01e52b195bc2d24a}, 0x1.5c2c74f5188eap-1},
};

static void words_are_numpys(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    mz_numpy_generator numpy = mz_numpy_generator_at(answers[i].seed);
    const mz_generator generator = mz_generator_from_numpy(&numpy);
    for (int word = 0; word < 3; word++) assert_true(generator.next64(generator.context) == answers[i].words[word]);
  }
}

static void doubles_are_numpys(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    mz_numpy_generator numpy = mz_numpy_generator_at(answers[i].seed);
    const mz_generator generator = mz_generator_from_numpy(&numpy);
    assert_true(mz_generator_f64(&generator) == answers[i].random);
  }
}

static void a_copy_goes_on_alone(void **unused) {
  (void)unused;
  mz_numpy_generator numpy = mz_numpy_generator_at(7), copy = numpy;
  const mz_generator generator = mz_generator_from_numpy(&numpy), copied = mz_generator_from_numpy(&copy);
  const uint64_t first = generator.next64(generator.context);
  assert_true(generator.next64(generator.context) != first);
  assert_true(copied.next64(copied.context) == first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_numpys),
      cmocka_unit_test(doubles_are_numpys),
      cmocka_unit_test(a_copy_goes_on_alone),
  };
  return cmocka_run_group_tests_name("numpy_generator", tests, NULL, NULL);
}
