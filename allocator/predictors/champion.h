/* The predictor that drives, chosen from all of them by a contest on the plans that were measured, and chosen anew as more become
 * known. Ledgers replay: what it does is a function of the observations it was taught, in order. One thread. */
#pragma once
#include "allocator/predictors/contest.h"

typedef struct mz_champion mz_champion;

/* only: the one that drives whatever the contest says, which is held all the same; NULL: the best. pretrained: what predictors bring along,
 * NULL: nothing. observations: at the most, at a time. Pipeline and pretrained networks stay alive. T_ana drives until there was a contest,
 * on four plans: from fewer most predictors tell no plan from another; a pretrained one that is set drives at once. MZ_E_MEMORY. */
mz_status mz_champion_create(mz_champion **out, const mz_pipeline *pipeline, double cores, const mz_predictor *only,
                             mz_pretrained *pretrained, int observations);
void mz_champion_free(mz_champion *champion);

/* All that is known now, oldest first; kept by reference until the next time. A contest is held when a tenth more plans are known
 * than at the last one: together the contests of a run cost what some ten of the last one do. */
void mz_champion_learn(mz_champion *champion, const mz_observation *observations, int count);
/* otherwise: by another model, of the same plan: what stages apart take, which no contest is about, and all of it where the champion does
 * not know. The interval is the wider one of the predictor's own and, of a plan that was not measured, the contest's conformal band. */
mz_prediction mz_champion_predict(const mz_champion *champion, const mz_plan *plan, const mz_prediction *otherwise);
/* What drives: the champion, or the model alone where there is none (NULL). */
mz_prediction mz_predict(const mz_champion *champion, const mz_analytic *model, const mz_plan *plan);
/* Whether the plan is among the lessons. */
bool mz_champion_measured(const mz_champion *champion, const mz_plan *plan);
const mz_predictor *mz_champion_predictor(const mz_champion *champion);
const mz_lessons *mz_champion_lessons(const mz_champion *champion);

/* The last contest: of every predictor, in the table's order; 0 contenders: none was held. *plans: lessons it was held on. */
const mz_contender *mz_champion_contest(const mz_champion *champion, int *count, int *plans);
