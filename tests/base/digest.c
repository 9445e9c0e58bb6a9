#include "base/maths/digest.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_known_answers(void **state) {
  (void)state;
  /* of the XXH64 specification and of other implementations */
  assert_true(mz_hash("", 0, 0) == 0xEF46DB3751D8E999u);
  assert_true(mz_hash("a", 1, 0) == 0xD24EC4F1A98C6E5Bu);
  assert_true(mz_hash("abc", 3, 0) == 0x44BC2CF5AD770999u);
  assert_true(mz_checksum("", 0, 0) == 0x2D06800538D394C2u);
}

static void test_combine_depends_on_order_and_on_every_bit(void **state) {
  (void)state;
  const uint64_t zero = mz_hash_combine(0, 0);
  assert_true(mz_hash_combine(1, 2) != mz_hash_combine(2, 1));
  for (int bit = 0; bit < 64; bit++) {
    assert_true(mz_hash_combine(0, (uint64_t)1 << bit) != zero);
    assert_true(mz_hash_combine((uint64_t)1 << bit, 0) != zero);
  }
}

static void test_combine_hashes_the_little_endian_bytes(void **state) {
  (void)state;
  static const uint8_t bytes[16] = {8, 7, 6, 5, 4, 3, 2, 1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  assert_true(mz_hash_combine(0x0102030405060708u, 0x1122334455667788u) == mz_hash(bytes, sizeof bytes, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_combine_depends_on_order_and_on_every_bit),
      cmocka_unit_test(test_combine_hashes_the_little_endian_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
