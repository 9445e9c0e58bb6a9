/* The text of `--help`, made from the tables of options and settings; to stdout. */
#pragma once
#include "cli/command.h"

void mz_help_overview(void);
/* Prints a command's help. topic: NULL shows the settings that matter most, "all" every one, any other word only the flags and
 * settings whose name, help or choices hold it, in capitals or not; MZ_E_USAGE naming the nearest where there are none. It counts
 * for commands that list settings. */
mz_status mz_help_command(const mz_command *command, const char *topic);
