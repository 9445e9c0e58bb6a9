#include "tests/cli/support/lines.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

int lines_count(const char *text) {
  int count = 0;
  for (; *text; text++) count += *text == '\n';
  return count;
}

cJSON *lines_at(const char *text, int index) {
  const int count = lines_count(text);
  if (index < 0) index += count;
  assert_in_range(index, 0, count - 1);
  while (index-- > 0) text = strchr(text, '\n') + 1;
  cJSON *object = NULL;
  if (mz_json_parse(text, strcspn(text, "\n"), "stdout", false, MZ_E_INTERNAL, &object) != MZ_OK) fail_msg("%s", mz_message());
  return object;
}

double lines_number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsNumber(item)) fail_msg("%s is no number", key);
  return item->valuedouble;
}

const char *lines_string(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsString(item)) fail_msg("%s is no string", key);
  return item->valuestring;
}

void assert_keys(const cJSON *object, ...) {
  va_list list;
  va_start(list, object);
  for (const char *key; (key = va_arg(list, const char *));)
    if (!cJSON_GetObjectItemCaseSensitive(object, key)) fail_msg("no key %s", key);
  va_end(list);
}

void lines_assert_replays(process *p, const char *run) {
  process_run(p, "what-if", run, "--set", "cpu_actor=1", "--json", NULL);
  assert_status(p, 0);
  cJSON *answer = lines_at(p->out, -1);
  assert_int_equal((int)lines_number(answer, "differences"), 0);
  cJSON_Delete(answer);
}
