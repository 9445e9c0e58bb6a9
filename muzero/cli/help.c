#include "muzero/cli/help.h"
#include "muzero/settings.h"
#include <string.h>

enum { HELP_COLUMNS = 110 };

/* Prints `word` after `column` columns, on a new line indented by `indent` where it does not fit; returns the new column. */
static int print_word(const char *word, int length, int column, int indent) {
  int width = 0; /* of UTF-8 */
  for (int i = 0; i < length; i++) width += (word[i] & 0xc0) != 0x80;
  if (column + width > HELP_COLUMNS && column > indent) {
    printf("\n%*s", indent, "");
    column = indent;
  }
  printf("%.*s ", length, word);
  return column + width + 1;
}

/* Ends the line. */
static void print_wrapped(const char *text, int column, int indent) {
  while (*text) {
    const char *space = strchr(text, ' ');
    const int length = space ? (int)(space - text) : (int)strlen(text);
    column = print_word(text, length, column, indent);
    text += length + (space != NULL);
  }
  printf("\n");
}

void mz_help_overview(void) {
  printf("muzero trains MuZero agents.\n\nusage: muzero COMMAND …\n\n");
  for (int i = 0; i < mz_command_count(); i++) printf("  %-10s %s\n", mz_commands[i]->name, mz_commands[i]->summary);
  printf("\n  muzero COMMAND --help   flags, defaults, settings and examples\n"
         "  muzero --version        version, commit and back ends\n\n"
         "exit codes: 0 ok, 1 internal, 2 usage, 3 config, 4 checkpoint, 5 input/output, 6 device, 75 interrupted and resumable\n\n"
         "  muzero train tictactoe\n  muzero eval runs/tictactoe/NAME --opponent perfect --games 200\n");
}

static void print_usage(const mz_command *command) {
  int column = printf("usage: muzero %s ", command->name);
  const mz_option *option;
  for (int pass = 0; pass < 2; pass++) /* arguments by position first */
    for (int i = 0; (option = mz_command_option(command, i)); i++) {
      const bool flag = mz_option_is_flag(option);
      if (flag != (pass == 1)) continue;
      const char *value = flag ? option->value : NULL;
      char word[128];
      snprintf(word, sizeof word, flag || option->value ? "[%s%s%s]%s" : "%s%s%s%s", option->name, value ? " " : "", value ? value : "",
               option->type == MZ_OPTION_LIST ? "…" : "");
      column = print_word(word, (int)strlen(word), column, 7);
    }
  printf("\n");
}

static void print_option(const mz_option *option) {
  char name[64];
  if (mz_option_is_flag(option) && option->value) snprintf(name, sizeof name, "%s %s", option->name, option->value);
  else snprintf(name, sizeof name, "%s", option->name);
  const char *fallback = option->fallback ? option->fallback : option->otherwise ? option->otherwise : "";
  if (option->type == MZ_OPTION_SWITCH) fallback = "off";
  if (!mz_option_is_flag(option)) {
    printf("  %-20s ", name);
    print_wrapped(option->help, 23, 23);
    return;
  }
  printf("  %-20s %-22s %-12s ", name, fallback, mz_class_name(option->class_));
  print_wrapped(option->help, 59, 59);
}

static void setting_range(const mz_setting *row, char *out, size_t size) {
  switch (row->type) {
    case MZ_ENUM: snprintf(out, size, "%s", row->choices); break;
    case MZ_BOOL: snprintf(out, size, "on|off"); break;
    case MZ_TEXT: snprintf(out, size, "text"); break;
    default: snprintf(out, size, "%.6g…%.6g%s%s", row->min, row->max, row->unit && row->unit[0] ? " " : "", row->unit ? row->unit : "");
  }
}

/* printf pads by bytes; this pads by characters. */
static void print_padded(const char *text, int width) {
  int columns = 0;
  for (const char *c = text; *c; c++) columns += (*c & 0xc0) != 0x80;
  printf("%s%*s ", text, width > columns ? width - columns : 0, "");
}

static void print_settings(void) {
  static mz_settings settings;
  const mz_config config = mz_settings_config(&settings, NULL);
  printf("\nsettings (--set key=value, or a preset file)\n  ");
  print_padded("key", 27), print_padded("default", 9), print_padded("range", 27), print_padded("class", 12);
  printf("meaning\n");
  for (int i = 0; i < mz_config_row_count(&config); i++) {
    const mz_setting *row = mz_config_row(&config, i);
    char range[128];
    setting_range(row, range, sizeof range);
    printf("  ");
    print_padded(row->key, 27), print_padded(row->fallback[0] ? row->fallback : "none", 9), print_padded(range, 27);
    print_padded(mz_class_name(row->class_), 12);
    printf("%s\n", row->help);
  }
  printf("presets:");
  for (int i = 0; i < mz_preset_count(); i++) printf(" %s", mz_preset_name(i));
  printf("\n");
}

void mz_help_command(const mz_command *command) {
  print_usage(command);
  printf("\n");
  print_wrapped(command->about, 0, 0);
  const mz_option *option;
  printf("\n");
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (!mz_option_is_flag(option)) print_option(option);
  printf("\n  %-20s %-22s %-12s %s\n", "flag", "default", "class", "meaning");
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (mz_option_is_flag(option)) print_option(option);
  if (command->lists_settings) print_settings();
  printf("\nclasses: exact changes only speed and memory; numeric changes rounding; algorithmic changes what is learned;\n"
         "operational changes neither\n");
  printf("\nexamples:\n  muzero %s\n  muzero %s\n", command->examples[0], command->examples[1]);
}
