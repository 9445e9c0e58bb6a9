#include "allocator/pretraining/pretraining.h"
#include "allocator/records/history.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "cli/bench/practice_options.h"
#include "cli/commands.h"
#include "cli/print.h"
#include <stdlib.h>

/* Networks for predictors, trained on simulated situations drawn from the pipelines in the history. */

typedef struct pretrain_arguments {
  const char *out, *history;
  int64_t situations, epochs, seed, threads;
  mz_practice_arguments practice;
  bool json;
} pretrain_arguments;

#define AT(field) offsetof(pretrain_arguments, field)
static const mz_option options[] = {
    {.name = "FILE", .type = MZ_OPTION_TEXT, .offset = AT(out), .help = "to write; allocate.pretrained=FILE uses it"},
    MZ_OPTION_HISTORY(AT(history), "whose pipelines situations are drawn from, as `muzero profile` leaves them"),
    {.name = "--situations",
     .type = MZ_OPTION_COUNT,
     .offset = AT(situations),
     .value = "N",
     .fallback = "1600",
     .min = 32,
     .max = 100000,
     .class_ = MZ_OPERATIONAL,
     .help = "pipelines on machines, an eighth of which is held out"},
    {.name = "--epochs",
     .type = MZ_OPTION_COUNT,
     .offset = AT(epochs),
     .value = "N",
     .fallback = "40",
     .min = 1,
     .max = 10000,
     .class_ = MZ_OPERATIONAL,
     .help = "passes over them at the most; training stops when held-out situations are predicted no better"},
    MZ_OPTIONS_PRACTICE(AT(practice)),
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .fallback = "1",
     .max = 9e15,
     .class_ = MZ_OPERATIONAL,
     .help = "of the situations and of the first weights"},
    MZ_OPTION_THREADS(AT(threads), "members trained at once; they change no result"),
    MZ_OPTION_JSON(AT(json)),
    {0},
};

static mz_status read_pipelines(const char *path, mz_pipeline **out, int *count) {
  mz_history *history;
  MZ_TRY(mz_history_open_existing(&history, path));
  mz_status status = mz_history_pipelines(history, out, count);
  if (status == MZ_OK && *count == 0)
    status =
        mz_fail(MZ_E_CONFIG, "pretrain: %s holds no pipeline to draw situations from; `muzero profile ENV` measures one", path);
  mz_history_close(history);
  return status;
}

static void tell(void *context, const char *what) {
  (void)context;
  mz_log_write(MZ_LOG_INFO, "%s", what);
}

static mz_status print_result(const mz_pretraining_result *r, const char *path, bool json) {
  cJSON *o = cJSON_CreateObject(), *kinds = cJSON_AddArrayToObject(o, "kinds");
  cJSON_AddStringToObject(o, "file", path);
  cJSON_AddNumberToObject(o, "samples", r->samples);
  cJSON_AddNumberToObject(o, "held_out", r->held_out);
  cJSON_AddNumberToObject(o, "analytic_error", r->analytic_error);
  if (!json)
    printf("%s: %zu bytes; %d plans, %d held out; T_ana misses those by %.4f\n", path, r->size, r->samples, r->held_out,
           r->analytic_error);
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    cJSON *kind = cJSON_CreateObject();
    double sum = 0;
    for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++) sum += r->kinds[k].error[m] / MZ_PRETRAINED_MEMBERS;
    cJSON_AddItemToArray(kinds, kind);
    cJSON_AddStringToObject(kind, "name", mz_ensemble_name((mz_ensemble_kind)k));
    cJSON_AddNumberToObject(kind, "error", sum);
    if (!json) printf("  %-16s error between plans %.4f, mean of members\n", mz_ensemble_name((mz_ensemble_kind)k), sum);
  }
  if (json) return mz_print_json(o);
  cJSON_Delete(o);
  return mz_print_flush();
}

static mz_status run_pretrain(const void *given) {
  const pretrain_arguments *a = given;
  char history[512];
  mz_pipeline *pipelines = NULL;
  mz_pool *pool = NULL;
  mz_pretraining_result result = {0};
  mz_status status = MZ_OK;
  mz_practice_arguments practice;
  MZ_TRY(mz_practice_complete(&a->practice, &practice));
  mz_pretraining_options o = {.practice = {.seed = (uint64_t)a->seed,
                                           .cores_min = (int)practice.cores_min,
                                           .cores_max = (int)practice.cores_max,
                                           .gpu_share = practice.gpu_share,
                                           .plans = 16},
                              .exercises = (int)a->situations,
                              .epochs = (int)a->epochs,
                              .progress = tell};
  const char *path = a->history;
  if (!path) path = mz_history_default_path(history, sizeof history) ? history : "none";
  MZ_TRY(mz_file_check_output(a->out));
  MZ_TRY_CLEANUP(read_pipelines(path, &pipelines, &o.practice.pipeline_count));
  o.practice.pipelines = pipelines;
  MZ_TRY_CLEANUP(mz_pool_create(&pool, "pretrain", a->threads > 0 ? (int)a->threads : mz_machine_cores(), NULL));
  o.pool = pool;
  MZ_TRY_CLEANUP(mz_pretrain(&o, &result));
  MZ_TRY_CLEANUP(mz_file_write_output(a->out, result.bytes, result.size));
  status = print_result(&result, a->out, a->json);
cleanup:
  free(result.bytes);
  mz_pool_free(pool);
  free(pipelines);
  return status;
}

const mz_command mz_command_pretrain = {
    .name = "pretrain",
    .summary = "train the networks that predict the time of plans",
    .about = "Draws pipelines like those in the history on simulated machines, simulates what plans of them take, and trains the "
             "ensembles of the predictors mlp, graph and graph_residual on that. Such a file is bundled; one that you train "
             "fits your games and networks better.",
    .options = options,
    .arguments_size = sizeof(pretrain_arguments),
    .examples = {"pretrain predictors.safetensors", "pretrain small.safetensors --situations 200 --cores-max 8"},
    .run = run_pretrain,
};
