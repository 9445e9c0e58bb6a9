/* JSON lines of the program, for tests; failures fail the test. */
#pragma once
#include "base/json/json.h"
#include "tests/cli/support/process.h"

/* Line `index` of `text` (−1: the last), parsed; cJSON_Delete it. */
cJSON *lines_at(const char *text, int index);
int lines_count(const char *text);
double lines_number(const cJSON *object, const char *key);
const char *lines_string(const cJSON *object, const char *key);
/* Keys, NULL at the end, are all there. */
void assert_keys(const cJSON *object, ...) __attribute__((sentinel));
/* A run's ledger replays byte for byte. */
void lines_assert_replays(process *p, const char *run);
