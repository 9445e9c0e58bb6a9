#include "selfplay/search/search_scorer.h"
#include "base/maths/maths.h"
#include <string.h>

static size_t table_rows(int visits_max) { return (size_t)visits_max + 1; }

double mz_scorer_bytes(int visits_max) { return 3.0 * (double)table_rows(visits_max) * sizeof(float); }

mz_status mz_scorer_init(mz_scorer *scorer, const mz_search_settings *settings, float discount, int visits_max) {
  memset(scorer, 0, sizeof *scorer);
  if (settings->algorithm == MZ_PUCT && settings->q_transform == MZ_Q_MIN_MAX && !(settings->max_value > settings->min_value))
    return mz_fail(MZ_E_CONFIG, "search.max_value: %g: must exceed search.min_value, which is %g", settings->max_value,
                   settings->min_value);
  const size_t rows = table_rows(visits_max);
  MZ_TRY(mz_alloc(&scorer->exploration, 3 * rows, sizeof(float))); /* the three tables, one behind the other */
  scorer->q_scale = scorer->exploration + rows;
  scorer->q_decay = scorer->q_scale + rows;
  for (int n = 0; n <= visits_max; n++) {
    const double growth = mz_log((n + settings->c_base + 1) / settings->c_base);
    scorer->exploration[n] = (float)(sqrt((double)n) * (settings->c_init + growth));
    scorer->q_scale[n] = (float)((settings->maxvisit_init + n) * settings->value_scale);
    scorer->q_decay[n] = mz_expf(-scorer->q_scale[n]);
  }
  scorer->discount = discount;
  scorer->min_max = settings->q_transform == MZ_Q_MIN_MAX;
  scorer->spread_min = (float)settings->spread_min;
  scorer->q_low = (float)settings->min_value;
  scorer->q_span = (float)(settings->max_value - settings->min_value);
  scorer->rescale = settings->rescale_values;
  return MZ_OK;
}

void mz_scorer_deinit(mz_scorer *scorer) {
  free(scorer->exploration);
  memset(scorer, 0, sizeof *scorer);
}

void mz_roots_configure(mz_roots *roots, const mz_search_settings *settings, int actions) {
  roots->considered_max = settings->considered < actions ? (int)settings->considered : actions;
  roots->logit_drop_max = settings->prior_min > 0 ? -(float)mz_log(settings->prior_min) : INFINITY;
  roots->dirichlet_alpha = (float)settings->dirichlet_alpha;
  roots->dirichlet_fraction = (float)settings->dirichlet_fraction;
  roots->gumbel_scale = (float)settings->gumbel_scale;
}
