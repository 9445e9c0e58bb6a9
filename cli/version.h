/* `muzero --version`: version, commit, compiled and found back ends. Starts nothing. */
#pragma once

void mz_version_print(void);
const char *mz_commit(void); /* "1a2b3c4d", with "+" after it when files differed from it; "unknown" outside a repository */
