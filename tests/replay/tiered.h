/* A buffer with tiers in a folder of its own, and games to fill it. */
#pragma once
#include "base/log.h"
#include "replay/batches/batch.h"
#include "replay/storage/row_reader.h"
#include "tests/replay/fixtures.h"
#include "tests/replay/spans.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((unused)) static char dir[] = "/tmp/muzero-tiers-XXXXXX";
__attribute__((unused)) static int warnings;

static inline void count_warning(void *context, mz_log_level level, const char *line) {
  (void)context;
  assert_int_equal(level, MZ_LOG_WARNING);
  assert_non_null(strstr(line, "replay."));
  warnings++;
}

static inline int make_dir(void **state) {
  (void)state;
  warnings = 0;
  mz_log_set_sink(count_warning, NULL);
  return mkdtemp(strcpy(dir, "/tmp/muzero-tiers-XXXXXX")) ? 0 : -1;
}

static inline int remove_dir(void **state) {
  (void)state;
  mz_log_set_sink(NULL, NULL);
  return rmdir(dir); /* fails unless it is empty: a spill file has no name */
}

static inline mz_buffer *make_buffer(int64_t capacity, int64_t raw_bytes, int64_t packed_bytes) {
  mz_spec spec = vector_spec();
  mz_replay_settings settings = {.capacity = capacity,
                                 .bytes_max = 1 << 30,
                                 .td_steps = 3,
                                 .discount = 0.5,
                                 .lambda = 1,
                                 .priority_exponent = 1,
                                 .raw_bytes = raw_bytes,
                                 .packed_bytes = packed_bytes};
  mz_buffer *buffer;
  ASSERT_OK(mz_buffer_create(&buffer, &settings, &spec));
  return buffer;
}

static inline void insert_game(mz_buffer *buffer, int game, int moves) {
  mz_spec spec = vector_spec();
  ASSERT_OK(mz_buffer_insert(buffer, make_segment(&spec, game, moves, 0, MZ_END_TERMINATED)));
}

static inline void insert_games(mz_buffer *buffer, int first, int count) {
  for (int game = first; game < first + count; game++) insert_game(buffer, game, 3 + game % 7);
}

static inline void assert_tiers(const mz_buffer *buffer, int raw, int packed, int spilled) {
  mz_tier_use use = mz_buffer_tier_use(buffer);
  assert_int_equal(use.segments[MZ_TIER_RAW], raw);
  assert_int_equal(use.segments[MZ_TIER_PACKED], packed);
  assert_int_equal(use.segments[MZ_TIER_SPILLED], spilled);
}

/* ---- rows ---- */

/* Whether a row that was read is what was drawn from a raw segment. */
static inline bool same_row(const mz_draw *raw, const mz_draw *read, const mz_span *span) {
  if (read->position > 0) return read->segment->hash == raw->segment->hash && read->position == raw->position;
  return same_moves(raw->segment, raw->position, read->segment, span, 16);
}

/* ---- threads ---- */

typedef struct comparison { /* of what two buffers draw */
  const mz_buffer *buffer, *raw;
  uint64_t seed;
  int wrong;
} comparison;

static inline void *draw_and_read(void *context) {
  enum { ROWS = 24 };
  comparison *r = context;
  mz_row_reader reader = {0};
  mz_draw a[ROWS], b[ROWS];
  for (uint32_t update = 0; update < 60; update++) {
    mz_buffer_draw(r->raw, r->seed, update, ROWS, a);
    mz_buffer_draw(r->buffer, r->seed, update, ROWS, b);
    for (int i = 0; i < ROWS; i++) {
      mz_draw read;
      const mz_status status = mz_row_read(&reader, r->buffer, &whole_span, &b[i], &read);
      r->wrong += status != MZ_OK || !same_row(&a[i], &read, &whole_span);
    }
  }
  mz_row_reader_deinit(&reader);
  return NULL;
}
