/* The command line's entry: finds the command in the table, parses its options, runs it, turns its status into an exit code. */
#include "base/file/file_standard.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/version.h"
#include <stdalign.h>
#include <string.h>

/* *topic: the word after --help, "all" after --help-all, or NULL. */
static bool asks_for_help(int argc, char **argv, const char **topic) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    const bool all = strcmp(argv[i], "--help-all") == 0;
    if (!all && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
    const char *next = i + 1 < argc && argv[i + 1][0] && argv[i + 1][0] != '-' ? argv[i + 1] : NULL;
    *topic = all ? "all" : next;
    return true;
  }
  return false;
}

static mz_status run_command(const mz_command *command, int argc, char **argv) {
  const char *topic;
  if (asks_for_help(argc, argv, &topic)) return mz_help_command(command, topic);
  alignas(max_align_t) static char arguments[MZ_ARGUMENTS_MAX];
  MZ_ASSERT(command->arguments_size <= sizeof arguments);
  MZ_TRY(mz_command_parse(command, argc, argv, arguments));
  return command->run(arguments);
}

static mz_status dispatch(int argc, char **argv) {
  if (argc < 2) return mz_fail(MZ_E_USAGE, "which command? `muzero --help` lists them");
  const char *word = argv[1];
  if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
    mz_version_print();
    return MZ_OK;
  }
  const bool help = strcmp(word, "help") == 0;
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
    mz_help_overview();
    return MZ_OK;
  }
  if (help && argc > 3)
    return mz_fail(MZ_E_USAGE, "'%s': one argument too many for `muzero help`, which takes one command", argv[3]);
  if (word[0] == '-')
    return mz_fail(MZ_E_USAGE,
                   "%s: flags come after the command, as in `muzero train --help`; `muzero --help` lists the commands", word);
  const mz_command *command;
  MZ_TRY(mz_command_find(help ? argv[2] : word, &command));
  if (!help) return run_command(command, argc - 2, argv + 2);
  return mz_help_command(command, NULL);
}

/* Prints the last failure, which may name anything from outside. */
static void print_failure(void) {
  char text[MZ_PRINTABLE_SIZE(MZ_MESSAGE_MAX)];
  fprintf(stderr, "muzero: %s\n", mz_text_printable(mz_message(), text, sizeof text));
}

int main(int argc, char **argv) {
  mz_signals_init();
  mz_status status = mz_file_open_standard();
  if (status == MZ_OK) status = dispatch(argc, argv);
  if (status == MZ_OK) status = mz_print_flush();
  if (status != MZ_OK) print_failure();
  if (status == MZ_E_MEMORY) return (int)MZ_E_INTERNAL;
  return status == MZ_E_DIVERGED ? (int)MZ_E_CONFIG : (int)status;
}
