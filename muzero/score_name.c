#include "muzero/score_name.h"
#include <stdio.h>
#include <string.h>

const char *mz_score_name(const mz_env *env, const char *opponent, char out[MZ_SCORE_NAME_MAX]) {
  if (env->spec.players == 1)
    snprintf(out, MZ_SCORE_NAME_MAX, "mean return");
  else if (strcmp(opponent, "all") == 0)
    snprintf(out, MZ_SCORE_NAME_MAX, "share of lines not lost");
  else if (strcmp(opponent, "perfect") == 0)
    snprintf(out, MZ_SCORE_NAME_MAX, "share of games not lost against perfect");
  else
    snprintf(out, MZ_SCORE_NAME_MAX, "share of points against %s", *opponent ? opponent : "itself");
  return out;
}
