/* A batch over a buffer of made-up games, for tests of what its rows hold. */
#pragma once
#include "replay/batches/batch.h"
#include "replay/batches/targets.h"
#include "tests/replay/fixtures.h"

enum { ROWS = 64, UNROLL = 3 };

typedef struct setup {
  mz_spec spec;
  mz_replay_settings settings;
  mz_buffer *buffer;
  mz_batch batch;
  mz_batch_source source;
} setup;

static void set_up(setup *s, mz_spec spec, double priority_exponent) {
  memset(s, 0, sizeof *s);
  s->spec = spec;
  s->settings = (mz_replay_settings){.capacity = 200,
                                     .bytes_max = 1 << 30,
                                     .td_steps = 2,
                                     .discount = 0.5,
                                     .lambda = 1,
                                     .priority_exponent = priority_exponent,
                                     .importance_exponent = 0.7,
                                     .symmetry = true};
  ASSERT_OK(mz_buffer_create(&s->buffer, &s->settings, &s->spec));
  const mz_end ends[] = {MZ_END_TERMINATED, MZ_END_TRUNCATED, MZ_END_OPEN};
  for (int game = 0; game < 12; game++)
    ASSERT_OK(mz_buffer_insert(s->buffer, make_segment(&s->spec, game, 6 + game, UNROLL + 2, ends[game % 3])));
  ASSERT_OK(mz_batch_init(&s->batch, &s->spec, ROWS, UNROLL, UNROLL + 1));
  s->source = (mz_batch_source){.buffer = s->buffer, .settings = &s->settings, .spec = &s->spec, .seed = 11};
}
static void tear_down(setup *s) {
  mz_batch_deinit(&s->batch);
  mz_buffer_free(s->buffer);
}

static float policy_at(const setup *s, int step, int row, int action) {
  return s->batch.policy[(step * s->batch.rows + row) * s->spec.actions + action];
}
