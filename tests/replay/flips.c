/* A pack of real segments: whichever bit of it is flipped and wherever it is cut off, that is found, and the message names the
 * pack. */
#include "replay/storage/store.h"
#include "base/file/file.h"
#include "tests/replay/fixtures.h"
#include <fcntl.h>
#include <unistd.h>

static char name[32]; /* the first of those that fuzzing begins with: of 3 x 3 boards */
static const mz_spec spec = {
    .obs_kind = MZ_OBS_U8, .obs_shape = {3, 3, 3}, .obs_size = 27, .actions = 9, .players = 2, .turns = MZ_TURNS_ALTERNATE};

typedef struct subject {
  char folder[64], path[128];
  uint8_t *file;
  size_t size;
  int fd;
} subject;

static mz_status find_first(void *context, const char *pack) {
  (void)context;
  if (!name[0] || strcmp(pack, name) < 0) snprintf(name, sizeof name, "%s", pack);
  return MZ_OK;
}

static void begin(subject *s) {
  char original[256];
  ASSERT_OK(mz_file_list(TEST_DATA "/fuzz/pack", find_first, NULL));
  snprintf(original, sizeof original, "%s/fuzz/pack/%s", TEST_DATA, name);
  ASSERT_OK(mz_file_read(original, 0, &s->file, &s->size));
  snprintf(s->folder, sizeof s->folder, "/tmp/muzero-flips-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/%s", s->folder, name);
  s->fd = open(s->path, O_RDWR | O_CREAT, 0600);
  assert_true(s->fd >= 0);
  assert_int_equal(write(s->fd, s->file, s->size), s->size);
}

static void end(subject *s) {
  close(s->fd);
  free(s->file);
  ASSERT_OK(mz_file_remove_tree(s->folder));
}

static mz_status verify(const subject *s) {
  mz_store *store;
  MZ_TRY(mz_store_open(&store, s->folder, &spec));
  const mz_status status = mz_store_verify(store);
  mz_store_close(store);
  return status;
}

static void expect_named(const subject *s, size_t at, const char *what) {
  if (verify(s) != MZ_E_CHECKPOINT) fail_msg("%s at byte %zu is not found", what, at);
  if (!strstr(mz_message(), name)) fail_msg("%s at byte %zu: the pack is not named: %s", what, at, mz_message());
}

static void every_flipped_bit_is_found(void **unused) {
  (void)unused;
  subject s;
  begin(&s);
  ASSERT_OK(verify(&s));
  for (size_t at = 0; at < s.size; at++) {
    for (int bit = 0; bit < 8; bit++) {
      const uint8_t flipped = s.file[at] ^ (uint8_t)(1 << bit);
      assert_int_equal(pwrite(s.fd, &flipped, 1, (off_t)at), 1);
      expect_named(&s, at, "a flipped bit");
    }
    assert_int_equal(pwrite(s.fd, &s.file[at], 1, (off_t)at), 1);
  }
  ASSERT_OK(verify(&s));
  end(&s);
}

static void every_cut_is_found(void **unused) {
  (void)unused;
  subject s;
  begin(&s);
  for (size_t length = s.size; length-- > 0;) {
    assert_int_equal(ftruncate(s.fd, (off_t)length), 0);
    expect_named(&s, length, "a cut");
  }
  end(&s);
}

/* Its hashes are right, but what the frame claims is not: no memory is asked for. */
static void a_frame_that_claims_4_gib_is_refused(void **unused) {
  (void)unused;
  subject s;
  char path[128];
  uint64_t table_hash;
  begin(&s);
  free(s.file);
  ASSERT_OK(mz_file_remove(s.path));
  ASSERT_OK(mz_file_read(TEST_DATA "/fuzz/found/pack/claims-4-gib", 0, &s.file, &s.size));
  uint64_t rows;
  memcpy(&rows, s.file + 8, sizeof rows);
  memcpy(&table_hash, s.file + 16 + 40 * rows, sizeof table_hash);
  snprintf(path, sizeof path, "%s/%016llx.pack", s.folder, (unsigned long long)table_hash);
  ASSERT_OK(mz_file_write_atomic(path, s.file, s.size));
  assert_int_equal(verify(&s), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "says that it unpacks to 4294967295 bytes"));
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_flipped_bit_is_found),
      cmocka_unit_test(every_cut_is_found),
      cmocka_unit_test(a_frame_that_claims_4_gib_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
