#include "cli/evaluation/eval_gtp.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include "cli/playing/board.h"
#include "cli/evaluation/gtp_engine.h"
#include "cli/playing/live_game.h"
#include "selfplay/evaluation/opening.h"
#include <signal.h>
#include <stdatomic.h>
#include <strings.h>

typedef struct contest {
  const mz_match *match;
  const char *command;
  _Atomic int next;         /* game that nobody has taken yet */
  double *returns;          /* [games] */
  mz_foreseen_game *values; /* [games]; zeros where a program resigned or the game was truncated */
  _Atomic int64_t moves, simulations;
} contest;

typedef struct table { /* where one thread plays its games */
  contest *contest;
  mz_live_game game;
  mz_planner planner;
  mz_gtp_engine engine;
  int32_t *opening;      /* [match->openings] */
  uint8_t *state, *mask; /* while it is drawn */
  void *block;
} table;

static const char *const colours[] = {"black", "white"};

static mz_status prepare(table *t, contest *c) {
  const mz_match *m = c->match;
  double komi;
  *t = (table){.contest = c};
  mz_carver carver = {0};
  mz_carve(&carver, &t->opening, (size_t)m->openings, sizeof *t->opening);
  mz_carve(&carver, &t->state, 1, m->env->state_size);
  mz_carve(&carver, &t->mask, (size_t)m->env->spec.actions, 1);
  MZ_TRY(mz_carve_commit(&carver, &t->block));
  MZ_TRY(mz_live_game_init(&t->game, m->env, m->seed));
  MZ_TRY(mz_agent_planner(m->sides[0].agent, 1, &t->planner));
  MZ_TRY(mz_gtp_engine_start(&t->engine, c->command));
  MZ_TRY(mz_gtp_engine_ask(&t->engine, "boardsize %d", m->env->spec.obs_shape[1]));
  return mz_board_komi(m->env, &komi) ? mz_gtp_engine_ask(&t->engine, "komi %g", komi) : MZ_OK;
}

static void clear(table *t) {
  mz_gtp_engine_stop(&t->engine);
  mz_planner_deinit(&t->planner);
  mz_live_game_deinit(&t->game);
  free(t->block);
}

static mz_status open_game(table *t, int game) {
  const mz_match *m = t->contest->match;
  mz_rng rng = mz_stream_eval_opening(m->seed, m->round, (uint64_t)(game / 2));
  int plies;
  MZ_TRY(mz_opening_play(m->env, t->state, m->openings, t->mask, &rng, NULL, t->opening, &plies));
  MZ_TRY(mz_live_game_restart(&t->game));
  for (int i = 0; i < plies; i++) MZ_TRY(mz_live_game_play(&t->game, mz_live_game_to_play(&t->game), t->opening[i]));
  return MZ_OK;
}

static mz_status tell(table *t, const mz_ply *ply) {
  char name[MZ_ACTION_TEXT];
  return mz_gtp_engine_ask(&t->engine, "play %s %s", colours[ply->player], mz_live_game_text(&t->game, ply->action, name));
}

static mz_status own_move(table *t, int seat, mz_foreseen_game *values) {
  const mz_agent *agent = t->contest->match->sides[0].agent;
  MZ_TRY(mz_planner_observe(&t->planner, 0, 1, mz_live_game_state(&t->game)));
  MZ_TRY(mz_planner_search(&t->planner, 1, agent->weights, 0));
  atomic_fetch_add(&t->contest->simulations, t->planner.simulations);
  mz_foreseen_game_value(values, (double)t->planner.results[0].raw_value);
  MZ_TRY(mz_live_game_play(&t->game, seat, t->planner.results[0].selected));
  return tell(t, &t->game.plies[t->game.count - 1]);
}

static mz_status their_move(table *t, int seat, bool *resigned) {
  mz_gtp_engine *engine = &t->engine;
  MZ_TRY(mz_gtp_engine_ask(engine, "genmove %s", colours[seat]));
  *resigned = strcasecmp(engine->answer, "resign") == 0;
  if (*resigned) return MZ_OK;
  const int action = mz_live_game_find(&t->game, engine->answer);
  if (action >= 0 && t->game.legal[action]) return mz_live_game_play(&t->game, seat, action);
  return mz_fail(MZ_E_CONFIG, "gtp:%s: moves %s to \"%s\" after %d moves, where %s does not allow it", engine->command,
                 colours[seat], engine->answer, t->game.count, t->game.env->name);
}

static mz_status play_game(table *t, int game) {
  const int seat = game & 1; /* the agent's */
  const double discount = t->contest->match->sides[0].agent->discount;
  mz_foreseen_game *values = &t->contest->values[game];
  bool resigned = false;
  MZ_TRY(open_game(t, game));
  const int opening = t->game.count;
  MZ_TRY(mz_gtp_engine_ask(&t->engine, "clear_board"));
  for (int i = 0; i < opening; i++) MZ_TRY(tell(t, &t->game.plies[i]));
  while (!mz_live_game_over(&t->game)) {
    const int to_play = mz_live_game_to_play(&t->game);
    MZ_TRY(to_play == seat ? own_move(t, seat, values) : their_move(t, to_play, &resigned));
    if (resigned) break;
    const mz_ply *ply = &t->game.plies[t->game.count - 1];
    mz_foreseen_game_reward(values, discount, mz_spec_gain(&t->game.env->spec, ply->player == seat, ply->step.reward));
  }
  if (resigned || !t->game.plies[t->game.count - 1].step.terminated) *values = (mz_foreseen_game){0};
  const double won = mz_live_game_return(&t->game);
  t->contest->returns[game] = resigned ? 1 : seat == 0 ? won : -won;
  atomic_fetch_add(&t->contest->moves, t->game.count - opening);
  return MZ_OK;
}

static mz_status play_games(void *context, int task, int worker) {
  (void)task, (void)worker;
  contest *c = context;
  table t;
  mz_status status = prepare(&t, c);
  for (int game; status == MZ_OK && (game = atomic_fetch_add(&c->next, 1)) < c->match->games;) status = play_game(&t, game);
  clear(&t);
  return status;
}

mz_status mz_eval_gtp(const mz_match *match, const char *command, mz_pool *pool, mz_evaluation *out) {
  contest c = {.match = match, .command = command};
  const int threads = mz_pool_threads(pool);
  double *units;
  void *block;
  mz_carver carver = {0};
  mz_carve(&carver, &c.returns, (size_t)match->games, sizeof *c.returns);
  mz_carve(&carver, &c.values, (size_t)match->games, sizeof *c.values);
  mz_carve(&carver, &units, (size_t)match->games, sizeof *units);
  MZ_TRY(mz_carve_commit(&carver, &block));
  signal(SIGPIPE, SIG_IGN); /* a program that has ended is told by the write that fails */
  const mz_status status = mz_pool_run(pool, play_games, &c, threads < match->games ? threads : match->games);
  if (status == MZ_OK) {
    mz_evaluation_of(match, c.returns, units, out);
    out->moves = c.moves;
    out->simulations = c.simulations;
    for (int i = 0; i < match->games; i++) mz_foresight_add(&out->values, &c.values[i].sums);
  }
  free(block);
  return status;
}
