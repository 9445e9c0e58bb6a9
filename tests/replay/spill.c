/* Segments on disk: without a folder, on a full disk, with damaged records. */
#include "tests/replay/tiered.h"

/* ---- disk ---- */

static void without_a_folder_segments_stay_in_memory(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(1000, 1, 1);
  insert_games(buffer, 0, 20);
  assert_tiers(buffer, 0, 20, 0);
  assert_int_equal(warnings, 1);
  char missing[64];
  snprintf(missing, sizeof missing, "%s/missing", dir);
  ASSERT_OK(mz_buffer_spill_to(buffer, missing));
  insert_games(buffer, 20, 5);
  assert_tiers(buffer, 0, 25, 0);
  assert_int_equal(warnings, 2);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  assert_tiers(buffer, 0, 0, 25);
  ASSERT_OK(mz_buffer_spill_to(buffer, missing)); /* the file is there already */
  insert_games(buffer, 25, 5);
  assert_tiers(buffer, 0, 0, 30);
  assert_int_equal(warnings, 2);
  mz_buffer_free(buffer);
}

static void a_full_disk_leaves_segments_in_memory(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(1000, 1, 1), *raw = make_buffer(1000, 0, 0);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_games(buffer, 0, 5);
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 2500;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  insert_games(buffer, 5, 30);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  mz_tier_use use = mz_buffer_tier_use(buffer);
  assert_true(use.segments[MZ_TIER_SPILLED] > 5 && use.segments[MZ_TIER_PACKED] > 5);
  assert_int_equal(use.segments[MZ_TIER_RAW], 0);
  assert_int_equal(warnings, 1);
  insert_games(raw, 0, 35);
  assert_int_equal(mz_buffer_digest(buffer), mz_buffer_digest(raw));
  comparison all = {.buffer = buffer, .raw = raw};
  draw_and_read(&all); /* what is spilled is whole */
  insert_game(buffer, 35, 4);
  insert_game(raw, 35, 4);
  assert_tiers(buffer, 0, 0, 36); /* there is room again */
  draw_and_read(&all);
  assert_int_equal(all.wrong, 0);
  mz_buffer_free(buffer);
  mz_buffer_free(raw);
}

/* The spill file, which has no name any more, opened anew. */
static int open_spill(void) {
  DIR *d = opendir("/proc/self/fd");
  assert_non_null(d);
  int fd = -1;
  for (struct dirent *item; (item = readdir(d)) && fd < 0;) {
    char path[300], target[300];
    snprintf(path, sizeof path, "/proc/self/fd/%s", item->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    if (strstr(target, ".spill") && strstr(target, dir)) fd = open(path, O_RDWR);
  }
  closedir(d);
  assert_true(fd >= 0);
  return fd;
}

static mz_status read_all(const mz_buffer *buffer) {
  for (int i = 0; i < mz_buffer_segments(buffer); i++) {
    mz_content content;
    MZ_TRY(mz_buffer_content(buffer, i, &content));
    mz_content_release(&content);
  }
  return MZ_OK;
}

static mz_status read_rows(const mz_buffer *buffer) {
  mz_row_reader reader = {0};
  mz_draw draws[200];
  mz_buffer_draw(buffer, 1, 1, 200, draws);
  mz_status status = MZ_OK;
  for (int i = 0; i < 200 && status == MZ_OK; i++) {
    mz_draw read;
    status = mz_row_read(&reader, buffer, &whole_span, &draws[i], &read);
  }
  mz_row_reader_deinit(&reader);
  return status;
}

static void assert_file_is_named(mz_status status) {
  assert_int_equal(status, MZ_E_IO);
  assert_non_null(strstr(mz_message(), dir));
  assert_non_null(strstr(mz_message(), ".spill"));
}

static void every_bit_flip_and_truncation_of_the_file_is_found(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(1000, 1, 1);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_games(buffer, 0, 3);
  assert_tiers(buffer, 0, 0, 3);
  uint64_t digest = mz_buffer_digest(buffer);
  int fd = open_spill();
  uint8_t bytes[4096];
  ssize_t size = pread(fd, bytes, sizeof bytes, 0);
  assert_in_range(size, 100, sizeof bytes - 1);
  for (ssize_t bit = 0; bit < 8 * size; bit++) {
    uint8_t flipped = bytes[bit / 8] ^ (uint8_t)(1u << bit % 8);
    assert_int_equal(pwrite(fd, &flipped, 1, bit / 8), 1);
    assert_file_is_named(read_all(buffer));
    if (bit % 64 == 0) {
      assert_file_is_named(read_rows(buffer));
      assert_file_is_named(mz_buffer_set_tiers(buffer, 0, 0));
      assert_file_is_named(mz_buffer_set_tiers(buffer, 1, 0));
      assert_tiers(buffer, 0, 0, 3);
    }
    assert_int_equal(pwrite(fd, &bytes[bit / 8], 1, bit / 8), 1);
  }
  ASSERT_OK(read_rows(buffer));
  for (ssize_t cut = 0; cut < size; cut++) {
    assert_int_equal(ftruncate(fd, cut), 0);
    assert_file_is_named(read_all(buffer));
    assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
  }
  ASSERT_OK(mz_buffer_set_tiers(buffer, 0, 0));
  assert_tiers(buffer, 3, 0, 0);
  assert_int_equal(mz_buffer_digest(buffer), digest);
  close(fd);
  mz_buffer_free(buffer);
}

static void the_sound_record_of_another_segment_is_none(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(1000, 1, 1);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_game(buffer, 1000, 4);
  int fd = open_spill();
  struct stat info;
  assert_int_equal(fstat(fd, &info), 0);
  size_t size = (size_t)info.st_size;
  uint8_t bytes[4096];
  int other = 1;
  for (;; other++) { /* one whose record is as long */
    insert_game(buffer, 1000 + other, 4);
    assert_int_equal(fstat(fd, &info), 0);
    ssize_t got = pread(fd, bytes, sizeof bytes, info.st_size - (off_t)size);
    assert_int_equal(got, size);
    mz_content first, last;
    ASSERT_OK(mz_buffer_content(buffer, 0, &first));
    ASSERT_OK(mz_buffer_content(buffer, other, &last));
    bool as_long = first.packed->size == last.packed->size;
    mz_content_release(&first);
    mz_content_release(&last);
    if (as_long) break;
  }
  assert_int_equal(pwrite(fd, bytes, size, 0), size);
  mz_content content;
  ASSERT_OK(mz_buffer_content(buffer, other, &content));
  mz_content_release(&content);
  assert_file_is_named(mz_buffer_content(buffer, 0, &content));
  close(fd);
  mz_buffer_free(buffer);
}

static void the_file_takes_what_is_still_wanted(void **state) {
  (void)state;
  mz_buffer *buffer = make_buffer(3000, 1, 1);
  ASSERT_OK(mz_buffer_spill_to(buffer, dir));
  insert_game(buffer, 0, 3);
  int fd = open_spill();
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20, 4096) != 0) {
    print_message("skipped: the file system of /tmp has no holes\n");
  } else {
    struct stat info = {0};
    for (int game = 1; info.st_size < 6 << 20; game++) {
      insert_game(buffer, game, 300);
      assert_int_equal(fstat(fd, &info), 0);
      assert_true(info.st_blocks * 512 < 2 << 20); /* a hole is made when a MiB has gathered */
    }
    ASSERT_OK(read_all(buffer));
    ASSERT_OK(mz_buffer_set_tiers(buffer, 1, 0)); /* back into memory: nothing is left */
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_size, 0);
    ASSERT_OK(mz_buffer_set_tiers(buffer, 1, 1));
    ASSERT_OK(read_all(buffer));
  }
  close(fd);
  mz_buffer_free(buffer);
}

int main(void) {
#define TIERS_TEST(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
  const struct CMUnitTest tests[] = {
      TIERS_TEST(without_a_folder_segments_stay_in_memory), TIERS_TEST(a_full_disk_leaves_segments_in_memory),
      TIERS_TEST(every_bit_flip_and_truncation_of_the_file_is_found), TIERS_TEST(the_sound_record_of_another_segment_is_none),
      TIERS_TEST(the_file_takes_what_is_still_wanted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
