#include "cli/command.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static const mz_option *find_row(const mz_option *rows, const char *name, size_t length) {
  for (const mz_option *row = rows; row && row->name; row++)
    if (strlen(row->name) == length && strncmp(row->name, name, length) == 0) return row;
  return NULL;
}

const mz_option *mz_command_option(const mz_command *command, int index) {
  const mz_option *row;
  for (row = command->options; row->name; row++)
    if (!row->refused && index-- == 0) return row;
  for (row = command->shared; row && row->name; row++)
    if (!find_row(command->options, row->name, strlen(row->name)) && index-- == 0) return row;
  return NULL;
}

bool mz_option_is_flag(const mz_option *option) { return option->name[0] == '-'; }

const char *mz_option_help(const mz_option *option, char out[MZ_OPTION_HELP_SIZE]) {
  int used = snprintf(out, MZ_OPTION_HELP_SIZE, "%s", option->help);
  for (int i = 0; option->choice && option->choice(i); i++) {
    MZ_ASSERT(used < MZ_OPTION_HELP_SIZE);
    used += snprintf(out + used, MZ_OPTION_HELP_SIZE - (size_t)used, "%s%s", i > 0 ? ", " : ": ", option->choice(i));
  }
  return out;
}

const char *mz_command_default(const mz_command *command, const mz_option *option) {
  if (command->continues && option->is_kept) return "the run's";
  if (option->fallback) return option->fallback;
  if (option->otherwise) return option->otherwise;
  return option->type == MZ_OPTION_SWITCH ? "off" : "";
}

static const mz_option *find_flag(const mz_command *command, const char *name, size_t length) {
  const mz_option *own = find_row(command->options, name, length);
  return own ? own : find_row(command->shared, name, length);
}

static mz_status unknown_flag(const mz_command *command, const char *word, size_t length) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
  const char *names[64];
  int count = 0;
  const mz_option *option;
  for (int i = 0; (option = mz_command_option(command, i)) && count < 62; i++)
    if (mz_option_is_flag(option)) names[count++] = option->name;
  names[count++] = "--help";
  if (strcmp(name, "--help") == 0) return mz_fail(MZ_E_USAGE, "--help: takes no value");
  const char *nearest = mz_nearest(name, names, count);
  if (nearest) return mz_fail(MZ_E_USAGE, "%s: no flag of `muzero %s`; did you mean %s?", name, command->name, nearest);
  return mz_fail(MZ_E_USAGE, "%s: no flag of `muzero %s`; `muzero %s --help` lists them", name, command->name, command->name);
}

static mz_status parse_number(const mz_option *option, const char *text, double *out) {
  char *end;
  errno = 0;
  *out = strtod(text, &end);
  if (text[strspn(text, "0123456789+-.eE")] || end == text || /* decimal notation only */ *end || errno == ERANGE ||
      !isfinite(*out))
    return mz_fail(MZ_E_USAGE, "%s: '%s' is not a number", option->name, text);
  return MZ_OK;
}

static mz_status check_range(const mz_option *option, const char *text, double value) {
  if ((option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max)) return MZ_OK;
  if (option->type == MZ_OPTION_COUNT)
    return mz_fail(MZ_E_USAGE, "%s: %s is out of range: a whole number from %.0f to %.0f", option->name, text, option->min,
                   option->max);
  return mz_fail(MZ_E_USAGE, "%s: %s is out of range: %.17g to %.17g", option->name, text, option->min, option->max);
}

static mz_status store(const mz_option *option, const char *text, void *arguments) {
  void *target = (char *)arguments + option->offset;
  mz_status status = MZ_OK;
  double number = 0;
  switch (option->type) {
    case MZ_OPTION_SWITCH: *(bool *)target = true; return MZ_OK;
    case MZ_OPTION_TEXT:
      if (!*text) return mz_fail(MZ_E_USAGE, "%s: an empty text; its meaning: %s", option->name, option->help);
      *(const char **)target = text;
      return MZ_OK;
    case MZ_OPTION_LIST: {
      mz_text_list *list = target;
      if (list->count == MZ_LIST_MAX) return mz_fail(MZ_E_USAGE, "%s: given more than %d times", option->name, MZ_LIST_MAX);
      list->items[list->count++] = text;
      return MZ_OK;
    }
    case MZ_OPTION_COUNT:
      if (text[0] == '-' && strtod(text, NULL) < 0) return check_range(option, text, strtod(text, NULL));
      status = mz_parse_count(text, option->name, target);
      number = (double)*(int64_t *)target;
      break;
    case MZ_OPTION_NUMBER:
      status = parse_number(option, text, target);
      number = *(double *)target;
      break;
    case MZ_OPTION_TIME:
      status = mz_parse_time(text, option->name, target);
      number = *(double *)target;
      break;
  }
  if (status == MZ_OK) return check_range(option, text, number);
  if (status == MZ_E_MEMORY) return status;
  return mz_fail(MZ_E_USAGE, "%s", mz_message()); /* a value of the command line, not of a configuration */
}

static mz_status set_defaults(const mz_command *command, void *arguments) {
  const mz_option *option;
  for (int i = 0; (option = mz_command_option(command, i)); i++) {
    void *target = (char *)arguments + option->offset;
    if (option->type == MZ_OPTION_COUNT) *(int64_t *)target = MZ_COUNT_UNSET;
    if (option->type == MZ_OPTION_NUMBER || option->type == MZ_OPTION_TIME) *(double *)target = NAN;
    if (option->fallback) MZ_TRY(store(option, option->fallback, arguments));
  }
  return MZ_OK;
}

/* A list takes its place and all that follow. */
static const mz_option *positional(const mz_command *command, int index) {
  const mz_option *option;
  for (int i = 0; (option = mz_command_option(command, i)); i++)
    if (!mz_option_is_flag(option) && (index-- == 0 || option->type == MZ_OPTION_LIST)) return option;
  return NULL;
}

static bool is_given(const mz_option *option, const void *arguments) {
  return option->type == MZ_OPTION_LIST && ((const mz_text_list *)((const char *)arguments + option->offset))->count > 0;
}

mz_status mz_command_parse(const mz_command *command, int argc, char **argv, void *arguments) {
  MZ_TRY(set_defaults(command, arguments));
  int positionals = 0;
  bool flags = true; /* until "--" */
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    if (flags && strcmp(word, "--") == 0) {
      flags = false;
      continue;
    }
    if (!flags || word[0] != '-' || word[1] == 0) {
      const mz_option *option = positional(command, positionals++);
      if (!option)
        return mz_fail(MZ_E_USAGE, "'%s': one argument too many for `muzero %s`; see `muzero %s --help`", word, command->name,
                       command->name);
      MZ_TRY(store(option, word, arguments));
      continue;
    }
    const char *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const mz_option *option = find_flag(command, word, length);
    if (!option) return unknown_flag(command, word, length);
    if (option->refused) return mz_fail(MZ_E_USAGE, "%s: %s", option->name, option->refused);
    if (option->type == MZ_OPTION_SWITCH) {
      if (equals) return mz_fail(MZ_E_USAGE, "%s: takes no value", option->name);
      MZ_TRY(store(option, NULL, arguments));
    } else if (equals) {
      MZ_TRY(store(option, equals + 1, arguments));
    } else {
      if (i + 1 == argc) return mz_fail(MZ_E_USAGE, "%s: needs a value: %s %s", option->name, option->name, option->value);
      MZ_TRY(store(option, argv[++i], arguments));
    }
  }
  const mz_option *missing = positional(command, positionals);
  if (missing && !missing->value && !is_given(missing, arguments))
    return mz_fail(MZ_E_USAGE, "`muzero %s` needs %s: %s; for example: muzero %s", command->name, missing->name, missing->help,
                   command->examples[0]);
  return MZ_OK;
}
