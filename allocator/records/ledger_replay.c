#include "allocator/predictors/pretrained.h"
#include "base/json/fields.h"
#include "allocator/records/ledger.h"
#include "base/log.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ROUNDS_MAX = 1 << 20 };

/* The values that the options of a section point to. */
typedef struct section {
  mz_pipeline pipeline;
  mz_allocation_settings settings;
  mz_observation history[MZ_HISTORY_USED_MAX];
} section;

typedef struct player {
  const char *path;
  char where[256];      /* "PATH:LINE" */
  int64_t upto, format; /* format: of the present section */
  bool reached, done;   /* a window of phase `upto` was played; the last one was */
  mz_replayed *out;
} player;

/* ---- the line that opens a section ---- */

/* Programs before 2026-12 wrote here where the owner's stages run, too, which no decision depends on. */
static void drop_placement(cJSON *settings) {
  cJSON *devices = cJSON_GetObjectItemCaseSensitive(settings, "devices"), *item = cJSON_IsObject(devices) ? devices->child : NULL;
  while (item) {
    cJSON *next = item->next;
    if (strcmp(item->string, "cpu") != 0) cJSON_Delete(cJSON_DetachItemViaPointer(devices, item));
    item = next;
  }
}

/* Settings are checked as users' are; here a wrong one is damage. */
static mz_status read_settings(const mz_fields *f, mz_allocation_settings *out) {
  mz_fields object;
  MZ_TRY(mz_fields_object(f, "settings", &object));
  mz_settings_table table = mz_allocation_table;
  table.base = 0;
  mz_config config = {.tables = &table, .table_count = 1, .values = out};
  mz_config_defaults(&config);
  cJSON *settings = cJSON_Duplicate(object.object, true);
  if (!settings) return mz_fail(MZ_E_MEMORY, "%s: no memory for the settings", object.where);
  drop_placement(settings);
  const mz_status status = mz_config_set_json(&config, settings, object.where);
  cJSON_Delete(settings);
  if (status == MZ_OK) return MZ_OK;
  return mz_fail(f->code, "%s", mz_message());
}

/* null: no bound. */
static mz_status read_bounds(const mz_fields *f, mz_bounds *out) {
  mz_fields object;
  MZ_TRY(mz_fields_object(f, "bounds", &object));
  const struct {
    const char *key;
    double *value, none;
  } rows[] = {{"cpu_min", &out->cpu_min, 0},       {"cpu_max", &out->cpu_max, INFINITY},
              {"gpu_min", &out->gpu_min, 0},       {"gpu_max", &out->gpu_max, INFINITY},
              {"memory_min", &out->memory_min, 0}, {"memory_max", &out->memory_max, INFINITY}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    MZ_TRY(mz_fields_measure(&object, rows[i].key, rows[i].value));
    if (isnan(*rows[i].value)) *rows[i].value = rows[i].none;
  }
  return MZ_OK;
}

static mz_status read_start(const mz_fields *f, const mz_pipeline *pipeline, mz_plan *out) {
  mz_fields object;
  MZ_TRY(mz_fields_object(f, "start", &object));
  if (cJSON_GetArraySize(object.object) != pipeline->knob_count)
    return mz_fail(f->code, "%s: takes a value for each of the %d knobs", object.where, pipeline->knob_count);
  return mz_plan_from_json(pipeline, out, object.object, object.where, f->code);
}

static mz_status read_history(const mz_fields *f, const mz_pipeline *pipeline, mz_observation *out, int *count) {
  const cJSON *array = NULL;
  MZ_TRY(mz_fields_array(f, "history", MZ_HISTORY_USED_MAX, &array, count));
  int i = 0;
  for (const cJSON *item = array->child; item != NULL; item = item->next, i++) {
    char where[300];
    snprintf(where, sizeof where, "%.250s: history %d", f->where, i);
    MZ_TRY(mz_observation_from_json(pipeline, &out[i], item, where, f->code));
  }
  return MZ_OK;
}

/* Without the networks that predicted then, decisions are replayed by what is left, and differ. */
static mz_status recall_pretrained(const player *p, const mz_fields *f, mz_pretrained **out) {
  char run[512];
  uint64_t digest;
  *out = NULL;
  if (!cJSON_HasObjectItem(f->object, "pretrained")) return MZ_OK;
  MZ_TRY(mz_json_get_u64_hex(f->object, "pretrained", f->where, f->code, &digest));
  const char *end = strrchr(p->path, '/');
  snprintf(run, sizeof run, "%.*s", end ? (int)(end - p->path) : 1, end ? p->path : ".");
  const mz_status status = mz_pretrained_recall(out, run, digest);
  if (status == MZ_OK || status == MZ_E_MEMORY) return status;
  mz_log_write(MZ_LOG_WARNING, "%s: %s; decisions are replayed without it, and differ", f->where, mz_message());
  return MZ_OK;
}

static mz_status read_section(const mz_fields *f, section *c, mz_allocator_options *options, int64_t *format) {
  char strategy[64];
  MZ_TRY(mz_fields_whole(f, "format", 1, MZ_WHOLE_MAX, format));
  if (*format > MZ_LEDGER_FORMAT)
    return mz_fail(f->code, "%s: a ledger of format %lld by a newer muzero; this one reads up to %d", f->where,
                   (long long)*format, MZ_LEDGER_FORMAT);
  mz_fields pipeline;
  MZ_TRY(mz_fields_object(f, "pipeline", &pipeline));
  MZ_TRY(mz_pipeline_from_json(&c->pipeline, pipeline.object, pipeline.where, f->code));
  MZ_TRY(read_settings(f, &c->settings));
  MZ_TRY(read_bounds(f, &options->bounds));
  MZ_TRY(read_start(f, &c->pipeline, &options->start));
  MZ_TRY(read_history(f, &c->pipeline, c->history, &options->history_count));
  MZ_TRY(mz_fields_text(f, "strategy", strategy, sizeof strategy));
  options->pipeline = &c->pipeline;
  options->settings = &c->settings;
  options->history = c->history;
  return mz_strategy_find(strategy, f->where, &options->strategy);
}

static mz_status play_open(player *p, const mz_fields *f) {
  mz_replayed *out = p->out;
  int64_t phase = 0;
  MZ_TRY(mz_fields_whole(f, "phase", 0, MZ_WHOLE_MAX, &phase));
  p->done = p->reached && phase >= p->upto; /* a section may begin in the middle of a phase: it then has the number before */
  if (p->done) return MZ_OK;
  mz_allocator_free(out->allocator);
  mz_pretrained_free(out->pretrained);
  free(out->storage);
  out->allocator = NULL;
  out->pretrained = NULL;
  out->storage = NULL;
  section *c = NULL;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  out->storage = c;
  out->options = (mz_allocator_options){0};
  out->newest = (mz_observation){0};
  MZ_TRY(read_section(f, c, &out->options, &p->format));
  MZ_TRY(recall_pretrained(p, f, &out->pretrained));
  out->options.pretrained = out->pretrained;
  return mz_allocator_create(&out->allocator, &out->options);
}

/* ---- decisions ---- */

static mz_status play_rounds(player *p, const mz_fields *f) {
  const cJSON *array = NULL;
  int count = 0;
  MZ_TRY(mz_fields_array(f, "rounds", ROUNDS_MAX, &array, &count));
  for (const cJSON *item = array->child; item != NULL; item = item->next) {
    if (!cJSON_IsNumber(item)) return mz_fields_fail(f, "rounds", "takes numbers");
    mz_allocator_round(p->out->allocator, item->valuedouble);
  }
  return MZ_OK;
}

static mz_status play_spent(player *p, const mz_fields *f, mz_decision *decision) {
  double seconds;
  if (!cJSON_HasObjectItem(f->object, "took_s")) return MZ_OK;
  MZ_TRY(mz_fields_number(f, "took_s", &seconds));
  if (!(seconds > 0)) return mz_fields_fail(f, "took_s", "takes seconds above 0");
  mz_allocator_spent(p->out->allocator, seconds, decision);
  return MZ_OK;
}

/* The recorded line begins with the replayed decision, whose closing brace inputs take the place of. */
static mz_status compare(player *p, const mz_decision *d, const char *line) {
  cJSON *json = mz_decision_to_json(p->out->options.pipeline, d);
  char *text = mz_json_line(json);
  cJSON_Delete(json);
  if (text == NULL) return mz_fail(MZ_E_MEMORY, "%s: no memory to replay a decision", p->where);
  const size_t length = strlen(text) - 1;
  const bool same = strncmp(line, text, length) == 0 && line[length] == ',';
  free(text);
  p->out->decisions++;
  p->out->phase = d->phase;
  if (same) return MZ_OK;
  if (p->out->differences++ == 0) p->out->first_difference = d->phase;
  return MZ_OK;
}

static mz_status follow(player *p, const mz_fields *f) {
  const mz_allocator_options *options = &p->out->options;
  const cJSON *json = cJSON_GetObjectItemCaseSensitive(f->object, "window");
  mz_window window = {0};
  mz_fields plan_json, next_json;
  mz_plan plan = options->start;
  MZ_TRY(mz_fields_object(f, "plan", &plan_json));
  MZ_TRY(mz_fields_object(f, "next", &next_json));
  MZ_TRY(mz_plan_from_json(options->pipeline, &plan, plan_json.object, plan_json.where, f->code));
  mz_plan next = plan;
  MZ_TRY(mz_plan_from_json(options->pipeline, &next, next_json.object, next_json.where, f->code));
  if (mz_plan_refused(options->pipeline, &options->bounds, &plan) || mz_plan_refused(options->pipeline, &options->bounds, &next))
    return mz_fail(f->code, "%s: a plan outside the bounds of its section", f->where);
  if (json != NULL) MZ_TRY(mz_window_from_json(options->pipeline, &window, json, f->where, f->code));
  mz_allocator_follow(p->out->allocator, &window, &plan, &next);
  mz_observation_from_window(&p->out->newest, &plan, &window);
  MZ_TRY(mz_fields_whole(f, "phase", 0, MZ_WHOLE_MAX, &p->out->phase));
  p->reached = json != NULL && window.phase == p->upto;
  p->out->followed++;
  return MZ_OK;
}

static mz_status play_decision(player *p, const mz_fields *f, const char *line) {
  mz_allocator *allocator = p->out->allocator;
  if (allocator == NULL) return mz_fail(f->code, "%s: a decision before the line that opens a section", f->where);
  if (p->format < MZ_LEDGER_FORMAT) return follow(p, f);
  mz_decision decision;
  const cJSON *json = cJSON_GetObjectItemCaseSensitive(f->object, "window");
  MZ_TRY(play_rounds(p, f));
  if (json != NULL) {
    mz_window window;
    MZ_TRY(mz_window_from_json(p->out->options.pipeline, &window, json, f->where, f->code));
    mz_allocator_decide(allocator, &window, &decision);
    if (isfinite(decision.observed)) mz_observation_from_window(&p->out->newest, &decision.plan, &window);
    p->reached = window.phase == p->upto;
  } else {
    int64_t phase = 0, round = 0;
    MZ_TRY(mz_fields_whole(f, "phase", 0, MZ_WHOLE_MAX, &phase));
    MZ_TRY(mz_fields_whole(f, "round", 0, MZ_WHOLE_MAX, &round));
    mz_allocator_begin(allocator, phase, round, &decision);
  }
  if (cJSON_HasObjectItem(f->object, "refused")) {
    const char *why = NULL;
    MZ_TRY(mz_json_get_string(f->object, "refused", f->where, f->code, &why));
    mz_allocator_refused(allocator, why, &decision);
  }
  MZ_TRY(play_spent(p, f, &decision));
  return compare(p, &decision, line);
}

/* Takes `again` over, which is what the line should be. */
static mz_status compare_whole(player *p, cJSON *again, const char *line, int64_t phase) {
  char *text = mz_json_line(again);
  cJSON_Delete(again);
  if (text == NULL) return mz_fail(MZ_E_MEMORY, "%s: no memory to replay a line", p->where);
  const bool same = strcmp(line, text) == 0;
  free(text);
  p->out->decisions++;
  if (!same && p->out->differences++ == 0) p->out->first_difference = phase;
  return MZ_OK;
}

/* A judgement has its inputs beside it. */
static mz_status play_goodput(player *p, const cJSON *json, const char *line) {
  mz_goodput_record record;
  mz_goodput_verdict verdict;
  MZ_TRY(mz_goodput_from_json(&record, json, p->where, MZ_E_CHECKPOINT));
  mz_goodput memory = record.before;
  mz_goodput_judge(&memory, &record.evidence, &verdict);
  return compare_whole(p, mz_goodput_to_json(&record, &verdict), line, record.phase);
}

static mz_status play_batch_move(player *p, const cJSON *json, const char *line) {
  mz_batch_move move;
  MZ_TRY(mz_batch_move_from_json(&move, json, p->where, MZ_E_CHECKPOINT));
  return compare_whole(p, mz_batch_move_to_json(&move), line, move.phase);
}

static mz_status play_promise(player *p, const cJSON *json, const char *line) {
  mz_promise promise;
  MZ_TRY(mz_promise_from_json(&promise, json, p->where, MZ_E_CHECKPOINT));
  return compare_whole(p, mz_promise_to_json(&promise), line, 0);
}

/* Nothing after the wanted phase is looked at: the first later decision is the end, or a section that begins after it. */
static mz_status play(void *context, const char *line, size_t length, int64_t number) {
  player *p = context;
  int64_t phase = 0;
  char action[16];
  if (p->done) return MZ_OK;
  if (mz_ledger_peek(line, &phase, action) && phase > p->upto) {
    p->done = true;
    return MZ_OK;
  }
  snprintf(p->where, sizeof p->where, "%.200s:%" PRId64, p->path, number);
  cJSON *json = NULL;
  mz_fields fields;
  char event[16];
  MZ_TRY(mz_json_parse(line, length, p->where, false, MZ_E_CHECKPOINT, &json));
  mz_status status;
  MZ_TRY_CLEANUP(mz_fields_open(&fields, json, p->where, MZ_E_CHECKPOINT));
  MZ_TRY_CLEANUP(mz_fields_text(&fields, "event", event, sizeof event));
  if (strcmp(event, "open") == 0)
    status = play_open(p, &fields);
  else if (strcmp(event, "decision") == 0)
    status = play_decision(p, &fields, line);
  else if (strcmp(event, "goodput") == 0)
    status = play_goodput(p, json, line);
  else if (strcmp(event, "batch_size") == 0)
    status = play_batch_move(p, json, line);
  else if (strcmp(event, "promise") == 0)
    status = play_promise(p, json, line);
  else if (strcmp(event, "outcome") == 0)
    status = MZ_OK; /* measured, not decided */
  else if (strcmp(event, "stage") == 0 || strcmp(event, "stages") == 0 || strcmp(event, "epoch") == 0)
    status = MZ_OK; /* an agent's decisions are no function of the ledger */
  else
    status = mz_ledger_unknown_event(p->where, event);
cleanup:
  cJSON_Delete(json);
  return status;
}

mz_status mz_ledger_replay(const char *path, int64_t upto, mz_replayed *out) {
  *out = (mz_replayed){.phase = -1, .first_difference = -1};
  player p = {.path = path, .upto = upto, .out = out};
  const mz_status status = mz_ledger_read(path, play, &p);
  if (status != MZ_OK) mz_replayed_free(out);
  return status;
}

void mz_replayed_free(mz_replayed *replayed) {
  mz_allocator_free(replayed->allocator);
  mz_pretrained_free(replayed->pretrained);
  free(replayed->storage);
  *replayed = (mz_replayed){.phase = -1, .first_difference = -1};
}
