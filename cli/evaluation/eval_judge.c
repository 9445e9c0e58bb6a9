#include "cli/evaluation/eval_judge.h"
#include "cli/print.h"
#include <cjson/cJSON.h>

static void add_judgement(cJSON *json, const char *share, const char *interval, const mz_judgement *judgement) {
  const double bounds[2] = {judgement->share.low, judgement->share.high};
  cJSON_AddNumberToObject(json, share, judgement->share.estimate);
  cJSON_AddItemToObject(json, interval, cJSON_CreateDoubleArray(bounds, 2));
}

static mz_status print_as_json(const mz_judge_options *o, const mz_judgement *judgements) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "positions", o->positions);
  cJSON_AddNumberToObject(json, "sims", mz_agent_simulations(o->agent));
  add_judgement(json, "kept", "kept_ci95", &judgements[0]);
  if (o->opponent) {
    cJSON_AddStringToObject(json, "opponent", o->name);
    if (o->opponent->agent) cJSON_AddNumberToObject(json, "opponent_sims", mz_agent_simulations(o->opponent->agent));
    add_judgement(json, "opponent_kept", "opponent_kept_ci95", &judgements[1]);
  }
  return mz_print_json(json);
}

static void print_judgement(const char *who, const mz_judgement *judgement) {
  printf("  %-12s keeps the outcome in %.1f %% (95 %%: %.1f to %.1f)\n", who, 100 * judgement->share.estimate,
         100 * judgement->share.low, 100 * judgement->share.high);
}

mz_status mz_eval_judge(const mz_judge_options *o, mz_pool *pool, bool json) {
  const mz_side sides[2] = {{.agent = o->agent}, o->opponent ? *o->opponent : (mz_side){0}};
  mz_judgement judgements[2];
  MZ_TRY(mz_judge(o->agent->env, sides, o->opponent ? 2 : 1, o->positions, o->seed, pool, judgements));
  if (json) return print_as_json(o, judgements);
  const int simulations = mz_agent_simulations(o->agent);
  printf("%s, %d simulation%s a move, %d position%s in which a move can throw the outcome away\n", o->agent->env->name,
         simulations, mz_plural(simulations), o->positions, mz_plural(o->positions));
  print_judgement("agent", &judgements[0]);
  if (o->opponent) print_judgement(o->name, &judgements[1]);
  return MZ_OK;
}
