/* A segment that two packs hold, as it is after one was damaged and its segments were written again: each copy will do. */
#include "replay/storage/store.h"
#include "base/file/file.h"
#include "tests/replay/fixtures.h"
#include <unistd.h>

enum { SEGMENTS = 5, FIRST = 3, SHARED = 2 }; /* the first pack has the first ones, the second those from SHARED on */

typedef struct packs {
  char dir[40], path[2][128];
  mz_segment *segments[SEGMENTS];
} packs;

static mz_store *open_in(const char *dir) {
  mz_spec spec = vector_spec();
  mz_store *store;
  ASSERT_OK(mz_store_open(&store, dir, &spec));
  return store;
}

/* By a store that knows of no other pack, so that nothing is left out. */
static void write_alone(const packs *p, int first, int count, char *path, size_t size) {
  char dir[] = "/tmp/muzero-store-XXXXXX", name[64], from[128];
  mz_content contents[SEGMENTS];
  assert_non_null(mkdtemp(dir));
  for (int i = 0; i < count; i++) contents[i] = (mz_content){.segment = p->segments[first + i]};
  mz_store *store = open_in(dir);
  ASSERT_OK(mz_store_write(store, contents, count, name));
  mz_store_close(store);
  snprintf(from, sizeof from, "%s/%s", dir, name);
  snprintf(path, size, "%s/%s", p->dir, name);
  assert_int_equal(rename(from, path), 0);
  assert_int_equal(rmdir(dir), 0);
}

static int make_packs(void **state) {
  static packs p;
  mz_spec spec = vector_spec();
  strcpy(p.dir, "/tmp/muzero-store-XXXXXX");
  if (!mkdtemp(p.dir)) return -1;
  for (int i = 0; i < SEGMENTS; i++) p.segments[i] = make_segment(&spec, i, 4 + i % 5, 0, MZ_END_TERMINATED);
  write_alone(&p, 0, FIRST, p.path[0], sizeof p.path[0]);
  write_alone(&p, SHARED, SEGMENTS - SHARED, p.path[1], sizeof p.path[1]);
  *state = &p;
  return 0;
}

static int remove_packs(void **state) {
  packs *p = *state;
  for (int i = 0; i < SEGMENTS; i++) mz_segment_release(p->segments[i]);
  for (int i = 0; i < 2; i++) unlink(p->path[i]);
  return rmdir(p->dir);
}

/* Damages the frame of a segment, the table staying sound: of the pack's last segment, or of its first. */
static void flip(const char *path, bool last) {
  enum { HEAD = 16, ROW = 40, CHECKSUM = 8 };
  uint8_t *data;
  size_t size;
  ASSERT_OK(mz_file_read(path, 0, &data, &size));
  data[last ? size - 1 : HEAD + (SEGMENTS - SHARED) * ROW + CHECKSUM + 10] ^= 1;
  ASSERT_OK(mz_file_write_atomic(path, data, size));
  free(data);
}

static void assert_loads(mz_store *store, const mz_segment *segment) {
  mz_segment *copy;
  ASSERT_OK(mz_store_load(store, segment->hash, &copy));
  assert_int_equal(copy->hash, segment->hash);
  mz_segment_release(copy);
}

/* In whichever order the packs were found. */
static void a_damaged_copy_is_read_from_the_other_pack(void **state) {
  packs *p = *state;
  for (int damaged = 0; damaged < 2; damaged++) {
    flip(p->path[damaged], damaged == 0);
    mz_store *store = open_in(p->dir);
    for (int i = 0; i < SEGMENTS; i++) assert_loads(store, p->segments[i]);
    mz_store_close(store);
    flip(p->path[damaged], damaged == 0);
  }
}

static void a_segment_without_a_sound_copy_is_named_with_the_pack_that_was_tried(void **state) {
  packs *p = *state;
  mz_segment *copy;
  flip(p->path[0], true);
  flip(p->path[1], false);
  mz_store *store = open_in(p->dir);
  assert_int_equal(mz_store_load(store, p->segments[SHARED]->hash, &copy), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "is damaged (checksum)"));
  for (int i = 0; i < SEGMENTS; i++)
    if (i != SHARED) assert_loads(store, p->segments[i]);
  mz_store_close(store);
}

int main(void) {
#define PACKS_TEST(test) cmocka_unit_test_setup_teardown(test, make_packs, remove_packs)
  const struct CMUnitTest tests[] = {
      PACKS_TEST(a_damaged_copy_is_read_from_the_other_pack),
      PACKS_TEST(a_segment_without_a_sound_copy_is_named_with_the_pack_that_was_tried),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
