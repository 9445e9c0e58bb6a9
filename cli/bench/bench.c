#include "allocator/records/history.h"
#include "base/machine/machine.h"
#include "cli/bench/bench.h"
#include "cli/bench/practice_options.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "muzero/steering/device_choice.h"
#include "muzero/trainer.h"
#include "networks/isa.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

const mz_spec mz_bench_spec = {.obs_kind = MZ_OBS_F32,
                               .obs_shape = {1, 1, MZ_BENCH_OBS},
                               .obs_size = MZ_BENCH_OBS,
                               .actions = MZ_BENCH_ACTIONS,
                               .players = 1,
                               .symmetries = 1,
                               .reward_min = 1,
                               .reward_max = 1,
                               .return_max = 500};

const mz_spec mz_bench_board = {.obs_kind = MZ_OBS_U8,
                                .obs_shape = {6, 7, 3},
                                .obs_size = 6 * 7 * 3,
                                .actions = 7,
                                .action_kind = MZ_ACTIONS_COLUMNS,
                                .players = 2,
                                .turns = MZ_TURNS_ALTERNATE,
                                .symmetries = 2,
                                .reward_min = -1,
                                .reward_max = 1,
                                .return_min = -1,
                                .return_max = 1};

bool mz_bench_on_gpu(const mz_bench *bench) { return !mz_lane_is_cpu(&bench->where); }

mz_network_settings mz_bench_residual(mz_bench *bench) {
  mz_network_settings network = bench->settings.network;
  network.kind = MZ_MODEL_CONV;
  if (!mz_bench_given(bench, "network.value_bins")) network.value_bins = 21;
  if (!mz_bench_given(bench, "network.reward_bins")) network.reward_bins = 21;
  return network;
}

typedef struct bench_arguments {
  const char *what;
  mz_text_list sets;
  const char *history, *device, *env;
  double time_s;
  int64_t threads, situations;
  mz_practice_arguments practice;
  bool signature, json;
} bench_arguments;

#define AT(field) offsetof(bench_arguments, field)
static const mz_option options[] = {
    {.name = "WHAT",
     .type = MZ_OPTION_TEXT,
     .offset = AT(what),
     .value = "optional",
     .help = "search, learner, inference, selfplay, envs, opponents, replay, resize, allocator, predictors, machine, all of them "
             "(all, which is the default), or gym, which needs Python and Gymnasium"},
    {.name = "--set",
     .type = MZ_OPTION_LIST,
     .offset = AT(sets),
     .value = "k=v",
     .otherwise = "the peers' model",
     .class_ = MZ_OPERATIONAL,
     .help = "a setting of `muzero train --help` for what is measured: simulations, search.algorithm, network.width, shards, …"},
    {.name = "--time",
     .type = MZ_OPTION_TIME,
     .offset = AT(time_s),
     .value = "TIME",
     .otherwise = "0.5s",
     .min = 0.01,
     .max = 3600,
     .class_ = MZ_OPERATIONAL,
     .help = "of each measurement"},
    {.name = "--device",
     .type = MZ_OPTION_TEXT,
     .offset = AT(device),
     .value = "D",
     .otherwise = "cpu",
     .class_ = MZ_NUMERIC,
     .help = "where search, learner and inference compute: cpu, cuda or cuda:N; on a GPU with batches that suit it"},
    MZ_OPTION_HISTORY(AT(history), "whose plans the predictors are measured on, as `muzero profile` leaves them"),
    {.name = "--env",
     .type = MZ_OPTION_TEXT,
     .offset = AT(env),
     .value = "ENV",
     .otherwise = "gym:CartPole-v1",
     .class_ = MZ_OPERATIONAL,
     .help = "gym: the environment that workers play"},
    {.name = "--situations",
     .type = MZ_OPTION_COUNT,
     .offset = AT(situations),
     .value = "N",
     .otherwise = "what was measured",
     .min = 1,
     .max = 100000,
     .class_ = MZ_OPERATIONAL,
     .help = "predictors: on so many simulated pipelines, drawn from those in the history"},
    MZ_OPTIONS_PRACTICE(AT(practice)),
    MZ_OPTION_THREADS(AT(threads), "worker threads"),
    {.name = "--signature",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(signature),
     .class_ = MZ_OPERATIONAL,
     .help = "train a fixed small job instead and print the digest that certifies behaviour"},
    MZ_OPTION_JSON(AT(json)),
    {0},
};

static const struct {
  const char *name;
  mz_status (*measure)(mz_bench *bench, cJSON **out);
  bool apart;   /* measured only when it is named */
  bool devices; /* computes where --device says */
} sections[] = {
    {.name = "search", .measure = mz_bench_search, .devices = true},
    {.name = "learner", .measure = mz_bench_learner, .devices = true},
    {.name = "inference", .measure = mz_bench_inference, .devices = true},
    {.name = "selfplay", .measure = mz_bench_selfplay},
    {.name = "envs", .measure = mz_bench_envs},
    {.name = "opponents", .measure = mz_bench_opponents},
    {.name = "replay", .measure = mz_bench_replay},
    {.name = "resize", .measure = mz_bench_resize},
    {.name = "allocator", .measure = mz_bench_allocator},
    {.name = "predictors", .measure = mz_bench_predictors},
    {.name = "machine", .measure = mz_bench_machine},
    {.name = "gym", .measure = mz_bench_gym, .apart = true},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

static mz_status check_section(const char *what) {
  const char *names[SECTIONS + 1] = {"all"};
  for (int i = 0; i < SECTIONS; i++) names[i + 1] = sections[i].name;
  for (int i = 0; i <= SECTIONS; i++)
    if (strcmp(what, names[i]) == 0) return MZ_OK;
  const char *nearest = mz_nearest(what, names, SECTIONS + 1);
  if (nearest) return mz_fail(MZ_E_USAGE, "bench %s: nothing to measure; did you mean '%s'?", what, nearest);
  return mz_fail(
      MZ_E_USAGE,
      "bench %s: nothing to measure; there are search, learner, inference, selfplay, envs, gym, opponents, replay, resize, "
      "allocator, predictors, machine and all",
      what);
}

static void print_cell(const cJSON *cell) {
  if (cJSON_IsString(cell)) {
    printf(" %14s", cell->valuestring);
    return;
  }
  const double value = cell->valuedouble;
  char text[MZ_TEXT_SIZE];
  printf(" %14s", value >= 1e4 ? mz_text_count(value, text) : mz_text_number(value, text));
}

/* An object, or an array of objects with the same keys. */
static mz_status print_table(const char *title, const cJSON *rows) {
  const cJSON *first = cJSON_IsArray(rows) ? rows->child : rows;
  if (!first) return MZ_OK;
  printf("%s\n", title);
  for (const cJSON *cell = first->child; cell; cell = cell->next) printf(" %14s", cell->string);
  printf("\n");
  for (const cJSON *row = first; row; row = cJSON_IsArray(rows) ? row->next : NULL) {
    for (const cJSON *cell = row->child; cell; cell = cell->next) print_cell(cell);
    printf("\n");
  }
  printf("\n");
  return mz_print_flush();
}

/* Tells somebody who watches what is measured meanwhile, which may take minutes; NULL: nothing any more. */
static void tell(const char *title) {
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r\033[K%s%s", title ? title : "", title ? " …" : "");
}

static mz_status print_signature(int threads, bool json) {
  uint64_t signature;
  MZ_TRY(mz_signature(threads, &signature));
  if (!json) {
    printf("%016llx %s\n", (unsigned long long)signature, mz_isa_name(mz_isa_level()));
    return mz_print_flush();
  }
  cJSON *object = cJSON_CreateObject();
  mz_json_add_u64_hex(object, "signature", signature);
  cJSON_AddStringToObject(object, "isa", mz_isa_name(mz_isa_level()));
  return mz_print_json(object);
}

static mz_status measure_all(mz_bench *bench, const char *what, bool json, cJSON *result) {
  for (int i = 0; i < SECTIONS; i++) {
    if (strcmp(what, sections[i].name) != 0 && (sections[i].apart || strcmp(what, "all") != 0)) continue;
    cJSON *rows = NULL;
    tell(sections[i].name);
    const mz_status status = sections[i].measure(bench, &rows);
    tell(NULL);
    MZ_TRY(status);
    cJSON_AddItemToObject(result, sections[i].name, rows);
    if (!json) MZ_TRY(print_table(sections[i].name, rows));
  }
  return MZ_OK;
}

static bool computes_on_devices(const char *what) {
  for (int i = 0; i < SECTIONS; i++)
    if (sections[i].devices && (strcmp(what, "all") == 0 || strcmp(what, sections[i].name) == 0)) return true;
  return false;
}

static mz_status check_signature(const bench_arguments *a) {
  const char *given = a->what                           ? a->what
                      : a->sets.count > 0               ? "--set"
                      : !isnan(a->time_s)               ? "--time"
                      : a->device                       ? "--device"
                      : a->history                      ? "--history"
                      : a->env                          ? "--env"
                      : a->situations != MZ_COUNT_UNSET ? "--situations"
                                                        : mz_practice_given(&a->practice);
  if (!given) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "--signature: certifies one fixed job on CPUs; leave %s out", given);
}

/* Options that do nothing for what is measured. */
static mz_status check_options(const bench_arguments *a, const char *what) {
  const bool predicts = strcmp(what, "all") == 0 || strcmp(what, "predictors") == 0;
  const char *of_practice = mz_practice_given(&a->practice);
  if (a->env && strcmp(what, "gym") != 0) return mz_fail(MZ_E_USAGE, "--env: belongs to `muzero bench gym`");
  if (a->device && !computes_on_devices(what))
    return mz_fail(MZ_E_USAGE, "--device: belongs to search, learner and inference, not to %s", what);
  if (!predicts && (a->history || a->situations != MZ_COUNT_UNSET))
    return mz_fail(MZ_E_USAGE, "%s: belongs to `muzero bench predictors`", a->history ? "--history" : "--situations");
  if (of_practice && a->situations == MZ_COUNT_UNSET)
    return mz_fail(MZ_E_USAGE, "%s: belongs to `muzero bench predictors --situations N`", of_practice);
  return MZ_OK;
}

static mz_status run_bench(const void *given) {
  const bench_arguments *arguments = given;
  const char *what = arguments->what ? arguments->what : "all";
  MZ_TRY(check_section(what));
  const int threads = arguments->threads > 0 ? (int)arguments->threads : mz_machine_cores();
  if (arguments->signature) {
    MZ_TRY(check_signature(arguments));
    return print_signature(threads, arguments->json);
  }
  MZ_TRY(check_options(arguments, what));
  char history[512];
  mz_practice_arguments practice;
  MZ_TRY(mz_practice_complete(&arguments->practice, &practice));
  mz_bench bench = {.env = arguments->env ? arguments->env : "gym:CartPole-v1",
                    .time_s = isnan(arguments->time_s) ? 0.5 : arguments->time_s,
                    .threads = threads,
                    .history = arguments->history,
                    .situations = arguments->situations == MZ_COUNT_UNSET ? 0 : (int)arguments->situations,
                    .cores_min = (int)practice.cores_min,
                    .cores_max = (int)practice.cores_max,
                    .gpu_share = practice.gpu_share};
  if (!bench.history) bench.history = mz_history_default_path(history, sizeof history) ? history : "none";
  mz_config config = mz_settings_config(&bench.settings, bench.given);
  mz_config_defaults(&config);
  memset(bench.given, 0, sizeof bench.given);
  for (int i = 0; i < arguments->sets.count; i++) MZ_TRY(mz_config_set_pair(&config, arguments->sets.items[i], "--set"));
  MZ_TRY(mz_device_lane(arguments->device ? arguments->device : "cpu", &bench.settings, &mz_bench_board, &bench.where));
  MZ_TRY(mz_pool_create(&bench.pool, "bench", threads, NULL));
  cJSON *result = cJSON_CreateObject();
  cJSON_AddNumberToObject(result, "threads", threads);
  cJSON_AddStringToObject(result, "isa", mz_isa_name(mz_isa_level()));
  mz_status status = measure_all(&bench, what, arguments->json, result);
  mz_pool_free(bench.pool);
  if (status == MZ_OK && arguments->json) return mz_print_json(result);
  cJSON_Delete(result);
  return status;
}

const mz_command mz_command_bench = {
    .name = "bench",
    .summary = "measure this machine: search, learner, environments, replay, allocator",
    .about = "Measures how fast this machine searches, learns, steps environments, stores and draws, on fixed work that other "
             "programs are measured on, too; needs no run and no network. --signature certifies behaviour instead of speed.",
    .options = options,
    .arguments_size = sizeof(bench_arguments),
    .examples = {"bench learner --set network.width=128 --time 2s", "bench inference --device cuda --json"},
    .run = run_bench,
};
