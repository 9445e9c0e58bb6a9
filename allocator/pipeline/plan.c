/* A plan: what it says, and what it takes in cores and memory. */
#include "allocator/pipeline/pipeline.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

bool mz_plan_equal(const mz_pipeline *pipeline, const mz_plan *a, const mz_plan *b) {
  for (int i = 0; i < pipeline->knob_count; i++) {
    if (a->values[i] != b->values[i]) return false;
  }
  return true;
}

mz_plan mz_plan_clamp(const mz_pipeline *pipeline, const mz_plan *plan) {
  mz_plan clamped = *plan;
  for (int k = 0; k < pipeline->knob_count; k++) clamped.values[k] = mz_knob_clamp(&pipeline->knobs[k], plan->values[k]);
  return clamped;
}

/* ---- words ---- */

typedef struct sentence {
  char *out;
  size_t size, used;
  bool full; /* cut, between code points; what follows is left out */
} sentence;

static sentence begin(char *out, size_t size) {
  MZ_ASSERT(size > 0);
  out[0] = '\0';
  return (sentence){.out = out, .size = size};
}

static void append(sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(sentence *s, const char *format, ...) {
  if (s->full) return;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(s->out + s->used, s->size - s->used, format, arguments);
  va_end(arguments);
  s->full = s->used + (size_t)length >= s->size;
  s->used = s->full ? s->size - 1 : s->used + (size_t)length;
  if (!s->full) return;
  while (s->used > 0 && ((unsigned char)s->out[s->used - 1] & 0xC0) == 0x80) s->used--;
  if (s->used > 0 && (unsigned char)s->out[s->used - 1] >= 0xC0) s->used--;
  s->out[s->used] = '\0';
}

void mz_plan_text(const mz_pipeline *pipeline, const mz_plan *plan, const mz_plan *from, char *out, size_t size) {
  sentence s = begin(out, size);
  for (int i = 0; i < pipeline->knob_count; i++) {
    const mz_knob *knob = &pipeline->knobs[i];
    const int64_t value = plan->values[i];
    if (from != NULL ? value == from->values[i] : knob->min == knob->max) continue;
    append(&s, "%s%s ", s.used > 0 ? " " : "", mz_knob_shown(knob));
    if (knob->scale == MZ_SCALE_CHOICE && value >= 0 && value < pipeline->device_count)
      append(&s, "%s", pipeline->devices[value].name);
    else
      append(&s, "%lld", (long long)value);
  }
}

/* ---- what it takes ---- */

/* A size that a knob sets: at least one. */
static int64_t sized(int knob, const mz_plan *plan) { return knob >= 0 && plan->values[knob] > 1 ? plan->values[knob] : 1; }

int64_t mz_stage_threads(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  return sized(pipeline->stages[stage].threads, plan);
}

int64_t mz_stage_batch(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  return sized(pipeline->stages[stage].batch, plan);
}

int mz_stage_device(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  const int knob = pipeline->stages[stage].device;
  return knob >= 0 ? (int)mz_knob_clamp(&pipeline->knobs[knob], plan->values[knob]) : 0;
}

bool mz_stage_shares_items(const mz_pipeline *pipeline, int stage) {
  bool takes = false, feeds = false;
  for (int q = 0; q < pipeline->queue_count; q++) {
    takes |= pipeline->queues[q].to == stage;
    feeds |= pipeline->queues[q].from == stage;
  }
  return takes && !feeds;
}

mz_device_kind mz_stage_kind(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  return pipeline->devices[mz_stage_device(pipeline, stage, plan)].kind;
}

/* A device's own cores are all that its threads can keep busy; threads that feed a GPU run on whatever cores there are. */
static int64_t step_cores(const mz_pipeline *pipeline, const mz_plan *plan, int step) {
  int64_t total = 0, machine = 0;
  for (int d = 0; d < pipeline->device_count; d++) {
    const mz_device *device = &pipeline->devices[d];
    int64_t threads = 0;
    for (int s = 0; s < pipeline->stage_count; s++) {
      if (pipeline->stages[s].step != step || mz_stage_device(pipeline, s, plan) != d) continue;
      threads += mz_stage_threads(pipeline, s, plan);
    }
    const bool cpu = device->kind == MZ_DEVICE_CPU;
    if (cpu) machine += device->cores;
    total += cpu && threads > device->cores ? device->cores : threads;
  }
  return total < machine ? total : machine;
}

int mz_plan_cores(const mz_pipeline *pipeline, const mz_plan *plan) {
  int64_t most = 0;
  for (int step = 0; step < MZ_STAGES_MAX; step++) {
    const int64_t cores = step_cores(pipeline, plan, step);
    if (cores > most) most = cores;
  }
  return (int)most;
}

void mz_plan_set_pools(const mz_pipeline *pipeline, int64_t threads, mz_plan *plan) {
  for (int s = 0; s < pipeline->stage_count; s++) {
    const int knob = pipeline->stages[s].threads;
    if (knob >= 0) plan->values[knob] = mz_knob_clamp(&pipeline->knobs[knob], threads);
  }
}

int mz_plan_gpus(const mz_pipeline *pipeline, const mz_plan *plan) {
  bool used[MZ_DEVICES_MAX] = {false};
  int count = 0;
  for (int s = 0; s < pipeline->stage_count; s++) {
    const int d = mz_stage_device(pipeline, s, plan);
    count += pipeline->devices[d].kind == MZ_DEVICE_CUDA && !used[d];
    used[d] = true;
  }
  return count;
}

/* ---- memory ---- */

enum { BYTES_TEXT = 32 };

/* "512 B", "1.2 MiB", "80 KiB". */
static const char *bytes_text(double bytes, char out[BYTES_TEXT]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; unit < 4 && bytes >= 1023.5; unit++) bytes /= 1024; /* 1023.5 would be written as 1024 */
  const double tenths = nearbyint(10 * bytes) / 10;
  snprintf(out, BYTES_TEXT, tenths < 10 && tenths != floor(tenths) ? "%.1f %s" : "%.0f %s", tenths, units[unit]);
  return out;
}

static void append_term(sentence *s, const char *name) { append(s, "%s%s ", s->used > 0 ? " + " : "", name); }

/* "4 × 2 MiB". */
static void append_product(sentence *s, int64_t times, double bytes) {
  char text[BYTES_TEXT];
  if (times != 1) append(s, "%lld × ", (long long)times);
  append(s, "%s", bytes_text(bytes, text));
}

/* Whether the stage is on a GPU, and it is known what it takes there. */
static bool counts_on_gpu(const mz_pipeline *pipeline, int index, const mz_plan *plan) {
  const mz_gpu_bytes *b = &pipeline->stages[index].on_gpu;
  const bool known = b->host_thread + b->host_slot + b->fixed + b->thread + b->slot > 0;
  return known && mz_stage_kind(pipeline, index, plan) == MZ_DEVICE_CUDA;
}

double mz_stage_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan) {
  const mz_pipeline_stage *stage = &pipeline->stages[index];
  const double threads = (double)mz_stage_threads(pipeline, index, plan), batch = (double)mz_stage_batch(pipeline, index, plan);
  if (counts_on_gpu(pipeline, index, plan)) return threads * (stage->on_gpu.host_thread + batch * stage->on_gpu.host_slot);
  return threads * (stage->bytes_thread + batch * stage->bytes_slot + fmin(batch, stage->tile) * stage->bytes_tile);
}

/* "4 × (1.2 MiB + 16 × 80 KiB)". */
static void append_threads(sentence *s, int64_t threads, double thread, int64_t batch, double slot) {
  if (slot == 0) {
    append_product(s, threads, thread);
    return;
  }
  if (threads != 1) append(s, "%lld × ", (long long)threads);
  append(s, "(");
  append_product(s, 1, thread);
  append(s, " + ");
  append_product(s, batch, slot);
  append(s, ")");
}

/* "actor 4 × (1.2 MiB + 16 × 80 KiB + 8 × 2 MiB)". */
static void append_stage(sentence *s, const mz_pipeline *pipeline, const mz_plan *plan, int index) {
  const mz_pipeline_stage *stage = &pipeline->stages[index];
  const int64_t threads = mz_stage_threads(pipeline, index, plan), batch = mz_stage_batch(pipeline, index, plan);
  const bool tiled = stage->bytes_tile > 0 && stage->tile > 0;
  if (mz_stage_bytes(pipeline, index, plan) == 0) return;
  append_term(s, stage->name);
  if (counts_on_gpu(pipeline, index, plan)) {
    append_threads(s, threads, stage->on_gpu.host_thread, batch, stage->on_gpu.host_slot);
    return;
  }
  if (!tiled) {
    append_threads(s, threads, stage->bytes_thread, batch, stage->bytes_slot);
    return;
  }
  if (threads != 1) append(s, "%lld × ", (long long)threads);
  append(s, "(");
  append_product(s, 1, stage->bytes_thread);
  append(s, " + ");
  append_product(s, batch, stage->bytes_slot);
  append(s, " + ");
  append_product(s, batch < (int64_t)stage->tile ? batch : (int64_t)stage->tile, stage->bytes_tile);
  append(s, ")");
}

/* Replay that is not kept as it is, is packed. */
double mz_store_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan) {
  const mz_pipeline_store *store = &pipeline->stores[index];
  const double raw = fmin((double)plan->values[store->raw], store->bytes), packed = (store->bytes - raw) * store->packed;
  return raw + (store->packed_max > 0 ? fmin(packed, store->packed_max) : packed);
}

double mz_queue_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan) {
  const mz_pipeline_queue *queue = &pipeline->queues[index];
  return (double)sized(queue->capacity, plan) * queue->bytes;
}

static void describe_bytes(const mz_pipeline *pipeline, const mz_plan *plan, double sum, char *out, size_t size) {
  sentence s = begin(out, size);
  append_term(&s, "fixed");
  append_product(&s, 1, pipeline->bytes_fixed);
  for (int i = 0; i < pipeline->stage_count; i++) append_stage(&s, pipeline, plan, i);
  for (int i = 0; i < pipeline->queue_count; i++) {
    const mz_pipeline_queue *queue = &pipeline->queues[i];
    if (queue->bytes == 0) continue;
    append_term(&s, queue->name);
    append_product(&s, sized(queue->capacity, plan), queue->bytes);
  }
  for (int i = 0; i < pipeline->store_count; i++) {
    append_term(&s, pipeline->stores[i].name);
    append_product(&s, 1, mz_store_bytes(pipeline, i, plan));
  }
  append(&s, " = ");
  append_product(&s, 1, sum);
}

double mz_plan_bytes(const mz_pipeline *pipeline, const mz_plan *plan, char *out, size_t size) {
  double sum = pipeline->bytes_fixed;
  for (int i = 0; i < pipeline->store_count; i++) sum += mz_store_bytes(pipeline, i, plan);
  for (int i = 0; i < pipeline->stage_count; i++) sum += mz_stage_bytes(pipeline, i, plan);
  for (int i = 0; i < pipeline->queue_count; i++) sum += mz_queue_bytes(pipeline, i, plan);
  if (out != NULL) describe_bytes(pipeline, plan, sum, out, size);
  return sum;
}

/* ---- memory of GPUs ---- */

static double stage_gpu_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan, int device) {
  const mz_gpu_bytes *b = &pipeline->stages[index].on_gpu;
  if (mz_stage_device(pipeline, index, plan) != device || !counts_on_gpu(pipeline, index, plan)) return 0;
  const double batch = (double)mz_stage_batch(pipeline, index, plan);
  return b->fixed + (double)mz_stage_threads(pipeline, index, plan) * (b->thread + batch * b->slot);
}

double mz_plan_gpu_bytes(const mz_pipeline *pipeline, const mz_plan *plan, int device, char *out, size_t size) {
  double sum = 0;
  for (int i = 0; i < pipeline->stage_count; i++) sum += stage_gpu_bytes(pipeline, i, plan, device);
  if (out == NULL) return sum;
  sentence s = begin(out, size);
  for (int i = 0; i < pipeline->stage_count; i++) {
    const mz_gpu_bytes *b = &pipeline->stages[i].on_gpu;
    if (stage_gpu_bytes(pipeline, i, plan, device) == 0) continue;
    append_term(&s, pipeline->stages[i].name);
    if (b->fixed > 0) append_product(&s, 1, b->fixed);
    if (b->fixed > 0 && b->thread + b->slot > 0) append(&s, " + ");
    if (b->thread + b->slot > 0)
      append_threads(&s, mz_stage_threads(pipeline, i, plan), b->thread, mz_stage_batch(pipeline, i, plan), b->slot);
  }
  append(&s, " = ");
  append_product(&s, 1, sum);
  return sum;
}

int mz_plan_overfull(const mz_pipeline *pipeline, const mz_plan *plan) {
  for (int d = 0; d < pipeline->device_count; d++) {
    const mz_device *device = &pipeline->devices[d];
    if (device->kind == MZ_DEVICE_CUDA && device->memory > 0 && mz_plan_gpu_bytes(pipeline, plan, d, NULL, 0) > device->memory)
      return d;
  }
  return -1;
}

/* ---- between plans ---- */

double mz_plan_distance(const mz_pipeline *pipeline, const mz_plan *a, const mz_plan *b) {
  double sum = 0;
  for (int k = 0; k < pipeline->knob_count; k++) {
    const double x = (double)a->values[k], y = (double)b->values[k];
    if (x == y) continue;
    sum += pipeline->knobs[k].scale == MZ_SCALE_CHOICE || x < 1 || y < 1 ? 1 : fabs(log2(x / y));
  }
  return sum;
}
