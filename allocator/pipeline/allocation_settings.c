#include "allocator/pipeline/allocation_settings.h"

#define ALLOCATION(field, key_, type_, class, min_, max_, fallback_, choices_, unit_, help_)                                     \
  {                                                                                                                              \
    .key = key_, .type = type_, .class_ = class, .offset = offsetof(mz_allocation_settings, field), .min = min_, .max = max_,    \
    .fallback = fallback_, .choices = choices_, .unit = unit_, .help = help_                                                     \
  }
#define STEERING(field, key, type, min, max, fallback, unit, help)                                                               \
  ALLOCATION(field, key, type, MZ_OPERATIONAL, min, max, fallback, NULL, unit, help)
#define DEVICE(field, key, help) ALLOCATION(field, key, MZ_TEXT, MZ_EXACT, 0, 0, "auto", NULL, "", help)

static const mz_setting rows[] = {
    STEERING(strategy, "allocate.strategy", MZ_TEXT, 0, 0, "greedy", "",
             "who proposes plans between phases; --allocate is short for it"),
    ALLOCATION(objective, "allocate.objective", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "time", "time|cost", "",
               "what a unit of work shall take the least of: seconds, or their price by prices.*"),
    STEERING(high, "allocate.high", MZ_FLOAT, 0, 1, "0.8", "share of capacity", "demand: forecast use above it adds capacity"),
    STEERING(low, "allocate.low", MZ_FLOAT, 0, 1, "0.2", "share of capacity",
             "demand: forecast use below it gives capacity back; below allocate.high"),
    STEERING(gain_min, "allocate.gain_min", MZ_FLOAT, 0, 1, "0.03", "share of the time",
             "a change that promises a smaller gain is not tried"),
    STEERING(windows, "allocate.windows", MZ_INT, 1, 64, "2", "phases", "phases that a new plan is on trial for, at least"),
    ALLOCATION(start, "allocate.start", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "auto", "auto|plain", "",
               "the first plan: auto, made for the machine, or plain, every knob at its least"),
    STEERING(monitor_hz, "monitor.rate", MZ_FLOAT, 0, 5, "4", "Hz",
             "how often the system's sensors are read; 0: only at the end of a phase"),

    STEERING(cpu_min, "limits.cpu_min", MZ_FLOAT, 0, 1e6, "0", "cores", "cores that a plan uses at the least"),
    STEERING(cpu_max, "limits.cpu_max", MZ_FLOAT, 0, 1e6, "0", "cores",
             "cores that a plan may use; 0: what the machine grants, more threads than cores included"),
    STEERING(gpu_min, "limits.gpu_min", MZ_INT, 0, 1024, "0", "GPUs", "GPUs that a plan uses at the least"),
    STEERING(gpu_max, "limits.gpu_max", MZ_INT, 0, 1024, "0", "GPUs", "GPUs that a plan may use; 0: what the machine grants"),
    STEERING(memory_min, "limits.memory_min", MZ_SIZE, 0, 1e15, "0", "bytes", "memory kept for the run at the least"),
    STEERING(memory_max, "limits.memory_max", MZ_SIZE, 0, 1e15, "0", "bytes",
             "memory that a plan may need; 0: what the machine grants, at most 85 % of what is free"),
    STEERING(deadline, "limits.deadline", MZ_TIME, 0, 1e10, "0", "seconds", "the whole run shall end within it; 0: none"),
    STEERING(budget, "limits.budget", MZ_FLOAT, 0, 1e12, "0", "currency of prices.*",
             "the whole run shall cost no more; 0: none"),
    STEERING(score, "limits.score", MZ_FLOAT, -1e9, 1e9, "1e9", "", "score that the run shall reach; 1e9: none"),

    STEERING(core_hour, "prices.core_hour", MZ_FLOAT, 0, 1e9, "1", "per hour", "price of a reserved core"),
    STEERING(gpu_hour, "prices.gpu_hour", MZ_FLOAT, 0, 1e9, "20", "per hour", "price of a reserved GPU"),
    STEERING(gib_hour, "prices.gib_hour", MZ_FLOAT, 0, 1e9, "0.1", "per hour", "price of a reserved GiB of memory"),

    DEVICE(cpu, "devices.cpu", "sets of cores, each a device: 0-3,4-7; auto: one per NUMA node"),
    DEVICE(selfplay, "devices.selfplay", "where self-play runs: cpu:N, or auto: the allocator's choice"),
    DEVICE(reanalyze, "devices.reanalyze", "where batches are reanalyzed and built: cpu:N, or auto: the allocator's choice"),
    DEVICE(learning, "devices.learning", "where gradients are computed: cpu:N, or auto: the allocator's choice"),
};

const mz_settings_table mz_allocation_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
