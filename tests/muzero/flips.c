/* A checkpoint of a real run: whichever bit of it is flipped and wherever it is cut off, that is found, and the message names the
 * section in which it happened. */
#include "testing.h"
#include <fcntl.h>

enum { HEAD_BYTES = 16 };
/* Sanitizers are slow, and most bits take the same ways through the code: two of each byte, and of the sections every fourth byte. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BIT_STEP = 7, BODY_STEP = 4 };
#else
enum { BIT_STEP = 1, BODY_STEP = 1 };
#endif

typedef struct subject {
  char path[80];
  uint8_t *file;
  size_t size;
  int fd; /* of the copy that is damaged */
  mz_checkpoint sound;
} subject;

static char folder[64];

static void begin(subject *s, const char *name) {
  char original[256];
  snprintf(original, sizeof original, "%s/%s", TEST_DATA, name);
  expect_ok(mz_file_read(original, 0, &s->file, &s->size));
  expect_ok(mz_checkpoint_open(&s->sound, original));
  make_folder(folder);
  snprintf(s->path, sizeof s->path, "%s/damaged.mzc", folder);
  s->fd = open(s->path, O_RDWR | O_CREAT, 0600);
  assert_true(s->fd >= 0);
  assert_int_equal(write(s->fd, s->file, s->size), s->size);
}

static void end(subject *s) {
  close(s->fd);
  mz_checkpoint_close(&s->sound);
  free(s->file);
  drop_folder(folder);
}

static mz_status open_and_verify(const char *path) {
  mz_checkpoint checkpoint;
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  const mz_status status = mz_checkpoint_verify(&checkpoint);
  mz_checkpoint_close(&checkpoint);
  return status;
}

/* The section that a byte of the file belongs to. */
static const char *place_of(const subject *s, size_t at) {
  const mz_checkpoint *c = &s->sound;
  for (int i = 0; i < c->count; i++)
    if (at >= c->sections[i].offset && at < c->sections[i].offset + c->sections[i].compressed) return c->sections[i].name;
  return at < HEAD_BYTES ? "header" : "table";
}

static void expect_named(const subject *s, size_t at, const char *what) {
  char wanted[40];
  if (open_and_verify(s->path) != MZ_E_CHECKPOINT) fail_msg("%s at byte %zu is not found", what, at);
  snprintf(wanted, sizeof wanted, "section '%s'", place_of(s, at));
  /* A wrong number of sections is a wrong table, too. */
  const bool named = strstr(mz_message(), wanted) || (at < HEAD_BYTES && strstr(mz_message(), "section 'table'"));
  if (!named) fail_msg("%s at byte %zu, %s: %s", what, at, wanted, mz_message());
}

static bool is_left_out(const subject *s, size_t at) { return at >= s->sound.sections[0].offset && at % BODY_STEP != 0; }

static void flip_every_bit(subject *s) {
  expect_ok(open_and_verify(s->path));
  for (size_t at = 0; at < s->size; at++) {
    if (is_left_out(s, at)) continue;
    for (int bit = 0; bit < 8; bit += BIT_STEP) {
      const uint8_t flipped = s->file[at] ^ (uint8_t)(1 << bit);
      assert_int_equal(pwrite(s->fd, &flipped, 1, (off_t)at), 1);
      expect_named(s, at, "a flipped bit");
    }
    assert_int_equal(pwrite(s->fd, &s->file[at], 1, (off_t)at), 1);
  }
  expect_ok(open_and_verify(s->path));
}

static void cut_at_every_length(subject *s) {
  for (size_t length = s->size; length-- > 0;) {
    if (is_left_out(s, length)) continue;
    assert_int_equal(ftruncate(s->fd, (off_t)length), 0);
    expect_named(s, length, "a cut");
  }
}

static void every_flip_and_cut_of_a_tiny_run_is_named(void **unused) {
  (void)unused;
  subject s;
  begin(&s, "fuzz/checkpoint/tictactoe.mzc");
  flip_every_bit(&s);
  cut_at_every_length(&s);
  end(&s);
}

static void every_flip_and_cut_of_a_small_run_is_named(void **unused) {
  (void)unused;
  subject s;
  begin(&s, "fuzz/checkpoint/go.mzc");
  flip_every_bit(&s);
  cut_at_every_length(&s);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_flip_and_cut_of_a_tiny_run_is_named),
      cmocka_unit_test(every_flip_and_cut_of_a_small_run_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
