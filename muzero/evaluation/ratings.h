/* Ratings from games between many: the model of Bradley & Terry (1952), on Elo's scale. */
#pragma once
#include "base/status.h"

typedef struct mz_pairing {
  int a, b;      /* different, 0 … n−1 */
  double games;  /* ≥ 0 */
  double points; /* of a; a draw is half */
} mz_pairing;

/* The ratings under which the results are most likely, where a is expected to take 1 / (1 + 10^((R_b − R_a) / 400)) of the points:
 * by Newton's method, for the likelihood is concave (Hunter 2004, "MM algorithms for generalized Bradley–Terry models", gives the
 * conditions). A weak prior, one drawn game for each pairing, keeps ratings finite where one side took all points; it pulls a
 * difference of N games towards 0 as one more game would. The anchor's rating is 0.
 * covariance: [n][n] of the ratings as differences from the anchor's, the inverse of the information of games that are won or lost
 * (draws vary less: it is on the safe side).
 * Every one of the n is joined to the anchor by pairings. MZ_E_MEMORY. */
mz_status mz_ratings_fit(const mz_pairing *pairings, int count, int n, int anchor, double *ratings, double *covariance);
/* Standard error of the difference of two ratings. */
double mz_ratings_error(const double *covariance, int n, int a, int b);
