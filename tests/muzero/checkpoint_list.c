/* Which checkpoints of a run stay, and which go. */
#include "muzero/storage/checkpoint_list.h"
#include "base/maths/digest.h"
#include "muzero/storage/checkpoint.h"
#include "testing.h"
#include <fcntl.h>

static void write_named(const char *folder, int64_t rounds) {
  char name[MZ_CHECKPOINT_NAME_MAX], path[128];
  mz_checkpoint_name(rounds, name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_CREAT | O_WRONLY, 0600);
  assert_true(file >= 0);
  close(file);
}

static void add(mz_checkpoint_list *list, const char *folder, int64_t rounds) {
  char name[MZ_CHECKPOINT_NAME_MAX];
  uint64_t *hashes;
  mz_checkpoint_name(rounds, name);
  write_named(folder, rounds);
  expect_ok(mz_alloc(&hashes, 1, sizeof *hashes));
  hashes[0] = (uint64_t)rounds;
  expect_ok(mz_checkpoint_list_add(list, name, hashes, 1));
}

static void prune(mz_checkpoint_list *list, int64_t latest, int64_t best, int keep, int spaced) {
  char latest_name[MZ_CHECKPOINT_NAME_MAX], best_name[MZ_CHECKPOINT_NAME_MAX] = "";
  mz_checkpoint_name(latest, latest_name);
  if (best >= 0) mz_checkpoint_name(best, best_name);
  mz_checkpoint_list_prune(list, &(mz_retention){.latest = latest_name, .best = best_name, .keep = keep, .spaced = spaced});
}

/* The rounds in the list are these, and those of the files in the folder, too. */
static void expect_rounds(const mz_checkpoint_list *list, const char *folder, const char *wanted) {
  char got[256] = "";
  for (int i = 0; i < list->count; i++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%lld ", (long long)list->items[i].rounds);
  assert_string_equal(got, wanted);
  mz_checkpoint_list again;
  expect_ok(mz_checkpoint_list_read(&again, folder));
  assert_int_equal(again.count, list->count);
  for (int i = 0; i < list->count; i++) assert_string_equal(again.items[i].name, list->items[i].name);
  mz_checkpoint_list_deinit(&again);
}

static void one_entry_a_name_and_never_the_latest(void **state) {
  (void)state;
  char folder[64];
  mz_checkpoint_list list;
  make_folder(folder);
  const int64_t there[] = {27, 30};
  for (int i = 0; i < 2; i++) write_named(folder, there[i]);
  expect_ok(mz_checkpoint_list_read(&list, folder));
  assert_int_equal(list.count, 2);
  assert_false(mz_checkpoint_list_readable(&list)); /* they are empty files */
  add(&list, folder, 28);
  prune(&list, 28, 27, 3, 0);
  expect_rounds(&list, folder, "27 28 ");
  add(&list, folder, 29);
  add(&list, folder, 30);
  add(&list, folder, 30);
  prune(&list, 30, 27, 3, 0);
  expect_rounds(&list, folder, "27 28 29 30 ");
  prune(&list, 30, -1, 1, 0);
  expect_rounds(&list, folder, "30 ");
  assert_true(mz_checkpoint_list_readable(&list));
  size_t count;
  uint64_t *hashes;
  expect_ok(mz_checkpoint_list_segments(&list, &hashes, &count));
  assert_int_equal(count, 1);
  assert_int_equal(hashes[0], 30);
  free(hashes);
  mz_checkpoint_list_deinit(&list);
  drop_folder(folder);
}

static void write_changed(const char *path, size_t byte, uint8_t value, bool rehash) {
  uint8_t *file;
  size_t size;
  expect_ok(mz_file_read(path, 0, &file, &size));
  file[byte] = value;
  const size_t table = 16 + 64; /* the header and one section */
  if (rehash) {
    const uint64_t hash = mz_hash(file, table, 0);
    memcpy(file + table, &hash, sizeof hash);
  }
  expect_ok(mz_file_write_atomic(path, file, size));
  free(file);
}

/* A newer program's file, one of whose sections is newer, stay among many that go. */
static void what_a_newer_program_wrote_stays(void **state) {
  (void)state;
  enum { FORMAT_BYTE = 8, SECTION_VERSION_BYTE = 16 + 16 };
  char folder[64], name[MZ_CHECKPOINT_NAME_MAX], path[128];
  mz_checkpoint_list list;
  const mz_part part = {"segments", "", 0};
  make_folder(folder);
  for (int64_t rounds = 1; rounds <= 4; rounds++) {
    mz_checkpoint_name(rounds, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    expect_ok(mz_checkpoint_write(path, &part, 1));
    if (rounds == 2) write_changed(path, FORMAT_BYTE, MZ_CHECKPOINT_VERSION + 1, false);
    if (rounds == 3) write_changed(path, SECTION_VERSION_BYTE, 99, true);
  }
  expect_ok(mz_checkpoint_list_read(&list, folder));
  assert_false(mz_checkpoint_list_readable(&list));
  for (int i = 0; i < list.count; i++) assert_int_equal(list.items[i].newer, i == 1 || i == 2);
  prune(&list, 4, -1, 1, 0);
  expect_rounds(&list, folder, "2 3 4 ");
  mz_checkpoint_list_deinit(&list);
  drop_folder(folder);
}

static void spaced_checkpoints_stay(void **state) {
  (void)state;
  char folder[64];
  mz_checkpoint_list list = {0};
  make_folder(folder);
  expect_ok(mz_checkpoint_list_read(&list, folder));
  for (int64_t rounds = 1; rounds <= 40; rounds++) {
    add(&list, folder, rounds);
    prune(&list, rounds, 5, 2, 1);
  }
  expect_rounds(&list, folder, "1 2 4 5 8 16 32 39 40 ");
  mz_checkpoint_list_deinit(&list);
  drop_folder(folder);
}

static void any_number_of_checkpoints(void **state) {
  (void)state;
  enum { MANY = 5000 };
  char folder[64];
  mz_checkpoint_list list;
  make_folder(folder);
  for (int64_t rounds = 1; rounds <= MANY; rounds++) write_named(folder, rounds);
  expect_ok(mz_checkpoint_list_read(&list, folder));
  assert_int_equal(list.count, MANY);
  for (int64_t rounds = MANY + 1; rounds <= MANY + 10; rounds++) {
    add(&list, folder, rounds);
    prune(&list, rounds, -1, 1000000, 0);
    assert_int_equal(list.count, rounds);
  }
  mz_checkpoint_list_deinit(&list);
  drop_folder(folder);
}

static void names_have_one_form(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "round-1.mzc",         "round-000000027.mzc.1.2.tmp", "../round-000000027.mzc",        "round-000000027",
      "round-00000002x.mzc", "round-0000000027.mzc",        "round-9999999999999999999.mzc", ""};
  char name[MZ_CHECKPOINT_NAME_MAX];
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_int_equal(mz_checkpoint_name_rounds(wrong[i]), -1);
  const int64_t rounds[] = {0, 27, 999999999, 1000000000, 123456789012};
  for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
    mz_checkpoint_name(rounds[i], name);
    assert_true(mz_checkpoint_name_rounds(name) == rounds[i]);
  }
}

static void pointers_lead_nowhere_else(void **state) {
  (void)state;
  char folder[64], path[96], name[MZ_CHECKPOINT_NAME_MAX];
  make_folder(folder);
  assert_int_equal(mz_checkpoint_pointer_read(folder, "LATEST", name), MZ_E_CHECKPOINT);
  static const char *const texts[] = {"", "../../etc/passwd\n", "round-000000001.mzc\nmore\n", "x"};
  snprintf(path, sizeof path, "%s/LATEST", folder);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    expect_ok(mz_file_write_atomic(path, texts[i], strlen(texts[i])));
    assert_int_equal(mz_checkpoint_pointer_read(folder, "LATEST", name), MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), "LATEST"));
  }
  expect_ok(mz_checkpoint_pointer_write(folder, "LATEST", "round-000000001.mzc"));
  expect_ok(mz_checkpoint_pointer_read(folder, "LATEST", name));
  assert_string_equal(name, "round-000000001.mzc");
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_entry_a_name_and_never_the_latest),
      cmocka_unit_test(what_a_newer_program_wrote_stays),
      cmocka_unit_test(spaced_checkpoints_stay),
      cmocka_unit_test(any_number_of_checkpoints),
      cmocka_unit_test(names_have_one_form),
      cmocka_unit_test(pointers_lead_nowhere_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
