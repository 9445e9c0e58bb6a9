/* Segments on disk: packs written, shared, collected, damaged, and disks that are full. */
#include "replay/storage/store.h"
#include "base/file/file.h"
#include "tests/replay/fixtures.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char dir[] = "/tmp/muzero-store-XXXXXX";

static int make_dir(void **state) {
  (void)state;
  return mkdtemp(strcpy(dir, "/tmp/muzero-store-XXXXXX")) ? 0 : -1;
}
static int files_in_dir(bool remove) {
  DIR *d = opendir(dir);
  assert_non_null(d);
  int count = 0;
  for (struct dirent *item; (item = readdir(d));) {
    if (item->d_name[0] == '.' && (!item->d_name[1] || item->d_name[1] == '.')) continue;
    count++;
    if (remove) assert_int_equal(unlinkat(dirfd(d), item->d_name, 0), 0);
  }
  closedir(d);
  return count;
}
static int remove_dir(void **state) {
  (void)state;
  files_in_dir(true);
  return rmdir(dir);
}

static mz_store *open_store(void) {
  mz_spec spec = vector_spec();
  mz_store *store;
  ASSERT_OK(mz_store_open(&store, dir, &spec));
  return store;
}
static void make_segments(mz_segment **segments, int first, int count) {
  mz_spec spec = vector_spec();
  for (int i = 0; i < count; i++) segments[i] = make_segment(&spec, first + i, 4 + i % 5, 0, MZ_END_TERMINATED);
}
static void release(mz_segment **segments, int count) {
  for (int i = 0; i < count; i++) mz_segment_release(segments[i]);
}

static mz_status write_segments(mz_store *store, mz_segment *const *segments, int count, char name[64]) {
  mz_content contents[100];
  for (int i = 0; i < count; i++) contents[i] = (mz_content){.segment = segments[i]};
  return mz_store_write(store, contents, count, name);
}

static void segments_come_back_as_they_were(void **state) {
  (void)state;
  mz_segment *segments[100], *copy;
  make_segments(segments, 0, 100);
  mz_store *store = open_store();
  char first[64], second[64], none[64];
  assert_false(mz_store_has(store, segments[0]->hash));
  ASSERT_OK(write_segments(store, segments, 60, first));
  ASSERT_OK(write_segments(store, segments + 30, 70, second)); /* half of them are there */
  ASSERT_OK(write_segments(store, segments, 100, none));       /* all of them are */
  assert_string_not_equal(first, second);
  assert_string_equal(none, "");
  assert_int_equal(files_in_dir(false), 2);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 100; i++) {
      assert_true(mz_store_has(store, segments[i]->hash));
      ASSERT_OK(mz_store_load(store, segments[i]->hash, &copy));
      assert_int_equal(copy->hash, segments[i]->hash);
      assert_memory_equal(copy->obs, segments[i]->obs, (size_t)copy->length * 16);
      mz_segment_release(copy);
    }
    ASSERT_OK(mz_store_verify(store));
    mz_store_close(store);
    store = open_store();
  }
  assert_int_equal(mz_store_load(store, 1234, &copy), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "00000000000004d2"));
  mz_store_close(store);
  release(segments, 100);
}

static void a_pack_is_named_by_its_content(void **state) {
  (void)state;
  mz_segment *segments[5];
  make_segments(segments, 0, 5);
  char first[64], again[64];
  mz_store *store = open_store();
  ASSERT_OK(write_segments(store, segments, 5, first));
  mz_store_close(store);
  files_in_dir(true);
  store = open_store();
  ASSERT_OK(write_segments(store, segments, 5, again));
  assert_string_equal(first, again);
  mz_store_close(store);
  release(segments, 5);
}

static void packed_segments_are_stored_as_raw_ones_are(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_segment *segments[6], *copy;
  mz_content contents[6] = {0};
  mz_writer scratch = {0};
  make_segments(segments, 0, 6);
  for (int i = 0; i < 6; i++) {
    if (i % 2)
      contents[i].segment = segments[i];
    else
      ASSERT_OK(mz_packed_pack(segments[i], &spec, &scratch, &contents[i].packed));
  }
  char raw[64], mixed[64];
  mz_store *store = open_store();
  ASSERT_OK(write_segments(store, segments, 6, raw));
  mz_store_close(store);
  files_in_dir(true);
  store = open_store();
  ASSERT_OK(mz_store_write(store, contents, 6, mixed));
  assert_string_equal(mixed, raw);
  ASSERT_OK(mz_store_verify(store));
  ASSERT_OK(mz_store_load(store, segments[2]->hash, &copy));
  assert_memory_equal(copy->obs, segments[2]->obs, (size_t)copy->length * 16);
  mz_segment_release(copy);
  mz_store_close(store);
  for (int i = 0; i < 6; i++) mz_packed_release(contents[i].packed);
  mz_writer_free(&scratch);
  release(segments, 6);
}

static void collecting_removes_packs_without_live_segments(void **state) {
  (void)state;
  mz_segment *segments[30], *copy;
  make_segments(segments, 0, 30);
  mz_store *store = open_store();
  char name[64];
  for (int i = 0; i < 3; i++) ASSERT_OK(write_segments(store, segments + 10 * i, 10, name));
  const uint64_t live[] = {segments[29]->hash, segments[3]->hash};
  mz_store_collect(store, live, 2);
  assert_int_equal(files_in_dir(false), 2);
  for (int i = 0; i < 30; i++) assert_int_equal(mz_store_has(store, segments[i]->hash), i < 10 || i >= 20);
  ASSERT_OK(mz_store_load(store, segments[29]->hash, &copy));
  mz_segment_release(copy);
  ASSERT_OK(write_segments(store, segments + 5, 10, name)); /* what went can come again */
  assert_true(mz_store_has(store, segments[12]->hash));
  ASSERT_OK(mz_store_verify(store));
  mz_store *reader = open_store();
  mz_store_collect(store, NULL, 0);
  assert_int_equal(files_in_dir(false), 0);
  ASSERT_OK(mz_store_verify(store));
  ASSERT_OK(mz_store_verify(reader)); /* what the writer has removed meanwhile is not damaged */
  assert_int_not_equal(mz_store_load(reader, segments[29]->hash, &copy), MZ_OK);
  mz_store_close(reader);
  mz_store_close(store);
  release(segments, 30);
}

static void write_bytes(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The damage is found by verify and by loading what was damaged, and named. */
static void assert_damage_is_found(const char *name, mz_segment *const *segments, int count) {
  mz_store *store = open_store(); /* opens in any case: other packs may be all that is needed */
  assert_int_equal(mz_store_verify(store), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), name));
  int lost = 0;
  for (int i = 0; i < count; i++) {
    mz_segment *copy;
    mz_status status = mz_store_load(store, segments[i]->hash, &copy);
    if (status == MZ_OK) {
      assert_int_equal(copy->hash, segments[i]->hash);
      mz_segment_release(copy);
      continue;
    }
    assert_int_equal(status, MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), name));
    lost++;
  }
  assert_true(lost > 0);
  mz_store_close(store);
}

static void every_truncation_and_bit_flip_of_a_pack_is_found(void **state) {
  (void)state;
  mz_segment *segments[2];
  make_segments(segments, 0, 2);
  mz_store *store = open_store();
  char name[64], path[128];
  ASSERT_OK(write_segments(store, segments, 2, name));
  mz_store_close(store);
  snprintf(path, sizeof path, "%s/%s", dir, name);
  uint8_t *data;
  size_t size;
  ASSERT_OK(mz_file_read(path, 0, &data, &size));
  for (size_t cut = 0; cut < size; cut++) {
    write_bytes(path, data, cut);
    assert_damage_is_found(name, segments, 2);
  }
  for (size_t bit = 0; bit < 8 * size; bit++) {
    data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_bytes(path, data, size);
    data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_damage_is_found(name, segments, 2);
  }
  free(data);
  release(segments, 2);
}

static void foreign_files_are_recognised(void **state) {
  (void)state;
  const char *name = "0123456789abcdef.pack";
  char path[128];
  snprintf(path, sizeof path, "%s/notes.txt", dir);
  write_bytes(path, (const uint8_t *)"not ours", 8);
  mz_store *store = open_store();
  ASSERT_OK(mz_store_verify(store));
  mz_store_close(store);
  snprintf(path, sizeof path, "%s/%s", dir, name);
  uint8_t text[200];
  memset(text, 'x', sizeof text);
  write_bytes(path, text, sizeof text);
  store = open_store();
  assert_int_equal(mz_store_verify(store), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), name));
  mz_store_close(store);
}

static void a_damaged_pack_goes_when_nothing_needs_it(void **state) {
  (void)state;
  mz_segment *segments[6];
  make_segments(segments, 0, 6);
  mz_store *store = open_store();
  char bad[64], good[64], path[128];
  ASSERT_OK(write_segments(store, segments, 3, bad));
  ASSERT_OK(write_segments(store, segments + 3, 3, good));
  mz_store_close(store);
  snprintf(path, sizeof path, "%s/%s", dir, bad);
  write_bytes(path, (const uint8_t *)"MZPACK01", 8);
  store = open_store();
  const uint64_t live[] = {segments[4]->hash, segments[0]->hash};
  mz_store_collect(store, live, 2); /* segment 0 may be in the damaged one */
  assert_int_equal(files_in_dir(false), 2);
  mz_store_collect(store, live, 1);
  assert_int_equal(files_in_dir(false), 1);
  ASSERT_OK(mz_store_verify(store));
  mz_store_close(store);

  write_bytes(path, (const uint8_t *)"MZPACK01", 8); /* or it is written again and sound */
  store = open_store();
  assert_int_equal(mz_store_verify(store), MZ_E_CHECKPOINT);
  ASSERT_OK(write_segments(store, segments, 3, good));
  assert_string_equal(good, bad);
  ASSERT_OK(mz_store_verify(store));
  mz_store_close(store);
  release(segments, 6);
}

static void a_full_disk_leaves_no_half_pack(void **state) {
  (void)state;
  mz_segment *segments[40];
  make_segments(segments, 0, 40);
  mz_store *store = open_store();
  char name[64];
  ASSERT_OK(write_segments(store, segments, 20, name));
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  mz_status status = write_segments(store, segments, 40, name);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, MZ_E_IO);
  assert_string_equal(name, "");
  assert_int_equal(files_in_dir(false), 1);
  assert_false(mz_store_has(store, segments[30]->hash));
  ASSERT_OK(mz_store_verify(store));
  ASSERT_OK(write_segments(store, segments, 40, name)); /* there is room again */
  assert_true(mz_store_has(store, segments[30]->hash));
  mz_store_close(store);
  release(segments, 40);
}

static void a_folder_that_cannot_be_is_an_error(void **state) {
  (void)state;
  mz_spec spec = vector_spec();
  mz_store *store;
  char path[128];
  snprintf(path, sizeof path, "%s/file", dir);
  write_bytes(path, (const uint8_t *)"x", 1);
  assert_int_equal(mz_store_open(&store, path, &spec), MZ_E_IO);
  assert_non_null(strstr(mz_message(), dir));
}

static void a_folder_that_goes_away_is_an_error(void **state) {
  (void)state;
  mz_segment *segments[2];
  make_segments(segments, 0, 2);
  mz_store *store = open_store();
  char name[64];
  assert_int_equal(rmdir(dir), 0);
  assert_int_equal(write_segments(store, segments, 2, name), MZ_E_IO);
  assert_false(mz_store_has(store, segments[0]->hash));
  mz_store_close(store);
  release(segments, 2);
  ASSERT_OK(mz_file_mkdirs(dir));
}

static void memory_that_runs_out_leaves_no_half_pack(void **state) {
  (void)state;
  mz_segment *segments[80], *copy;
  make_segments(segments, 0, 80);
  mz_store *store = open_store();
  char name[64];
  mz_status status = MZ_E_MEMORY;
  long n;
  for (n = 1; status != MZ_OK; n++) {
    mz_alloc_fail_after(n);
    status = write_segments(store, segments, 80, name);
    mz_alloc_fail_after(0);
    assert_true(status == MZ_OK || status == MZ_E_MEMORY);
  }
  assert_true(n > 5);
  ASSERT_OK(mz_store_verify(store));
  for (n = 1, status = MZ_E_MEMORY; status != MZ_OK; n++) {
    mz_alloc_fail_after(n);
    status = mz_store_load(store, segments[7]->hash, &copy);
    mz_alloc_fail_after(0);
    assert_true(status == MZ_OK || status == MZ_E_MEMORY);
  }
  mz_segment_release(copy);
  mz_store_close(store);
  release(segments, 80);
}

typedef struct writing {
  mz_store *store;
  mz_segment **segments;
} writing;
static void *write_in_tens(void *context) {
  const writing *w = context;
  char name[64];
  for (int i = 0; i < 100; i += 10)
    if (write_segments(w->store, w->segments + i, 10, name) != MZ_OK) return NULL;
  return context;
}

static void packs_are_written_while_others_read(void **state) {
  (void)state;
  mz_segment *segments[100], *copy;
  make_segments(segments, 0, 100);
  writing w = {.store = open_store(), .segments = segments};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, write_in_tens, &w), 0);
  for (int found = 0; found < 100;) {
    if (!mz_store_has(w.store, segments[found]->hash)) continue;
    ASSERT_OK(mz_store_load(w.store, segments[found]->hash, &copy));
    assert_int_equal(copy->hash, segments[found]->hash);
    mz_segment_release(copy);
    found++;
  }
  void *done;
  assert_int_equal(pthread_join(thread, &done), 0);
  assert_non_null(done);
  mz_store_close(w.store);
  release(segments, 100);
}

int main(void) {
#define STORE_TEST(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
  const struct CMUnitTest tests[] = {
      STORE_TEST(segments_come_back_as_they_were),
      STORE_TEST(a_pack_is_named_by_its_content),
      STORE_TEST(packed_segments_are_stored_as_raw_ones_are),
      STORE_TEST(collecting_removes_packs_without_live_segments),
      STORE_TEST(every_truncation_and_bit_flip_of_a_pack_is_found),
      STORE_TEST(foreign_files_are_recognised),
      STORE_TEST(a_damaged_pack_goes_when_nothing_needs_it),
      STORE_TEST(a_full_disk_leaves_no_half_pack),
      STORE_TEST(a_folder_that_cannot_be_is_an_error),
      STORE_TEST(a_folder_that_goes_away_is_an_error),
      STORE_TEST(memory_that_runs_out_leaves_no_half_pack),
      STORE_TEST(packs_are_written_while_others_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
