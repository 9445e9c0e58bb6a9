/* What `--help` prints, made from the option tables; to stdout. */
#pragma once
#include "cli/command.h"

void mz_help_overview(void);
void mz_help_command(const mz_command *command);
