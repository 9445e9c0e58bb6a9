#include "muzero/run_score.h"
#include <stdio.h>
#include <string.h>

typedef enum count { RETURN, LINES_NOT_LOST, GAMES_NOT_LOST, POINTS } count;

static count counted(const mz_env *env, const char *opponent) {
  if (env->spec.players == 1) return RETURN;
  if (strcmp(opponent, "all") == 0) return LINES_NOT_LOST;
  return strcmp(opponent, "perfect") == 0 ? GAMES_NOT_LOST : POINTS;
}

double mz_score(const mz_evaluation *e, const mz_env *env, const char *opponent) {
  const double games = (double)(e->games ? e->games : 1);
  switch (counted(env, opponent)) {
    case RETURN: return e->mean_return;
    case LINES_NOT_LOST:
    case GAMES_NOT_LOST: return 1 - (double)e->loss / games;
    case POINTS: break;
  }
  return ((double)e->win + 0.5 * (double)e->draw) / games;
}

const char *mz_score_name(const mz_env *env, const char *opponent, char out[MZ_SCORE_NAME_MAX]) {
  switch (counted(env, opponent)) {
    case RETURN: snprintf(out, MZ_SCORE_NAME_MAX, "mean return"); break;
    case LINES_NOT_LOST: snprintf(out, MZ_SCORE_NAME_MAX, "share of lines not lost"); break;
    case GAMES_NOT_LOST: snprintf(out, MZ_SCORE_NAME_MAX, "share of games not lost against perfect"); break;
    case POINTS: snprintf(out, MZ_SCORE_NAME_MAX, "share of points against %s", *opponent ? opponent : "itself"); break;
  }
  return out;
}
