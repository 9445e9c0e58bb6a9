#include "muzero/evaluation/ladder.h"
#include "base/arena.h"
#include "base/file/file.h"
#include "base/log.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/storage/checkpoint_list.h"
#include "muzero/trainer.h"
#include "selfplay/evaluation/opening.h"
#include <math.h>
#include <string.h>

static const char *const anchors[] = {"random", "rule", "mcts:100"};
enum { ANCHORS = sizeof anchors / sizeof anchors[0], RANDOM = 0 };
enum { SUFFIX_LENGTH = sizeof ".mzc" - 1 };

typedef struct entrant {
  mz_player player;
  mz_loaded *loaded; /* of a checkpoint; else the player */
  mz_agent agent;
} entrant;

/* ---- who enters ---- */

/* Seconds of training until the checkpoint. */
static mz_status read_wall_time(const char *path, double *wall_s) {
  mz_checkpoint checkpoint;
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  cJSON *json = NULL;
  const mz_status status = mz_checkpoint_json(&checkpoint, "session", &json);
  if (status == MZ_OK) *wall_s = mz_json_number_or_nan(json, "wall_s");
  cJSON_Delete(json);
  mz_checkpoint_close(&checkpoint);
  return status;
}

static mz_status load_checkpoint(const char *path, const char *name, const mz_ladder_options *options, mz_rung *rung,
                                 entrant *e) {
  MZ_TRY(read_wall_time(path, &rung->wall_s));
  MZ_TRY(mz_loaded_open(&e->loaded, path));
  MZ_TRY(mz_loaded_place(e->loaded, options->device));
  e->agent = mz_loaded_agent(e->loaded);
  if (options->simulations) e->agent.simulations = options->simulations;
  const mz_counters *counters = mz_loaded_counters(e->loaded);
  snprintf(rung->name, sizeof rung->name, "%.*s", (int)(strlen(name) - SUFFIX_LENGTH), name);
  rung->checkpoint = true;
  rung->rounds = counters->rounds;
  rung->updates = counters->updates;
  rung->env_steps = counters->env_steps;
  return MZ_OK;
}

/* The anchors that this game offers become the first rungs. */
static void enter_anchors(mz_ladder *ladder, entrant *entrants) {
  for (int i = 0; i < ANCHORS; i++) {
    if (mz_player_parse(anchors[i], ladder->env, &entrants[ladder->count].player) != MZ_OK) continue;
    snprintf(ladder->rungs[ladder->count++].name, sizeof ladder->rungs->name, "%s", anchors[i]);
  }
}

static mz_status enter_checkpoints(mz_ladder *ladder, const char *dir, const mz_ladder_options *options,
                                   const mz_checkpoint_list *list, entrant *entrants) {
  for (int i = 0; i < list->count; i++) {
    char path[640];
    MZ_TRY(mz_checkpoint_path(dir, list->items[i].name, path, sizeof path));
    entrant *e = &entrants[ladder->count];
    const mz_status status = load_checkpoint(path, list->items[i].name, options, &ladder->rungs[ladder->count], e);
    if (status == MZ_OK) {
      ladder->count++;
      ladder->simulations = mz_agent_simulations(&e->agent);
      continue;
    }
    if (status != MZ_E_CHECKPOINT && status != MZ_E_IO) return status;
    mz_log_write(MZ_LOG_WARNING, "ladder: left out: %s", mz_message());
    mz_loaded_close(e->loaded);
    *e = (entrant){0};
  }
  return MZ_OK;
}

/* ---- who plays whom ---- */

static bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/* a is the earlier rung. */
static bool meet(const mz_ladder *ladder, int a, int b) { return !ladder->rungs[a].checkpoint || is_power_of_two(b - a); }

static mz_side side_of(const entrant *e) { return e->loaded ? (mz_side){.agent = &e->agent} : (mz_side){.player = &e->player}; }

static mz_status play(mz_ladder *ladder, const entrant *entrants, const mz_ladder_options *options, mz_pool *pool) {
  int pairs = 0;
  for (int a = 0; a < ladder->count; a++) {
    for (int b = a + 1; b < ladder->count; b++) pairs += meet(ladder, a, b);
  }
  MZ_TRY(mz_alloc(&ladder->results, (size_t)pairs, sizeof *ladder->results));
  for (int a = 0; a < ladder->count; a++) {
    for (int b = a + 1; b < ladder->count; b++) {
      if (!meet(ladder, a, b)) continue;
      mz_ladder_result *result = &ladder->results[ladder->result_count];
      result->a = a;
      result->b = b;
      const mz_match match = {.env = ladder->env,
                              .sides = {side_of(&entrants[a]), side_of(&entrants[b])},
                              .games = ladder->games,
                              .openings = ladder->openings,
                              .seed = options->seed,
                              .round = (uint32_t)ladder->result_count};
      MZ_TRY(mz_evaluate(&match, pool, &result->evaluation, NULL));
      ladder->result_count++;
      if (options->tick) options->tick(ladder->result_count, pairs);
    }
  }
  return MZ_OK;
}

/* ---- ratings ---- */

static mz_status rate(mz_ladder *ladder) {
  const int n = ladder->count;
  mz_pairing *pairings;
  double *ratings, *covariance;
  void *block;
  mz_carver carver = {0};
  mz_carve(&carver, &pairings, (size_t)ladder->result_count, sizeof *pairings);
  mz_carve(&carver, &ratings, (size_t)n, sizeof *ratings);
  mz_carve(&carver, &covariance, (size_t)n * (size_t)n, sizeof *covariance);
  MZ_TRY(mz_carve_commit(&carver, &block));
  for (int i = 0; i < ladder->result_count; i++) {
    const mz_ladder_result *r = &ladder->results[i];
    const mz_evaluation *e = &r->evaluation;
    const double points = (double)e->win + 0.5 * (double)e->draw;
    pairings[i] = (mz_pairing){.a = r->a, .b = r->b, .games = (double)e->games, .points = points};
    ladder->rungs[r->a].games += e->games;
    ladder->rungs[r->b].games += e->games;
    ladder->rungs[r->a].points += points;
    ladder->rungs[r->b].points += (double)e->games - points;
  }
  const mz_status status = mz_ratings_fit(pairings, ladder->result_count, n, RANDOM, ratings, covariance);
  for (int i = 0; status == MZ_OK && i < n; i++) {
    mz_rung *rung = &ladder->rungs[i];
    const bool follows = i > 0 && ladder->rungs[i - 1].checkpoint;
    rung->elo = ratings[i];
    rung->elo_error = mz_ratings_error(covariance, n, i, RANDOM);
    rung->gain = follows ? ratings[i] - ratings[i - 1] : NAN;
    rung->gain_error = follows ? mz_ratings_error(covariance, n, i, i - 1) : NAN;
  }
  free(block);
  return status;
}

/* ---- the ladder ---- */

/* Reads the environment from the newest checkpoint that can be read. */
static mz_status find_env(mz_ladder *ladder, const char *dir, const mz_checkpoint_list *list) {
  for (int i = list->count - 1; i >= 0; i--) {
    char path[640];
    mz_loaded *loaded;
    MZ_TRY(mz_checkpoint_path(dir, list->items[i].name, path, sizeof path));
    const mz_status status = mz_loaded_open(&loaded, path);
    if (status == MZ_OK) {
      ladder->env = mz_loaded_agent(loaded).env;
      mz_loaded_close(loaded);
      return MZ_OK;
    }
    if ((status != MZ_E_CHECKPOINT && status != MZ_E_IO) || i == 0) return status;
  }
  return mz_fail(MZ_E_IO, "%s: holds no checkpoint", dir);
}

static mz_status find_game(mz_ladder *ladder, const mz_ladder_options *options) {
  const mz_env *env = ladder->env;
  if (env->spec.players < 2)
    return mz_fail(MZ_E_CONFIG, "ladder: %s is played alone; how it scored is in metrics.jsonl", env->name);
  ladder->openings = options->openings < 0 ? mz_opening_default(&env->spec) : options->openings;
  bool differ = true;
  if (ladder->openings == 0 && !env->draws) MZ_TRY(mz_starts_differ(env, &differ));
  if (!differ)
    return mz_fail(MZ_E_CONFIG, "openings: without any, two agents repeat one game of %s a seat; at least 1", env->name);
  return MZ_OK;
}

mz_status mz_ladder_play(mz_ladder *out, const char *dir, const mz_ladder_options *options, mz_pool *pool) {
  *out = (mz_ladder){.games = options->games};
  mz_status status;
  mz_checkpoint_list list = {0};
  char folder[512];
  entrant *entrants = NULL;
  if (mz_file_exists(dir) && !mz_file_is_dir(dir))
    return mz_fail(MZ_E_CONFIG, "%s: a ladder is of a run's checkpoints; give the run's directory", dir);
  MZ_TRY_CLEANUP(mz_path_join(folder, sizeof folder, dir, "checkpoints"));
  status = mz_checkpoint_list_read(&list, folder);
  if (status == MZ_E_IO) status = mz_fail(status, "%s; a ladder needs a run's directory", mz_message());
  MZ_TRY_CLEANUP(status);
  MZ_TRY_CLEANUP(find_env(out, dir, &list));
  MZ_TRY_CLEANUP(find_game(out, options));
  MZ_TRY_CLEANUP(mz_alloc(&entrants, (size_t)(ANCHORS + list.count), sizeof *entrants));
  MZ_TRY_CLEANUP(mz_alloc(&out->rungs, (size_t)(ANCHORS + list.count), sizeof *out->rungs));
  enter_anchors(out, entrants);
  MZ_TRY_CLEANUP(enter_checkpoints(out, dir, options, &list, entrants));
  MZ_TRY_CLEANUP(play(out, entrants, options, pool));
  MZ_TRY_CLEANUP(rate(out));
cleanup:
  for (int i = 0; entrants && i < ANCHORS + list.count; i++) mz_loaded_close(entrants[i].loaded);
  free(entrants);
  mz_checkpoint_list_deinit(&list);
  if (status != MZ_OK) mz_ladder_deinit(out);
  return status;
}

void mz_ladder_deinit(mz_ladder *ladder) {
  free(ladder->rungs);
  free(ladder->results);
  *ladder = (mz_ladder){0};
}
