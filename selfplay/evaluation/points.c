#include "selfplay/evaluation/points.h"
#include <math.h>

static const double Z = 1.959963984540054; /* 97.5 % quantile of the standard normal */

mz_interval mz_points_interval(const double *units, int n) {
  MZ_ASSERT(n >= 1);
  const double added = 0.5 * Z * Z, weight = n + 2 * added; /* Z²/2 ≈ 2 */
  double sum = 0, squares = 0;
  for (int i = 0; i < n; i++) sum += units[i];
  const double centre = (sum + added) / weight;
  for (int i = 0; i < n; i++) squares += (units[i] - centre) * (units[i] - centre);
  squares += added * ((1 - centre) * (1 - centre) + centre * centre);
  const double half = Z * sqrt(squares) / weight;
  return (mz_interval){.estimate = sum / n, .low = fmax(centre - half, 0), .high = fmin(centre + half, 1)};
}

double mz_elo_of_points(double points) { return 400 * log10(points / (1 - points)); }

double mz_points_of_elo(double difference) { return 1 / (1 + pow(10, -difference / 400)); }
