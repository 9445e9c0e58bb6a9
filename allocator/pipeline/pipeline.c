#include "allocator/pipeline/pipeline.h"
#include "base/json/fields.h"
#include <math.h>
#include <string.h>

/* ---- checks ---- */

/* The name in messages. */
typedef struct part {
  const char *pipeline, *what, *name;
  int index;
} part;

static mz_status fail(const part *p, const char *why) {
  return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': %s %d '%.31s': %s", p->pipeline, p->what, p->index, p->name, why);
}

/* Names lie `stride` bytes apart. */
static mz_status check_names(const char *pipeline, const char *what, const void *first, size_t stride, int count, int max) {
  if (count < 0 || count > max) {
    return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': %d %ss; 0 … %d can be described", pipeline, count, what, max);
  }
  for (int i = 0; i < count; i++) {
    const char *name = (const char *)first + (size_t)i * stride;
    const part p = {pipeline, what, name, i};
    if (name[0] == '\0' || memchr(name, '\0', MZ_NAME_MAX) == NULL) return fail(&p, "takes a name of 1 … 31 bytes");
    for (int j = 0; j < i; j++) {
      if (strcmp(name, (const char *)first + (size_t)j * stride) == 0) return fail(&p, "the name is there twice");
    }
  }
  return MZ_OK;
}

static mz_status check_index(const part *p, const char *field, int index, int least, int count) {
  if (index >= least && index < count) return MZ_OK;
  char why[96];
  snprintf(why, sizeof why, "%s: index %d is not in %d … %d", field, index, least, count - 1);
  return fail(p, why);
}

static bool is_amount(double value) { return value >= 0 && isfinite(value); }

static mz_status check_amount(const part *p, const char *field, double value) {
  if (is_amount(value)) return MZ_OK;
  char why[96];
  snprintf(why, sizeof why, "%s: %g; takes a finite number of 0 or more", field, value);
  return fail(p, why);
}

static mz_status check_knob(const mz_pipeline *pipeline, int index) {
  const mz_knob *knob = &pipeline->knobs[index];
  const part p = {pipeline->name, "knob", knob->name, index};
  if (knob->min > knob->max) return fail(&p, "min is above max");
  if (knob->min < 0 || knob->max > MZ_WHOLE_MAX) return fail(&p, "takes a range within 0 … 2^53");
  return MZ_OK;
}

static mz_status check_device(const mz_pipeline *pipeline, int index) {
  const mz_device *device = &pipeline->devices[index];
  const part p = {pipeline->name, "device", device->name, index};
  if (device->kind == MZ_DEVICE_CPU && device->cores < 1) return fail(&p, "a CPU device has at least 1 core");
  return device->cores > MZ_CORES_MAX ? fail(&p, "a device has at most 1024 cores") : MZ_OK;
}

static mz_status check_stage(const mz_pipeline *pipeline, int index) {
  const mz_pipeline_stage *stage = &pipeline->stages[index];
  const part p = {pipeline->name, "stage", stage->name, index};
  MZ_TRY(check_index(&p, "step", stage->step, 0, MZ_STAGES_MAX));
  MZ_TRY(check_index(&p, "threads", stage->threads, -1, pipeline->knob_count));
  MZ_TRY(check_index(&p, "batch", stage->batch, -1, pipeline->knob_count));
  MZ_TRY(check_index(&p, "device", stage->device, -1, pipeline->knob_count));
  if (stage->device >= 0 && pipeline->knobs[stage->device].max >= pipeline->device_count) {
    return fail(&p, "its device's knob reaches beyond the devices");
  }
  MZ_TRY(check_amount(&p, "items", stage->items));
  MZ_TRY(check_amount(&p, "groups", stage->groups));
  MZ_TRY(check_amount(&p, "serial", stage->serial));
  if (stage->serial > 1) return fail(&p, "serial is a share, at most 1");
  MZ_TRY(check_amount(&p, "bytes_thread", stage->bytes_thread));
  MZ_TRY(check_amount(&p, "bytes_slot", stage->bytes_slot));
  MZ_TRY(check_amount(&p, "bytes_tile", stage->bytes_tile));
  MZ_TRY(check_amount(&p, "tile", stage->tile));
  const mz_gpu_bytes *gpu = &stage->on_gpu;
  const double amounts[] = {gpu->host_thread, gpu->host_slot, gpu->fixed, gpu->thread, gpu->slot};
  for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) MZ_TRY(check_amount(&p, "bytes on a GPU", amounts[i]));
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
    for (int i = 0; i < MZ_PROBES_MAX; i++) {
      MZ_TRY(check_amount(&p, "a probe's batch", stage->probes[kind].batch[i]));
      MZ_TRY(check_amount(&p, "a probe's cpu_s", stage->probes[kind].cpu_s[i]));
      MZ_TRY(check_amount(&p, "a probe's device_s", stage->probes[kind].device_s[i]));
    }
  }
  return MZ_OK;
}

static mz_status check_queue(const mz_pipeline *pipeline, int index) {
  const mz_pipeline_queue *queue = &pipeline->queues[index];
  const part p = {pipeline->name, "queue", queue->name, index};
  MZ_TRY(check_index(&p, "from", queue->from, 0, pipeline->stage_count));
  MZ_TRY(check_index(&p, "to", queue->to, 0, pipeline->stage_count));
  MZ_TRY(check_index(&p, "capacity", queue->capacity, -1, pipeline->knob_count));
  MZ_TRY(check_amount(&p, "items", queue->items));
  return check_amount(&p, "bytes", queue->bytes);
}

static mz_status check_store(const mz_pipeline *pipeline, int index) {
  const mz_pipeline_store *store = &pipeline->stores[index];
  const part p = {pipeline->name, "store", store->name, index};
  MZ_TRY(check_index(&p, "raw", store->raw, 0, pipeline->knob_count));
  MZ_TRY(check_amount(&p, "bytes", store->bytes));
  MZ_TRY(check_amount(&p, "packed", store->packed));
  MZ_TRY(check_amount(&p, "packed_max", store->packed_max));
  return store->packed > 1 ? fail(&p, "packed is a share, at most 1") : MZ_OK;
}

static mz_status check_network(const mz_pipeline *pipeline, int index) {
  const mz_pipeline_network *network = &pipeline->networks[index];
  const part p = {pipeline->name, "network", network->name, index};
  MZ_TRY(check_amount(&p, "parameters", network->parameters));
  MZ_TRY(check_amount(&p, "flops", network->flops));
  MZ_TRY(check_amount(&p, "depth", network->depth));
  MZ_TRY(check_amount(&p, "width", network->width));
  return network->users >> pipeline->stage_count ? fail(&p, "a user is no stage") : MZ_OK;
}

static mz_status check_link(const mz_pipeline *pipeline, int index) {
  const mz_pipeline_link *link = &pipeline->links[index];
  const part p = {pipeline->name, "link", "", index};
  MZ_TRY(check_index(&p, "stage", link->stage, 0, pipeline->stage_count));
  MZ_TRY(check_index(&p, "store", link->store, 0, pipeline->store_count));
  MZ_TRY(check_amount(&p, "items", link->items));
  return check_amount(&p, "bytes", link->bytes);
}

static bool has_cpu(const mz_pipeline *pipeline) {
  for (int i = 0; i < pipeline->device_count; i++) {
    if (pipeline->devices[i].kind == MZ_DEVICE_CPU) return true;
  }
  return false;
}

mz_status mz_pipeline_check(const mz_pipeline *p) {
  if (memchr(p->name, '\0', MZ_NAME_MAX) == NULL) return mz_fail(MZ_E_CONFIG, "pipeline: its name has no end");
  MZ_TRY(check_names(p->name, "device", p->devices, sizeof *p->devices, p->device_count, MZ_DEVICES_MAX));
  MZ_TRY(check_names(p->name, "knob", p->knobs, sizeof *p->knobs, p->knob_count, MZ_PLAN_KNOBS_MAX));
  MZ_TRY(check_names(p->name, "stage", p->stages, sizeof *p->stages, p->stage_count, MZ_STAGES_MAX));
  MZ_TRY(check_names(p->name, "queue", p->queues, sizeof *p->queues, p->queue_count, MZ_QUEUES_MAX));
  MZ_TRY(check_names(p->name, "store", p->stores, sizeof *p->stores, p->store_count, MZ_STORES_MAX));
  MZ_TRY(check_names(p->name, "network", p->networks, sizeof *p->networks, p->network_count, MZ_NETWORKS_MAX));
  if (p->link_count < 0 || p->link_count > MZ_LINKS_MAX)
    return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': %d links; 0 … %d can be described", p->name, p->link_count, MZ_LINKS_MAX);
  if (!is_amount(p->unit_samples) || !is_amount(p->handoff_s) || !is_amount(p->bytes_fixed))
    return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': unit_samples, handoff_s and bytes_fixed are finite and 0 or more", p->name);
  if (p->stage_count == 0) return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': takes at least one stage", p->name);
  if (!has_cpu(p)) return mz_fail(MZ_E_CONFIG, "pipeline '%.31s': takes at least one CPU device", p->name);
  for (int i = 0; i < p->device_count; i++) MZ_TRY(check_device(p, i));
  for (int i = 0; i < p->knob_count; i++) MZ_TRY(check_knob(p, i));
  for (int i = 0; i < p->stage_count; i++) MZ_TRY(check_stage(p, i));
  for (int i = 0; i < p->queue_count; i++) MZ_TRY(check_queue(p, i));
  for (int i = 0; i < p->store_count; i++) MZ_TRY(check_store(p, i));
  for (int i = 0; i < p->network_count; i++) MZ_TRY(check_network(p, i));
  for (int i = 0; i < p->link_count; i++) MZ_TRY(check_link(p, i));
  return MZ_OK;
}

/* ---- knobs ---- */

bool mz_knob_packs(const mz_pipeline *pipeline, int knob) {
  for (int i = 0; i < pipeline->store_count; i++)
    if (pipeline->stores[i].raw == knob) return true;
  return false;
}

int mz_pipeline_knob(const mz_pipeline *pipeline, const char *name) {
  for (int i = 0; i < pipeline->knob_count; i++) {
    if (strcmp(pipeline->knobs[i].name, name) == 0 || strcmp(mz_knob_shown(&pipeline->knobs[i]), name) == 0) return i;
  }
  return -1;
}

const char *mz_knob_shown(const mz_knob *knob) { return knob->setting[0] ? knob->setting : knob->name; }

mz_status mz_pipeline_find_knob(const mz_pipeline *pipeline, const char *name, const char *where, int *out) {
  *out = mz_pipeline_knob(pipeline, name);
  if (*out >= 0) return MZ_OK;
  const char *names[MZ_PLAN_KNOBS_MAX];
  char all[MZ_PLAN_KNOBS_MAX * (MZ_NAME_MAX + 2)] = "";
  for (int i = 0, length = 0; i < pipeline->knob_count; i++) {
    names[i] = mz_knob_shown(&pipeline->knobs[i]);
    length += snprintf(all + length, sizeof all - (size_t)length, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  const char *near = mz_nearest(name, names, pipeline->knob_count);
  if (near) return mz_fail(MZ_E_CONFIG, "%s: unknown knob '%.80s'; did you mean '%s'?", where, name, near);
  return mz_fail(MZ_E_CONFIG, "%s: unknown knob '%.80s'; the knobs of a plan are %s", where, name, all);
}

int64_t mz_knob_clamp(const mz_knob *knob, int64_t value) {
  return value < knob->min ? knob->min : value > knob->max ? knob->max : value;
}

/* Steps of log2 knobs are the powers of two, whatever the value that one steps from: what went up comes down the same way. */
int64_t mz_knob_step(const mz_knob *knob, int64_t value, int direction) {
  MZ_ASSERT(direction == 1 || direction == -1);
  value = mz_knob_clamp(knob, value);
  if (knob->scale == MZ_SCALE_CHOICE) return mz_knob_clamp(knob, value + direction);
  int64_t below = 0, power = 1; /* the largest step below `value`, then the smallest one at or above it */
  while (power < value) {
    below = power;
    power *= 2;
  }
  if (direction < 0) return mz_knob_clamp(knob, below);
  return mz_knob_clamp(knob, power > value ? power : value > 0 ? 2 * power : 1);
}

int mz_device_home(const mz_pipeline *pipeline, int device) {
  int nodes = 0, nth = 0, at = 0;
  if (pipeline->devices[device].kind == MZ_DEVICE_CPU) return device;
  for (int d = 0; d < pipeline->device_count; d++) {
    nodes += pipeline->devices[d].kind == MZ_DEVICE_CPU;
    nth += d < device && pipeline->devices[d].kind != MZ_DEVICE_CPU;
  }
  for (nth %= nodes; pipeline->devices[at].kind != MZ_DEVICE_CPU || nth-- > 0;) at++;
  return at;
}

int mz_probes_count(const mz_probes *probes) {
  int count = 0;
  while (count < MZ_PROBES_MAX && probes->batch[count] > 0) count++;
  return count;
}

bool mz_stage_is_probed(const mz_pipeline_stage *stage) {
  bool any = false;
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) any = any || mz_probes_count(&stage->probes[kind]) > 0;
  return any;
}

int mz_pipeline_cores(const mz_pipeline *pipeline) {
  int cores = 0;
  for (int d = 0; d < pipeline->device_count; d++)
    if (pipeline->devices[d].kind == MZ_DEVICE_CPU) cores += pipeline->devices[d].cores;
  return cores;
}

void mz_pipeline_take_probes(mz_pipeline *to, const mz_pipeline *from) {
  for (int s = 0; s < to->stage_count; s++) memcpy(to->stages[s].probes, from->stages[s].probes, sizeof to->stages[s].probes);
}

/* ---- devices that are alike ---- */

/* Whether the two compute the same bits: of one kind and, GPUs, of one model. */
static bool alike(const mz_device *a, const mz_device *b) { return a->kind == b->kind && strcmp(a->model, b->model) == 0; }

void mz_pipeline_keep_kinds(mz_pipeline *p, const mz_plan *plan) {
  for (int s = 0; s < p->stage_count; s++) {
    const int k = p->stages[s].device;
    if (k < 0) continue;
    mz_knob *knob = &p->knobs[k];
    const int64_t at = mz_knob_clamp(knob, plan->values[k]);
    int64_t first = at, last = at;
    while (first > knob->min && alike(&p->devices[first - 1], &p->devices[at])) first--;
    while (last < knob->max && alike(&p->devices[last + 1], &p->devices[at])) last++;
    knob->min = first, knob->max = last;
  }
}
