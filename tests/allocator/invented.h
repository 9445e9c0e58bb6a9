/* Pipelines that have nothing to do with MuZero, and JSON that was damaged one place at a time. */
#pragma once
#include "allocator/pipeline/pipeline.h"
#include "base/maths/rng.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A bakery: kneading and baking at the same time, then packing; on two sets of cores and a GPU. */
enum { KNEADERS, TRAYS, BAKERS, SHELVES, OVEN, BAKERY_KNOBS };
static inline mz_pipeline bakery(void) {
  return (mz_pipeline){
      .name = "bakery",
      .unit_samples = 100,
      .bytes_fixed = 40 << 20,
      .stage_count = 3,
      .queue_count = 1,
      .device_count = 3,
      .knob_count = BAKERY_KNOBS,
      .stages = {{.name = "knead",
                  .threads = KNEADERS,
                  .batch = TRAYS,
                  .device = -1,
                  .items = 100,
                  .groups = 25,
                  .probes = {{.batch = {1, 8}, .cpu_s = {2e-3, 1e-3}}},
                  .bytes_thread = 1.2 * (1 << 20),
                  .bytes_slot = 80 << 10},
                 {.name = "bake", .threads = BAKERS, .batch = -1, .device = OVEN, .items = 10, .serial = 0.25},
                 {.name = "pack", .step = 1, .threads = -1, .batch = -1, .device = -1, .items = 1}},
      .queues = {{.name = "dough", .from = 0, .to = 1, .capacity = SHELVES, .items = 100, .bytes = 2 << 20}},
      .devices = {{.name = "cpu:0", .kind = MZ_DEVICE_CPU, .cores = 4},
                  {.name = "cpu:1", .kind = MZ_DEVICE_CPU, .cores = 2},
                  {.name = "cuda:0", .kind = MZ_DEVICE_CUDA}},
      .knobs = {[KNEADERS] = {"kneaders", MZ_EXACT, MZ_SCALE_LOG2, 1, 12},
                [TRAYS] = {"trays", MZ_EXACT, MZ_SCALE_LOG2, 1, 25},
                [BAKERS] = {"bakers", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [SHELVES] = {"shelves", MZ_EXACT, MZ_SCALE_LOG2, 4, 4},
                [OVEN] = {"oven", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, 2}},
  };
}
static inline mz_plan bakery_plan(void) { return (mz_plan){.values = {4, 16, 1, 4, 0}}; }

/* ---- chance ---- */

static inline int draw(mz_rng *rng, int low, int high) { return low + (int)mz_rng_below(rng, (uint32_t)(high - low + 1)); }

/* 0 or more, of all magnitudes, with all its bits in use; sometimes 0. */
static inline double draw_amount(mz_rng *rng) { return draw(rng, 0, 9) == 0 ? 0 : ldexp(mz_rng_f64(rng), draw(rng, -40, 60)); }

static inline void draw_name(mz_rng *rng, int index, char out[MZ_NAME_MAX]) {
  static const char letters[] = "abc:0 \"\\\t/\xc3\xa9_";
  const int length = draw(rng, 0, 20);
  snprintf(out, MZ_NAME_MAX, "%d.", index); /* so that it is its own */
  for (int i = 0; i < length; i++) {
    const int at = draw(rng, 0, (int)sizeof letters - 4);
    const size_t used = strlen(out);
    snprintf(out + used, MZ_NAME_MAX - used, "%.*s", letters[at] == '\xc3' ? 2 : letters[at] == '\xa9' ? 0 : 1, letters + at);
  }
}

static inline void draw_knob(mz_rng *rng, int index, int device_count, mz_knob *out) {
  draw_name(rng, index, out->name);
  out->class_ = (mz_class)draw(rng, MZ_EXACT, MZ_OPERATIONAL);
  if (index == 0) { /* a device */
    out->scale = MZ_SCALE_CHOICE;
    out->max = device_count - 1;
    return;
  }
  out->scale = (mz_scale)draw(rng, MZ_SCALE_LOG2, MZ_SCALE_CHOICE);
  out->min = (int64_t)ldexp(mz_rng_f64(rng), draw(rng, 0, 20));
  out->max = out->min + (draw(rng, 0, 3) ? (int64_t)ldexp(mz_rng_f64(rng), draw(rng, 0, 52)) : 0);
}

static inline void draw_stage(mz_rng *rng, int index, int knob_count, mz_pipeline_stage *out) {
  draw_name(rng, index, out->name);
  out->step = draw(rng, 0, MZ_STAGES_MAX - 1);
  out->threads = draw(rng, -1, knob_count - 1);
  out->batch = draw(rng, -1, knob_count - 1);
  out->device = draw(rng, -1, 0);
  out->items = draw_amount(rng);
  out->groups = draw_amount(rng);
  out->serial = mz_rng_f64(rng);
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
    mz_probes *probes = &out->probes[kind];
    const int count = draw(rng, 0, MZ_PROBES_MAX);
    for (int i = 0; i < count; i++) {
      probes->batch[i] = draw(rng, 1, 1024);
      probes->cpu_s[i] = draw_amount(rng);
      if (kind != MZ_DEVICE_CPU) probes->device_s[i] = draw_amount(rng);
    }
  }
  out->gives_way = draw(rng, 0, 1);
  out->bytes_thread = draw_amount(rng);
  out->bytes_slot = draw_amount(rng);
}

/* Passes mz_pipeline_check. */
static inline void draw_pipeline(mz_rng *rng, mz_pipeline *p) {
  *p = (mz_pipeline){.unit_samples = draw_amount(rng), .handoff_s = draw_amount(rng), .bytes_fixed = draw_amount(rng)};
  draw_name(rng, 0, p->name);
  p->stage_count = draw(rng, 1, MZ_STAGES_MAX);
  p->queue_count = draw(rng, 0, MZ_QUEUES_MAX);
  p->device_count = draw(rng, 1, MZ_DEVICES_MAX);
  p->knob_count = draw(rng, 1, MZ_PLAN_KNOBS_MAX);
  for (int i = 0; i < p->device_count; i++) {
    p->devices[i].kind = i == 0 || draw(rng, 0, 1) ? MZ_DEVICE_CPU : MZ_DEVICE_CUDA;
    p->devices[i].cores = p->devices[i].kind == MZ_DEVICE_CPU ? draw(rng, 1, 64) : 0;
    p->devices[i].whole_cores = p->devices[i].cores > 0 ? draw(rng, 0, p->devices[i].cores - 1) : 0;
    draw_name(rng, i, p->devices[i].name);
  }
  for (int i = 0; i < p->knob_count; i++) draw_knob(rng, i, p->device_count, &p->knobs[i]);
  for (int i = 0; i < p->stage_count; i++) draw_stage(rng, i, p->knob_count, &p->stages[i]);
  for (int i = 0; i < p->queue_count; i++) {
    mz_pipeline_queue *queue = &p->queues[i];
    draw_name(rng, i, queue->name);
    queue->from = draw(rng, 0, p->stage_count - 1);
    queue->to = draw(rng, 0, p->stage_count - 1);
    queue->capacity = draw(rng, -1, p->knob_count - 1);
    queue->items = draw_amount(rng);
    queue->bytes = draw_amount(rng);
    queue->batched = draw(rng, 0, 1);
  }
  p->store_count = draw(rng, 0, MZ_STORES_MAX);
  for (int i = 0; i < p->store_count; i++) {
    draw_name(rng, i, p->stores[i].name);
    p->stores[i].raw = draw(rng, 0, p->knob_count - 1);
    p->stores[i].bytes = draw_amount(rng);
    p->stores[i].packed = mz_rng_f64(rng);
  }
}

/* Within the knobs' ranges. */
static inline mz_plan draw_plan(mz_rng *rng, const mz_pipeline *p) {
  mz_plan plan = {0};
  for (int i = 0; i < p->knob_count; i++) {
    const double range = (double)(p->knobs[i].max - p->knobs[i].min);
    plan.values[i] = p->knobs[i].min + (int64_t)(mz_rng_f64(rng) * (range + 1));
  }
  return plan;
}

/* ---- JSON ---- */

/* Returns the JSON as it comes back from a file. */
static inline cJSON *through_text(cJSON *json) {
  char *line = mz_json_line(json);
  assert_non_null(line);
  assert_null(strchr(line, '\n'));
  cJSON *back = NULL;
  assert_int_equal(mz_json_parse(line, strlen(line), "line", false, MZ_E_CHECKPOINT, &back), MZ_OK);
  free(line);
  cJSON_Delete(json);
  return back;
}

/* Reads `json` into a value of the reader's own, and asserts there that a failure leaves it untouched. */
typedef mz_status (*read_json)(const cJSON *json);

/* `find` in the JSON becomes `put`. */
static inline void expect_json_error(cJSON *json, read_json read, const char *find, const char *put, const char *message) {
  char *line = mz_json_line(json), *at = strstr(line, find), text[8192];
  cJSON_Delete(json);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - line), line, put, at + strlen(find));
  free(line);
  assert_int_equal(mz_json_parse(text, strlen(text), "text", false, MZ_E_CHECKPOINT, &json), MZ_OK);
  assert_int_equal(read(json), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), message);
  cJSON_Delete(json);
}

static inline void expect_refused(const cJSON *root, read_json read, const char *key) {
  assert_int_equal(read(root), MZ_E_CHECKPOINT);
  if (strstr(mz_message(), key) == NULL) fail_msg("'%s' is not named: %s", key, mz_message());
}

/* In every object and array at or below `at`, each member in turn gets another type and, where it has a key, loses it: both are
 * refused, naming the key; only the key `optional` may be missing. Counts the refusals. */
static inline int damage_each(const cJSON *root, cJSON *at, read_json read, const char *optional) {
  int count = 0;
  for (cJSON *item = at->child; item != NULL; item = item->next) {
    const char *key = item->string != NULL ? item->string : at->string;
    const int type = item->type;
    item->type = cJSON_True;
    expect_refused(root, read, key);
    item->type = type;
    if (item->string != NULL && strcmp(item->string, optional) != 0) {
      char *const own = item->string, gone[] = "~";
      item->string = gone;
      expect_refused(root, read, key);
      item->string = own;
    }
    count += 1 + (item->string != NULL) + damage_each(root, item, read, optional);
  }
  return count;
}
