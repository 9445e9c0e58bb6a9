#include "base/file/file.h"
#include "cli/commands.h"
#include "cli/explaining/inspect_diff.h"
#include "cli/print.h"
#include "cli/run_argument.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/storage/run_path.h"
#include "muzero/trainer.h"
#include "replay/storage/store.h"
#include <string.h>

typedef struct inspect_arguments {
  const char *run, *other;
  bool verify, digest, diff, json;
} inspect_arguments;

#define AT(field) offsetof(inspect_arguments, field)
static const mz_option options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_RUN_ARGUMENT_HELP},
    {.name = "RUN2",
     .type = MZ_OPTION_TEXT,
     .offset = AT(other),
     .value = "optional",
     .help = "with --diff: the run to compare with"},
    {.name = "--verify",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(verify),
     .class_ = MZ_OPERATIONAL,
     .help = "check every checksum, those of the replay's packs too"},
    {.name = "--digest",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(digest),
     .class_ = MZ_OPERATIONAL,
     .help = "one number over everything that determines the future of learning"},
    {.name = "--diff",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(diff),
     .class_ = MZ_OPERATIONAL,
     .help = "the first phase and part in which RUN and RUN2 differ"},
    MZ_OPTION_JSON(AT(json)),
    {0},
};

/* Every segment that the checkpoint needs, and then whatever else is in the packs. */
static mz_status verify_segments(const mz_checkpoint *checkpoint, const char *folder, const mz_spec *spec, int *count) {
  uint64_t *hashes;
  mz_store *store;
  MZ_TRY(mz_checkpoint_segments(checkpoint, &hashes, count));
  mz_status status = mz_store_open(&store, folder, spec);
  if (status == MZ_OK) {
    for (int i = 0; i < *count && status == MZ_OK; i++) {
      mz_segment *segment = NULL;
      status = mz_store_load(store, hashes[i], &segment);
      mz_segment_release(segment);
    }
    if (status == MZ_OK) status = mz_store_verify(store);
    mz_store_close(store);
  }
  free(hashes);
  return status;
}

/* in_run: the checkpoint is a run's, not a file that lies alone. */
static mz_status verify(const mz_checkpoint *checkpoint, const mz_spec *spec, bool in_run, bool json) {
  MZ_TRY(mz_checkpoint_verify(checkpoint));
  char folder[sizeof checkpoint->path + 16];
  int count = 0;
  MZ_TRY(mz_checkpoint_segments_dir(checkpoint->path, folder, sizeof folder));
  in_run = in_run || mz_file_is_dir(folder);
  if (in_run) MZ_TRY(verify_segments(checkpoint, folder, spec, &count));
  if (!json) {
    char shown[MZ_SHOWN_SIZE];
    printf("%s: %d sections%s: every checksum holds\n", mz_text_shown(checkpoint->path, shown), checkpoint->count,
           in_run ? " and the replay's packs" : "");
    return MZ_OK;
  }
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "checkpoint", checkpoint->path);
  cJSON_AddBoolToObject(object, "verified", true);
  cJSON_AddNumberToObject(object, "sections", checkpoint->count);
  cJSON_AddBoolToObject(object, "packs", in_run);
  cJSON_AddNumberToObject(object, "segments", count);
  return mz_print_json(object);
}

static mz_status digest(const mz_checkpoint *checkpoint, bool json) {
  uint64_t hashes[MZ_DIGEST_PARTS], whole;
  MZ_TRY(mz_checkpoint_digest(checkpoint, hashes, &whole));
  if (!json) {
    printf("%016llx\n", (unsigned long long)whole);
    return MZ_OK;
  }
  cJSON *object = cJSON_CreateObject();
  mz_json_add_u64_hex(object, "digest", whole);
  cJSON *parts = cJSON_AddObjectToObject(object, "parts");
  for (int i = 0; i < MZ_DIGEST_PARTS; i++) mz_json_add_u64_hex(parts, mz_digest_parts[i], hashes[i]);
  return mz_print_json(object);
}

static cJSON *counters_to_json(const mz_counters *counters) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "rounds", (double)counters->rounds);
  cJSON_AddNumberToObject(object, "phases", (double)counters->phases);
  cJSON_AddNumberToObject(object, "updates", (double)counters->updates);
  cJSON_AddNumberToObject(object, "env_steps", (double)counters->env_steps);
  cJSON_AddNumberToObject(object, "sims", (double)counters->simulations);
  cJSON_AddNumberToObject(object, "episodes", (double)counters->episodes);
  return object;
}

static cJSON *sections_to_json(const mz_checkpoint *checkpoint) {
  cJSON *array = cJSON_CreateArray();
  for (int i = 0; i < checkpoint->count; i++) {
    const mz_section *section = &checkpoint->sections[i];
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", section->name);
    cJSON_AddNumberToObject(item, "bytes", (double)section->bytes);
    cJSON_AddNumberToObject(item, "compressed", (double)section->compressed);
    mz_json_add_u64_hex(item, "xxh64", section->xxh64);
    cJSON_AddItemToArray(array, item);
  }
  return array;
}

static mz_status describe_json(const mz_checkpoint *checkpoint, const mz_loaded *loaded) {
  mz_settings settings = *mz_loaded_settings(loaded);
  const mz_config config = mz_settings_config(&settings, NULL);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "checkpoint", checkpoint->path);
  cJSON_AddNumberToObject(object, "format", checkpoint->version);
  cJSON_AddStringToObject(object, "env", mz_loaded_agent(loaded).env->name);
  mz_json_add_u64(object, "seed", mz_loaded_seed(loaded));
  cJSON_AddItemToObject(object, "config", mz_config_to_json(&config));
  cJSON_AddItemToObject(object, "counters", counters_to_json(mz_loaded_counters(loaded)));
  cJSON_AddItemToObject(object, "sections", sections_to_json(checkpoint));
  const mz_lost_workers lost = mz_loaded_lost(loaded);
  cJSON_AddBoolToObject(object, "saves_games", mz_loaded_agent(loaded).env->copies);
  cJSON_AddNumberToObject(object, "lost_workers", (double)lost.workers);
  cJSON_AddNumberToObject(object, "lost_games", (double)lost.games);
  cJSON_AddStringToObject(object, "strategy", settings.allocation.strategy);
  return mz_print_json(object);
}

static void describe(const mz_checkpoint *checkpoint, const mz_loaded *loaded) {
  const mz_counters *counters = mz_loaded_counters(loaded);
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE], c[MZ_TEXT_SIZE], path[MZ_SHOWN_SIZE], env[MZ_SHOWN_SIZE];
  printf("%s: format %u, %s, seed %llu\n", mz_text_shown(checkpoint->path, path), checkpoint->version,
         mz_text_shown(mz_loaded_agent(loaded).env->name, env), (unsigned long long)mz_loaded_seed(loaded));
  printf("  %lld round%s, %lld phase%s, %s moves, %s simulations, %s updates, %lld game%s\n", (long long)counters->rounds,
         mz_plural((double)counters->rounds), (long long)counters->phases, mz_plural((double)counters->phases),
         mz_text_count((double)counters->env_steps, a), mz_text_count((double)counters->simulations, b),
         mz_text_count((double)counters->updates, c), (long long)counters->episodes, mz_plural((double)counters->episodes));
  const mz_lost_workers lost = mz_loaded_lost(loaded);
  if (lost.workers > 0)
    printf("  %lld worker%s lost, and %lld game%s truncated by that\n", (long long)lost.workers,
           lost.workers == 1 ? " was" : "s were", (long long)lost.games, mz_plural((double)lost.games));
  if (!mz_loaded_agent(loaded).env->copies) printf("  games in play are not saved: resume begins them anew\n");
  printf("\n  %-12s %12s %12s  %s\n", "section", "bytes", "compressed", "xxh64");
  for (int i = 0; i < checkpoint->count; i++) {
    const mz_section *section = &checkpoint->sections[i];
    printf("  %-12s %12llu %12llu  %016llx\n", section->name, (unsigned long long)section->bytes,
           (unsigned long long)section->compressed, (unsigned long long)section->xxh64);
  }
  printf("\nsettings that are not the default\n");
  mz_settings settings = *mz_loaded_settings(loaded);
  static mz_settings defaults;
  const mz_config config = mz_settings_config(&settings, NULL);
  mz_config fallback = mz_settings_config(&defaults, NULL);
  mz_config_defaults(&fallback);
  for (int i = 0; i < mz_config_row_count(&config); i++) {
    if (mz_config_equal(&config, &fallback, i)) continue;
    char text[MZ_SETTING_TEXT_MAX];
    mz_config_text(&config, i, text, sizeof text);
    printf("  %-28s %s\n", mz_config_row(&config, i)->key, text);
  }
}

/* in_run: as verify takes it. */
static mz_status inspect_one(const inspect_arguments *arguments, const mz_checkpoint *checkpoint, bool in_run) {
  if (arguments->digest) return digest(checkpoint, arguments->json);
  mz_loaded *loaded;
  MZ_TRY(mz_loaded_open(&loaded, checkpoint->path));
  mz_status status = MZ_OK;
  if (arguments->verify)
    status = verify(checkpoint, &mz_loaded_agent(loaded).env->spec, in_run, arguments->json);
  else if (arguments->json)
    status = describe_json(checkpoint, loaded);
  else
    describe(checkpoint, loaded);
  mz_loaded_close(loaded);
  return status;
}

static mz_status inspect(const void *given) {
  const inspect_arguments *arguments = given;
  if (arguments->verify + arguments->digest + arguments->diff > 1)
    return mz_fail(MZ_E_USAGE, "--verify, --digest and --diff: one of them");
  if (arguments->diff && !arguments->other) return mz_fail(MZ_E_USAGE, "--diff: needs two runs: inspect --diff A B");
  if (!arguments->diff && arguments->other) return mz_fail(MZ_E_USAGE, "'%s': a second run goes with --diff", arguments->other);
  char run[MZ_RUN_ARGUMENT_SIZE], other[MZ_RUN_ARGUMENT_SIZE], path[512];
  MZ_TRY(mz_run_argument(arguments->run, run));
  if (arguments->diff) {
    MZ_TRY(mz_run_argument(arguments->other, other));
    return mz_inspect_diff(run, other, arguments->json);
  }
  MZ_TRY(mz_run_checkpoint_path(run, path, sizeof path));
  mz_checkpoint checkpoint;
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  const mz_status status = inspect_one(arguments, &checkpoint, mz_file_is_dir(run) || !mz_file_exists(run));
  mz_checkpoint_close(&checkpoint);
  return status;
}

const mz_command mz_command_inspect = {
    .name = "inspect",
    .summary = "what is in a run or a checkpoint; verify, digest or compare it",
    .about = "Shows what a run's latest checkpoint, or a checkpoint file, holds: counters, sections, settings. Writes nothing.",
    .options = options,
    .arguments_size = sizeof(inspect_arguments),
    .examples = {"inspect runs/t --digest", "inspect --diff runs/a runs/b"},
    .run = inspect,
};
