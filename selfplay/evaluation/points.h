/* Points of games between two players (a win 1, a draw ½, a loss 0): how sure their mean is, and what it says about strength. */
#pragma once
#include "base/maths/statistics.h"

/* 95 % interval of the expected points a game. units: n ≥ 1 independent observations in [0, 1], each the points of one game or
 * the mean points of games that depend on each other (both seats of one opening). Agresti & Coull's interval (1998), two wins and
 * two losses added, with the units' own variance in place of the binomial one: draws vary less than wins and losses. It is
 * never empty, cut to [0, 1], and for wins and losses alone it holds Wilson's. estimate: the mean of the units. */
mz_interval mz_points_interval(const double *units, int n);

/* Elo (1978): the difference in rating at which the stronger side is expected to take this share, 400 log10(p / (1 − p)).
 * −INFINITY at 0, INFINITY at 1. */
double mz_elo_of_points(double points);
double mz_points_of_elo(double difference);
