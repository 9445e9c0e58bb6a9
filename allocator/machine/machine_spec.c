#include "allocator/machine/machine_spec.h"
#include "base/machine/machine.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

static const char PREFIX[] = "sim:";
enum { KEY_MAX = 32 };

#define ROW(field, whole_, off_, min_, max_, fallback_, unit_, help_)                                                            \
  {                                                                                                                              \
    .name = #field, .offset = offsetof(mz_sim_machine, field), .whole = whole_, .off = off_, .min = min_, .max = max_,           \
    .fallback = fallback_, .unit = unit_, .help = help_                                                                          \
  }
/* Defaults of effects are measured (docs/simulation.md says which) or lie within the stated range. */
static const mz_sim_key keys[] = {
    ROW(cores, true, false, 1, MZ_CORES_MAX, 16, "hardware threads", "of the whole machine"),
    ROW(numa, true, false, 1, 16, 1, "nodes", "share the cores evenly, each with its own memory; a device each"),
    ROW(gpus, true, false, 0, 8, 0, "GPUs", "a device each"),
    ROW(memory, false, false, 0.001, 65536, 64, "GiB", "that a plan may need"),

    ROW(quota, false, true, 0.1, MZ_CORES_MAX, 0, "cores",
        "the control group's; at the end of it everything stands until the next period"),
    ROW(period, false, false, 1, 1000, 100, "ms", "over which the quota is counted"),
    ROW(neighbour, true, true, 1, 1024, 0, "processes", "others, which compute"),
    ROW(stream, true, true, 1, 1024, 0, "processes", "others, which stream through memory"),
    ROW(neighbour_weight, false, false, 0.015, 88, 1, "of a core", "claim of each of those against a thread of usual niceness"),

    ROW(smt, false, true, 1, 2, 1.3, "cores", "work of the two hardware threads of a core, in cores"),
    ROW(bandwidth, false, true, 1, 2000, 100, "GB/s", "of a node's memory"),
    ROW(core_bandwidth, false, false, 0.1, 200, 10, "GB/s", "that one core streams when it is alone"),
    ROW(streaming, false, true, 0.001, 0.9, 0.1, "share", "of a stage's time that waits for memory"),
    ROW(remote, false, true, 0.01, 3, 0.7, "share", "by which memory of another node takes longer"),
    ROW(l2, false, false, 16, 65536, 1280, "KiB", "a core's own cache"),
    ROW(l2_miss, false, true, 0.001, 4, 0.15, "share", "by which an item takes longer when a batch lies outside of it"),
    ROW(l3, false, false, 0.5, 4096, 48, "MiB", "the cache that a node's cores share"),
    ROW(l3_miss, false, true, 0.001, 8, 0.5, "share", "by which an item takes longer when all batches lie outside of it"),
    ROW(spread, false, true, 0.001, 2, 0.1, "deviation", "of one item's cost"),
    ROW(straggler, false, true, 0.001, 1, 0.05, "deviation",
        "of a thread's part of what threads share; all wait for the slowest"),
    ROW(jitter, false, true, 0.001, 0.5, 0.02, "deviation", "of a whole unit's cost"),
    ROW(tail, false, true, 0.000001, 0.1, 0.001, "share", "of tasks that take longer, many times as long now and then"),
    ROW(tail_shape, false, false, 1.1, 10, 2, "exponent", "of those times (Pareto); less is heavier"),
    ROW(wake, false, true, 0.01, 1000, 5, "µs", "that a thread which waited needs to begin again on a core that slept"),
    ROW(placed, true, true, 1, 1, 1, "switch", "threads keep to their cores, as the trainer places them"),

    ROW(gpu_latency, false, true, 0.1, 10000, 20, "µs", "of a call, whatever its batch"),
    ROW(gpu_speed, false, false, 0.1, 10000, 50, "cores", "that a GPU does the work of, when a batch fills it"),
    ROW(gpu_full, false, true, 1, 65536, 256, "items", "that fill a GPU: fewer take as long"),
    ROW(gpu_share, false, true, 0.01, 1, 0.8, "share", "of an item's cost that a GPU can take over"),
    ROW(gpu_link, false, false, 0.1, 2000, 25, "GB/s", "to a GPU and back"),
    ROW(gpu_bytes, false, true, 0.001, 65536, 1, "KiB", "copied for an item"),

    ROW(drift, false, true, -0.9, 20, 0, "share", "by which self-play's cost grows until the last round"),
};
enum { KEYS = sizeof keys / sizeof keys[0] };

const mz_sim_key *mz_sim_key_at(int index) { return index >= 0 && index < KEYS ? &keys[index] : NULL; }

static double *member(mz_sim_machine *machine, const mz_sim_key *key) { return (double *)((char *)machine + key->offset); }

/* ---- values ---- */

static bool allowed(const mz_sim_key *key, double value) {
  if (key->off && value == 0) return true;
  return value >= key->min && value <= key->max && (!key->whole || value == floor(value));
}

static double nearest_value(const mz_sim_key *key, double value) {
  const double whole = key->whole ? round(value) : value, inside = fmin(fmax(whole, key->min), key->max);
  return key->off && fabs(value) < fabs(value - inside) ? 0 : inside;
}

/* "cores takes 1 … 1024 hardware threads; nearest valid value: 1". */
static void range_text(const mz_sim_key *key, double value, char *out, size_t size) {
  const int used = snprintf(out, size, "%s takes %s%.12g … %.12g %s", key->name, key->off && key->min > 0 ? "0 (off) or " : "",
                            key->min, key->max, key->unit);
  if (isfinite(value) && used > 0 && (size_t)used < size)
    snprintf(out + used, size - (size_t)used, "; nearest valid value: %.12g", nearest_value(key, value));
}

static void unknown_text(const char *name, char *out, size_t size) {
  const char *names[KEYS];
  for (int i = 0; i < KEYS; i++) names[i] = keys[i].name;
  const char *nearest = mz_nearest(name, names, KEYS);
  int used = snprintf(out, size, "there is no key '%s'; ", name);
  if (nearest) {
    snprintf(out + used, size - (size_t)used, "did you mean '%s'?", nearest);
  } else {
    used += snprintf(out + used, size - (size_t)used, "there are ");
    for (int i = 0; i < KEYS; i++) used += snprintf(out + used, size - (size_t)used, "%s%s", i ? ", " : "", names[i]);
  }
}

static const mz_sim_key *find_key(const char *name) {
  for (int i = 0; i < KEYS; i++)
    if (strcmp(keys[i].name, name) == 0) return &keys[i];
  return NULL;
}

mz_status mz_sim_machine_set(mz_sim_machine *machine, const char *key, double value) {
  char why[MZ_MESSAGE_MAX];
  const mz_sim_key *row = find_key(key);
  if (!row) {
    unknown_text(key, why, sizeof why);
    return mz_fail(MZ_E_CONFIG, "simulated machine: %s", why);
  }
  if (!allowed(row, value)) {
    range_text(row, value, why, sizeof why);
    return mz_fail(MZ_E_CONFIG, "simulated machine: %.12g: %s", value, why);
  }
  *member(machine, row) = value;
  return MZ_OK;
}

/* ---- text ---- */

typedef struct parser {
  const char *text, *at;
  bool named[KEYS];
} parser;

static mz_status bad(const parser *p, const char *what) {
  return mz_fail(MZ_E_CONFIG, "--machine '%s': at character %d: %s", p->text, (int)(p->at - p->text) + 1, what);
}

static mz_status parse_key(parser *p, const mz_sim_key **out) {
  char name[KEY_MAX], what[MZ_MESSAGE_MAX];
  const size_t length = strcspn(p->at, "=,");
  if (length == 0) return bad(p, "a key is missing, as in cores=64");
  snprintf(name, sizeof name, "%.*s", (int)length, p->at);
  *out = find_key(name);
  if (!*out) {
    unknown_text(name, what, sizeof what);
    return bad(p, what);
  }
  if (p->named[*out - keys]) {
    snprintf(what, sizeof what, "%s is there already", name);
    return bad(p, what);
  }
  p->at += length;
  if (*p->at != '=') {
    snprintf(what, sizeof what, "'=' and a number are missing, as in %s=%.12g", name, (*out)->fallback);
    return bad(p, what);
  }
  p->at++;
  p->named[*out - keys] = true;
  return MZ_OK;
}

static mz_status parse_value(parser *p, const mz_sim_key *key, double *out) {
  char what[MZ_MESSAGE_MAX], *end = NULL;
  const bool begins = isdigit((unsigned char)*p->at) || *p->at == '.' || *p->at == '-';
  const double value = begins ? strtod(p->at, &end) : NAN;
  const bool whole_text = begins && end != p->at && (*end == ',' || *end == '\0');
  if (whole_text && allowed(key, value)) {
    *out = value;
    p->at = end;
    return MZ_OK;
  }
  range_text(key, whole_text ? value : NAN, what, sizeof what);
  return bad(p, what);
}

mz_status mz_sim_machine_parse(mz_sim_machine *out, const char *text) {
  parser p = {.text = text, .at = text};
  mz_sim_machine machine = {0};
  for (int i = 0; i < KEYS; i++) *member(&machine, &keys[i]) = keys[i].fallback;
  if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
    return bad(&p, "a simulated machine begins with 'sim:', as in sim:cores=64,numa=2");
  p.at += strlen(PREFIX);
  while (*p.at) {
    const mz_sim_key *key = NULL;
    MZ_TRY(parse_key(&p, &key));
    MZ_TRY(parse_value(&p, key, member(&machine, key)));
    if (*p.at == ',' && *++p.at == '\0') return bad(&p, "a key is missing, as in cores=64");
  }
  if (machine.numa > machine.cores)
    return mz_fail(MZ_E_CONFIG, "--machine '%s': numa: %.12g nodes have no core each; nearest valid value: %.12g", text,
                   machine.numa, machine.cores);
  *out = machine;
  return MZ_OK;
}

/* ---- what it has ---- */

int mz_sim_machine_cores(const mz_sim_machine *machine) { return mz_cores_granted((int)machine->cores, machine->quota); }

mz_grants mz_sim_machine_grants(const mz_sim_machine *machine, int cores, int threads) {
  return (mz_grants){.cores = threads > 0 && threads < cores ? threads : cores,
                     .gpus = (int)machine->gpus,
                     .memory_bytes = machine->memory * 0x1p30};
}

void mz_sim_machine_devices(const mz_sim_machine *machine, mz_devices *out) {
  const int cores = (int)machine->cores, gpus = (int)machine->gpus;
  const int nodes = machine->numa < cores ? (int)machine->numa : cores; /* a scenario may leave fewer cores than nodes */
  MZ_ASSERT(cores >= 1 && cores <= MZ_CORES_MAX && nodes >= 1 && nodes + gpus <= MZ_DEVICES_MAX);
  *out = (mz_devices){.count = nodes + gpus};
  for (int node = 0; node < nodes; node++) {
    const int first = node * cores / nodes, past = (node + 1) * cores / nodes;
    mz_device *device = &out->items[node].device;
    *device = (mz_device){.kind = MZ_DEVICE_CPU, .cores = past - first};
    if (machine->smt > 0) device->whole_cores = (past - first + 1) / 2;
    snprintf(device->name, sizeof device->name, "cpu:%d", node);
    out->items[node].core_count = past - first;
    for (int core = first; core < past; core++) out->items[node].cores[core - first] = (int16_t)core;
  }
  for (int gpu = 0; gpu < gpus; gpu++) {
    mz_device *device = &out->items[nodes + gpu].device;
    *device = (mz_device){.kind = MZ_DEVICE_CUDA};
    snprintf(device->name, sizeof device->name, "cuda:%d", gpu);
  }
}
