#include "base/config/config.h"
#include "base/course/course.h"
#include <math.h>
#include <string.h>

static const char FORMAT[] = "muzero course";
/* The one member that a course may have or lack: where a fitted course comes from. The course is the same without it. */
static const char FITTED[] = "fitted";
static const char *const price_keys[MZ_COURSE_RESOURCES] = {"core_hour", "gpu_hour", "gib_hour"};

/* ---- reading ---- */

/* An object of the text and what to call it. */
typedef struct place {
  const cJSON *json;
  char name[192];        /* "course.json: stages[3].use" */
  const char *separator; /* between the name and that of a member */
} place;

static mz_status fail_key(const place *at, const char *key, const char *const *keys, int count) {
  const char *nearest = mz_nearest(key, keys, count);
  if (nearest) return mz_fail(MZ_E_CONFIG, "%s: unknown key '%.80s'; did you mean '%s'?", at->name, key, nearest);
  char all[192] = "";
  size_t used = 0;
  for (int i = 0; i < count && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", keys[i]);
  return mz_fail(MZ_E_CONFIG, "%s: unknown key '%.80s'; there are %s", at->name, key, all);
}

/* Checks that the place is an object with all of these keys and no other. */
static mz_status expect_keys(const place *at, const char *const *keys, int count) {
  if (!cJSON_IsObject(at->json)) return mz_fail(MZ_E_CONFIG, "%s: takes a JSON object", at->name);
  for (const cJSON *member = at->json->child; member; member = member->next) {
    int i = 0;
    while (i < count && strcmp(member->string, keys[i]) != 0) i++;
    if (i == count) return fail_key(at, member->string, keys, count);
  }
  for (int i = 0; i < count; i++)
    if (!cJSON_GetObjectItemCaseSensitive(at->json, keys[i]))
      return mz_fail(MZ_E_CONFIG, "%s: '%s' is missing", at->name, keys[i]);
  return MZ_OK;
}

static place member_of(const place *at, const char *key) {
  place inner = {.json = cJSON_GetObjectItemCaseSensitive(at->json, key), .separator = "."};
  snprintf(inner.name, sizeof inner.name, "%.150s%s%s", at->name, at->separator, key);
  return inner;
}

static place element_of(const place *at, const cJSON *item, int index) {
  place inner = {.json = item, .separator = "."};
  snprintf(inner.name, sizeof inner.name, "%.170s[%d]", at->name, index);
  return inner;
}

static mz_status number(const place *at, double *out) {
  if (!cJSON_IsNumber(at->json) || !isfinite(at->json->valuedouble)) return mz_fail(MZ_E_CONFIG, "%s: takes a number", at->name);
  *out = at->json->valuedouble;
  return MZ_OK;
}

static mz_status number_of(const place *at, const char *key, double *out) {
  const place inner = member_of(at, key);
  return number(&inner, out);
}

/* Numbers under several keys of an object that has no others. */
static mz_status numbers_of(const place *at, const char *const *keys, int count, double *out) {
  MZ_TRY(expect_keys(at, keys, count));
  for (int i = 0; i < count; i++) MZ_TRY(number_of(at, keys[i], &out[i]));
  return MZ_OK;
}

static mz_status expect_length(const place *at, int least, int most, const char *what, int *count) {
  *count = cJSON_IsArray(at->json) ? cJSON_GetArraySize(at->json) : -1;
  if (*count < 0) return mz_fail(MZ_E_CONFIG, "%s: takes a list", at->name);
  if (*count >= least && *count <= most) return MZ_OK;
  if (least == most) return mz_fail(MZ_E_CONFIG, "%s: %d numbers, but there are %d %s", at->name, *count, most, what);
  return mz_fail(MZ_E_CONFIG, "%s: %d %s: out of range; %d … %d; nearest valid value: %d", at->name, *count, what, least, most,
                 *count < least ? least : most);
}

/* A number for each plan, to a member of the stage's cells; `offset`: of the member. */
static mz_status read_row(const place *stage, const char *key, mz_course *course, int s, size_t offset) {
  const place at = member_of(stage, key);
  int count, p = 0;
  MZ_TRY(expect_length(&at, course->plans, course->plans, "plans", &count));
  const cJSON *item;
  cJSON_ArrayForEach(item, at.json) {
    const place inner = element_of(&at, item, p);
    MZ_TRY(number(&inner, (double *)(void *)((char *)&course->cell[s][p++] + offset)));
  }
  return MZ_OK;
}

static mz_status read_resource_rows(const place *stage, const char *key, mz_course *course, int s, size_t offset) {
  const place at = member_of(stage, key);
  MZ_TRY(expect_keys(&at, mz_course_resource_names, MZ_COURSE_RESOURCES));
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    MZ_TRY(read_row(&at, mz_course_resource_names[r], course, s, offset + (size_t)r * sizeof(double)));
  return MZ_OK;
}

static mz_status read_stage(const place *at, mz_course *course, int s) {
  static const char *const keys[] = {"noise_scale", "seconds", "growth", "use", "stall"};
  MZ_TRY(expect_keys(at, keys, 5));
  MZ_TRY(number_of(at, "noise_scale", &course->noise_scale[s]));
  MZ_TRY(read_row(at, "seconds", course, s, offsetof(mz_course_cell, seconds)));
  MZ_TRY(read_row(at, "growth", course, s, offsetof(mz_course_cell, growth)));
  MZ_TRY(read_resource_rows(at, "use", course, s, offsetof(mz_course_cell, use)));
  return read_resource_rows(at, "stall", course, s, offsetof(mz_course_cell, stall));
}

static mz_status read_plan(const place *at, mz_course_plan *plan) {
  static const char *const keys[] = {"cores", "gpus", "memory_gib", "batch_size"};
  double numbers[4];
  MZ_TRY(numbers_of(at, keys, 4, numbers));
  memcpy(plan->amounts, numbers, sizeof plan->amounts);
  plan->batch_size = numbers[3];
  return MZ_OK;
}

static mz_status read_format(const place *root) {
  const cJSON *format = cJSON_GetObjectItemCaseSensitive(root->json, "format");
  if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: no course: 'format' is not \"%s\"", root->name, FORMAT);
  double version;
  MZ_TRY(number_of(root, "version", &version));
  if (version >= MZ_COURSE_VERSION && version <= MZ_COURSE_VERSION) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: version %g: this program reads version %d%s", root->name, version, MZ_COURSE_VERSION,
                 version == 1 ? ", which adds \"pace\": {\"slower\": 0, \"faster\": 0, \"bursts\": 0}, \"ends_at_score\": false "
                                "and \"resize_penalty\": 0.1"
                              : "");
}

static mz_status read_limits(const place *root, mz_course *course) {
  static const char *const limit_keys[] = {"deadline_s", "budget", "score"}, *const score_keys[] = {"start", "ceiling"},
                           *const pace_keys[] = {"slower", "faster", "bursts"};
  double limits[3], score[2], pace[3];
  const place prices = member_of(root, "prices"), at = member_of(root, "limits"), scores = member_of(root, "score"),
              paces = member_of(root, "pace"), ends = member_of(root, "ends_at_score");
  MZ_TRY(numbers_of(&prices, price_keys, MZ_COURSE_RESOURCES, course->prices));
  MZ_TRY(numbers_of(&at, limit_keys, 3, limits));
  MZ_TRY(numbers_of(&scores, score_keys, 2, score));
  MZ_TRY(numbers_of(&paces, pace_keys, 3, pace));
  if (!cJSON_IsBool(ends.json)) return mz_fail(MZ_E_CONFIG, "%s: takes true or false", ends.name);
  course->deadline_s = limits[0];
  course->budget = limits[1];
  course->target = limits[2];
  course->score = score[0];
  course->ceiling = score[1];
  course->slower = pace[0];
  course->faster = pace[1];
  course->bursts = pace[2];
  course->ends_at_score = cJSON_IsTrue(ends.json);
  return number_of(root, "resize_penalty", &course->resize_penalty);
}

static mz_status read_root(const place *root, cJSON *json, mz_course *course) {
  static const char *const keys[] = {"format", "version",       "prices",         "limits", "score",
                                     "pace",   "ends_at_score", "resize_penalty", "plans",  "stages"};
  if (!cJSON_IsObject(root->json)) return mz_fail(MZ_E_CONFIG, "%s: takes a JSON object", root->name);
  MZ_TRY(read_format(root)); /* of another version keys may differ */
  cJSON_DeleteItemFromObjectCaseSensitive(json, FITTED);
  MZ_TRY(expect_keys(root, keys, sizeof keys / sizeof keys[0]));
  MZ_TRY(read_limits(root, course));
  const place plans = member_of(root, "plans"), stages = member_of(root, "stages");
  MZ_TRY(expect_length(&plans, 1, MZ_COURSE_PLANS_MAX, "plans", &course->plans));
  MZ_TRY(expect_length(&stages, 1, MZ_COURSE_STAGES_MAX, "stages", &course->stages));
  const cJSON *item;
  int i = 0;
  cJSON_ArrayForEach(item, plans.json) {
    const place at = element_of(&plans, item, i);
    MZ_TRY(read_plan(&at, &course->plan[i++]));
  }
  i = 0;
  cJSON_ArrayForEach(item, stages.json) {
    const place at = element_of(&stages, item, i);
    MZ_TRY(read_stage(&at, course, i++));
  }
  return MZ_OK;
}

mz_status mz_course_read(mz_course *out, const char *text, size_t size, const char *name) {
  cJSON *json;
  MZ_TRY(mz_json_parse(text, size, name, true, MZ_E_CONFIG, &json));
  place root = {.json = json, .separator = ": "};
  snprintf(root.name, sizeof root.name, "%.100s", name);
  memset(out, 0, sizeof *out);
  out->spread = MZ_COURSE_SPREAD;
  mz_status status = read_root(&root, json, out);
  cJSON_Delete(json);
  return status == MZ_OK ? mz_course_prepare(out, name) : status;
}

/* ---- writing ---- */

static void add_row(cJSON *object, const char *key, const mz_course *course, int s, size_t offset) {
  double row[MZ_COURSE_PLANS_MAX];
  for (int p = 0; p < course->plans; p++) memcpy(&row[p], (const char *)&course->cell[s][p] + offset, sizeof row[p]);
  cJSON_AddItemToObject(object, key, cJSON_CreateDoubleArray(row, course->plans));
}

static void add_resource_rows(cJSON *object, const char *key, const mz_course *course, int s, size_t offset) {
  cJSON *rows = cJSON_AddObjectToObject(object, key);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    add_row(rows, mz_course_resource_names[r], course, s, offset + (size_t)r * sizeof(double));
}

static cJSON *add_element(cJSON *array) {
  cJSON *element = cJSON_CreateObject();
  cJSON_AddItemToArray(array, element);
  return element;
}

cJSON *mz_course_to_json(const mz_course *course) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "format", FORMAT);
  cJSON_AddNumberToObject(root, "version", MZ_COURSE_VERSION);
  cJSON *prices = cJSON_AddObjectToObject(root, "prices"), *limits = cJSON_AddObjectToObject(root, "limits"),
        *score = cJSON_AddObjectToObject(root, "score"), *pace = cJSON_AddObjectToObject(root, "pace");
  cJSON_AddBoolToObject(root, "ends_at_score", course->ends_at_score != 0);
  cJSON_AddNumberToObject(root, "resize_penalty", course->resize_penalty);
  cJSON *plans = cJSON_AddArrayToObject(root, "plans"), *stages = cJSON_AddArrayToObject(root, "stages");
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) cJSON_AddNumberToObject(prices, price_keys[r], course->prices[r]);
  cJSON_AddNumberToObject(limits, "deadline_s", course->deadline_s);
  cJSON_AddNumberToObject(limits, "budget", course->budget);
  cJSON_AddNumberToObject(limits, "score", course->target);
  cJSON_AddNumberToObject(score, "start", course->score);
  cJSON_AddNumberToObject(score, "ceiling", course->ceiling);
  cJSON_AddNumberToObject(pace, "slower", course->slower);
  cJSON_AddNumberToObject(pace, "faster", course->faster);
  cJSON_AddNumberToObject(pace, "bursts", course->bursts);
  for (int p = 0; p < course->plans; p++) {
    cJSON *plan = add_element(plans);
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
      cJSON_AddNumberToObject(plan, mz_course_resource_names[r], course->plan[p].amounts[r]);
    cJSON_AddNumberToObject(plan, "batch_size", course->plan[p].batch_size);
  }
  for (int s = 0; s < course->stages; s++) {
    cJSON *stage = add_element(stages);
    cJSON_AddNumberToObject(stage, "noise_scale", course->noise_scale[s]);
    add_row(stage, "seconds", course, s, offsetof(mz_course_cell, seconds));
    add_row(stage, "growth", course, s, offsetof(mz_course_cell, growth));
    add_resource_rows(stage, "use", course, s, offsetof(mz_course_cell, use));
    add_resource_rows(stage, "stall", course, s, offsetof(mz_course_cell, stall));
  }
  return root;
}
