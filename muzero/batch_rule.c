#include "muzero/batch_rule.h"
#include "base/maths/maths.h"
#include <float.h>
#include <math.h>

static int64_t round_rows(const mz_settings *s) { return s->learning.loop_count * s->learning.batch_size; }

static int64_t least_batch(const mz_settings *s) {
  return mz_network_normalises(&s->network) ? s->learning.shards * s->network.norm_rows : s->learning.shards;
}

static bool may_be(const mz_settings *s, int64_t batch) {
  return batch >= 1 && batch <= MZ_BATCH_SIZE_MAX && batch % least_batch(s) == 0 && round_rows(s) % batch == 0 &&
         round_rows(s) / batch <= MZ_LOOP_COUNT_MAX;
}

/* Returns the size nearest to `batch`, by ratio, that mz_batch_rule_apply takes. */
static int64_t nearest_size(const mz_settings *s, int64_t batch) {
  int64_t nearest = s->learning.batch_size; /* that one may be */
  const double wanted = log((double)(batch < 1 ? 1 : batch));
  for (int64_t size = least_batch(s); size <= MZ_BATCH_SIZE_MAX && size <= round_rows(s); size += least_batch(s)) {
    if (may_be(s, size) && fabs(log((double)size) - wanted) < fabs(log((double)nearest) - wanted)) nearest = size;
  }
  return nearest;
}

/* Our own exp and log, because the digest depends on it. */
static double power(double base, double exponent) { return base > 0 ? mz_exp(exponent * mz_log(base)) : 0; }

/* Updates that span as many rows; 0 stays 0, which means none. */
static int64_t spanned(int64_t updates, double k) {
  if (updates == 0) return 0;
  const int64_t fewer = llround((double)updates / k);
  return fewer < 1 ? 1 : fewer;
}

static mz_status refuse(const mz_settings *s, int64_t batch, const char *where) {
  const long long rows = (long long)round_rows(s), least = (long long)least_batch(s), asked = (long long)batch,
                  nearest = (long long)nearest_size(s, batch);
  if (batch < 1 || batch % least_batch(s) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: batches of %lld rows do not divide into %lld shards%s; nearest valid value: %lld", where,
                   asked, (long long)s->learning.shards, least > s->learning.shards ? " of whole groups of batch norm" : "",
                   nearest);
  return mz_fail(MZ_E_CONFIG, "%s: the %lld rows that a round trains are no 1 to %d batches of %lld; nearest valid value: %lld",
                 where, rows, MZ_LOOP_COUNT_MAX, asked, nearest);
}

mz_status mz_batch_rule_apply(mz_settings *s, int64_t batch, const char *where) {
  mz_learning_settings *l = &s->learning;
  if (batch == l->batch_size) return MZ_OK;
  if (l->loop_count == 0 || !may_be(s, batch)) return refuse(s, batch, where);
  const double k = (double)batch / (double)l->batch_size;
  l->loop_count = round_rows(s) / batch;
  l->batch_size = batch;
  l->target_interval = spanned(l->target_interval, k);
  if (l->average > 0) l->average = fmax(power(l->average, k), DBL_MIN); /* 0 would be no average at all */
  s->optimizer.warmup_updates = spanned(s->optimizer.warmup_updates, k);
  s->optimizer.learning_rate *= sqrt(k);
  s->optimizer.weight_decay *= sqrt(k);
  s->network.bn_momentum = 1 - power(1 - s->network.bn_momentum, k);
  s->train.horizon = spanned(s->train.horizon, k);
  s->train.updates = spanned(s->train.updates, k);
  return MZ_OK;
}
