/* Seven games in play with a small agent, for the tests of how they begin and of how they continue. */
#pragma once
#include "selfplay/games/actor.h"
#include "tests/selfplay/agents.h"

enum { GAMES = 7, SEED = 5 };

typedef struct setup {
  const mz_env *env;
  mz_algorithm algorithm;
  mz_cut cut;
  mz_selfplay_settings settings;
  test_agent agent;
} setup;

static inline void setup_init(setup *s, const mz_env *env, mz_algorithm algorithm, mz_cut cut) {
  memset(s, 0, sizeof *s);
  s->env = env;
  s->algorithm = algorithm;
  s->cut = cut;
  test_defaults(mz_selfplay_table, &s->settings);
  s->settings.games = GAMES;
  test_agent_init(&s->agent, env, algorithm, 1);
}

static inline mz_games *new_games(const setup *s) {
  mz_games *games;
  assert_int_equal(mz_games_create(&games, s->env, &s->settings, s->cut, SEED), MZ_OK);
  return games;
}

/* One round, in groups of `group` games. */
static inline void advance(const setup *s, mz_games *games, int group, int moves, uint64_t version, double progress,
                           mz_selfplay_result *result) {
  const mz_agent *a = &s->agent.agent;
  mz_actor *actor;
  assert_int_equal(mz_actor_create(&actor, s->env, a->search, a->model, a->where, a->discount, group), MZ_OK);
  for (int first = 0; first < GAMES; first += group) {
    const int count = first + group < GAMES ? group : GAMES - first;
    assert_int_equal(mz_games_advance(games, actor, first, count, moves, a->weights, version, progress, result), MZ_OK);
  }
  mz_actor_free(actor);
}

static inline mz_writer written(const mz_games *games) {
  mz_writer writer = {0};
  mz_games_write(games, &writer);
  assert_false(writer.failed);
  return writer;
}
