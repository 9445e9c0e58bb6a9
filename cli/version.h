/* `muzero --version`: version, commit, compiled and found back ends. Starts nothing. */
#pragma once

void mz_version_print(void);
