#include "cli/help.h"
#include "cli/print.h"
#include "cli/terminal_window.h"
#include "muzero/settings.h"
#include <string.h>

enum { HELP_COLUMNS = 128, NAME_COLUMNS = 27, DEFAULT_COLUMNS = 21, CLASS_COLUMNS = 12, MEANING_AT = 2 + 28 + 22 + 13 };
enum { TABLE_COLUMNS = MEANING_AT + 40, LIST_INDENT = 6 }; /* in a narrower window a table is a list */

static int columns(void) { return mz_window_text_columns(HELP_COLUMNS); }

/* Prints `word` behind `column` columns with a space before it (none at `indent`, where text begins), on a new line where it
 * does not fit; returns the new column. */
static int print_word(const char *word, int length, int column, int indent) {
  const int width = mz_text_columns(word, (size_t)length);
  if (column + 1 + width > columns() && column > indent) {
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

static void print_wrapped_after(const char *head, const char *text) { print_wrapped(text, printf("%s", head)); }

/* Prints an example; a line that continues ends as a shell wants it. */
static void print_example(const char *text) {
  enum { INDENT = 6, MARK = 2 };
  int column = printf("  muzero");
  while (*text) {
    const int length = (int)strcspn(text, " ");
    if (column + 1 + length + MARK > columns()) {
      printf(" \\\n%*s", INDENT, "");
      column = INDENT + length;
    } else {
      printf(" ");
      column += 1 + length;
    }
    printf("%.*s", length, text);
    text += length + (text[length] == ' ');
  }
  printf("\n");
}

void mz_help_overview(void) {
  printf("muzero trains MuZero agents.\n\nusage: muzero COMMAND …\n\n");
  for (int i = 0; i < mz_command_count(); i++) {
    const int indent = printf("  %-10s ", mz_commands[i]->name);
    print_wrapped(mz_commands[i]->summary, indent);
  }
  print_wrapped_after("\n  muzero COMMAND --help        ", "flags, defaults, examples and the settings that matter most");
  print_wrapped_after("  muzero COMMAND --help all    ", "with every setting; --help WORD: only flags and settings about WORD");
  print_wrapped_after("  muzero --version             ", "version, commit and back ends");
  printf("\n");
  print_wrapped(
      "exit codes: 0 ok, 1 internal, 2 usage, 3 config, 4 checkpoint, 5 input/output, 6 device, 75 interrupted and resumable", 0);
  printf("\n");
  print_example("train tictactoe");
  print_example("eval runs/tictactoe/NAME --opponent perfect --games 200");
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

/* printf pads by bytes; this pads by characters. Returns the columns. */
static int print_padded(const char *text, int width) {
  const int shown = mz_text_columns(text, strlen(text));
  printf("%s%*s ", text, width > shown ? width - shown : 0, "");
  return (width > shown ? width : shown) + 1;
}

static bool is_narrow(void) { return columns() < TABLE_COLUMNS; }

static void print_row(const char *name, const char *fallback, const char *class_name, const char *meaning) {
  if (is_narrow()) {
    char text[700];
    snprintf(text, sizeof text, "%s (%s%s%s%s)", meaning, fallback[0] ? "default: " : "", fallback, fallback[0] ? "; " : "",
             class_name);
    printf("  %s\n%*s", name, LIST_INDENT, "");
    print_wrapped(text, LIST_INDENT);
    return;
  }
  printf("  ");
  int column = 2 + print_padded(name, NAME_COLUMNS);
  column += print_padded(fallback, DEFAULT_COLUMNS);
  column += print_padded(class_name, CLASS_COLUMNS);
  if (column > MEANING_AT) printf("\n%*s", MEANING_AT, "");
  print_wrapped(meaning, MEANING_AT);
}

/* Prints what the rows below are. */
static void print_head(const char *name, const char *meaning) {
  if (!is_narrow()) {
    print_row(name, "default", "class", meaning);
    return;
  }
  char text[128];
  snprintf(text, sizeof text, "%s: %s (default; class)", name, meaning);
  print_wrapped(text, 0);
}

/* Prints an argument by position. */
static void print_argument(const mz_option *option) {
  printf("  ");
  if (is_narrow())
    printf("%s\n%*s", option->name, LIST_INDENT, "");
  else
    print_padded(option->name, NAME_COLUMNS);
  char help[MZ_OPTION_HELP_SIZE];
  print_wrapped(mz_option_help(option, help), is_narrow() ? LIST_INDENT : 2 + NAME_COLUMNS + 1);
}

static void print_flag(const mz_command *command, const mz_option *option) {
  char name[64], help[MZ_OPTION_HELP_SIZE];
  snprintf(name, sizeof name, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
  print_row(name, mz_command_default(command, option), mz_class_name(option->class_), mz_option_help(option, help));
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

/* ---- settings ---- */

static mz_config settings_config(void) {
  static mz_settings settings;
  return mz_settings_config(&settings, NULL);
}

static void print_setting(const mz_setting *row) {
  char meaning[512];
  describe_setting(row, meaning, sizeof meaning);
  print_row(row->key, row->fallback[0] ? row->fallback : "none", mz_class_name(row->class_), meaning);
}

static void print_settings_head(void) { print_head("setting", "meaning [range] (--set key=value, or a preset file)"); }

static void print_presets(void) {
  int column = printf("\npresets:");
  for (int i = 0; i < mz_preset_count(); i++) column = print_word(mz_preset_name(i), (int)strlen(mz_preset_name(i)), column, 2);
  printf("\n");
}

static void print_settings(const mz_command *command, bool all) {
  const mz_config config = settings_config();
  const int count = mz_config_row_count(&config);
  int shown = 0;
  printf("\n");
  print_settings_head();
  for (int i = 0; i < count; i++) {
    const mz_setting *row = mz_config_row(&config, i);
    if (!all && !row->common) continue;
    print_setting(row);
    shown++;
  }
  if (!all) {
    char rest[256];
    snprintf(rest, sizeof rest,
             "%d of %d settings: `muzero %s --help all` shows every one, `muzero %s --help WORD` those about WORD", shown, count,
             command->name, command->name);
    printf("\n");
    print_wrapped(rest, 0);
  }
  const mz_option *option;
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (strcmp(option->name, "--preset") == 0) print_presets();
}

static void print_classes(void) {
  printf("\n");
  print_wrapped(
      "classes: exact changes only speed and memory; numeric changes rounding; algorithmic changes what is learned; "
      "operational changes how the program runs and what it reports (goodput, staged and allocate.numeric may change more)",
      0);
}

/* ---- about a word ---- */

static bool option_matches(const mz_option *option, const char *word) {
  char help[MZ_OPTION_HELP_SIZE];
  return strcasestr(option->name, word) || strcasestr(mz_option_help(option, help), word);
}

/* A word may be a key of before, which --set still takes. */
static bool setting_matches(const mz_setting *row, const char *word) {
  for (const mz_renamed_key *renamed = mz_renamed_settings; renamed->old; renamed++)
    if (strcmp(renamed->key, row->key) == 0 && strcasecmp(renamed->old, word) == 0) return true;
  return strcasestr(row->key, word) || strcasestr(row->help, word) || (row->choices && strcasestr(row->choices, word));
}

/* Names to choose the nearest from: keys, their parts, and flags without dashes. */
enum { NAMES_MAX = 1024, NAME_BYTES = 40 };
typedef struct names {
  char texts[NAMES_MAX][NAME_BYTES];
  const char *list[NAMES_MAX];
  int count;
} names;

static void add_name(names *to, const char *text, size_t length) {
  if (to->count == NAMES_MAX || length >= NAME_BYTES || length == 0) return;
  to->list[to->count] = to->texts[to->count];
  snprintf(to->texts[to->count++], NAME_BYTES, "%.*s", (int)length, text);
}

static void add_parts(names *to, const char *name) {
  add_name(to, name, strlen(name));
  while (*name) {
    const size_t length = strcspn(name, "._-");
    add_name(to, name, length);
    name += length + (name[length] != '\0');
  }
}

static mz_status fail_no_match(const mz_command *command, const mz_config *config, int settings, const char *word) {
  static names all;
  all.count = 0;
  for (int i = 0; i < settings; i++) add_parts(&all, mz_config_row(config, i)->key);
  const mz_option *option;
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (mz_option_is_flag(option)) add_parts(&all, option->name + 2);
  const char *nearest = mz_nearest(word, all.list, all.count);
  return mz_fail(MZ_E_USAGE,
                 "'%s': nothing matches among the flags%s of `muzero %s`; `muzero %s --help all` shows every one%s%s%s", word,
                 settings > 0 ? " and settings" : "", command->name, command->name, nearest ? "; did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
}

static mz_status print_about(const mz_command *command, const char *word) {
  const mz_config config = settings_config();
  const int setting_count = command->lists_settings ? mz_config_row_count(&config) : 0;
  const mz_option *option;
  int flags = 0, settings = 0;
  for (int i = 0; (option = mz_command_option(command, i)); i++) {
    if (!mz_option_is_flag(option) || !option_matches(option, word)) continue;
    if (flags++ == 0) print_head("flag", "meaning");
    print_flag(command, option);
  }
  for (int i = 0; i < setting_count; i++) {
    if (!setting_matches(mz_config_row(&config, i), word)) continue;
    if (settings++ == 0) {
      if (flags > 0) printf("\n");
      print_settings_head();
    }
    print_setting(mz_config_row(&config, i));
  }
  if (flags + settings == 0) return fail_no_match(command, &config, setting_count, word);
  print_classes();
  return MZ_OK;
}

/* ---- a command ---- */

mz_status mz_help_command(const mz_command *command, const char *topic) {
  const bool all = topic && strcmp(topic, "all") == 0;
  if (topic && !all) return print_about(command, topic);
  print_usage(command);
  printf("\n");
  print_wrapped(command->about, 0);
  const mz_option *option;
  int arguments = 0;
  printf("\n");
  for (int i = 0; (option = mz_command_option(command, i)); i++) {
    if (mz_option_is_flag(option)) continue;
    print_argument(option);
    arguments++;
  }
  if (arguments > 0) printf("\n");
  print_head("flag", "meaning");
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (mz_option_is_flag(option)) print_flag(command, option);
  if (command->lists_settings) print_settings(command, all);
  print_classes();
  printf("\nexamples:\n");
  print_example(command->examples[0]);
  print_example(command->examples[1]);
  return MZ_OK;
}
