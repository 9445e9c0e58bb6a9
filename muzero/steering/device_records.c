#include "muzero/steering/device_records.h"
#include <string.h>

static const struct {
  const char *key, *shown;
} names[MZ_PLACED_STAGES] = {[MZ_PLACED_SELFPLAY] = {"selfplay", "self-play"},
                             [MZ_PLACED_REANALYZE] = {"reanalyze", "reanalysis"},
                             [MZ_PLACED_LEARNING] = {"learning", "learning"}};

/* Members by their names in JSON. "device" comes first; those after "kind" are a GPU's. */
static const struct {
  const char *key, *shown;
  size_t offset, size;
} members[] = {
#define MEMBER(field, words)                                                                                                     \
  { #field, words, offsetof(mz_device_record, field), sizeof(((mz_device_record *)NULL)->field) }
    MEMBER(device, ""),   MEMBER(kind, "kind of device"), MEMBER(gpu, "GPU"),     MEMBER(driver, "driver"),
    MEMBER(cuda, "CUDA"), MEMBER(cublas, "cuBLASLt"),     MEMBER(cudnn, "cuDNN"),
};
enum { MEMBERS = sizeof members / sizeof members[0], GPU = 2 };

static char *member(mz_device_record *device, int m) { return (char *)device + members[m].offset; }
static const char *read_member(const mz_device_record *device, int m) { return (const char *)device + members[m].offset; }

static void describe(mz_device_record *out, const mz_devices *devices, int64_t knob, const mz_gpus *gpus) {
  *out = (mz_device_record){.device = "cpu:0", .kind = "cpu"};
  if (devices == NULL || knob == 0) return;
  snprintf(out->device, sizeof out->device, "%s", devices->items[knob - 1].device.name);
  if (devices->items[knob - 1].device.kind == MZ_DEVICE_CPU) return;
  const mz_module_versions *v = &gpus->versions;
  snprintf(out->kind, sizeof out->kind, "cuda");
  snprintf(out->gpu, sizeof out->gpu, "%s", devices->items[knob - 1].device.model);
  mz_gpus_version(v->driver, false, out->driver);
  mz_gpus_version(v->runtime, false, out->cuda);
  mz_gpus_version(v->cublas, true, out->cublas);
  mz_gpus_version(v->cudnn, true, out->cudnn);
}

void mz_device_records_of(mz_device_records *out, const mz_knobs *knobs, const mz_devices *devices, const mz_gpus *gpus) {
  describe(&out->stages[MZ_PLACED_SELFPLAY], devices, knobs->selfplay_device, gpus);
  describe(&out->stages[MZ_PLACED_REANALYZE], devices, knobs->reanalyze_device, gpus);
  describe(&out->stages[MZ_PLACED_LEARNING], devices, knobs->learning_device, gpus);
}

cJSON *mz_device_records_to_json(const mz_device_records *devices) {
  cJSON *object = cJSON_CreateObject();
  for (int s = 0; s < MZ_PLACED_STAGES; s++) {
    cJSON *stage = cJSON_AddObjectToObject(object, names[s].key);
    for (int m = 0; m < MEMBERS; m++) {
      const char *text = read_member(&devices->stages[s], m);
      if (text[0] != '\0') cJSON_AddStringToObject(stage, members[m].key, text);
    }
  }
  return object;
}

void mz_device_records_from_json(mz_device_records *out, const cJSON *json) {
  memset(out, 0, sizeof *out);
  for (int s = 0; s < MZ_PLACED_STAGES; s++) {
    const cJSON *stage = cJSON_GetObjectItemCaseSensitive(json, names[s].key);
    for (int m = 0; m < MEMBERS && stage != NULL; m++)
      snprintf(member(&out->stages[s], m), members[m].size, "%s", mz_json_text_or_empty(stage, members[m].key));
  }
}

static bool is_gpu(const mz_device_record *device) { return strcmp(device->kind, "cuda") == 0; }

/* "cuda:0 (Fake GPU)", "CPUs". */
static void name(const mz_device_record *device, char *out, size_t size) {
  if (is_gpu(device))
    snprintf(out, size, "%s (%s)", device->device, device->gpu);
  else
    snprintf(out, size, "CPUs");
}

static bool differ(const mz_device_record *before, const mz_device_record *now, const char *stage, char *out, size_t size) {
  char was[128], is[128];
  if (!is_gpu(before) && !is_gpu(now)) return false;
  name(before, was, sizeof was);
  name(now, is, sizeof is);
  if (is_gpu(before) != is_gpu(now) || strcmp(before->gpu, now->gpu) != 0) {
    snprintf(out, size, "%s ran on %s and would run on %s", stage, was, is);
    return true;
  }
  for (int m = GPU + 1; m < MEMBERS; m++) {
    const char *a = read_member(before, m), *b = read_member(now, m);
    if (strcmp(a, b) == 0) continue;
    snprintf(out, size, "%s ran on %s with %s %s and would run with %s", stage, was, members[m].shown, a, b);
    return true;
  }
  return false;
}

bool mz_device_records_differ(const mz_device_records *before, const mz_device_records *now, char *out, size_t size) {
  out[0] = '\0';
  for (int s = 0; s < MZ_PLACED_STAGES; s++)
    if (differ(&before->stages[s], &now->stages[s], names[s].shown, out, size)) return true;
  return false;
}

/* Stages that share a device are named together. */
void mz_device_records_text(const mz_device_records *devices, char *out, size_t size) {
  size_t used = 0;
  bool said[MZ_PLACED_STAGES] = {false};
  out[0] = '\0';
  for (int s = 0; s < MZ_PLACED_STAGES; s++) {
    char own[128], other[128];
    int together[MZ_PLACED_STAGES], count = 0;
    if (said[s]) continue;
    name(&devices->stages[s], own, sizeof own);
    for (int t = s; t < MZ_PLACED_STAGES; t++) {
      name(&devices->stages[t], other, sizeof other);
      if (strcmp(own, other) == 0) together[count++] = t, said[t] = true;
    }
    if (used > 0 && used < size) used += (size_t)snprintf(out + used, size - used, ", ");
    for (int i = 0; i < count && used < size; i++) {
      const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
      used += (size_t)snprintf(out + used, size - used, "%s%s", before, names[together[i]].shown);
    }
    if (used < size) used += (size_t)snprintf(out + used, size - used, " on %s", own);
  }
}

bool mz_device_records_use_gpu(const mz_device_records *devices) {
  bool any = false;
  for (int s = 0; s < MZ_PLACED_STAGES; s++) any = any || is_gpu(&devices->stages[s]);
  return any;
}
