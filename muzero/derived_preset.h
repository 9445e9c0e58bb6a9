/* A preset that follows from what an environment says of itself, for environments that bring none. */
#pragma once
#include "envs/env.h"

/* Writes the preset as the text of a JSON file: fully connected layers for vectors and for boards of up to 16 cells, residual
 * convolutions for larger boards, which in long games for one are pictures: small ones, with heads of two layers, whose latents agree with
 * what is observed next. Vectors of long games for one in which there is something to gain are played at random first, which shows
 * whether chance decides after moves (envs/chance.h): a search then looks one move ahead. Two players are evaluated against random play.
 * *text: free(). Fails as the environment does. */
mz_status mz_preset_derive(const mz_env *env, char **text, size_t *size);
