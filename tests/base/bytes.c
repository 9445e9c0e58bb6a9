#include "base/bytes.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_bytes_are_little_endian_and_come_back(void **state) {
  (void)state;
  mz_writer out = {0};
  mz_write_u8(&out, 0xAB);
  mz_write_u32(&out, 0x01020304u);
  mz_write_u64(&out, 0x1122334455667788u);
  mz_write(&out, "xyz", 3);
  static const uint8_t expected[] = {0xAB, 4, 3, 2, 1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 'x', 'y', 'z'};
  assert_int_equal(out.size, sizeof expected);
  assert_memory_equal(out.data, expected, sizeof expected);

  mz_reader in = mz_reader_over(out.data, out.size);
  char text[3];
  assert_int_equal(mz_read_u8(&in), 0xAB);
  assert_int_equal(mz_read_u32(&in), 0x01020304);
  assert_true(mz_read_u64(&in) == 0x1122334455667788u);
  assert_int_equal(mz_reader_left(&in), 3);
  mz_read(&in, text, 3);
  assert_memory_equal(text, "xyz", 3);
  assert_true(in.ok);
  assert_int_equal(mz_reader_left(&in), 0);
  mz_writer_free(&out);
}

static void test_reserved_bytes_are_not_moved(void **state) {
  (void)state;
  mz_writer out = {0};
  mz_write_u8(&out, 7);
  mz_writer_reserve(&out, 100000);
  const uint8_t *data = out.data;
  mz_write_zeros(&out, 99992);
  mz_write_u64(&out, 9);
  assert_ptr_equal(out.data, data);
  assert_int_equal(out.size, 100001);
  assert_true(data[0] == 7 && data[1] == 0 && data[99992] == 0 && data[99993] == 9);
  mz_write_u8(&out, 5); /* more than was reserved */
  assert_true(!out.failed && out.size == 100002 && out.data[0] == 7 && out.data[100001] == 5);
  mz_writer_reserve(&out, SIZE_MAX);
  assert_true(out.failed);
  mz_writer_free(&out);
}

static void test_every_truncation_is_noticed(void **state) {
  (void)state;
  static const uint8_t data[13] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  for (size_t size = 0; size <= sizeof data; size++) {
    mz_reader in = mz_reader_over(data, size);
    (void)mz_read_u8(&in);
    (void)mz_read_u32(&in);
    const uint64_t last = mz_read_u64(&in);
    assert_int_equal(in.ok, size == sizeof data);
    if (!in.ok) assert_true(last == 0);
  }
}

static void test_a_short_read_spoils_all_later_ones(void **state) {
  (void)state;
  static const uint8_t data[4] = {1, 2, 3, 4};
  mz_reader in = mz_reader_over(data, sizeof data);
  char big[8] = "unset..";
  mz_read(&in, big, sizeof big);
  assert_memory_equal(big, "\0\0\0\0\0\0\0\0", 8);
  assert_int_equal(mz_read_u8(&in), 0); /* though a byte would be there */
  assert_int_equal(mz_reader_left(&in), 0);
  assert_false(in.ok);
}

static void test_reading_beyond_what_is_left(void **state) {
  (void)state;
  static const uint8_t data[8];
  uint8_t out[8] = {1};
  mz_reader in = mz_reader_over(data, sizeof data);
  (void)mz_read_u32(&in);
  assert_int_equal(mz_reader_left(&in), 4);
  mz_read(&in, out, 5); /* less than the whole, more than the rest */
  assert_false(in.ok);
  mz_reader none = mz_reader_over(NULL, 0);
  mz_read(&none, NULL, 0);
  assert_true(none.ok);
  mz_read(&none, out, 1);
  assert_false(none.ok);
  assert_int_equal(out[0], 0);
}

static void test_writer_grows_and_survives_lack_of_memory(void **state) {
  (void)state;
  mz_writer out = {0};
  for (uint32_t i = 0; i < 10000; i++) mz_write_u32(&out, i);
  mz_reader in = mz_reader_over(out.data, out.size);
  for (uint32_t i = 0; i < 10000; i++) assert_int_equal(mz_read_u32(&in), i);
  mz_alloc_fail_after(1);
  for (uint32_t i = 0; i < 100000; i++) mz_write_u32(&out, i);
  assert_true(out.failed);
  mz_writer_free(&out);
  assert_null(out.data);
  mz_alloc_fail_after(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_little_endian_and_come_back),
      cmocka_unit_test(test_reserved_bytes_are_not_moved),
      cmocka_unit_test(test_every_truncation_is_noticed),
      cmocka_unit_test(test_a_short_read_spoils_all_later_ones),
      cmocka_unit_test(test_reading_beyond_what_is_left),
      cmocka_unit_test(test_writer_grows_and_survives_lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
