#include "cli/evaluation/eval_outcome.h"
#include "cli/print.h"
#include "muzero/run_score.h"
#include "muzero/trainer.h"
#include <math.h>

static mz_status print_as_json(const mz_eval_outcome *o) {
  const mz_spec *spec = &o->agent->env->spec;
  cJSON *json = mz_evaluation_to_json(o->result, spec->players, mz_agent_simulations(o->agent), o->opponent);
  char counts[MZ_SCORE_NAME_MAX];
  cJSON_AddNumberToObject(json, "score", mz_score(o->result, o->agent->env, o->opponent));
  cJSON_AddStringToObject(json, "score_name", mz_score_name(o->agent->env, o->opponent, counts));
  cJSON_AddNumberToObject(json, "openings", o->openings);
  if (o->player) {
    cJSON_AddStringToObject(json, "beside", o->player);
    cJSON_AddNumberToObject(json, "beside_mean_return", o->beside.mean_return);
    cJSON_AddNumberToObject(json, "lead", o->lead);
    cJSON_AddNumberToObject(json, "lead_ci95", o->lead_ci95);
  }
  if (o->rival) cJSON_AddNumberToObject(json, "opponent_sims", mz_agent_simulations(o->rival));
  if (spec->players == 2 && !o->exact) {
    const mz_interval points = o->result->points;
    const double interval[2] = {mz_elo_of_points(points.low), mz_elo_of_points(points.high)};
    cJSON_AddNumberToObject(json, "elo", mz_elo_of_points(points.estimate)); /* without bound: null */
    cJSON_AddItemToObject(json, "elo_ci95", cJSON_CreateDoubleArray(interval, 2));
  }
  return mz_print_json(json);
}

static void print_tally(const char *title, const mz_tally *tally) {
  printf("  %-12s %lld game%s: %lld won, %lld drawn, %lld lost", title, (long long)tally->games, mz_plural((double)tally->games),
         (long long)tally->win, (long long)tally->draw, (long long)tally->loss);
  if (tally->games > 0)
    printf("; %.1f %% of the points", 100 * ((double)tally->win + 0.5 * (double)tally->draw) / (double)tally->games);
  printf("\n");
}

/* A difference in rating; where all points went to one side it has no bound. */
static const char *elo_text(double points, char out[MZ_TEXT_SIZE]) {
  const double elo = mz_elo_of_points(points);
  if (isfinite(elo))
    snprintf(out, MZ_TEXT_SIZE, "%+.0f", elo);
  else
    snprintf(out, MZ_TEXT_SIZE, elo > 0 ? "+∞" : "-∞");
  return out;
}

static void print_points(const mz_eval_outcome *o) {
  const mz_interval points = o->result->points;
  printf("  points       %.1f %%", 100 * points.estimate);
  if (!o->exact) {
    char elo[MZ_TEXT_SIZE], low[MZ_TEXT_SIZE], high[MZ_TEXT_SIZE];
    printf(" (95 %%: %.1f to %.1f), Elo difference %s (%s to %s)", 100 * points.low, 100 * points.high,
           elo_text(points.estimate, elo), elo_text(points.low, low), elo_text(points.high, high));
  }
  printf("\n");
}

/* Prints the half width of an interval, where there is one. */
static void print_interval(double ci95) {
  char text[MZ_TEXT_SIZE];
  if (isfinite(ci95)) printf(" ± %s (95 %%)", mz_text_number(ci95, text));
}

static void print_beside(const mz_eval_outcome *o) {
  char mean[MZ_TEXT_SIZE], lead[MZ_TEXT_SIZE];
  printf("  %-12s %s in the same games; the agent's mean return is %s by %s", o->player,
         mz_text_number(o->beside.mean_return, mean), o->lead < 0 ? "lower" : "higher", mz_text_number(fabs(o->lead), lead));
  print_interval(o->lead_ci95);
  printf("\n");
}

/* Whether games bring what the network foretells. */
static void print_values(const mz_foresight *values) {
  const double positions = (double)values->positions;
  char value[MZ_TEXT_SIZE], outcome[MZ_TEXT_SIZE], correlation[MZ_TEXT_SIZE];
  if (values->positions == 0) return;
  printf("  values       %s of the network, where discounted returns were %s; correlation %s, %lld position%s\n",
         mz_text_number(values->value / positions, value), mz_text_number(values->outcome / positions, outcome),
         mz_text_number(mz_foresight_correlation(values), correlation), (long long)values->positions, mz_plural(positions));
}

static void print_for_people(const mz_eval_outcome *o) {
  const mz_evaluation *result = o->result;
  const bool versus = o->agent->env->spec.players > 1;
  const int simulations = mz_agent_simulations(o->agent);
  printf("%s, %d simulation%s a move", o->agent->env->name, simulations, mz_plural(simulations));
  char shown[MZ_SHOWN_SIZE];
  if (versus) printf(", against %s", mz_text_shown(o->opponent, shown));
  if (o->rival) printf(" with %d", mz_agent_simulations(o->rival));
  if (o->openings) printf(", after up to %d random move%s", o->openings, mz_plural(o->openings));
  char mean[MZ_TEXT_SIZE], std[MZ_TEXT_SIZE];
  printf("\n");
  char score[MZ_TEXT_SIZE], counts[MZ_SCORE_NAME_MAX];
  printf("  score        %s (%s)\n", mz_text_number(mz_score(result, o->agent->env, o->opponent), score),
         mz_score_name(o->agent->env, mz_text_shown(o->opponent, shown), counts));
  if (versus) print_points(o);
  printf("  mean return  %s", mz_text_number(result->mean_return, mean));
  print_interval(result->ci95);
  printf(", standard deviation %s, %lld game%s\n", mz_text_number(result->std, std), (long long)result->games,
         mz_plural((double)result->games));
  if (o->player) print_beside(o);
  print_values(&result->values);
  if (!versus) return;
  const mz_tally whole = {.games = result->games, .win = result->win, .draw = result->draw, .loss = result->loss};
  print_tally("all", &whole);
  print_tally("moves first", &result->by_seat[0]);
  print_tally("moves second", &result->by_seat[1]);
}

mz_status mz_eval_print(const mz_eval_outcome *outcome, bool json) {
  if (json) return print_as_json(outcome);
  print_for_people(outcome);
  return MZ_OK;
}
