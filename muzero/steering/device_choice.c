#include "muzero/steering/device_choice.h"
#include "base/file/file.h"
#include <stdlib.h>
#include <string.h>

enum { NUMBER_DIGITS_MAX = 4 };

/* Returns whether the text is "cuda:N". */
static bool names_gpu(const char *device, int *number) {
  if (strncmp(device, "cuda:", 5) != 0) return false;
  const char *digits = device + 5;
  const size_t length = strspn(digits, "0123456789");
  if (length == 0 || length > NUMBER_DIGITS_MAX || digits[length] != '\0') return false;
  *number = atoi(digits);
  return true;
}

static bool is(const char *device, const char *name) { return strcmp(device, name) == 0; }

mz_status mz_device_check(const char *device) {
  int number;
  if (device == NULL || is(device, "auto") || is(device, "cpu") || is(device, "cuda") || names_gpu(device, &number)) return MZ_OK;
  const char *names[] = {"auto", "cpu", "cuda", "cuda:0"};
  const char *nearest = mz_nearest(device, names, 4);
  return mz_fail(MZ_E_USAGE, "--device %s: takes auto, cpu, cuda or cuda:N%s%s%s", device, nearest ? "; did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
}

/* ---- auto ---- */

static mz_status count_multiply_adds(const mz_settings *settings, const mz_spec *spec, double *out) {
  mz_model *model;
  MZ_TRY(mz_alloc(&model, 1, sizeof *model));
  const mz_status status = mz_model_init(model, &settings->network, spec);
  *out = status == MZ_OK ? mz_model_inference_flops(model) / 2 : 0;
  free(model);
  return status;
}

/* Decides for the network, where nobody has, and says why. */
static mz_status weigh(const mz_settings *settings, const mz_spec *spec, bool *large, char *why, size_t size) {
  double multiply_adds;
  *large = false;
  snprintf(why, size, "networks of kind mlp stay on CPUs unless a GPU is asked for");
  if (settings->network.kind != MZ_MODEL_CONV) return MZ_OK;
  MZ_TRY(count_multiply_adds(settings, spec, &multiply_adds));
  *large = multiply_adds >= MZ_GPU_MULTIPLY_ADDS;
  snprintf(why, size, "a simulation takes %.2g million multiply-adds, a GPU is used from %g million on%s", multiply_adds / 1e6,
           MZ_GPU_MULTIPLY_ADDS / 1e6, *large ? "" : " unless it is asked for");
  return MZ_OK;
}

static bool names_cuda(const char *device) { return strncmp(device, "cuda", 4) == 0; }

/* Whether a stage may come to be on a GPU for another reason than the network's size. */
static bool may_use_gpu(const mz_settings *settings, const mz_device_records *before) {
  const mz_placement_settings *p = &settings->placement;
  return settings->allocation.numeric || names_cuda(p->selfplay) || names_cuda(p->reanalyze) || names_cuda(p->learning) ||
         (before != NULL && mz_device_records_use_gpu(before));
}

/* Whether this machine seems to have a GPU of which a user may want to hear that it stays idle. */
static bool seems_to_have_gpu(void) {
  const char *module = getenv("MUZERO_CUDA_MODULE");
  return (module != NULL && module[0] != '\0') || mz_file_exists("/proc/driver/nvidia/version");
}

static mz_status choose_by_network(mz_device_choice *c, const mz_settings *settings, const mz_spec *spec,
                                   const mz_device_records *before) {
  bool large;
  char why[sizeof c->why];
  MZ_TRY(weigh(settings, spec, &large, why, sizeof why));
  if (before != NULL) large = false; /* a run stays where it was */
  const bool looks = large || may_use_gpu(settings, before);
  if (!looks) snprintf(c->missing, sizeof c->missing, "--device auto leaves GPUs alone: %s", why);
  if (looks && mz_gpus_find(&c->gpus) != MZ_OK) snprintf(c->missing, sizeof c->missing, "%s", mz_message());
  if (large && c->gpus.count > 0) c->first = c->gpus.items[0].number;
  if (before == NULL && (c->gpus.count > 0 || (!looks && seems_to_have_gpu()))) snprintf(c->why, sizeof c->why, "%s", why);
  if (before != NULL && c->gpus.count > 0) snprintf(c->why, sizeof c->why, "where they were");
  return MZ_OK;
}

/* ---- a GPU that is named ---- */

static mz_status fail_unknown(const mz_gpus *gpus, int number) {
  const mz_gpu *nearest = &gpus->items[0];
  for (int i = 1; i < gpus->count; i++)
    if (abs(gpus->items[i].number - number) < abs(nearest->number - number)) nearest = &gpus->items[i];
  return mz_fail(MZ_E_DEVICE, "--device cuda:%d: no such GPU, there %s %d that can be used; nearest: cuda:%d (%s)", number,
                 gpus->count == 1 ? "is" : "are", gpus->count, nearest->number, nearest->device.name);
}

static mz_status choose_asked(mz_device_choice *c, const char *device) {
  int number = c->gpus.items[0].number;
  c->holds = names_gpu(device, &number);
  if (mz_gpus_at(&c->gpus, number) == NULL) return fail_unknown(&c->gpus, number);
  c->first = number;
  c->asked = true;
  snprintf(c->why, sizeof c->why, "asked for by --device %s", device);
  return MZ_OK;
}

mz_status mz_device_choose(mz_device_choice *out, const char *device, const mz_settings *settings, const mz_spec *spec,
                           const mz_device_records *before) {
  *out = (mz_device_choice){.first = -1};
  MZ_TRY(mz_device_check(device));
  if (device == NULL || is(device, "auto")) return choose_by_network(out, settings, spec, before);
  if (is(device, "cpu")) {
    snprintf(out->missing, sizeof out->missing, "--device cpu leaves GPUs alone");
    return MZ_OK;
  }
  if (mz_gpus_find(&out->gpus) == MZ_OK) return choose_asked(out, device);
  snprintf(out->missing, sizeof out->missing, "%s", mz_message());
  return mz_fail(MZ_E_DEVICE, "--device %s: %s; --device cpu does without", device, out->missing);
}

mz_status mz_device_lane(const char *device, const mz_settings *settings, const mz_spec *spec, mz_lane *out) {
  mz_device_choice *choice;
  MZ_TRY(mz_alloc(&choice, 1, sizeof *choice));
  const mz_status status = mz_device_choose(choice, device, settings, spec, NULL);
  if (status == MZ_OK) *out = choice->first < 0 ? mz_lane_cpu : mz_gpus_lane(choice->first);
  free(choice);
  return status;
}
