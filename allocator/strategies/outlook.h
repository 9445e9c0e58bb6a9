/* What a strategy takes a plan to cost, for its search: the predicted time or price of a unit of work, of which what is unsure counts as
 * more; and what it reserves. Pure functions of the situation. */
#pragma once
#include "allocator/strategies/strategy.h"

typedef struct mz_outlook {
  mz_prediction prediction;
  double cost; /* seconds per unit, what is apart included, or their price; NAN: nothing is known */
} mz_outlook;

/* By the champion where there is one, otherwise by the analytic model. The more steps from the plan in force, the more of the interval
 * above the prediction counts: how near plans differ is surer than how long they take. A plan with a stage on a kind of device on
 * which nothing is known of it is unknown, whoever predicts. */
mz_outlook mz_outlook_of(const mz_situation *situation, const mz_plan *plan);
/* Below 0: a reserves less: fewer GPUs, then fewer cores, then fewer bytes of those beyond what is reserved anyway, then fewer threads. */
double mz_outlook_reserved(const mz_situation *situation, const mz_plan *a, const mz_plan *b);

#define MZ_OUTLOOK_TIE 0.005 /* relative difference in cost that is none */
/* Why a plan that may be was not chosen, in words. */
void mz_outlook_why_not(const mz_situation *situation, const mz_plan *plan, double cost, const mz_plan *chosen,
                        double chosen_cost, char out[64]);

enum { MZ_OUTLOOK_TEXT = 16 };
const char *mz_outlook_text(double seconds, char out[MZ_OUTLOOK_TEXT]); /* "12.3 ms"; returns out */
