#include "allocator/records/plan_list.h"
#include "base/json/fields.h"
#include <inttypes.h>
#include <string.h>

typedef struct reading {
  const char *path;
  const mz_pipeline *pipeline;
  const mz_bounds *bounds;
  char where[256];  /* "PATH:LINE" */
  bool opened;      /* a section has begun */
  int64_t training; /* as it was last moved; 0: never */
  int64_t batch;    /* likewise */
  mz_plan_list *out;
} reading;

/* ---- whether this run can take a plan ---- */

static mz_status check_range(const reading *r, const mz_plan *plan, int64_t round) {
  for (int k = 0; k < r->pipeline->knob_count; k++) {
    const mz_knob *knob = &r->pipeline->knobs[k];
    const long long value = (long long)plan->values[k], min = (long long)knob->min, max = (long long)knob->max;
    if (value >= min && value <= max) continue;
    const char *name = mz_knob_shown(knob);
    if (min == max)
      return mz_fail(
          MZ_E_CONFIG,
          "%s: %s is %lld from round %lld on, and this run takes %lld only; leave it free, with the settings the plans were "
          "made with",
          r->where, name, value, (long long)round, max);
    return mz_fail(
        MZ_E_CONFIG,
        "%s: %s is %lld from round %lld on, and this run takes %lld to %lld; repeat the plans with the settings, --threads "
        "and devices they were made with",
        r->where, name, value, (long long)round, min, max);
  }
  return MZ_OK;
}

static mz_status check_plan(const reading *r, const mz_plan *plan, int64_t round) {
  MZ_TRY(check_range(r, plan, round));
  const char *limit = mz_plan_refused(r->pipeline, r->bounds, plan);
  if (!limit) return MZ_OK;
  return mz_fail(MZ_E_CONFIG,
                 "%s: the plan from round %lld on breaks %s here; raise the limit, or repeat it on a machine like the first",
                 r->where, (long long)round, limit);
}

/* ---- lines ---- */

static mz_status read_open(reading *r, const mz_fields *f) {
  int64_t format = 0;
  char name[MZ_NAME_MAX];
  mz_fields pipeline;
  MZ_TRY(mz_fields_whole(f, "format", 1, MZ_WHOLE_MAX, &format));
  if (format != MZ_LEDGER_FORMAT)
    return mz_fail(MZ_E_CONFIG,
                   "%s: a ledger of format %lld, and this muzero repeats plans of format %d; the muzero that wrote it can",
                   r->where, (long long)format, MZ_LEDGER_FORMAT);
  MZ_TRY(mz_fields_object(f, "pipeline", &pipeline));
  MZ_TRY(mz_fields_text(&pipeline, "name", name, sizeof name));
  if (strcmp(name, r->pipeline->name) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: a ledger of pipeline '%s', and this run's is '%s'", r->where, name, r->pipeline->name);
  r->opened = true;
  return MZ_OK;
}

static mz_status check_knobs(const reading *r, const cJSON *plan) {
  for (int k = 0; k < r->pipeline->knob_count; k++)
    if (!cJSON_HasObjectItem(plan, r->pipeline->knobs[k].name))
      return mz_fail(MZ_E_CONFIG, "%s: a ledger of another pipeline: its plans lack %s", r->where, r->pipeline->knobs[k].name);
  return MZ_OK;
}

/* A later plan of the same round takes the place of the earlier one. */
static mz_status add(mz_plan_list *list, const mz_pipeline *pipeline, mz_planned item) {
  if (list->count > 0 && list->items[list->count - 1].round == item.round) list->count--;
  const mz_planned *last = list->count > 0 ? &list->items[list->count - 1] : NULL;
  if (last && last->training == item.training && last->batch == item.batch && mz_plan_equal(pipeline, &last->plan, &item.plan))
    return MZ_OK;
  MZ_TRY(mz_reserve_one(&list->items, &list->capacity, list->count, sizeof *list->items));
  list->items[list->count++] = item;
  return MZ_OK;
}

static mz_status read_decision(reading *r, const mz_fields *f) {
  mz_plan_list *list = r->out;
  mz_fields plan_json, next_json;
  mz_plan plan = {0};
  int64_t round = 0;
  if (!r->opened) return mz_fail(f->code, "%s: a decision before the line that opens a section", r->where);
  MZ_TRY(mz_fields_object(f, "plan", &plan_json));
  MZ_TRY(mz_fields_object(f, "next", &next_json));
  MZ_TRY(mz_fields_whole(f, "round", 0, MZ_WHOLE_MAX, &round));
  if (list->count > 0 && round < list->items[list->count - 1].round)
    return mz_fields_fail(f, "round", "is %lld, after round %lld", (long long)round,
                          (long long)list->items[list->count - 1].round);
  MZ_TRY(check_knobs(r, plan_json.object));
  MZ_TRY(mz_plan_from_json(r->pipeline, &plan, plan_json.object, r->where, MZ_E_CONFIG));
  MZ_TRY(mz_plan_from_json(r->pipeline, &plan, next_json.object, r->where, MZ_E_CONFIG));
  MZ_TRY(check_plan(r, &plan, round));
  return add(list, r->pipeline, (mz_planned){round, plan, r->training, r->batch});
}

static mz_status read_goodput(reading *r, const cJSON *json) {
  mz_goodput_record record;
  mz_plan_list *list = r->out;
  MZ_TRY(mz_goodput_from_json(&record, json, r->where, MZ_E_CHECKPOINT));
  if (list->count == 0) return mz_fail(MZ_E_CHECKPOINT, "%s: a judgement before the first decision", r->where);
  if (list->training == 0) list->training = record.training;
  if (record.next == record.training) return MZ_OK;
  r->training = record.next;
  return add(list, r->pipeline, (mz_planned){record.round, list->items[list->count - 1].plan, r->training, r->batch});
}

static mz_status read_batch_move(reading *r, const cJSON *json) {
  mz_batch_move move;
  mz_plan_list *list = r->out;
  MZ_TRY(mz_batch_move_from_json(&move, json, r->where, MZ_E_CHECKPOINT));
  if (list->count == 0) return mz_fail(MZ_E_CHECKPOINT, "%s: a batch size before the first decision", r->where);
  if (move.round < list->items[list->count - 1].round)
    return mz_fail(MZ_E_CHECKPOINT, "%s: round is %lld, after round %lld", r->where, (long long)move.round,
                   (long long)list->items[list->count - 1].round);
  if (list->batch == 0) list->batch = move.from;
  r->batch = move.to;
  return add(list, r->pipeline, (mz_planned){move.round, list->items[list->count - 1].plan, r->training, r->batch});
}

static mz_status read_line(void *context, const char *line, size_t length, int64_t number) {
  reading *r = context;
  cJSON *json = NULL;
  mz_fields fields;
  char event[16];
  snprintf(r->where, sizeof r->where, "%.200s:%" PRId64, r->path, number);
  MZ_TRY(mz_json_parse(line, length, r->where, false, MZ_E_CHECKPOINT, &json));
  mz_status status;
  MZ_TRY_CLEANUP(mz_fields_open(&fields, json, r->where, MZ_E_CHECKPOINT));
  MZ_TRY_CLEANUP(mz_fields_text(&fields, "event", event, sizeof event));
  if (strcmp(event, "open") == 0)
    status = read_open(r, &fields);
  else if (strcmp(event, "decision") == 0)
    status = read_decision(r, &fields);
  else if (strcmp(event, "goodput") == 0)
    status = read_goodput(r, json);
  else if (strcmp(event, "batch_size") == 0)
    status = read_batch_move(r, json);
  else if (strcmp(event, "promise") == 0 || strcmp(event, "outcome") == 0)
    status = MZ_OK;
  else if (strcmp(event, "stage") == 0 || strcmp(event, "stages") == 0 || strcmp(event, "epoch") == 0)
    status = MZ_OK; /* what they put in force has lines of its own */
  else
    status = mz_ledger_unknown_event(r->where, event);
cleanup:
  cJSON_Delete(json);
  return status;
}

mz_status mz_plan_list_read(mz_plan_list *out, const char *path, const mz_pipeline *pipeline, const mz_bounds *bounds) {
  *out = (mz_plan_list){0};
  reading r = {.path = path, .pipeline = pipeline, .bounds = bounds, .out = out};
  mz_status status = mz_ledger_read(path, read_line, &r);
  if (status == MZ_OK && out->count == 0)
    status = mz_fail(MZ_E_CHECKPOINT, "%s: no plan in it: not a ledger, or an empty one", path);
  if (status != MZ_OK) mz_plan_list_deinit(out);
  return status;
}

void mz_plan_list_deinit(mz_plan_list *list) {
  free(list->items);
  *list = (mz_plan_list){0};
}

int mz_plan_list_at(const mz_plan_list *list, int64_t round) {
  int at = 0;
  while (at + 1 < list->count && list->items[at + 1].round <= round) at++;
  return at;
}
