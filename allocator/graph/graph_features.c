#include "allocator/graph/graph_features.h"
#include <math.h>
#include <string.h>

static const double MOST = 50, LEAST_SHARE = 1e-6,
                    HANDOFF_LEAST = 1e-9; /* MOST of logarithms: e^50 is more than any number of bytes */

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
  UNIT,    /* seconds of a unit */
  TASK,    /* seconds of a task */
  IN_TASK, /* bytes that a task works on */
  MEMORY,
  DEVICE_BUSY, /* share of the device's cores that all stages on it need */
  ALL_CORES,
  OTHERS, /* cores that other processes use */
  NO_OTHERS,
  WAITING,
  NO_WAITING,
  THROTTLED,
  NO_THROTTLED,
  BUSY, /* of the newest window, under whatever plan */
  WAITED_IN,
  WAITED_OUT,
  NO_WINDOW,
  DRIFT,
  DEVICE_WORK, /* time on a GPU, as WORK */
  HANDOFF,     /* seconds that a thread takes to wake */
  THREADS_OF_A_CORE,
  EPISODE, /* steps of an episode; here and below of the newest window */
  NO_EPISODE,
  HORIZON, /* share of the run that is still to come */
  NO_HORIZON,
  SLOPE, /* of the score */
  NO_SLOPE,
  STAGE_FEATURES
} stage_feature;
_Static_assert((int)STAGE_FEATURES <= (int)MZ_GRAPH_NODE_FEATURES, "features fit");

typedef enum network_feature { PARAMETERS, FLOPS, DEPTH, WIDTH, NETWORK_ON_GPU, USERS, USED, NETWORK_CORES } network_feature;
typedef enum store_feature { STORE_BYTES, RAW_SHARE, PACKED_SHARE, HAS_FILE, FILL, NO_FILL } store_feature;
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
  memset(c->busy_s, 0, sizeof c->busy_s);
  for (int s = 0; s < c->pipeline->stage_count; s++) {
    const int device = mz_stage_device(c->pipeline, s, plan);
    if (c->pipeline->stages[s].apart) continue;
    c->busy_s[mz_device_home(c->pipeline, device)] += c->parts.cpu_s[s];
    if (c->pipeline->devices[device].kind == MZ_DEVICE_CUDA) c->busy_s[device] += c->parts.device_s[s];
  }
}

static double work_s(const mz_graph_costs *c, int stage) { return c->parts.cpu_s[stage] + c->parts.device_s[stage]; }

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

/* A value that may be missing (NAN), with the bit that says so. */
static void put_known(float *f, int feature, int missing, double value) {
  put(f, feature, value);
  put(f, missing, !isfinite(value));
}

static void add_surroundings(float *f, const mz_graph_costs *c) {
  const mz_observation *o = c->situation->newest;
  put_known(f, OTHERS, NO_OTHERS, o ? o->others : NAN);
  put_known(f, WAITING, NO_WAITING, o ? o->waiting : NAN);
  put_known(f, THROTTLED, NO_THROTTLED, o ? o->throttled : NAN);
}

static mz_training_stage training_of(const mz_graph_costs *c) {
  return c->situation->newest ? c->situation->newest->training : mz_training_stage_unknown();
}

static void add_training(float *f, const mz_graph_costs *c) {
  const mz_training_stage t = training_of(c);
  put_known(f, EPISODE, NO_EPISODE, log1p(t.episode_length));
  put_known(f, HORIZON, NO_HORIZON, t.horizon);
  put_known(f, SLOPE, NO_SLOPE, isfinite(t.score_slope) ? fmin(fmax(t.score_slope, -1), 1) : NAN);
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

static double threads_of_a_core(const mz_pipeline *p, int device) {
  const mz_device *home = &p->devices[mz_device_home(p, device)];
  return (double)home->cores / mz_device_whole_cores(home);
}

static void stage_features(float *f, const mz_graph_costs *c, int stage, int device) {
  const mz_pipeline *p = c->pipeline;
  const mz_pipeline_stage *s = &p->stages[stage];
  const double threads = (double)mz_stage_threads(p, stage, c->plan), batch = (double)mz_stage_batch(p, stage, c->plan),
               cores = cores_of(c, device);
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
  put(f, UNIT, c->situation->explained ? log(c->unit_s) : 0);
  put(f, IN_TASK, log1p(batch * s->bytes_slot + fmin(batch, s->tile) * s->bytes_tile));
  put(f, MEMORY, log1p(mz_stage_bytes(p, stage, c->plan)));
  put(f, DEVICE_BUSY, c->situation->explained ? c->busy_s[device] / (cores * c->unit_s) : log_share(c->busy_s[device], cores));
  put(f, ALL_CORES, log2(fmax(c->situation->model->cores, 1)));
  add_surroundings(f, c);
  add_window(f, c, stage);
  put(f, DRIFT, c->situation->model->drift);
  if (p->devices[device].kind == MZ_DEVICE_CUDA) put(f, DEVICE_WORK, log_share(c->parts.device_s[stage], c->unit_s));
  put(f, HANDOFF, log(fmax(p->handoff_s, HANDOFF_LEAST)));
  put(f, THREADS_OF_A_CORE, log2(threads_of_a_core(p, device)));
  add_training(f, c);
}

static void network_features(float *f, const mz_graph_costs *c, int network, int device) {
  const mz_pipeline_network *n = &c->pipeline->networks[network];
  double users = 0, used_s = 0;
  for (int s = 0; s < c->pipeline->stage_count; s++) {
    if (!(n->users >> s & 1) || c->pipeline->stages[s].apart || mz_stage_device(c->pipeline, s, c->plan) != device) continue;
    users++;
    used_s += work_s(c, s);
  }
  put(f, PARAMETERS, log1p(n->parameters));
  put(f, FLOPS, log1p(n->flops));
  put(f, DEPTH, log1p(n->depth));
  put(f, WIDTH, log1p(n->width));
  put(f, NETWORK_ON_GPU, c->pipeline->devices[device].kind == MZ_DEVICE_CUDA);
  put(f, USERS, users);
  put(f, USED, log_share(used_s, c->unit_s));
  put(f, NETWORK_CORES, log2(cores_of(c, device)));
}

static void store_features(float *f, const mz_graph_costs *c, int store) {
  const mz_pipeline_store *s = &c->pipeline->stores[store];
  const double raw = (double)c->plan->values[s->raw];
  put(f, STORE_BYTES, log1p(s->bytes));
  put(f, RAW_SHARE, s->bytes > 0 ? fmin(raw / s->bytes, 1) : 1);
  put(f, PACKED_SHARE, s->packed);
  put(f, HAS_FILE, s->packed_max > 0);
  put_known(f, FILL, NO_FILL, training_of(c).replay_fill);
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
  const bool explained = c->situation->explained;
  const double ahead = explained ? c->parts.alone_s[from] : work_s(c, from),
               behind = explained ? c->parts.alone_s[to] : work_s(c, to);
  put(f, SAME_DEVICE, a == b);
  put(f, SAME_KIND, c->pipeline->devices[a].kind == c->pipeline->devices[b].kind);
  if (ahead > 0 && behind > 0) put(f, RATIO, log(ahead / behind));
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
  const double calls = s->items * mz_analytic_calls(c->pipeline, stage, c->plan);
  put(f, FLOW, log1p(s->items));
  put(f, CALLS, log1p(calls));
  put(f, BYTES, log1p(calls * c->pipeline->networks[network].parameters * sizeof(float))); /* weights, read by every call */
  put(f, SAME_DEVICE, 1);
  put(f, SAME_KIND, 1);
}

double mz_graph_edge_items(const mz_graph_edge *edge) { return expm1((double)edge->features[FLOW]); }
double mz_graph_edge_bytes(const mz_graph_edge *edge) { return expm1((double)edge->features[BYTES]); }

/* ---- names ---- */

static const char *const stage_names[] = {
    [THREADS] = "threads",
    [BATCH] = "batch size",
    [CORES] = "cores",
    [THREADS_A_CORE] = "threads per core",
    [ON_GPU] = "on a GPU",
    [WORK] = "CPU time",
    [DEMAND] = "demand",
    [NO_DEMAND] = "demand unknown",
    [SERIAL] = "serial share",
    [TASKS_A_THREAD] = "tasks per thread",
    [NO_TASKS] = "tasks unbounded",
    [IMBALANCE] = "imbalance",
    [ITEMS] = "items",
    [PER_CALL] = "fixed share of a task",
    [GIVES_WAY] = "gives way",
    [UNIT] = "predicted unit time",
    [TASK] = "task time",
    [IN_TASK] = "task bytes",
    [MEMORY] = "memory",
    [DEVICE_BUSY] = "device load",
    [ALL_CORES] = "cores of all devices",
    [OTHERS] = "cores of other processes",
    [NO_OTHERS] = "other processes unknown",
    [WAITING] = "CPU pressure",
    [NO_WAITING] = "CPU pressure unknown",
    [THROTTLED] = "throttled share",
    [NO_THROTTLED] = "throttling unknown",
    [BUSY] = "busy share",
    [WAITED_IN] = "waiting for input",
    [WAITED_OUT] = "waiting for room",
    [NO_WINDOW] = "window unknown",
    [DRIFT] = "drift",
    [DEVICE_WORK] = "work on the GPU",
    [HANDOFF] = "time to wake",
    [THREADS_OF_A_CORE] = "hardware threads per core",
    [EPISODE] = "episode length",
    [NO_EPISODE] = "episode length unknown",
    [HORIZON] = "share of the run to come",
    [NO_HORIZON] = "share of the run to come unknown",
    [SLOPE] = "slope of the score",
    [NO_SLOPE] = "slope of the score unknown",
};
static const char *const network_names[] = {
    [PARAMETERS] = "parameters",   [FLOPS] = "FLOPs", [DEPTH] = "depth",          [WIDTH] = "width",
    [NETWORK_ON_GPU] = "on a GPU", [USERS] = "users", [USED] = "users' CPU time", [NETWORK_CORES] = "cores",
};
static const char *const store_names[] = {
    [STORE_BYTES] = "bytes", [RAW_SHARE] = "unpacked share", [PACKED_SHARE] = "packed size ratio", [HAS_FILE] = "has a file",
    [FILL] = "fill",         [NO_FILL] = "fill unknown"};
static const char *const edge_names[] = {
    [CAPACITY] = "capacity",
    [NO_CAPACITY] = "capacity unknown",
    [FLOW] = "items",
    [BYTES] = "bytes",
    [STARVED] = "consumer starved",
    [NO_STARVED] = "starvation unknown",
    [SAME_DEVICE] = "same device",
    [SAME_KIND] = "same kind of device",
    [RATIO] = "demand ratio",
    [CALLS] = "calls",
    [AHEAD] = "capacity per item",
    [FROM_BLOCKED] = "producer blocked",
    [TO_BLOCKED] = "consumer blocked",
    [NO_BLOCKED] = "blocking unknown",
};

static const char *name_at(const char *const *names, size_t count, int feature) {
  return feature >= 0 && (size_t)feature < count ? names[feature] : NULL;
}

const char *mz_graph_node_feature_name(mz_graph_node_kind kind, int feature) {
  switch (kind) {
    case MZ_NODE_STORE: return name_at(store_names, sizeof store_names / sizeof *store_names, feature);
    case MZ_NODE_NETWORK: return name_at(network_names, sizeof network_names / sizeof *network_names, feature);
    default: return name_at(stage_names, sizeof stage_names / sizeof *stage_names, feature);
  }
}

const char *mz_graph_edge_feature_name(int feature) {
  return name_at(edge_names, sizeof edge_names / sizeof *edge_names, feature);
}
