#include "allocator/records/history.h"
#include "allocator/sensors/monitor.h"
#include "base/file/file.h"
#include "base/machine/machine.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/explaining/gpu_checks.h"
#include "cli/explaining/selftest.h"
#include "networks/isa.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct doctor_arguments {
  bool json;
} doctor_arguments;

static const mz_option options[] = {
    {.name = "--json",
     .type = MZ_OPTION_SWITCH,
     .offset = offsetof(doctor_arguments, json),
     .class_ = MZ_OPERATIONAL,
     .help = "one JSON object on stdout"},
    {0},
};

enum { VALUE_BYTES = sizeof((mz_check *)0)->value };

static mz_check check_cores(void) {
  mz_check c = {.ok = true, .advice = ""};
  const int cores = mz_machine_cores();
  snprintf(c.value, sizeof c.value, "%d granted of %ld online: threads of a run unless --threads says otherwise", cores,
           sysconf(_SC_NPROCESSORS_ONLN));
  return c;
}

static mz_check check_quota(void) {
  mz_check c = {.ok = true, .advice = ""};
  const double quota = mz_machine_quota();
  if (quota == 0)
    snprintf(c.value, sizeof c.value, "no limit by a control group");
  else
    snprintf(c.value, sizeof c.value, "%.3g cores by the control group's quota", quota);
  if (quota > 0 && quota < 1) {
    c.ok = false;
    c.advice = "less than one core: one thread will run, and wait for its share; raise the quota (cpu.max)";
  }
  return c;
}

static mz_check check_memory(void) {
  mz_check c = {.ok = true, .advice = ""};
  char total[MZ_TEXT_SIZE];
  const uint64_t bytes = mz_machine_memory();
  snprintf(c.value, sizeof c.value, "%s", mz_text_bytes((double)bytes, total));
  if (bytes < 512u << 20) {
    c.ok = false;
    c.advice = "little: lower replay.bytes";
  }
  return c;
}

static mz_check check_isa(void) {
  mz_check c = {.ok = true, .advice = ""};
  snprintf(c.value, sizeof c.value, "%s", mz_isa_name(mz_isa_level()));
  if (mz_isa_level() == MZ_ISA_LEVEL_PLAIN)
    c.advice = "no vector instructions are used: several times slower (is MUZERO_ISA set?)";
  return c;
}

static mz_check check_onednn(void) {
  mz_check c = {.ok = true, .advice = ""};
  snprintf(c.value, sizeof c.value, "%s", mz_onednn_version());
  return c;
}

static bool library_found(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  return handle && dlclose(handle) == 0;
}

/* Nothing of these is needed; all of them are reported. */
static mz_check check_libraries(const char *first, const char *second, const char *use) {
  mz_check c = {.ok = true, .advice = ""};
  const bool has_first = library_found(first), has_second = !second || library_found(second);
  snprintf(c.value, sizeof c.value, "%s: %s%s%s%s%s; %s", first, has_first ? "found" : "not found", second ? ", " : "",
           second ? second : "", second ? ": " : "", second ? (has_second ? "found" : "not found") : "", use);
  return c;
}
static mz_check check_gpu(void) {
  enum { GPUS = 4 };
  char names[GPUS][64], use[120] = "";
  const int count = mz_monitor_gpus(names, GPUS);
  for (int i = 0; i < count && i < GPUS; i++)
    snprintf(use + strlen(use), sizeof use - strlen(use), "%s%.40s", i ? ", " : "", names[i]);
  if (count == 0) snprintf(use, sizeof use, "none known to NVML");
  return check_libraries("libcuda.so.1", "libnvidia-ml.so.1", use);
}
static mz_check check_nccl(void) { return check_libraries("libnccl.so.2", NULL, "not used"); }
static mz_check check_mpi(void) { return check_libraries("libmpi.so.40", NULL, "not used"); }

/* The allocator does without the sensors that are missing. */
static mz_check check_sensors(void) {
  mz_check c = {.ok = true, .advice = ""};
  mz_monitor *monitor;
  char missing[160];
  if (mz_monitor_start(&monitor, &(mz_monitor_options){.hz = 0}) != MZ_OK) {
    snprintf(c.value, sizeof c.value, "%s", mz_message());
    return c;
  }
  mz_usage usage;
  mz_monitor_take(monitor, &usage);
  mz_monitor_missing(monitor, missing, sizeof missing);
  mz_monitor_stop(monitor);
  snprintf(c.value, sizeof c.value, "%s%s", missing[0] ? "missing: " : "all are there", missing);
  return c;
}

static mz_check check_history(void) {
  mz_check c = {.ok = true, .advice = ""};
  char path[512];
  mz_history *history;
  if (!mz_history_default_path(path, sizeof path)) {
    snprintf(c.value, sizeof c.value, "no place known");
    c.advice = "set XDG_DATA_HOME or HOME, or give --history";
    return c;
  }
  if (!mz_file_exists(path)) {
    snprintf(c.value, sizeof c.value, "%.160s: none yet; `muzero profile` or any run begins it", path);
    return c;
  }
  c.ok = mz_history_open(&history, path) == MZ_OK;
  if (!c.ok) {
    snprintf(c.value, sizeof c.value, "%.*s", VALUE_BYTES - 1, mz_message());
    c.advice = "runs continue without a history; --history FILE chooses another";
    return c;
  }
  snprintf(c.value, sizeof c.value, "%.160s: %lld measured phases", path, (long long)mz_history_count(history));
  mz_history_close(history);
  return c;
}

static mz_check check_disk(void) {
  mz_check c = {.ok = true, .advice = ""};
  struct statvfs disk;
  const bool writable = mz_file_can_write(".");
  if (statvfs(".", &disk) != 0) {
    snprintf(c.value, sizeof c.value, "%s", strerror(errno));
    c.ok = false;
    c.advice = "the current folder cannot be examined";
    return c;
  }
  const double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
  char text[MZ_TEXT_SIZE];
  snprintf(c.value, sizeof c.value, "%s free in the current folder, %s", mz_text_bytes(free_bytes, text),
           writable ? "writable" : "not writable");
  if (!writable || free_bytes < 64 << 20) {
    c.ok = false;
    c.advice = writable ? "little: checkpoints may not fit" : "choose another place for runs with --run";
  }
  return c;
}

static mz_check check_numbers(void) {
  mz_check c = {.ok = mz_selftest(c.value, sizeof c.value) == MZ_OK, .advice = ""};
  if (!c.ok) {
    snprintf(c.value, sizeof c.value, "%s", mz_message());
    c.advice = "results on this machine cannot be trusted; please report it with the output of `muzero doctor --json`";
  }
  return c;
}

static const struct {
  const char *name;
  mz_check (*examine)(void);
} checks[] = {
    {"cores", check_cores},     {"cgroup", check_quota},    {"memory", check_memory}, {"instructions", check_isa},
    {"onednn", check_onednn},   {"gpu", check_gpu},         {"nccl", check_nccl},     {"mpi", check_mpi},
    {"sensors", check_sensors}, {"history", check_history}, {"disk", check_disk},     {"self-test", check_numbers},
};

static void show(const mz_check *c, bool json, cJSON *rows) {
  char shown[MZ_SHOWN_SIZE];
  if (!json)
    printf("  %-4s %-16s %s%s%s\n", c->ok ? "ok" : "!!", c->name, mz_text_shown(c->value, shown), c->advice[0] ? "; " : "",
           c->advice);
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", c->name);
  cJSON_AddBoolToObject(row, "ok", c->ok);
  cJSON_AddStringToObject(row, "value", c->value);
  cJSON_AddStringToObject(row, "advice", c->advice);
  cJSON_AddItemToArray(rows, row);
}

static void show_gpus(bool json, cJSON *rows, bool *numbers_ok) {
  mz_check gpus[MZ_GPU_CHECKS_MAX];
  const int count = mz_gpu_checks(gpus, numbers_ok);
  for (int i = 0; i < count; i++) show(&gpus[i], json, rows);
}

static mz_status doctor(const void *given) {
  const doctor_arguments *arguments = given;
  cJSON *object = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(object, "checks");
  bool numbers_ok = true;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    mz_check c = checks[i].examine();
    snprintf(c.name, sizeof c.name, "%s", checks[i].name);
    if (checks[i].examine == check_numbers) numbers_ok = numbers_ok && c.ok;
    show(&c, arguments->json, rows);
    if (checks[i].examine == check_gpu) show_gpus(arguments->json, rows, &numbers_ok);
  }
  if (arguments->json)
    MZ_TRY(mz_print_json(object));
  else
    cJSON_Delete(object);
  return numbers_ok ? MZ_OK : mz_fail(MZ_E_INTERNAL, "the numeric self-test failed");
}

const mz_command mz_command_doctor = {
    .name = "doctor",
    .summary = "what this machine has, what the program will use, and whether it computes right",
    .about =
        "Reports cores, limits, memory, instruction set, libraries, GPUs and disk, and runs a numeric self-test on the CPU and "
        "each GPU. Exits with 1 when one fails.",
    .options = options,
    .arguments_size = sizeof(doctor_arguments),
    .examples = {"doctor", "doctor --json"},
    .run = doctor,
};
