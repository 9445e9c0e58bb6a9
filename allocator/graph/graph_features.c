#include "allocator/graph/graph_features.h"
#include <math.h>
#include <string.h>

static const double MOST = 20, LEAST_SHARE = 1e-6;

typedef enum stage_feature {
  THREADS,
  BATCH,
  CORES,
  THREADS_A_CORE,
  ON_GPU,
  WORK,      /* CPU time, as a share of the unit's where the model explains */
  DEMAND,    /* what the stage takes alone, likewise */
  NO_DEMAND, /* it is missing */
  SERIAL,
  TASKS_A_THREAD,
  NO_TASKS,
  IMBALANCE, /* of the busiest thread over an even share */
  ITEMS,
  PER_CALL, /* share of an item's cost that a call has whatever its batch */
  GIVES_WAY,
  STEP,
  UNIT,    /* seconds of a unit */
  TASK,    /* seconds of a task */
  IN_TASK, /* bytes that a task works on */
  MEMORY,
  DEVICE_BUSY, /* share of the device's cores that all stages on it need */
  ALL_CORES,
  NUMA_NODES,
  OTHERS, /* cores that other processes use */
  WAITING,
  THROTTLED,
  NO_SURROUNDINGS,
  BUSY, /* of the newest window, under whatever plan */
  WAITED_IN,
  WAITED_OUT,
  NO_WINDOW,
  DRIFT,
  STAGE_FEATURES
} stage_feature;
_Static_assert((int)STAGE_FEATURES <= (int)MZ_GRAPH_NODE_FEATURES, "features fit");

typedef enum network_feature { PARAMETERS, FLOPS, DEPTH, WIDTH, NETWORK_ON_GPU, USERS, USED, NETWORK_CORES } network_feature;
typedef enum store_feature { STORE_BYTES, RAW_SHARE, PACKED_SHARE, HAS_FILE } store_feature;
typedef enum edge_feature {
  CAPACITY,
  NO_CAPACITY,
  FLOW,  /* items a unit */
  BYTES, /* a unit */
  STARVED,
  NO_STARVED,
  SAME_DEVICE,
  SAME_KIND,
  RATIO, /* of the two ends' demands */
  CALLS, /* of a network, a unit */
  AHEAD, /* places over items */
  FROM_BLOCKED,
  TO_BLOCKED,
  NO_BLOCKED,
  EDGE_FEATURES
} edge_feature;
_Static_assert((int)EDGE_FEATURES <= (int)MZ_GRAPH_EDGE_FEATURES, "features fit");

static void put(float *features, int feature, double value) {
  features[feature] = isfinite(value) ? (float)fmin(fmax(value, -MOST), MOST) : 0;
}
static double log_share(double part, double whole) { return log(fmax(part / whole, LEAST_SHARE)); }

void mz_graph_costs_init(mz_graph_costs *c, const mz_graph_situation *situation, const mz_plan *plan) {
  const mz_analytic *model = situation->model;
  c->situation = situation;
  c->pipeline = model->pipeline;
  c->plan = plan;
  mz_analytic_take_apart(model, plan, &c->parts);
  const double unit_s = situation->explained ? mz_analytic_predict(model, plan).unit_s : 1;
  c->unit_s = isfinite(unit_s) && unit_s > 0 ? unit_s : 1;
  memset(c->cpu_s, 0, sizeof c->cpu_s);
  for (int s = 0; s < c->pipeline->stage_count; s++)
    if (!c->pipeline->stages[s].apart) c->cpu_s[mz_stage_device(c->pipeline, s, plan)] += c->parts.cpu_s[s];
}

/* ---- nodes ---- */

static double cores_of(const mz_graph_costs *c, int device) {
  const mz_device *d = &c->pipeline->devices[device];
  return d->kind == MZ_DEVICE_CPU ? fmin(d->cores, fmax(c->situation->model->cores, 1)) : 1;
}

static void add_window(float *f, const mz_graph_costs *c, int stage) {
  const mz_observation *o = c->situation->newest;
  const bool seen = o && o->unit_s > 0 && o->stages[stage].busy_s > 0;
  put(f, NO_WINDOW, !seen);
  if (!seen) return;
  const mz_stage_sample *sample = &o->stages[stage];
  const double threads = (double)mz_stage_threads(c->pipeline, stage, &o->plan), wall = threads * o->unit_s;
  put(f, BUSY, fmin(sample->busy_s / wall, 1));
  put(f, WAITED_IN, fmin(sample->wait_in_s / wall, 1));
  put(f, WAITED_OUT, fmin(sample->wait_out_s / wall, 1));
}

static void add_surroundings(float *f, const mz_graph_costs *c) {
  const mz_observation *o = c->situation->newest;
  const bool known = o && isfinite(o->others);
  put(f, NO_SURROUNDINGS, !known);
  if (!known) return;
  put(f, OTHERS, o->others);
  put(f, WAITING, o->waiting);
  put(f, THROTTLED, o->throttled);
}

static void add_tasks(float *f, const mz_graph_costs *c, int stage, double threads, double batch) {
  const mz_pipeline_stage *s = &c->pipeline->stages[stage];
  const mz_analytic_cost *cost = &c->situation->model->stages[stage].costs[mz_stage_kind(c->pipeline, stage, c->plan)];
  const double call_s = cost->fixed_s + cost->device_fixed_s, task_s = call_s + (cost->item_s + cost->device_item_s) * batch;
  put(f, NO_TASKS, !(s->groups > 0));
  if (s->groups > 0) put(f, TASKS_A_THREAD, log(ceil(s->groups / batch) / threads));
  if (c->parts.share[stage] > 0) put(f, IMBALANCE, log(c->parts.share[stage] * threads));
  if (!(task_s > 0)) return;
  put(f, PER_CALL, call_s / task_s);
  put(f, TASK, log(task_s));
}

static void stage_features(float *f, const mz_graph_costs *c, int stage, int device) {
  const mz_pipeline *p = c->pipeline;
  const mz_pipeline_stage *s = &p->stages[stage];
  const double threads = (double)mz_stage_threads(p, stage, c->plan), batch = (double)mz_stage_batch(p, stage, c->plan),
               cores = cores_of(c, device);
  int nodes = 0;
  for (int d = 0; d < p->device_count; d++) nodes += p->devices[d].kind == MZ_DEVICE_CPU;
  put(f, THREADS, log2(threads));
  put(f, BATCH, log2(batch));
  put(f, CORES, log2(cores));
  put(f, THREADS_A_CORE, log2(threads / cores));
  put(f, ON_GPU, p->devices[device].kind == MZ_DEVICE_CUDA);
  put(f, WORK, log_share(c->parts.cpu_s[stage], c->unit_s));
  put(f, NO_DEMAND, !c->situation->explained);
  if (c->situation->explained) put(f, DEMAND, log_share(c->parts.alone_s[stage], c->unit_s));
  put(f, SERIAL, c->situation->model->stages[stage].serial);
  add_tasks(f, c, stage, threads, batch);
  put(f, ITEMS, log1p(s->items));
  put(f, GIVES_WAY, s->gives_way);
  put(f, STEP, s->step);
  put(f, UNIT, c->situation->explained ? log(c->unit_s) : 0);
  put(f, IN_TASK, log1p(batch * s->bytes_slot + fmin(batch, s->tile) * s->bytes_tile));
  put(f, MEMORY, log1p(mz_stage_bytes(p, stage, c->plan)));
  put(f, DEVICE_BUSY, c->situation->explained ? c->cpu_s[device] / (cores * c->unit_s) : log_share(c->cpu_s[device], cores));
  put(f, ALL_CORES, log2(fmax(c->situation->model->cores, 1)));
  put(f, NUMA_NODES, log2(nodes));
  add_surroundings(f, c);
  add_window(f, c, stage);
  put(f, DRIFT, c->situation->model->drift);
}

static void network_features(float *f, const mz_graph_costs *c, int network, int device) {
  const mz_pipeline_network *n = &c->pipeline->networks[network];
  double users = 0, cpu_s = 0;
  for (int s = 0; s < c->pipeline->stage_count; s++) {
    if (!(n->users >> s & 1) || c->pipeline->stages[s].apart || mz_stage_device(c->pipeline, s, c->plan) != device) continue;
    users++;
    cpu_s += c->parts.cpu_s[s];
  }
  put(f, PARAMETERS, log1p(n->parameters));
  put(f, FLOPS, log1p(n->flops));
  put(f, DEPTH, log1p(n->depth));
  put(f, WIDTH, log1p(n->width));
  put(f, NETWORK_ON_GPU, c->pipeline->devices[device].kind == MZ_DEVICE_CUDA);
  put(f, USERS, users);
  put(f, USED, log_share(cpu_s, c->unit_s));
  put(f, NETWORK_CORES, log2(cores_of(c, device)));
}

static void store_features(float *f, const mz_graph_costs *c, int store) {
  const mz_pipeline_store *s = &c->pipeline->stores[store];
  const double raw = (double)c->plan->values[s->raw];
  put(f, STORE_BYTES, log1p(s->bytes));
  put(f, RAW_SHARE, s->bytes > 0 ? fmin(raw / s->bytes, 1) : 1);
  put(f, PACKED_SHARE, s->packed);
  put(f, HAS_FILE, s->packed_max > 0);
}

void mz_graph_node_features(mz_graph_node *node, const mz_graph_costs *c) {
  memset(node->features, 0, sizeof node->features);
  switch (node->kind) {
    case MZ_NODE_STORE: store_features(node->features, c, node->part); break;
    case MZ_NODE_NETWORK: network_features(node->features, c, node->part, node->device); break;
    default: stage_features(node->features, c, node->part, node->device); break;
  }
}

/* ---- edges ---- */

static float *begin(mz_graph_edge *edge) {
  *edge = (mz_graph_edge){0};
  put(edge->features, NO_CAPACITY, 1);
  put(edge->features, NO_STARVED, 1);
  put(edge->features, NO_BLOCKED, 1);
  return edge->features;
}

void mz_graph_link_features(mz_graph_edge *edge, const mz_graph_costs *c, const mz_pipeline_link *link) {
  (void)c;
  float *f = begin(edge);
  put(f, FLOW, log1p(link->items));
  put(f, BYTES, log1p(link->bytes));
}

void mz_graph_pair_features(mz_graph_edge *edge, const mz_graph_costs *c, int from, int to) {
  float *f = begin(edge);
  const int a = mz_stage_device(c->pipeline, from, c->plan), b = mz_stage_device(c->pipeline, to, c->plan);
  const double *demands = c->situation->explained ? c->parts.alone_s : c->parts.cpu_s;
  put(f, SAME_DEVICE, a == b);
  put(f, SAME_KIND, c->pipeline->devices[a].kind == c->pipeline->devices[b].kind);
  if (demands[from] > 0 && demands[to] > 0) put(f, RATIO, log(demands[from] / demands[to]));
}

void mz_graph_queue_features(mz_graph_edge *edge, const mz_graph_costs *c, int queue) {
  const mz_pipeline_queue *q = &c->pipeline->queues[queue];
  const mz_observation *o = c->situation->newest;
  mz_graph_pair_features(edge, c, q->from, q->to);
  float *f = edge->features;
  const double places = q->capacity >= 0 ? (double)c->plan->values[q->capacity] : 1;
  put(f, CAPACITY, log2(fmax(places, 1)));
  put(f, NO_CAPACITY, 0);
  put(f, FLOW, log1p(q->items));
  put(f, BYTES, log1p(q->items * q->bytes));
  put(f, AHEAD, fmin(places / fmax(q->items, 1), 1));
  if (c->situation->explained) {
    put(f, STARVED, c->parts.starved[queue]);
    put(f, NO_STARVED, 0);
  }
  if (!o || !(o->unit_s > 0)) return;
  put(f, FROM_BLOCKED, o->stages[q->from].wait_out_s / o->unit_s / (double)mz_stage_threads(c->pipeline, q->from, &o->plan));
  put(f, TO_BLOCKED, o->stages[q->to].wait_in_s / o->unit_s / (double)mz_stage_threads(c->pipeline, q->to, &o->plan));
  put(f, NO_BLOCKED, 0);
}

void mz_graph_use_features(mz_graph_edge *edge, const mz_graph_costs *c, int stage, int network) {
  float *f = begin(edge);
  const mz_pipeline_stage *s = &c->pipeline->stages[stage];
  put(f, FLOW, log1p(s->items));
  put(f, CALLS, log1p(s->items * mz_analytic_calls(c->pipeline, stage, c->plan)));
  put(f, BYTES, log1p(c->pipeline->networks[network].parameters));
  put(f, SAME_DEVICE, 1);
  put(f, SAME_KIND, 1);
}

/* ---- names ---- */

const char *mz_graph_node_feature_name(mz_graph_node_kind kind, int feature) {
  static const char *const stages[] = {"threads",       "batch",      "cores",      "threads a core",   "on a GPU",
                                       "work",          "demand",     "no demand",  "serial",           "tasks a thread",
                                       "no tasks",      "imbalance",  "items",      "cost of a call",   "gives way",
                                       "step",          "unit",       "task",       "bytes of a task",  "memory",
                                       "device's load", "all cores",  "NUMA nodes", "others",           "waiting",
                                       "throttled",     "no sensors", "busy",       "waited for input", "waited for room",
                                       "no window",     "drift",      NULL};
  static const char *const networks[] = {"parameters", "FLOPs", "depth", "width", "on a GPU", "users", "use", "cores", NULL};
  static const char *const stores[] = {"bytes", "unpacked", "packed to", "has a file", NULL};
  const char *const *names = kind == MZ_NODE_STORE ? stores : kind == MZ_NODE_NETWORK ? networks : stages;
  for (int i = 0; names[i]; i++)
    if (i == feature) return names[i];
  return NULL;
}

const char *mz_graph_edge_feature_name(int feature) {
  static const char *const names[] = {"places",           "no places", "items", "bytes", "starved", "not starved",
                                      "same device",      "same kind", "ratio", "calls", "ahead",   "producer blocked",
                                      "consumer blocked", "no window"};
  return feature < EDGE_FEATURES ? names[feature] : NULL;
}
