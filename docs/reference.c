/* Writes docs/settings.md, docs/commands.md and docs/metrics.md from the program's tables, or checks that they are up to date.
 * usage: reference DOCS            writes the pages into the folder DOCS
 *        reference --check DOCS    fails where a page differs from what the tables give */
#include "base/file/file.h"
#include "cli/command.h"
#include "muzero/settings.h"
#include "muzero/storage/phase_metric.h"
#include <stdbool.h>
#include <string.h>

/* Titles of the tables of mz_settings_config, in its order, each with its first key: a table that moves is noticed. */
static const struct {
  const char *first_key, *title, *about;
} groups[] = {
    {"batch_size", "Learning", "How much is learned in a round, and from how many rows."},
    {"optimizer", "Optimizer", "How gradients change the weights."},
    {"unroll_steps", "Loss", "The loss over unrolled steps and the weights of its terms."},
    {"network.kind", "Network", "Shape and precision of representation, dynamics and prediction."},
    {"num_games", "Self-play", "The games in play and how their moves are chosen."},
    {"simulations", "Search", "The tree search of self-play, reanalysis and evaluation."},
    {"replay.capacity", "Replay", "Stored segments, how rows are drawn from them and what their targets are."},
    {"cpu_actor", "Knobs", "Threads and groupings that change only speed and memory. 0 leaves the choice to the program."},
    {"train.horizon", "Training", "Schedules, stop limits, evaluation and checkpoints."},
    {"allocate.strategy", "Allocator", "What the allocator may use and do ([allocator.md](allocator.md))."},
    {"devices.selfplay", "Placement", "Where the stages run. `muzero doctor` names the devices."},
    {"numerics.guard", "Numeric guard", "What is done when numbers diverge ([guarantees.md](guarantees.md))."},
    {"watchdog.time", "Watchdog", "What is done when nothing moves."},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static const char begin[] =
    "<!-- Generated from the program's tables by docs/reference.c; `build/tests/reference docs` rewrites it. -->\n\n";

/* A table's cell: '|' would end it. */
static void put_cell(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '|') fputc('\\', out);
    fputc(*text, out);
  }
}

static void put_code(FILE *out, const char *text) {
  fputc('`', out);
  put_cell(out, text);
  fputc('`', out);
}

static void put_choices(FILE *out, const char *choices) {
  for (const char *at = choices; *at;) {
    const size_t length = strcspn(at, "|");
    fprintf(out, "%s`%.*s`", at == choices ? "" : ", ", (int)length, at);
    at += length + (at[length] == '|');
  }
}

static void put_values(FILE *out, const mz_setting *row) {
  const char *unit = row->unit && row->unit[0] ? row->unit : NULL;
  switch (row->type) {
    case MZ_BOOL: fprintf(out, "`on`, `off`"); return;
    case MZ_TEXT: fprintf(out, "text"); return;
    case MZ_ENUM: put_choices(out, row->choices); return;
    default: break;
  }
  if (row->max >= 0x1p63)
    fprintf(out, "≥ %.9g", row->min); /* no upper bound */
  else
    fprintf(out, "%.9g … %.9g", row->min, row->max);
  if (unit) fprintf(out, " %s", unit);
}

static void put_setting(FILE *out, const mz_setting *row) {
  fprintf(out, "| `%s` | ", row->key);
  if (row->fallback[0])
    put_code(out, row->fallback);
  else
    fprintf(out, "none");
  fprintf(out, " | ");
  put_values(out, row);
  fprintf(out, " | %s | ", mz_class_name(row->class_));
  put_cell(out, row->help);
  fprintf(out, " |\n");
}

static mz_status write_settings(FILE *out) {
  static mz_settings settings;
  const mz_config config = mz_settings_config(&settings, NULL);
  if (config.table_count != GROUPS)
    return mz_fail(MZ_E_INTERNAL, "docs/reference.c: there are %d tables of settings and %d titles; add the new table's title",
                   config.table_count, (int)GROUPS);
  fprintf(out, "# Settings\n\n%s", begin);
  fprintf(out,
          "A setting is given by `--set KEY=VALUE`, which may be repeated, or in a preset: a JSON file whose nested objects join "
          "their keys with dots "
          "(`--preset FILE`; the [bundled ones](../muzero/presets) are chosen by the environment's name). "
          "A preset may begin with a bundled one, `\"preset\": \"asterix\"`, and say only what is different. "
          "`--set` overrides the preset, and the preset the defaults below. The settings of a run are in its `config.json`.\n\n"
          "Counts and sizes take `k`, `M`, `G`, sizes also `KiB`, `MiB`, `GiB`; times take `s`, `m`, `h`. "
          "Unknown keys and values out of range are errors that name the nearest valid one.\n\n"
          "The *class* says what a setting can change ([guarantees.md](guarantees.md)): "
          "`exact` only speed and memory, `numeric` the rounding, `algorithmic` what is learned, `operational` how the program "
          "runs and what it reports. Three operational ones may change more: with `allocate.objective=goodput`, "
          "`allocate.strategy=staged` and `allocate.numeric=on` times decide part of what is learned or rounded.\n");
  for (int t = 0; t < GROUPS; t++) {
    const mz_settings_table *table = &config.tables[t];
    if (strcmp(table->rows[0].key, groups[t].first_key) != 0)
      return mz_fail(MZ_E_INTERNAL, "docs/reference.c: the table that begins with %s has the title \"%s\", whose first key is %s",
                     table->rows[0].key, groups[t].title, groups[t].first_key);
    fprintf(out, "\n## %s\n\n%s\n\n| key | default | values | class | meaning |\n|---|---|---|---|---|\n", groups[t].title,
            groups[t].about);
    for (int i = 0; i < table->count; i++) put_setting(out, &table->rows[i]);
  }
  fprintf(out, "\n## Earlier names\n\nThese keys still work and cost a warning.\n\n| earlier | now |\n|---|---|\n");
  for (const mz_renamed_key *key = mz_renamed_settings; key->old; key++) fprintf(out, "| `%s` | `%s` |\n", key->old, key->key);
  return MZ_OK;
}

/* "resume RUN": the arguments by position as the help shows them. */
static void put_usage(FILE *out, const mz_command *command) {
  const mz_option *option;
  fprintf(out, "muzero %s", command->name);
  for (int i = 0; (option = mz_command_option(command, i)); i++) {
    if (mz_option_is_flag(option)) continue;
    fprintf(out, option->value ? " [%s]%s" : " %s%s", option->name, option->type == MZ_OPTION_LIST ? "…" : "");
  }
}

static void put_option(FILE *out, const mz_command *command, const mz_option *option) {
  const bool flag = mz_option_is_flag(option);
  fprintf(out, "| `%s%s%s`%s | ", option->name, flag && option->value ? " " : "", flag && option->value ? option->value : "",
          flag && option->type == MZ_OPTION_LIST ? " (repeatable)" : "");
  if (option->fallback)
    put_code(out, option->fallback);
  else
    put_cell(out, mz_command_default(command, option));
  fprintf(out, " | %s | ", flag ? mz_class_name(option->class_) : "");
  char help[MZ_OPTION_HELP_SIZE];
  put_cell(out, mz_option_help(option, help));
  fprintf(out, " |\n");
}

static void write_command(FILE *out, const mz_command *command) {
  const mz_option *option;
  fprintf(out, "\n## %s\n\n%s\n\n    ", command->name, command->about);
  put_usage(out, command);
  fprintf(out, " [FLAGS]\n\n| argument or flag | default | class | meaning |\n|---|---|---|---|\n");
  for (int flags = 0; flags < 2; flags++)
    for (int i = 0; (option = mz_command_option(command, i)); i++)
      if (mz_option_is_flag(option) == (flags == 1)) put_option(out, command, option);
  fprintf(out, "\nFor example:\n\n```sh\nmuzero %s\nmuzero %s\n```\n", command->examples[0], command->examples[1]);
}

static mz_status write_commands(FILE *out) {
  fprintf(out, "# Commands\n\n%s", begin);
  fprintf(
      out,
      "`muzero COMMAND --help` prints what is here. RUN is a run's directory; where one checkpoint is enough, also RUN@best, "
      "RUN@ROUND "
      "or a checkpoint file. `--json` prints one JSON "
      "object a line and "
      "nothing else to stdout; diagnostics go to stderr. Settings for `--set` are in [settings.md](settings.md).\n\n"
      "Exit codes: 0 ok, 1 internal, 2 usage, 3 config, 4 checkpoint, 5 input/output, 6 device, 75 interrupted and resumable.\n\n"
      "| command | does |\n|---|---|\n");
  for (int i = 0; i < mz_command_count(); i++) {
    fprintf(out, "| [`%s`](#%s) | ", mz_commands[i]->name, mz_commands[i]->name);
    put_cell(out, mz_commands[i]->summary);
    fprintf(out, " |\n");
  }
  for (int i = 0; i < mz_command_count(); i++) write_command(out, mz_commands[i]);
  return MZ_OK;
}

static mz_status write_metrics(FILE *out) {
  static const char *const rules[] = {
      [MZ_METRIC_LAST] = "last", [MZ_METRIC_MEAN] = "mean", [MZ_METRIC_SUM] = "sum", [MZ_METRIC_EVALUATED] = "last evaluated"};
  const mz_phase_metric *metric;
  fprintf(out, "# Metrics\n\n%s", begin);
  fprintf(out,
          "The numbers of a phase: the keys of a record in `metrics.jsonl`, of a line of `--json`, and the names that "
          "`muzero_run_metric` takes. Where a number is not known, it is `null`. *Phases* says how the report combines "
          "several phases into one point or total.\n\n"
          "A record also has `event`, `digest` (of the state, hexadecimal), `parts` (digests of the state's parts), `evaluated`, "
          "`warning` (a diagnosis in words), `strategy`, `action` and `reason` (of the allocator), and `plan` (every knob). The "
          "last line of "
          "`--json`, `done`, counts whole phases only in `phases`: a run that stops within a phase has one record more.\n\n"
          "| key | unit | phases | meaning |\n|---|---|---|---|\n");
  for (int i = 0; (metric = mz_phase_metric_row(i)); i++)
    fprintf(out, "| `%s` | %s | %s | %s |\n", metric->key, metric->unit, rules[metric->rule], metric->help);
  return MZ_OK;
}

static mz_status check_page(const char *path, const char *wanted) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_file_read(path, 1 << 22, &data, &size));
  const bool same = size == strlen(wanted) && memcmp(data, wanted, size) == 0;
  free(data);
  if (same) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: is not what the program's tables give; `build/tests/reference docs` rewrites it", path);
}

static mz_status make_page(const char *folder, const char *name, bool check, mz_status (*write)(FILE *out)) {
  char path[4096], *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return mz_fail(MZ_E_MEMORY, "%s: no memory for the page", name);
  mz_status status = write(out);
  if (fclose(out) != 0 && status == MZ_OK) status = mz_fail(MZ_E_MEMORY, "%s: no memory for the page", name);
  MZ_TRY_CLEANUP(status);
  MZ_TRY_CLEANUP(mz_path_join(path, sizeof path, folder, name));
  status = check ? check_page(path, text) : mz_file_write_atomic(path, text, size);
cleanup:
  free(text);
  return status;
}

int main(int argc, char **argv) {
  const bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
  if (argc != 2 + check) {
    fprintf(stderr, "usage: reference [--check] DOCS\n");
    return MZ_E_USAGE;
  }
  static const struct {
    const char *name;
    mz_status (*write)(FILE *out);
  } pages[] = {{"settings.md", write_settings}, {"commands.md", write_commands}, {"metrics.md", write_metrics}};
  int failed = 0;
  for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
    if (make_page(argv[argc - 1], pages[i].name, check, pages[i].write) == MZ_OK) continue;
    fprintf(stderr, "reference: %s\n", mz_message());
    failed = 1;
  }
  return failed;
}
