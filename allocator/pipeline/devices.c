#include "allocator/pipeline/devices.h"
#include "base/threads/core.h"
#include "base/file/file.h"
#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_BYTES = 256 };

/* ---- which cores there are ---- */

static void allowed_cores(cpu_set_t *out) {
  if (mz_core_allowed(out)) return;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  CPU_ZERO(out);
  for (int core = 0; core < CPU_SETSIZE && core < (online > 1 ? online : 1); core++) CPU_SET(core, out);
}

/* "0-3,8"; what does not fit ends in "…". */
static void list_cores(const cpu_set_t *cores, char out[LIST_BYTES]) {
  int length = 0;
  out[0] = '\0';
  for (int first = 0; first < CPU_SETSIZE; first++) {
    if (!CPU_ISSET(first, cores)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cores)) last++;
    if (length > LIST_BYTES - 24) {
      snprintf(out + length, (size_t)(LIST_BYTES - length), ",…");
      return;
    }
    const char *comma = length > 0 ? "," : "";
    if (last == first)
      length += snprintf(out + length, (size_t)(LIST_BYTES - length), "%s%d", comma, first);
    else
      length += snprintf(out + length, (size_t)(LIST_BYTES - length), "%s%d-%d", comma, first, last);
    first = last;
  }
}

/* Every core of `set` that `left` still has goes to the device, in order, and from `left`. */
static void give_cores(mz_devices *devices, int index, const cpu_set_t *set, cpu_set_t *left) {
  for (int core = 0; core < MZ_CORES_MAX; core++) {
    if (!CPU_ISSET(core, set) || !CPU_ISSET(core, left)) continue;
    devices->items[index].cores[devices->items[index].core_count++] = (int16_t)core;
    CPU_CLR(core, left);
  }
}

/* Cores are told apart by the lowest of their threads that the operating system names. */
static int count_whole_cores(const int16_t *threads, int count) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int i = 0; i < count; i++) {
    char path[96];
    uint8_t *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", threads[i]);
    const bool told = mz_file_read(path, 0, &text, &size) == MZ_OK && size > 0 && isdigit(text[0]);
    const long first = told ? strtol((const char *)text, NULL, 10) : threads[i];
    free(text);
    CPU_SET((size_t)(first < CPU_SETSIZE ? first : threads[i]), &cores);
  }
  return CPU_COUNT(&cores);
}

static void name_devices(mz_devices *devices) {
  for (int i = 0; i < devices->count; i++) {
    mz_device *device = &devices->items[i].device;
    snprintf(device->name, sizeof device->name, "cpu:%d", i);
    device->kind = MZ_DEVICE_CPU;
    device->cores = devices->items[i].core_count;
    const int whole = count_whole_cores(devices->items[i].cores, device->cores);
    device->whole_cores = whole < device->cores ? whole : 0;
  }
}

/* ---- auto: by NUMA node ---- */

/* Loads no more than is asked for: NUMA nodes and their cores, as the operating system tells them. A node's cores are those of
 * the object it hangs from, hence groups. */
static bool load_nodes(hwloc_topology_t *out) {
  if (hwloc_topology_init(out) != 0) return false;
  const unsigned long flags =
      HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  if (hwloc_topology_set_all_types_filter(*out, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      hwloc_topology_set_type_filter(*out, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) == 0 &&
      hwloc_topology_set_components(*out, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") == 0 &&
      hwloc_topology_set_flags(*out, flags) == 0 && hwloc_topology_load(*out) == 0)
    return true;
  hwloc_topology_destroy(*out);
  return false;
}

static void cores_of_node(hwloc_const_cpuset_t cpuset, cpu_set_t *out) {
  CPU_ZERO(out);
  for (int core = hwloc_bitmap_next(cpuset, -1); core >= 0 && core < MZ_CORES_MAX; core = hwloc_bitmap_next(cpuset, core))
    CPU_SET(core, out);
}

/* A node without cores of its own (memory only) makes no device; nodes beyond those that there is room for, and cores of no
 * node, join the last one. */
static void ask_hwloc(mz_devices *out, cpu_set_t *left) {
  hwloc_topology_t topology;
  if (!load_nodes(&topology)) return;
  const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  for (int n = 0; n < nodes && out->count < MZ_DEVICES_MAX; n++) {
    cpu_set_t cores;
    cores_of_node(hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)n)->cpuset, &cores);
    give_cores(out, out->count, &cores, left);
    if (out->items[out->count].core_count > 0) out->count++;
  }
  hwloc_topology_destroy(topology);
}

/* One device of whatever no node has taken, or the rest for the last node. */
static void finish_by_node(mz_devices *out, cpu_set_t *left) {
  if (out->count == 0) out->count = 1;
  const cpu_set_t rest = *left;
  give_cores(out, out->count - 1, &rest, left);
  name_devices(out);
}

void mz_devices_find_nodes(mz_devices *out) {
  cpu_set_t left;
  memset(out, 0, sizeof *out);
  allowed_cores(&left);
  ask_hwloc(out, &left);
  finish_by_node(out, &left);
}

/* The kernel's list of nodes with cores is one number: spares loading hwloc, which would say no more. */
static bool is_one_node(void) {
  uint8_t *text = NULL;
  size_t size = 0;
  if (mz_file_read("/sys/devices/system/node/has_cpu", 0, &text, &size) != MZ_OK) return false;
  const size_t digits = strspn((const char *)text, "0123456789");
  const bool one = digits > 0 && (text[digits] == '\n' || text[digits] == '\0');
  free(text);
  return one;
}

static void find_by_node(mz_devices *out) {
  cpu_set_t left;
  if (!is_one_node()) {
    mz_devices_find_nodes(out);
    return;
  }
  allowed_cores(&left);
  finish_by_node(out, &left);
}

/* ---- as the user splits them ---- */

typedef struct parser {
  const char *spec, *where;
  const char *at;         /* what comes next */
  cpu_set_t usable, left; /* left: in no set so far */
} parser;

static mz_status bad(const parser *p, const char *part, const char *why) {
  char list[LIST_BYTES];
  list_cores(&p->usable, list);
  return mz_fail(MZ_E_CONFIG, "%s: '%s': %s in '%.*s'; cores that this process may use: %s", p->where, p->spec, why,
                 (int)strcspn(part, ","), part, list);
}

static mz_status parse_core(parser *p, const char *part, int *out) {
  char why[64];
  const size_t digits = strspn(p->at, "0123456789");
  if (digits == 0) return bad(p, part, "a core's number is missing");
  const long core = strtol(p->at, NULL, 10); /* LONG_MAX where it has too many digits */
  if (core >= MZ_CORES_MAX) {
    snprintf(why, sizeof why, "no core %.*s", digits < 50 ? (int)digits : 50, p->at);
    return bad(p, part, why);
  }
  *out = (int)core;
  p->at += digits;
  return MZ_OK;
}

static mz_status take_core(parser *p, const char *part, int core, cpu_set_t *set) {
  char why[64];
  const bool usable = CPU_ISSET(core, &p->usable);
  if (usable && CPU_ISSET(core, &p->left)) {
    CPU_CLR(core, &p->left);
    CPU_SET(core, set);
    return MZ_OK;
  }
  if (usable)
    snprintf(why, sizeof why, "core %d is named twice", core);
  else
    snprintf(why, sizeof why, "no core %d", core);
  return bad(p, part, why);
}

/* "3" or "0-3" */
static mz_status parse_range(parser *p, const char *part, cpu_set_t *set) {
  int first = 0, last;
  MZ_TRY(parse_core(p, part, &first));
  last = first;
  if (*p->at == '-') {
    p->at++;
    MZ_TRY(parse_core(p, part, &last));
  }
  if (last < first) return bad(p, part, "a range ends before it starts");
  for (int core = first; core <= last; core++) MZ_TRY(take_core(p, part, core, set));
  return MZ_OK;
}

/* Ranges joined by '+', up to the comma or the end. */
static mz_status parse_part(parser *p, mz_devices *out) {
  const char *part = p->at;
  cpu_set_t set;
  CPU_ZERO(&set);
  char too_many[32];
  snprintf(too_many, sizeof too_many, "more than %d sets", MZ_DEVICES_MAX);
  if (out->count == MZ_DEVICES_MAX) return bad(p, part, too_many);
  MZ_TRY(parse_range(p, part, &set));
  while (*p->at == '+') {
    p->at++;
    MZ_TRY(parse_range(p, part, &set));
  }
  if (*p->at != '\0' && *p->at != ',') return bad(p, part, "only digits, '-' and '+' make a set, ',' ends it");
  cpu_set_t all = set;
  give_cores(out, out->count++, &set, &all);
  return MZ_OK;
}

static mz_status parse_sets(mz_devices *out, const char *spec, const char *where, const cpu_set_t *usable) {
  parser p = {.spec = spec, .where = where, .at = spec, .usable = *usable, .left = *usable};
  MZ_TRY(parse_part(&p, out));
  while (*p.at == ',') {
    p.at++;
    MZ_TRY(parse_part(&p, out));
  }
  return MZ_OK;
}

/* ---- */

mz_status mz_devices_find(mz_devices *out, const char *spec, const char *where) {
  memset(out, 0, sizeof *out);
  if (strcmp(spec, "auto") == 0) {
    find_by_node(out);
    return MZ_OK;
  }
  cpu_set_t usable;
  allowed_cores(&usable);
  MZ_TRY(parse_sets(out, spec, where, &usable));
  name_devices(out);
  return MZ_OK;
}

bool mz_devices_add_gpu(mz_devices *devices, int number, const char *model, double memory) {
  if (devices->count == MZ_DEVICES_MAX) return false;
  memset(&devices->items[devices->count], 0, sizeof devices->items[0]);
  devices->items[devices->count].number = number;
  mz_device *device = &devices->items[devices->count++].device;
  *device = (mz_device){.kind = MZ_DEVICE_CUDA, .memory = memory};
  snprintf(device->name, sizeof device->name, "cuda:%d", number);
  snprintf(device->model, sizeof device->model, "%s", model);
  return true;
}

int mz_devices_home(const mz_devices *devices, int device) {
  int sets = 0;
  while (sets < devices->count && devices->items[sets].device.kind == MZ_DEVICE_CPU) sets++;
  return device < sets ? device : (device - sets) % sets;
}

mz_status mz_devices_index(const mz_devices *devices, const char *name, const char *where, int *out) {
  const char *names[MZ_DEVICES_MAX];
  for (int i = 0; i < devices->count; i++) {
    names[i] = devices->items[i].device.name;
    if (strcmp(names[i], name) != 0) continue;
    *out = i;
    return MZ_OK;
  }
  const char *nearest = mz_nearest(name, names, devices->count);
  return mz_fail(MZ_E_CONFIG, "%s: no device '%s'; did you mean '%s'? There are %d, cpu:0 first", where, name,
                 nearest != NULL ? nearest : names[0], devices->count);
}
