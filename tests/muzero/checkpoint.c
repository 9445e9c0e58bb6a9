/* Every truncation and every flipped bit of a checkpoint is found, and the section named. */
#include "muzero/storage/stored.h"
#include "testing.h"

static const mz_part parts[] = {
    {"config", "{\"env\":\"x\"}", 11}, {"weights", "0123456789012345678901234567890123456789", 40}, {"empty", "", 0}};

static void write_bytes(const char *path, const uint8_t *data, size_t size) { expect_ok(mz_file_write_atomic(path, data, size)); }

static mz_status open_and_verify(const char *path) {
  mz_checkpoint checkpoint;
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  mz_status status = mz_checkpoint_verify(&checkpoint);
  mz_checkpoint_close(&checkpoint);
  return status;
}

static void sections_come_back(void **unused) {
  (void)unused;
  char folder[64], path[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/c.mzc", folder);
  expect_ok(mz_checkpoint_write(path, parts, 3));
  mz_checkpoint checkpoint;
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  assert_int_equal(checkpoint.count, 3);
  for (int i = 0; i < 3; i++) {
    uint8_t *data;
    size_t size;
    expect_ok(mz_checkpoint_section(&checkpoint, parts[i].name, 1 << 20, &data, &size));
    assert_int_equal(size, parts[i].size);
    assert_memory_equal(data, parts[i].data, size);
    free(data);
  }
  uint8_t *data;
  size_t size;
  assert_int_equal(mz_checkpoint_section(&checkpoint, "replay", 1 << 20, &data, &size), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "'replay' is missing"));
  mz_checkpoint_close(&checkpoint);
  drop_folder(folder);
}

static void every_damage_is_found(void **unused) {
  (void)unused;
  char folder[64], path[80], hurt[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/c.mzc", folder);
  snprintf(hurt, sizeof hurt, "%s/hurt.mzc", folder);
  expect_ok(mz_checkpoint_write(path, parts, 3));
  uint8_t *file;
  size_t size;
  expect_ok(mz_file_read(path, 0, &file, &size));
  for (size_t cut = 0; cut < size; cut++) {
    write_bytes(hurt, file, cut);
    assert_int_equal(open_and_verify(hurt), MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), "section '"));
  }
  for (size_t bit = 0; bit < size * 8; bit++) {
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_bytes(hurt, file, size);
    assert_int_equal(open_and_verify(hurt), MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), "section '"));
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(file);
  drop_folder(folder);
}

static void a_newer_format_is_named(void **unused) {
  (void)unused;
  char folder[64], path[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/c.mzc", folder);
  expect_ok(mz_checkpoint_write(path, parts, 3));
  uint8_t *file;
  size_t size;
  expect_ok(mz_file_read(path, 0, &file, &size));
  file[8] = MZ_CHECKPOINT_VERSION + 1;
  write_bytes(path, file, size);
  mz_checkpoint checkpoint;
  assert_int_equal(mz_checkpoint_open(&checkpoint, path), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "newer"));
  free(file);
  drop_folder(folder);
}

static void missing_things_have_their_own_errors(void **unused) {
  (void)unused;
  char folder[64], path[256];
  make_folder(folder);
  mz_checkpoint checkpoint;
  assert_int_equal(mz_checkpoint_open(&checkpoint, "/nowhere/at/all"), MZ_E_IO);
  assert_int_equal(mz_run_checkpoint_path("/nowhere/at/all", path, sizeof path), MZ_E_IO);
  assert_int_equal(mz_run_checkpoint_path(folder, path, sizeof path), MZ_E_CHECKPOINT);
  drop_folder(folder);
}

/* A stranger's small file that says it holds the weights of a large network: refused before there is memory for it. */
static void weights_that_cannot_be_are_refused(void **unused) {
  (void)unused;
  enum { WIDTH = 2048 };
  char folder[64], path[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/c.mzc", folder);
  static const char config[] = "{\"env\":\"cartpole\",\"seed\":\"1\",\"settings\":{\"network\":{\"width\":2048}}}";
  static const uint8_t counters[7 * 8];
  const size_t sizes[] = {1000, (size_t)WIDTH * WIDTH * 40};
  for (int i = 0; i < 2; i++) {
    void *zeros;
    mz_loaded *loaded;
    expect_ok(mz_alloc(&zeros, sizes[i], 1));
    const mz_part wide[] = {
        {"config", config, strlen(config)}, {"weights", zeros, sizes[i]}, {"counters", counters, sizeof counters}};
    expect_ok(mz_checkpoint_write(path, wide, 3));
    free(zeros);
    assert_int_equal(mz_loaded_open(&loaded, path), MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), i == 0 ? "too few for the" : "are no weights of a network"));
  }
  drop_folder(folder);
}

/* A stranger's counts: rows trained, updates times the rows of a batch, must fit 64 bits. */
static void counts_that_cannot_be_are_refused(void **unused) {
  (void)unused;
  char folder[64], path[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/c.mzc", folder);
  const int64_t updates[] = {MZ_COUNT_MAX, MZ_COUNT_MAX + 1, -1};
  for (int i = 0; i < 3; i++) {
    const int64_t counts[7] = {[3] = updates[i]}; /* the seed, rounds and phases lie before */
    mz_checkpoint checkpoint;
    mz_counters counters;
    uint64_t seed;
    expect_ok(mz_checkpoint_write(path, &(mz_part){"counters", counts, sizeof counts}, 1));
    expect_ok(mz_checkpoint_open(&checkpoint, path));
    assert_int_equal(mz_counters_stored(&checkpoint, &seed, &counters), i == 0 ? MZ_OK : MZ_E_CHECKPOINT);
    if (i == 0)
      assert_int_equal(counters.updates, MZ_COUNT_MAX);
    else
      assert_non_null(strstr(mz_message(), i == 1 ? "70368744177665 updates" : "-1 updates"));
    mz_checkpoint_close(&checkpoint);
  }
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sections_come_back),
                                     cmocka_unit_test(every_damage_is_found),
                                     cmocka_unit_test(a_newer_format_is_named),
                                     cmocka_unit_test(missing_things_have_their_own_errors),
                                     cmocka_unit_test(weights_that_cannot_be_are_refused),
                                     cmocka_unit_test(counts_that_cannot_be_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
