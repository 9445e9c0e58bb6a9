/* Pipelines and plans as JSON. References are indices, as in the structs. */
#include "base/json/fields.h"
#include "allocator/pipeline/pipeline.h"

static const char *const kinds[] = {[MZ_DEVICE_CPU] = "cpu", [MZ_DEVICE_CUDA] = "cuda"};
static const char *const scales[] = {[MZ_SCALE_LOG2] = "log2", [MZ_SCALE_CHOICE] = "choice"};
static const char *const work_kinds[] = {[MZ_WORK_OTHER] = "other",
                                         [MZ_WORK_SELFPLAY] = "selfplay",
                                         [MZ_WORK_REANALYZE] = "reanalyze",
                                         [MZ_WORK_TRAINING] = "training"};
enum { SCALES = 2, WORK_KINDS = MZ_WORK_TRAINING + 1, CLASSES = MZ_OPERATIONAL + 1 };

/* ---- writing ---- */

static cJSON *add_object(cJSON *array) {
  cJSON *object = cJSON_CreateObject();
  if (cJSON_AddItemToArray(array, object)) return object;
  cJSON_Delete(object);
  return NULL;
}

/* Ledgers written before there was such a number have none. */
static void add_when_set(cJSON *o, const char *key, double value) {
  if (value != 0) cJSON_AddNumberToObject(o, key, value);
}

static void write_device(cJSON *o, const mz_device *device) {
  cJSON_AddStringToObject(o, "name", device->name);
  cJSON_AddStringToObject(o, "kind", kinds[device->kind]);
  cJSON_AddNumberToObject(o, "cores", device->cores);
  if (device->whole_cores > 0) cJSON_AddNumberToObject(o, "whole_cores", device->whole_cores);
  if (device->model[0]) cJSON_AddStringToObject(o, "model", device->model);
  add_when_set(o, "memory", device->memory);
}

/* Probes on cores have two members of the stage, as in ledgers and histories from before there was another kind. */
static void write_probes(cJSON *o, const mz_probes *probes) {
  const int count = mz_probes_count(&probes[MZ_DEVICE_CPU]), others = mz_probes_count(&probes[MZ_DEVICE_CUDA]);
  mz_fields_add_numbers(o, "probe_batch", probes[MZ_DEVICE_CPU].batch, count);
  mz_fields_add_numbers(o, "probe_s", probes[MZ_DEVICE_CPU].cpu_s, count);
  if (others == 0) return;
  cJSON *cuda = cJSON_AddObjectToObject(o, "probes_cuda");
  mz_fields_add_numbers(cuda, "batch", probes[MZ_DEVICE_CUDA].batch, others);
  mz_fields_add_numbers(cuda, "cpu_s", probes[MZ_DEVICE_CUDA].cpu_s, others);
  mz_fields_add_numbers(cuda, "device_s", probes[MZ_DEVICE_CUDA].device_s, others);
}

static void write_knob(cJSON *o, const mz_knob *knob) {
  cJSON_AddStringToObject(o, "name", knob->name);
  if (knob->setting[0]) cJSON_AddStringToObject(o, "setting", knob->setting);
  cJSON_AddStringToObject(o, "class", mz_class_name(knob->class_));
  cJSON_AddStringToObject(o, "scale", scales[knob->scale]);
  cJSON_AddNumberToObject(o, "min", (double)knob->min);
  cJSON_AddNumberToObject(o, "max", (double)knob->max);
}

/* In the order of mz_gpu_bytes' members, which are numbers all. */
enum { GPU_NUMBERS = sizeof(mz_gpu_bytes) / sizeof(double) };
static void write_gpu_bytes(cJSON *o, const mz_gpu_bytes *b) {
  const double values[GPU_NUMBERS] = {b->host_thread, b->host_slot, b->fixed, b->thread, b->slot};
  double sum = 0;
  for (int i = 0; i < GPU_NUMBERS; i++) sum += values[i];
  if (sum > 0) mz_fields_add_numbers(o, "bytes_gpu", values, GPU_NUMBERS);
}

static void write_stage(cJSON *o, const mz_pipeline_stage *stage) {
  cJSON_AddStringToObject(o, "name", stage->name);
  if (stage->work != MZ_WORK_OTHER) cJSON_AddStringToObject(o, "work", work_kinds[stage->work]);
  cJSON_AddNumberToObject(o, "step", stage->step);
  cJSON_AddNumberToObject(o, "threads", stage->threads);
  cJSON_AddNumberToObject(o, "batch", stage->batch);
  cJSON_AddNumberToObject(o, "device", stage->device);
  cJSON_AddNumberToObject(o, "items", stage->items);
  cJSON_AddNumberToObject(o, "groups", stage->groups);
  cJSON_AddNumberToObject(o, "gives_way", stage->gives_way);
  if (stage->apart) cJSON_AddNumberToObject(o, "apart", 1);
  cJSON_AddNumberToObject(o, "serial", stage->serial);
  write_probes(o, stage->probes);
  cJSON_AddNumberToObject(o, "bytes_thread", stage->bytes_thread);
  cJSON_AddNumberToObject(o, "bytes_slot", stage->bytes_slot);
  add_when_set(o, "bytes_tile", stage->bytes_tile);
  add_when_set(o, "tile", stage->tile);
  write_gpu_bytes(o, &stage->on_gpu);
}

static void write_queue(cJSON *o, const mz_pipeline_queue *queue) {
  cJSON_AddStringToObject(o, "name", queue->name);
  cJSON_AddNumberToObject(o, "from", queue->from);
  cJSON_AddNumberToObject(o, "to", queue->to);
  cJSON_AddNumberToObject(o, "capacity", queue->capacity);
  cJSON_AddNumberToObject(o, "items", queue->items);
  cJSON_AddNumberToObject(o, "bytes", queue->bytes);
  if (queue->batched) cJSON_AddNumberToObject(o, "batched", 1);
}

static void write_store(cJSON *o, const mz_pipeline_store *store) {
  cJSON_AddStringToObject(o, "name", store->name);
  cJSON_AddNumberToObject(o, "raw", store->raw);
  cJSON_AddNumberToObject(o, "bytes", store->bytes);
  cJSON_AddNumberToObject(o, "packed", store->packed);
  add_when_set(o, "packed_max", store->packed_max);
}

static void write_network(cJSON *o, const mz_pipeline_network *network) {
  cJSON_AddStringToObject(o, "name", network->name);
  cJSON_AddNumberToObject(o, "parameters", network->parameters);
  cJSON_AddNumberToObject(o, "flops", network->flops);
  cJSON_AddNumberToObject(o, "depth", network->depth);
  cJSON_AddNumberToObject(o, "width", network->width);
  cJSON_AddNumberToObject(o, "users", network->users);
}

static void write_link(cJSON *o, const mz_pipeline_link *link) {
  cJSON_AddNumberToObject(o, "stage", link->stage);
  cJSON_AddNumberToObject(o, "store", link->store);
  cJSON_AddNumberToObject(o, "writes", link->writes);
  cJSON_AddNumberToObject(o, "items", link->items);
  cJSON_AddNumberToObject(o, "bytes", link->bytes);
}

/* Pipelines without networks or links, and what was written before there were any, lack the array. */
static cJSON *add_array_of(cJSON *o, const char *key, int count) { return count > 0 ? cJSON_AddArrayToObject(o, key) : NULL; }

cJSON *mz_pipeline_to_json(const mz_pipeline *pipeline) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "name", pipeline->name);
  cJSON_AddNumberToObject(o, "unit_samples", pipeline->unit_samples);
  cJSON_AddNumberToObject(o, "handoff_s", pipeline->handoff_s);
  cJSON_AddNumberToObject(o, "bytes_fixed", pipeline->bytes_fixed);
  cJSON *devices = cJSON_AddArrayToObject(o, "devices");
  for (int i = 0; i < pipeline->device_count; i++) write_device(add_object(devices), &pipeline->devices[i]);
  cJSON *knobs = cJSON_AddArrayToObject(o, "knobs");
  for (int i = 0; i < pipeline->knob_count; i++) write_knob(add_object(knobs), &pipeline->knobs[i]);
  cJSON *stages = cJSON_AddArrayToObject(o, "stages");
  for (int i = 0; i < pipeline->stage_count; i++) write_stage(add_object(stages), &pipeline->stages[i]);
  cJSON *queues = cJSON_AddArrayToObject(o, "queues");
  for (int i = 0; i < pipeline->queue_count; i++) write_queue(add_object(queues), &pipeline->queues[i]);
  cJSON *stores = cJSON_AddArrayToObject(o, "stores");
  for (int i = 0; i < pipeline->store_count; i++) write_store(add_object(stores), &pipeline->stores[i]);
  cJSON *networks = add_array_of(o, "networks", pipeline->network_count);
  for (int i = 0; i < pipeline->network_count; i++) write_network(add_object(networks), &pipeline->networks[i]);
  cJSON *links = add_array_of(o, "links", pipeline->link_count);
  for (int i = 0; i < pipeline->link_count; i++) write_link(add_object(links), &pipeline->links[i]);
  return o;
}

cJSON *mz_plan_to_json(const mz_pipeline *pipeline, const mz_plan *plan) {
  cJSON *o = cJSON_CreateObject();
  for (int i = 0; i < pipeline->knob_count; i++) {
    cJSON_AddNumberToObject(o, pipeline->knobs[i].name, (double)plan->values[i]);
  }
  return o;
}

void mz_plan_add_text(cJSON *object, const char *key, const mz_pipeline *pipeline, const mz_plan *plan) {
  char text[512];
  mz_plan_text(pipeline, plan, NULL, text, sizeof text);
  cJSON_AddStringToObject(object, key, text);
}

/* ---- reading ---- */

static mz_status read_when_set(const mz_fields *f, const char *key, double *out) {
  *out = 0;
  return cJSON_HasObjectItem(f->object, key) ? mz_fields_number(f, key, out) : MZ_OK;
}

static mz_status read_device(const mz_fields *f, void *out) {
  mz_device *device = out;
  int kind = 0;
  MZ_TRY(mz_fields_text(f, "name", device->name, sizeof device->name));
  MZ_TRY(mz_fields_choice(f, "kind", kinds, MZ_DEVICE_KINDS, &kind));
  device->kind = (mz_device_kind)kind;
  MZ_TRY(mz_fields_int(f, "cores", 0, INT32_MAX, &device->cores));
  if (cJSON_HasObjectItem(f->object, "model")) MZ_TRY(mz_fields_text(f, "model", device->model, sizeof device->model));
  if (cJSON_HasObjectItem(f->object, "memory")) MZ_TRY(mz_fields_number(f, "memory", &device->memory));
  if (!cJSON_HasObjectItem(f->object, "whole_cores")) return MZ_OK;
  MZ_TRY(mz_fields_int(f, "whole_cores", 0, INT32_MAX, &device->whole_cores));
  if (device->whole_cores >= device->cores) device->whole_cores = 0; /* of all cores, as earlier versions wrote of fewer */
  return MZ_OK;
}

static mz_status read_knob(const mz_fields *f, void *out) {
  mz_knob *knob = out;
  const char *classes[CLASSES];
  for (int i = 0; i < CLASSES; i++) classes[i] = mz_class_name((mz_class)i);
  int class_ = 0, scale = 0;
  MZ_TRY(mz_fields_text(f, "name", knob->name, sizeof knob->name));
  if (cJSON_HasObjectItem(f->object, "setting")) MZ_TRY(mz_fields_text(f, "setting", knob->setting, sizeof knob->setting));
  MZ_TRY(mz_fields_choice(f, "class", classes, CLASSES, &class_));
  MZ_TRY(mz_fields_choice(f, "scale", scales, SCALES, &scale));
  knob->class_ = (mz_class)class_;
  knob->scale = (mz_scale)scale;
  MZ_TRY(mz_fields_whole(f, "min", 0, MZ_WHOLE_MAX, &knob->min));
  return mz_fields_whole(f, "max", 0, MZ_WHOLE_MAX, &knob->max);
}

/* As many times as there are batches. */
static mz_status read_times(const mz_fields *f, const char *key, const char *of, int batches, double times[MZ_PROBES_MAX]) {
  int count = 0;
  MZ_TRY(mz_fields_measures(f, key, MZ_PROBES_MAX, times, &count));
  return count == batches ? MZ_OK : mz_fields_fail(f, key, "has %d elements; '%s' has %d", count, of, batches);
}

static mz_status read_probes(const mz_fields *f, mz_probes *probes) {
  mz_probes *cpu = &probes[MZ_DEVICE_CPU], *cuda = &probes[MZ_DEVICE_CUDA];
  mz_fields g;
  int batches = 0;
  MZ_TRY(mz_fields_measures(f, "probe_batch", MZ_PROBES_MAX, cpu->batch, &batches));
  MZ_TRY(read_times(f, "probe_s", "probe_batch", batches, cpu->cpu_s));
  if (!cJSON_HasObjectItem(f->object, "probes_cuda")) return MZ_OK;
  MZ_TRY(mz_fields_object(f, "probes_cuda", &g));
  MZ_TRY(mz_fields_measures(&g, "batch", MZ_PROBES_MAX, cuda->batch, &batches));
  MZ_TRY(read_times(&g, "cpu_s", "batch", batches, cuda->cpu_s));
  return read_times(&g, "device_s", "batch", batches, cuda->device_s);
}

static mz_status read_gpu_bytes(const mz_fields *f, mz_gpu_bytes *out) {
  double v[GPU_NUMBERS] = {0};
  int count = 0;
  if (cJSON_HasObjectItem(f->object, "bytes_gpu")) MZ_TRY(mz_fields_measures(f, "bytes_gpu", GPU_NUMBERS, v, &count));
  *out = (mz_gpu_bytes){.host_thread = v[0], .host_slot = v[1], .fixed = v[2], .thread = v[3], .slot = v[4]};
  return MZ_OK;
}

static mz_status read_stage(const mz_fields *f, void *out) {
  mz_pipeline_stage *stage = out;
  int work = MZ_WORK_OTHER;
  MZ_TRY(mz_fields_text(f, "name", stage->name, sizeof stage->name));
  if (cJSON_HasObjectItem(f->object, "work")) MZ_TRY(mz_fields_choice(f, "work", work_kinds, WORK_KINDS, &work));
  stage->work = (mz_work_kind)work;
  MZ_TRY(mz_fields_int(f, "step", 0, MZ_STAGES_MAX - 1, &stage->step));
  MZ_TRY(mz_fields_int(f, "threads", -1, MZ_PLAN_KNOBS_MAX - 1, &stage->threads));
  MZ_TRY(mz_fields_int(f, "batch", -1, MZ_PLAN_KNOBS_MAX - 1, &stage->batch));
  MZ_TRY(mz_fields_int(f, "device", -1, MZ_PLAN_KNOBS_MAX - 1, &stage->device));
  MZ_TRY(mz_fields_number(f, "items", &stage->items));
  MZ_TRY(mz_fields_number(f, "groups", &stage->groups));
  int gives_way;
  MZ_TRY(mz_fields_int(f, "gives_way", 0, 1, &gives_way));
  stage->gives_way = gives_way;
  int apart = 0;
  if (cJSON_HasObjectItem(f->object, "apart")) MZ_TRY(mz_fields_int(f, "apart", 0, 1, &apart));
  stage->apart = apart;
  MZ_TRY(mz_fields_number(f, "serial", &stage->serial));
  MZ_TRY(read_probes(f, stage->probes));
  MZ_TRY(mz_fields_number(f, "bytes_thread", &stage->bytes_thread));
  MZ_TRY(mz_fields_number(f, "bytes_slot", &stage->bytes_slot));
  MZ_TRY(read_when_set(f, "bytes_tile", &stage->bytes_tile));
  MZ_TRY(read_when_set(f, "tile", &stage->tile));
  return read_gpu_bytes(f, &stage->on_gpu);
}

static mz_status read_queue(const mz_fields *f, void *out) {
  mz_pipeline_queue *queue = out;
  MZ_TRY(mz_fields_text(f, "name", queue->name, sizeof queue->name));
  MZ_TRY(mz_fields_int(f, "from", 0, MZ_STAGES_MAX - 1, &queue->from));
  MZ_TRY(mz_fields_int(f, "to", 0, MZ_STAGES_MAX - 1, &queue->to));
  MZ_TRY(mz_fields_int(f, "capacity", -1, MZ_PLAN_KNOBS_MAX - 1, &queue->capacity));
  MZ_TRY(mz_fields_number(f, "items", &queue->items));
  MZ_TRY(mz_fields_number(f, "bytes", &queue->bytes));
  int batched = 0;
  if (cJSON_HasObjectItem(f->object, "batched")) MZ_TRY(mz_fields_int(f, "batched", 0, 1, &batched));
  queue->batched = batched;
  return MZ_OK;
}

static mz_status read_store(const mz_fields *f, void *out) {
  mz_pipeline_store *store = out;
  MZ_TRY(mz_fields_text(f, "name", store->name, sizeof store->name));
  MZ_TRY(mz_fields_int(f, "raw", 0, MZ_PLAN_KNOBS_MAX - 1, &store->raw));
  MZ_TRY(mz_fields_number(f, "bytes", &store->bytes));
  MZ_TRY(mz_fields_number(f, "packed", &store->packed));
  return read_when_set(f, "packed_max", &store->packed_max);
}

static mz_status read_network(const mz_fields *f, void *out) {
  mz_pipeline_network *network = out;
  int64_t users;
  MZ_TRY(mz_fields_text(f, "name", network->name, sizeof network->name));
  MZ_TRY(mz_fields_number(f, "parameters", &network->parameters));
  MZ_TRY(mz_fields_number(f, "flops", &network->flops));
  MZ_TRY(mz_fields_number(f, "depth", &network->depth));
  MZ_TRY(mz_fields_number(f, "width", &network->width));
  MZ_TRY(mz_fields_whole(f, "users", 0, UINT32_MAX, &users));
  network->users = (uint32_t)users;
  return MZ_OK;
}

static mz_status read_link(const mz_fields *f, void *out) {
  mz_pipeline_link *link = out;
  int writes;
  MZ_TRY(mz_fields_int(f, "stage", 0, MZ_STAGES_MAX - 1, &link->stage));
  MZ_TRY(mz_fields_int(f, "store", 0, MZ_STORES_MAX - 1, &link->store));
  MZ_TRY(mz_fields_int(f, "writes", 0, 1, &writes));
  link->writes = writes;
  MZ_TRY(mz_fields_number(f, "items", &link->items));
  return mz_fields_number(f, "bytes", &link->bytes);
}

/* Parts of one kind into an array of structs that lie `stride` bytes apart. */
static mz_status read_parts(const mz_fields *f, const char *key, int max, mz_status (*read_part)(const mz_fields *, void *),
                            void *first, size_t stride, int *count) {
  const cJSON *array = NULL;
  MZ_TRY(mz_fields_array(f, key, max, &array, count));
  int i = 0;
  for (const cJSON *item = array->child; item != NULL; item = item->next, i++) {
    char name[MZ_NAME_MAX];
    snprintf(name, sizeof name, "%s[%d]", key, i);
    mz_fields one;
    MZ_TRY(mz_fields_open_child(f, item, name, &one));
    MZ_TRY(read_part(&one, (char *)first + (size_t)i * stride));
  }
  return MZ_OK;
}

mz_status mz_pipeline_from_json(mz_pipeline *pipeline, const cJSON *json, const char *where, mz_status code) {
  mz_pipeline p = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_text(&f, "name", p.name, sizeof p.name));
  MZ_TRY(mz_fields_number(&f, "unit_samples", &p.unit_samples));
  MZ_TRY(mz_fields_number(&f, "handoff_s", &p.handoff_s));
  MZ_TRY(mz_fields_number(&f, "bytes_fixed", &p.bytes_fixed));
  MZ_TRY(read_parts(&f, "devices", MZ_DEVICES_MAX, read_device, p.devices, sizeof *p.devices, &p.device_count));
  MZ_TRY(read_parts(&f, "knobs", MZ_PLAN_KNOBS_MAX, read_knob, p.knobs, sizeof *p.knobs, &p.knob_count));
  MZ_TRY(read_parts(&f, "stages", MZ_STAGES_MAX, read_stage, p.stages, sizeof *p.stages, &p.stage_count));
  MZ_TRY(read_parts(&f, "queues", MZ_QUEUES_MAX, read_queue, p.queues, sizeof *p.queues, &p.queue_count));
  MZ_TRY(read_parts(&f, "stores", MZ_STORES_MAX, read_store, p.stores, sizeof *p.stores, &p.store_count));
  if (cJSON_HasObjectItem(json, "networks"))
    MZ_TRY(read_parts(&f, "networks", MZ_NETWORKS_MAX, read_network, p.networks, sizeof *p.networks, &p.network_count));
  if (cJSON_HasObjectItem(json, "links"))
    MZ_TRY(read_parts(&f, "links", MZ_LINKS_MAX, read_link, p.links, sizeof *p.links, &p.link_count));
  if (mz_pipeline_check(&p) != MZ_OK) return mz_fail(code, "%s: %s", where, mz_message());
  *pipeline = p;
  return MZ_OK;
}

mz_status mz_plan_from_json(const mz_pipeline *pipeline, mz_plan *plan, const cJSON *json, const char *where, mz_status code) {
  mz_plan read = *plan;
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  for (const cJSON *item = json->child; item != NULL; item = item->next) {
    int knob = -1;
    if (mz_pipeline_find_knob(pipeline, item->string, where, &knob) != MZ_OK) return code; /* the message says it all */
    MZ_TRY(mz_fields_whole(&f, item->string, 0, MZ_WHOLE_MAX, &read.values[knob]));
  }
  *plan = read;
  return MZ_OK;
}
