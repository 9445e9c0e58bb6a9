#include "cli/explaining/score_profile.h"
#include "base/json/json.h"
#include "cli/print.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static void show(void *context, const mz_score_profile_progress *p) {
  const bool json = *(const bool *)context;
  char left[MZ_TEXT_SIZE];
  if (json) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "event", "run");
    cJSON_AddNumberToObject(o, "done", p->done);
    cJSON_AddNumberToObject(o, "all", p->all);
    cJSON_AddNumberToObject(o, "cores", p->cores);
    cJSON_AddNumberToObject(o, "batch_size", (double)p->batch_size);
    mz_json_add_u64(o, "seed", p->seed);
    cJSON_AddNumberToObject(o, "best", p->best);
    mz_print_json(o);
  } else if (isatty(STDERR_FILENO)) {
    mz_print_progress("%d of %d, left %s: %d cores, batches of %lld, seed %llu: %.4g in %.3g s", p->done, p->all,
                      mz_text_time(p->left_s, left), p->cores, (long long)p->batch_size, (unsigned long long)p->seed, p->best,
                      p->seconds);
  }
}

static bool stopping(void *context) {
  (void)context;
  return mz_signals_stopping();
}

static void print_result(const cJSON *result, const char *history) {
  const cJSON *row;
  char shown[MZ_SHOWN_SIZE], until[MZ_TEXT_SIZE];
  mz_text_number(mz_json_number_or_nan(result, "until"), until);
  printf("cores  batch   seed  epochs  reached %-8s  best score  seconds\n", until);
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(result, "runs")) {
    const double reached = mz_json_number_or_nan(row, "reached");
    char epoch[16] = "never", *seed = cJSON_PrintUnformatted(mz_json_item(row, "seed")); /* with all its digits */
    if (reached > 0) snprintf(epoch, sizeof epoch, "%.0f", reached);
    printf("%5.0f %6.0f %6s %7.0f %16s %11.4g %8.3g\n", mz_json_number_or_nan(row, "cores"),
           mz_json_number_or_nan(row, "batch_size"), seed ? seed : "", mz_json_number_or_nan(row, "epochs"), epoch,
           mz_json_number_or_nan(row, "best"), mz_json_number_or_nan(row, "seconds"));
    cJSON_free(seed);
  }
  if (history && strcmp(history, "none") != 0) printf("kept in %s\n", mz_text_shown(history, shown));
}

mz_status mz_score_profile_show(const mz_score_profile_options *options, bool json) {
  const mz_score_profile_watcher watcher = {.context = &json, .progress = show, .stopping = stopping};
  cJSON *result;
  const mz_status status = mz_score_profile(options, &watcher, &result);
  if (!json && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  MZ_TRY(status);
  if (json) {
    cJSON_AddStringToObject(result, "event", "done");
    return mz_print_json(result);
  }
  print_result(result, options->run.history);
  cJSON_Delete(result);
  return mz_print_flush();
}
