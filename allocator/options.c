/* Checks the start plan that an allocator is created with, and chooses the history's rows for it. */
#include "allocator/allocator.h"
#include "base/text.h"
#include <string.h>

enum { PLAN_TEXT = 128 };

int mz_allocator_history(const mz_allocator_options *options, const mz_observation *used[MZ_HISTORY_USED_MAX]) {
  enum { ROWS = 256, OF_A_PLAN = 8 };
  int count = 0;
  for (int i = options->history_count - 1; i >= 0 && i >= options->history_count - ROWS && count < MZ_HISTORY_USED_MAX; i--) {
    int same = 0;
    for (int j = 0; j < count; j++) same += mz_plan_equal(options->pipeline, &options->history[i].plan, &used[j]->plan);
    if (same < OF_A_PLAN) used[count++] = &options->history[i];
  }
  for (int i = 0; i < count / 2; i++) {
    const mz_observation *swapped = used[i];
    used[i] = used[count - 1 - i];
    used[count - 1 - i] = swapped;
  }
  return count;
}

static mz_status fail_memory(const mz_allocator_options *options) {
  char sum[256];
  const double needed = mz_plan_bytes(options->pipeline, &options->start, sum, sizeof sum), most = options->bounds.memory_max;
  return mz_fail(MZ_E_CONFIG, "limits.memory_max: the start plan may need %.0f MiB, %.1f MiB more than the %.0f MiB allowed: %s",
                 needed / 0x1p20, (needed - most) / 0x1p20, most / 0x1p20, sum);
}

mz_status mz_allocator_check(const mz_allocator_options *options) {
  MZ_TRY(mz_pipeline_check(options->pipeline));
  const char *limit = mz_plan_refused(options->pipeline, &options->bounds, &options->start);
  if (limit == NULL) return MZ_OK;
  if (strcmp(limit, "limits.memory_max") == 0) return fail_memory(options);
  MZ_TRY(mz_plan_check_gpus(options->pipeline, &options->start));
  char text[PLAN_TEXT];
  mz_plan_text(options->pipeline, &options->start, NULL, text, sizeof text);
  const int cores = mz_plan_cores(options->pipeline, &options->start);
  if (strcmp(limit, "limits.cpu_max") == 0)
    return mz_fail(MZ_E_CONFIG, "%s: the start plan keeps %d core%s busy, %g more than allowed: %s", limit, cores,
                   mz_plural(cores), cores - options->bounds.cpu_max, text);
  if (strcmp(limit, "limits.cpu_min") == 0)
    return mz_fail(MZ_E_CONFIG, "%s: the start plan keeps %d core%s busy, %g fewer than asked for: %s", limit, cores,
                   mz_plural(cores), options->bounds.cpu_min - cores, text);
  return mz_fail(MZ_E_CONFIG, "%s: the start plan does not keep it: %s", limit, text);
}
