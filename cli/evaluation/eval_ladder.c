#include "cli/evaluation/eval_ladder.h"
#include "cli/print.h"
#include <math.h>
#include <unistd.h>

static void say_how_far(int played, int pairs) {
  fprintf(stderr, "\r%d of %d pairs%s", played, pairs, played < pairs ? "" : "\r\033[K");
  fflush(stderr);
}

static double share_of_points(const mz_rung *rung) { return rung->points / (double)rung->games; }

/* ---- JSON ---- */

static cJSON *rung_to_json(const mz_rung *rung) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "name", rung->name);
  cJSON_AddBoolToObject(o, "checkpoint", rung->checkpoint);
  if (rung->checkpoint) {
    cJSON_AddNumberToObject(o, "rounds", (double)rung->rounds);
    cJSON_AddNumberToObject(o, "updates", (double)rung->updates);
    cJSON_AddNumberToObject(o, "env_steps", (double)rung->env_steps);
    cJSON_AddNumberToObject(o, "wall_s", rung->wall_s);
    cJSON_AddNumberToObject(o, "gain", rung->gain); /* of the first: null */
    cJSON_AddNumberToObject(o, "gain_error", rung->gain_error);
  }
  cJSON_AddNumberToObject(o, "elo", rung->elo);
  cJSON_AddNumberToObject(o, "elo_error", rung->elo_error);
  cJSON_AddNumberToObject(o, "games", (double)rung->games);
  cJSON_AddNumberToObject(o, "points", share_of_points(rung));
  return o;
}

static cJSON *result_to_json(const mz_ladder *ladder, const mz_ladder_result *result) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "a", ladder->rungs[result->a].name);
  cJSON_AddStringToObject(o, "b", ladder->rungs[result->b].name);
  cJSON_AddNumberToObject(o, "win", (double)result->evaluation.win);
  cJSON_AddNumberToObject(o, "draw", (double)result->evaluation.draw);
  cJSON_AddNumberToObject(o, "loss", (double)result->evaluation.loss);
  return o;
}

static mz_status print_as_json(const char *run, const mz_ladder *ladder) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "run", run);
  cJSON_AddStringToObject(o, "env", ladder->env->name);
  cJSON_AddNumberToObject(o, "games", ladder->games);
  cJSON_AddNumberToObject(o, "openings", ladder->openings);
  cJSON_AddNumberToObject(o, "sims", ladder->simulations);
  cJSON *rungs = cJSON_AddArrayToObject(o, "ladder"), *pairs = cJSON_AddArrayToObject(o, "pairs");
  for (int i = 0; i < ladder->count; i++) cJSON_AddItemToArray(rungs, rung_to_json(&ladder->rungs[i]));
  for (int i = 0; i < ladder->result_count; i++) cJSON_AddItemToArray(pairs, result_to_json(ladder, &ladder->results[i]));
  return mz_print_json(o);
}

/* ---- the table ---- */

static const char *rating_text(double rating, double error, char out[MZ_TEXT_SIZE]) {
  if (isfinite(rating))
    snprintf(out, MZ_TEXT_SIZE, "%+.0f (%.0f)", rating, error);
  else
    snprintf(out, MZ_TEXT_SIZE, "-");
  return out;
}

static void print_rung(const mz_rung *rung) {
  char wall[MZ_TEXT_SIZE] = "-", updates[MZ_TEXT_SIZE] = "-", steps[MZ_TEXT_SIZE] = "-", elo[MZ_TEXT_SIZE], gain[MZ_TEXT_SIZE];
  if (rung->checkpoint) {
    mz_text_time(rung->wall_s, wall);
    mz_text_count((double)rung->updates, updates);
    mz_text_count((double)rung->env_steps, steps);
  }
  printf("  %-16s %10s %9s %9s %14s %14s %7lld %7.1f %%\n", rung->name, wall, updates, steps,
         rating_text(rung->elo, rung->elo_error, elo), rating_text(rung->checkpoint ? rung->gain : NAN, rung->gain_error, gain),
         (long long)rung->games, 100 * share_of_points(rung));
}

static mz_status print_table(const mz_ladder *ladder) {
  printf("%s, %d simulation%s a move; %d game%s a pair, after up to %d random move%s; Elo above random, and gain over the\n"
         "checkpoint before, with standard errors\n\n",
         ladder->env->name, ladder->simulations, mz_plural(ladder->simulations), ladder->games, mz_plural(ladder->games),
         ladder->openings, mz_plural(ladder->openings));
  printf("  %-16s %10s %9s %9s %14s %14s %7s %9s\n", "", "wall time", "updates", "moves", "Elo", "gain", "games", "points");
  for (int i = 0; i < ladder->count; i++) print_rung(&ladder->rungs[i]);
  return mz_print_flush();
}

mz_status mz_eval_ladder(const char *run, const mz_ladder_options *options, mz_pool *pool, bool json) {
  mz_ladder_options with_tick = *options;
  if (isatty(STDERR_FILENO)) with_tick.tick = say_how_far;
  mz_ladder ladder;
  MZ_TRY(mz_ladder_play(&ladder, run, &with_tick, pool));
  const mz_status status = json ? print_as_json(run, &ladder) : print_table(&ladder);
  mz_ladder_deinit(&ladder);
  return status;
}
