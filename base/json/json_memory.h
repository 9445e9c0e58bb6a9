/* Memory of JSON values. cJSON's functions that add to an object say nothing useful when memory runs out: the member is missing,
 * and the text would be whole without it. So every failed allocation of cJSON is remembered, for the thread, until a text is made
 * or read: that then fails instead (mz_json_line, mz_json_page, mz_json_parse). */
#pragma once
#include <stdbool.h>

/* Returns whether an allocation has failed on this thread since the last call, and forgets it. */
bool mz_json_memory_failed(void);
/* Remembers it again (before: what was returned), for who looks at one value between another's building and its text. */
void mz_json_memory_remember(bool before);
