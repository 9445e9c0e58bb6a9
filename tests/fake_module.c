/* A stand-in for the CUDA module on machines without a GPU: devices that compute what the CPU computes, under the name "cuda". The
 * program opens it as it would the real one (networks/module.h). What it pretends is set by the environment, and read anew at each
 * call:
 *   FAKE_BROKEN     number of a device that answers nothing (none)
 *   FAKE_GPUS       devices (2); −1: the driver is too old
 *   FAKE_GPU_MODELS their names, one after the other, the last one for all others ("Fake GPU")
 *   FAKE_DRIVER     version of the driver (13000)
 *   FAKE_VERSION    version of the program that it belongs to (this one's)
 *   FAKE_INTERFACE  number of its interface (this one's)
 *   FAKE_LANES      lanes that may be open at once on a device; more are memory that cannot be had (no limit)
 *   FAKE_LOST       updates after which a device is lost (never) */
#include "networks/module.h"
#include "networks/update.h"
#include <stdatomic.h>
#include <string.h>

enum { DEVICES_MAX = 16 };
static mz_module_host host;
static mz_backend backend;
static mz_updater updater;
static atomic_int lanes[DEVICES_MAX], updates;

static int number(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text != NULL && text[0] != '\0' ? atoi(text) : otherwise;
}

static mz_status fail(mz_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static mz_status fail(mz_status code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const mz_status status = host.fail(code, format, arguments);
  va_end(arguments);
  return status;
}

/* The message of a failure in here becomes the program's. */
static mz_status pass_on(mz_status status) { return status == MZ_OK ? MZ_OK : fail(status, "%s", mz_message()); }

/* ---- devices ---- */

static int device_count(void) {
  const int count = number("FAKE_GPUS", 2);
  return count < DEVICES_MAX ? count : DEVICES_MAX;
}

static mz_status count_devices(int *out) {
  *out = device_count() > 0 ? device_count() : 0;
  return device_count() < 0 ? fail(MZ_E_DEVICE, "the driver is insufficient") : MZ_OK;
}

static void name_model(int device, char *out, size_t size) {
  const char *names = getenv("FAKE_GPU_MODELS");
  if (names == NULL) names = "Fake GPU";
  for (int i = 0; i < device && strchr(names, ','); i++) names = strchr(names, ',') + 1;
  snprintf(out, size, "%.*s", (int)strcspn(names, ","), names);
}

static mz_status describe(int device, mz_module_device *out) {
  if (device >= device_count()) return fail(MZ_E_DEVICE, "cuda:%d: there is no such device", device);
  if (device == number("FAKE_BROKEN", -1)) return fail(MZ_E_DEVICE, "cuda:%d: is broken", device);
  *out = (mz_module_device){.major = 9, .usable = true, .memory_bytes = 8ull << 30, .free_bytes = 6ull << 30};
  name_model(device, out->name, sizeof out->name);
  snprintf(out->uuid, sizeof out->uuid, "GPU-00000000-%d", device);
  return MZ_OK;
}

static mz_status versions(mz_module_versions *out) {
  *out = (mz_module_versions){.built_cuda = 13000,
                              .built_cudnn = 91900,
                              .driver = number("FAKE_DRIVER", 13000),
                              .runtime = 13000,
                              .cublas = 130100,
                              .cudnn = 91900};
  return MZ_OK;
}

/* ---- the backend ---- */

static mz_status open_lane(mz_lane *lane) {
  if (atomic_fetch_add(&lanes[lane->device], 1) < number("FAKE_LANES", INT32_MAX)) {
    lane->own = &lanes[lane->device];
    return MZ_OK;
  }
  atomic_fetch_sub(&lanes[lane->device], 1);
  return fail(MZ_E_MEMORY, "cuda:%d: no memory for another lane", lane->device);
}

static void close_lane(mz_lane *lane) { atomic_fetch_sub(&lanes[lane->device], 1); }

static mz_status create_update(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                               const mz_update_vectors *vectors, mz_pool *pool) {
  if (number("FAKE_LANES", 1) < 1) return fail(MZ_E_MEMORY, "cuda:%d: no memory for the learner", where->device);
  MZ_TRY(pass_on(mz_backend_cpu.updater->create(out, &mz_lane_cpu, model, settings, vectors, pool)));
  (*out)->updater = &updater;
  return MZ_OK;
}

static mz_status run_update(mz_update *update, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report) {
  const int most = number("FAKE_LOST", -1);
  if (most >= 0 && atomic_fetch_add(&updates, 1) >= most) return fail(MZ_E_DEVICE, "cuda: the device has fallen off the bus");
  return pass_on(mz_backend_cpu.updater->run(update, rows, step, report));
}

__attribute__((visibility("default"))) mz_status mz_module_enter(const mz_module_host *from, const mz_module **out);
mz_status mz_module_enter(const mz_module_host *from, const mz_module **out) {
  static mz_module module = {
      .architectures = "none", .count_devices = count_devices, .describe = describe, .versions = versions, .backend = &backend};
  const char *own = getenv("FAKE_VERSION");
  host = *from;
  if (strcmp(own != NULL ? own : MUZERO_VERSION, host.version) != 0)
    return fail(MZ_E_DEVICE, "the CUDA module belongs to muzero %s, and this is %s", own, host.version);
  updater = *mz_backend_cpu.updater;
  updater.create = create_update;
  updater.run = run_update;
  backend = mz_backend_cpu;
  backend.name = "cuda";
  backend.open = open_lane;
  backend.close = close_lane;
  backend.updater = &updater;
  module.interface = number("FAKE_INTERFACE", MZ_MODULE_INTERFACE);
  *out = &module;
  return MZ_OK;
}
