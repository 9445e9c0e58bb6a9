#include "cli/help.h"
#include "muzero/settings.h"
#include <string.h>

enum { HELP_COLUMNS = 128, NAME_COLUMNS = 27, DEFAULT_COLUMNS = 21, CLASS_COLUMNS = 12, MEANING_AT = 2 + 28 + 22 + 13 };

/* Prints `word` behind `column` columns with a space before it (none at `indent`, where text begins), on a new line where it
 * does not fit; returns the new column. */
static int print_word(const char *word, int length, int column, int indent) {
  int width = 0; /* of UTF-8 */
  for (int i = 0; i < length; i++) width += (word[i] & 0xc0) != 0x80;
  if (column + 1 + width > HELP_COLUMNS && column > indent) {
    printf("\n%*s", indent, "");
    column = indent;
  } else if (column > indent) {
    printf(" ");
    column++;
  }
  printf("%.*s", length, word);
  return column + width;
}

/* Words of `text`, where the cursor stands at `indent`; ends the line. */
static void print_wrapped(const char *text, int indent) {
  int column = indent;
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
  printf(
      "\n  muzero COMMAND --help   flags, defaults, settings and examples\n"
      "  muzero --version        version, commit and back ends\n\n"
      "exit codes: 0 ok, 1 internal, 2 usage, 3 config, 4 checkpoint, 5 input/output, 6 device, 75 interrupted and resumable\n\n"
      "  muzero train tictactoe\n  muzero eval runs/tictactoe/NAME --opponent perfect --games 200\n");
}

static void print_usage(const mz_command *command) {
  int column = printf("usage: muzero %s", command->name);
  const mz_option *option;
  for (int pass = 0; pass < 2; pass++) /* arguments by position first */
    for (int i = 0; (option = mz_command_option(command, i)); i++) {
      const bool flag = mz_option_is_flag(option);
      if (flag != (pass == 1)) continue;
      const char *value = flag ? option->value : NULL;
      char word[128];
      snprintf(word, sizeof word, flag || option->value ? "[%s%s%s]%s" : "%s%s%s%s", option->name, value ? " " : "",
               value ? value : "", option->type == MZ_OPTION_LIST ? "…" : "");
      column = print_word(word, (int)strlen(word), column, 7);
    }
  printf("\n");
}

/* printf pads by bytes; this pads by characters. */
static void print_padded(const char *text, int width) {
  int columns = 0;
  for (const char *c = text; *c; c++) columns += (*c & 0xc0) != 0x80;
  printf("%s%*s ", text, width > columns ? width - columns : 0, "");
}

static void print_row(const char *name, const char *fallback, const char *class_name, const char *meaning) {
  printf("  ");
  print_padded(name, NAME_COLUMNS);
  print_padded(fallback, DEFAULT_COLUMNS);
  print_padded(class_name, CLASS_COLUMNS);
  print_wrapped(meaning, MEANING_AT);
}

static void print_flag(const mz_option *option) {
  char name[64];
  snprintf(name, sizeof name, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
  const char *fallback = option->fallback ? option->fallback : option->otherwise ? option->otherwise : "";
  print_row(name, option->type == MZ_OPTION_SWITCH ? "off" : fallback, mz_class_name(option->class_), option->help);
}

static void describe_setting(const mz_setting *row, char *out, size_t size) {
  const char *unit = row->unit ? row->unit : "";
  switch (row->type) {
    case MZ_ENUM: snprintf(out, size, "%s [%s]", row->help, row->choices); break;
    case MZ_BOOL: snprintf(out, size, "%s [on|off]", row->help); break;
    case MZ_TEXT: snprintf(out, size, "%s [text]", row->help); break;
    default: snprintf(out, size, "%s [%.9g…%.9g%s%s]", row->help, row->min, row->max, unit[0] ? " " : "", unit);
  }
}

static void print_settings(void) {
  static mz_settings settings;
  const mz_config config = mz_settings_config(&settings, NULL);
  printf("\n");
  print_row("setting", "default", "class", "meaning [range] (--set key=value, or a preset file)");
  for (int i = 0; i < mz_config_row_count(&config); i++) {
    const mz_setting *row = mz_config_row(&config, i);
    char meaning[512];
    describe_setting(row, meaning, sizeof meaning);
    print_row(row->key, row->fallback[0] ? row->fallback : "none", mz_class_name(row->class_), meaning);
  }
  printf("\npresets:");
  for (int i = 0; i < mz_preset_count(); i++) printf(" %s", mz_preset_name(i));
  printf("\n");
}

void mz_help_command(const mz_command *command) {
  print_usage(command);
  printf("\n");
  print_wrapped(command->about, 0);
  const mz_option *option;
  printf("\n");
  for (int i = 0; (option = mz_command_option(command, i)); i++) {
    if (mz_option_is_flag(option)) continue;
    printf("  ");
    print_padded(option->name, NAME_COLUMNS);
    print_wrapped(option->help, 2 + NAME_COLUMNS + 1);
  }
  printf("\n");
  print_row("flag", "default", "class", "meaning");
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (mz_option_is_flag(option)) print_flag(option);
  if (command->lists_settings) print_settings();
  printf("\nclasses: exact changes only speed and memory; numeric changes rounding; algorithmic changes what is learned; "
         "operational\n"
         "changes neither\n\nexamples:\n  muzero %s\n  muzero %s\n",
         command->examples[0], command->examples[1]);
}
