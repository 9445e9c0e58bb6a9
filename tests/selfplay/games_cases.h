/* Comparison of games in play. */
#pragma once
#include "tests/selfplay/in_play.h"
#include <math.h>

static inline void assert_same_games(const mz_games *a, const mz_games *b) {
  mz_writer x = written(a), y = written(b);
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  mz_writer_free(&x);
  mz_writer_free(&y);
}

static inline void assert_same_harvest(const mz_selfplay_result *a, const mz_selfplay_result *b) {
  assert_int_equal(a->segment_count, b->segment_count);
  for (int i = 0; i < a->segment_count; i++) {
    assert_int_equal(a->segments[i]->game, b->segments[i]->game);
    assert_int_equal(a->segments[i]->ordinal, b->segments[i]->ordinal);
    assert_int_equal(a->segments[i]->hash, b->segments[i]->hash);
  }
  assert_int_equal(a->moves, b->moves);
  assert_int_equal(a->simulations, b->simulations);
  assert_int_equal(a->episodes, b->episodes);
  assert_int_equal(a->length_sum, b->length_sum);
  assert_memory_equal(&a->return_sum, &b->return_sum, sizeof(double));
  assert_memory_equal(&a->policy_entropy_sum, &b->policy_entropy_sum, sizeof(double));
  assert_memory_equal(&a->root_value_sum, &b->root_value_sum, sizeof(double));
}
