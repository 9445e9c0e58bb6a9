#include "allocator/model/analytic_parts.h"
#include <math.h>

static const double ENOUGH = 1e200;     /* a weight beside which those before it are nothing */
static const double STRETCH_LEAST = 64; /* states that are summed one by one */
static const double THREADS_OF_A_CORE = 1.25;

static bool is_gpu(const mz_analytic *model, int device) { return model->pipeline->devices[device].kind == MZ_DEVICE_CUDA; }

/* ---- cores ---- */

static mz_analytic_cores usable(const mz_analytic *model, double threads, double whole) {
  const double most = fmax(fmin(threads, model->cores), 1);
  return (mz_analytic_cores){most, fmin(whole, most)};
}

/* Cores that threads on a device can use; those that feed a GPU use the cores that it hangs on. */
static mz_analytic_cores cores_of(const mz_analytic *model, int device) {
  const mz_device *home = &model->pipeline->devices[mz_device_home(model->pipeline, device)];
  return usable(model, home->cores, mz_device_whole_cores(home));
}

mz_analytic_cores mz_analytic_all_cores(const mz_analytic *model) {
  double whole = 0;
  for (int d = 0; d < model->pipeline->device_count; d++)
    if (!is_gpu(model, d)) whole += mz_device_whole_cores(&model->pipeline->devices[d]);
  return usable(model, INFINITY, whole);
}

double mz_analytic_rate(const mz_analytic_cores *cores, double busy) {
  const double n = fmin(busy, cores->threads);
  return n <= cores->whole ? n : cores->whole + (n - cores->whole) * (THREADS_OF_A_CORE - 1);
}

/* ---- a stage ---- */

/* Quantities that the steps are computed from. */
typedef struct stages {
  double apart_s[MZ_STAGES_MAX]; /* D_s if every thread had a core of its own */
  double ahead[MZ_STAGES_MAX];   /* share of its items that it makes at its own pace, before its queue is full; 1: it has none */
  int chain[MZ_STAGES_MAX];
  double item_s[MZ_STAGES_MAX];  /* time of one of the items in its queue; 0: has none */
  double chain_s[MZ_STAGES_MAX]; /* of chains */
} stages;

bool mz_analytic_feeds_queue(const mz_pipeline *pipeline, int stage) {
  for (int q = 0; q < pipeline->queue_count; q++)
    if (pipeline->queues[q].from == stage) return true;
  return false;
}

double mz_analytic_calls(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  const double groups = pipeline->stages[stage].groups, batch = (double)mz_stage_batch(pipeline, stage, plan);
  return groups > 0 ? ceil(groups / batch) / groups : 1 / batch;
}

static double tasks_of(const mz_pipeline *pipeline, int stage, const mz_plan *plan) {
  return pipeline->stages[stage].groups > 0 ? ceil(pipeline->stages[stage].groups / (double)mz_stage_batch(pipeline, stage, plan))
                                            : INFINITY;
}

/* How many times the mean the slowest of `count` independent tasks takes: Gumbel's asymptote for normal ones. */
static double slowest_of(double count, double variation) { return 1 + sqrt(2 * variation * log(count)); }

/* Returns what the stage costs on the kind of device that it is on; what it cost elsewhere, where no probe times it. All 0: unknown. */
static mz_analytic_cost cost_of(const mz_analytic *model, int s, const mz_plan *plan) {
  const mz_analytic_stage *stage = &model->stages[s];
  const mz_analytic_cost *cost = &stage->costs[mz_stage_kind(model->pipeline, s, plan)];
  if (mz_analytic_cost_known(cost) || mz_stage_is_probed(&model->pipeline->stages[s])) return *cost;
  for (int kind = 0; kind < MZ_DEVICE_KINDS && !mz_analytic_cost_known(cost); kind++) cost = &stage->costs[kind];
  return *cost;
}

bool mz_analytic_covers(const mz_analytic *model, const mz_plan *plan) {
  for (int s = 0; s < model->pipeline->stage_count; s++) {
    const mz_analytic_stage *stage = &model->stages[s];
    const mz_analytic_cost cost = cost_of(model, s, plan);
    if (!(stage->items > 0) || mz_analytic_cost_known(&cost)) continue;
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++)
      if (mz_analytic_cost_known(&stage->costs[kind])) return false;
  }
  return true;
}

static void measure_stage(const mz_analytic *model, int s, const mz_plan *plan, mz_analytic_parts *out, stages *all) {
  const mz_pipeline_stage *p = &model->pipeline->stages[s];
  const mz_analytic_stage *stage = &model->stages[s];
  const mz_analytic_cost cost = cost_of(model, s, plan);
  const double cores = cores_of(model, mz_stage_device(model->pipeline, s, plan)).threads;
  const double threads = (double)mz_stage_threads(model->pipeline, s, plan), calls = mz_analytic_calls(model->pipeline, s, plan);
  double apart = 1 / threads, share = 1 / fmin(threads, cores);
  out->cpu_s[s] = stage->items * (cost.fixed_s * calls + cost.item_s);
  out->device_s[s] = stage->items * (cost.device_fixed_s * calls + cost.device_item_s);
  if (p->groups > 0) { /* rounds of one task for each thread; the last round has fewer, and a lone one may be a smaller batch */
    const double batch = fmin((double)mz_stage_batch(model->pipeline, s, plan), p->groups);
    const double tasks = ceil(p->groups / batch), rounds = ceil(tasks / threads), left = tasks - (rounds - 1) * threads;
    const double task_s = cost.fixed_s + batch * cost.item_s;
    const double size = left > 1 ? batch : p->groups - (tasks - 1) * batch;
    const double last_s = cost.fixed_s + size * cost.item_s;
    const double variation = mz_stage_shares_items(model->pipeline, s) ? 0 : model->variation / size;
    const double slowest_s = last_s * slowest_of(fmin(threads, tasks), variation);
    const double unit_s = tasks * cost.fixed_s + p->groups * cost.item_s;
    if (unit_s > 0) {
      apart = ((rounds - 1) * task_s + slowest_s) / unit_s;
      share = ((rounds - 1) * task_s * fmax(threads / cores, 1) + fmax(slowest_s, last_s * left / cores)) / unit_s;
    }
  }
  out->share[s] = share;
  out->alone_s[s] = out->cpu_s[s] * (stage->serial + (1 - stage->serial) * share) + out->device_s[s];
  all->apart_s[s] = out->cpu_s[s] * (stage->serial + (1 - stage->serial) * apart) + out->device_s[s];
}

/* ---- a queue ---- */

/* A pool, whose threads work on different items; threads that share one count as one. */
typedef struct server {
  double threads;
  double item_s;  /* time of an item */
  double task_s;  /* of those that a thread takes, or makes, at once */
  double alone_s; /* of all items */
} server;

/* Items per second when task times are exponential: a birth–death chain over the full places. Those that are not full limit how
 * many of the producer's threads work, those that are how many of the consumer's do. (Reference: the machine-repair model; with
 * one thread each it is M/M/1/K, mz_queue_empty.) */
static double exponential_rate(const server *from, const server *to, double capacity) {
  const double pace_in = from->threads / from->item_s, pace_out = to->threads / to->item_s;
  const double all_until = floor(capacity + 1 - from->threads); /* as long, no producer waits for a place */
  double weight = 1, sum = 1, rate = 0;
  for (double full = 1; full <= capacity && weight < ENOUGH; full++) {
    const double out = fmin(full, to->threads) / to->item_s;
    weight *= fmin(capacity - full + 1, from->threads) / from->item_s / out;
    sum += weight;
    rate += weight * out;
    if (full < to->threads || all_until - full < STRETCH_LEAST) continue;
    const double growth = log(pace_in / pace_out),
                 states = all_until - full; /* all work in the states until then: a geometric series */
    if (log(weight) + states * growth > log(ENOUGH)) return pace_out;
    const double series = growth == 0 ? states : expm1(states * growth) / -expm1(-growth);
    sum += weight * series;
    rate += weight * series * pace_out;
    weight *= exp(states * growth);
    full = all_until;
  }
  return rate / sum;
}

/* Seconds from the first item's beginning to the last one's end. A place is taken when an item is begun and free when it has been
 * consumed, with all others of its tasks: the last item is consumed when all have been produced, the consumer begins when the first has
 * been, and the places go round: each wakes the producer and then the consumer. */
static double passage_s(double items, double capacity, const server *from, const server *to, double variation, double handoff_s) {
  const double round_s = from->task_s + to->task_s, places_s = items * (round_s + 2 * handoff_s) / capacity;
  const double ends_s = fmax(from->alone_s + to->task_s, from->task_s + to->alone_s);
  const double pace_s = items * fmax(from->item_s / from->threads, to->item_s / to->threads);
  const double irregular_s = items / exponential_rate(from, to, capacity);
  return fmax(fmax(ends_s, places_s), round_s) + variation * fmax(irregular_s - fmax(pace_s, places_s), 0);
}

static server server_of(const mz_analytic *model, int stage, const mz_pipeline_queue *queue, const mz_plan *plan,
                        const mz_analytic_parts *parts) {
  const mz_pipeline *pipeline = model->pipeline;
  const double items = fmax(queue->items, 1), alone_s = parts->alone_s[stage];
  if (mz_stage_shares_items(pipeline, stage)) return (server){1, alone_s / items, alone_s / items, alone_s};
  const double cores = cores_of(model, mz_stage_device(pipeline, stage, plan)).threads;
  const double threads = fmin(fmin((double)mz_stage_threads(pipeline, stage, plan), cores), items);
  const double item_s = (parts->cpu_s[stage] + threads * parts->device_s[stage]) / items;
  return (server){threads, item_s, item_s * (queue->batched ? fmax(items / tasks_of(pipeline, stage, plan), 1) : 1), alone_s};
}

/* Two chains become one. */
static void join(const mz_analytic *model, int q, const mz_plan *plan, mz_analytic_parts *out, stages *all) {
  const mz_pipeline *pipeline = model->pipeline;
  const mz_pipeline_queue *queue = &pipeline->queues[q];
  const int from = queue->from, to = queue->to;
  out->starved[q] = 0;
  if (pipeline->stages[from].step != pipeline->stages[to].step || !(out->alone_s[from] > 0 && out->alone_s[to] > 0)) return;
  const double items = fmax(queue->items, 1);
  const double capacity = queue->capacity >= 0 ? fmax((double)plan->values[queue->capacity], 1) : 1;
  const server producer = server_of(model, from, queue, plan, out), consumer = server_of(model, to, queue, plan, out);
  const double seconds = passage_s(items, capacity, &producer, &consumer, model->variation, pipeline->handoff_s);
  out->starved[q] = 1 - consumer.alone_s / seconds;
  all->ahead[from] = fmin(all->ahead[from], capacity / items);
  all->ahead[to] = 0;
  all->item_s[from] = producer.item_s;
  all->item_s[to] = consumer.item_s;
  const int into = all->chain[from], gone = all->chain[to];
  all->chain_s[into] = fmax(fmax(all->chain_s[into], all->chain_s[gone]), seconds - producer.item_s - consumer.item_s);
  for (int s = 0; s < pipeline->stage_count; s++)
    if (all->chain[s] == gone) all->chain[s] = into;
}

/* The queue that takes longest sets the pace; before and after, one item passes all stages. */
static void measure_chains(const mz_analytic *model, const mz_plan *plan, mz_analytic_parts *out, stages *all) {
  const mz_pipeline *pipeline = model->pipeline;
  for (int s = 0; s < pipeline->stage_count; s++) {
    all->chain[s] = s;
    all->ahead[s] = 1;
    all->item_s[s] = all->chain_s[s] = 0;
  }
  for (int q = 0; q < pipeline->queue_count; q++) join(model, q, plan, out, all);
  for (int s = 0; s < pipeline->stage_count; s++)
    all->chain_s[all->chain[s]] += all->item_s[s] > 0 ? all->item_s[s] : out->alone_s[s];
  for (int c = 0; c < pipeline->stage_count; c++) {
    if (all->chain[c] != c) all->chain_s[c] = 0;
    out->steps.log_chain[c] = all->chain_s[c] > 0 ? log(all->chain_s[c]) : -INFINITY;
  }
}

/* ---- a step on a device ---- */

/* Work that keeps so many cores busy for so long, if there are enough. */
typedef struct burst {
  double cores, seconds;
} burst;

/* Time until all bursts, begun together, have ended when threads get equal shares of the cores: all slow down alike, so they end in
 * the order of their lengths. */
static double even_s(burst *bursts, int count, const mz_analytic_cores *cores) {
  double seconds = 0, progress = 0, busy = 0;
  for (int i = 0; i < count; i++) busy += bursts[i].cores;
  for (; count > 0; count--) {
    burst *first = bursts;
    for (int i = 1; i < count; i++)
      if (bursts[i].seconds < first->seconds) first = &bursts[i];
    seconds += (first->seconds - progress) * fmax(busy / mz_analytic_rate(cores, busy), 1);
    progress = first->seconds;
    busy -= first->cores;
    *first = bursts[count - 1];
  }
  return seconds;
}

/* The stages of a step that meet on a device. */
typedef struct meeting {
  mz_analytic_cores cores;
  double rate;              /* of all its cores at once */
  double work_s, longest_s; /* of those that go first: their work; the longest chain */
  burst bursts[2 * MZ_STAGES_MAX];
  int count;
  double filling_s, fills; /* work of those that give way; cores that it can keep busy */
} meeting;

/* Returns what a stage has to do on a device: calls on a GPU, or the CPU time of its threads on the cores where they run. */
static double work_on(const mz_analytic *model, int s, int device, const mz_plan *plan, const mz_analytic_parts *parts) {
  const int at = mz_stage_device(model->pipeline, s, plan);
  if (is_gpu(model, device)) return at == device ? parts->device_s[s] : 0;
  return mz_device_home(model->pipeline, at) == device ? parts->cpu_s[s] : 0;
}

/* A stage runs at its own pace until its queue is full, and then at its chain's. */
static void meet(meeting *m, const stages *all, const mz_analytic_parts *parts, int s, double work_s) {
  const double chain_s = all->chain_s[all->chain[s]], ahead = all->ahead[s];
  const double paced_s = chain_s * all->apart_s[s] / parts->alone_s[s];
  m->work_s += work_s;
  m->longest_s = fmax(m->longest_s, chain_s);
  if (ahead > 0) m->bursts[m->count++] = (burst){work_s / all->apart_s[s], ahead * all->apart_s[s]};
  if (ahead < 1) m->bursts[m->count++] = (burst){(1 - ahead) * work_s / paced_s, paced_s};
}

/* Who gives way has the cores that the others leave while they are at work, and all that it can use from then on. */
static double with_filling_s(const meeting *m, double first_s) {
  if (!(m->filling_s > 0)) return first_s;
  const double left = first_s > 0 ? fmax(m->rate - m->work_s / first_s, 0) : 0, use = mz_analytic_rate(&m->cores, m->fills);
  return first_s + fmax(m->filling_s - fmin(use, left) * first_s, 0) / use;
}

static void measure_device(const mz_analytic *model, int step, int device, const mz_plan *plan, const stages *all,
                           mz_analytic_parts *out) {
  const mz_pipeline *pipeline = model->pipeline;
  const bool gpu = is_gpu(model, device);
  meeting m = {.cores = gpu ? (mz_analytic_cores){1, 1} : cores_of(model, device)};
  m.rate = mz_analytic_rate(&m.cores, m.cores.threads);
  for (int s = 0; s < pipeline->stage_count; s++) {
    const double work_s = pipeline->stages[s].step == step ? work_on(model, s, device, plan, out) : 0;
    if (!(work_s > 0)) continue;
    if (pipeline->stages[s].gives_way && !gpu) { /* a device knows no niceness */
      m.filling_s += work_s;
      m.fills += work_s / all->apart_s[s];
    } else
      meet(&m, all, out, s, work_s);
  }
  mz_analytic_steps *steps = &out->steps;
  const double least_s = fmax(m.work_s / m.rate, m.longest_s), filled_s = with_filling_s(&m, least_s);
  if (filled_s > steps->least_s[step]) {
    steps->least_s[step] = filled_s;
    steps->least_on[step] = device;
  }
  steps->even_s[step] = fmax(steps->even_s[step], with_filling_s(&m, fmax(even_s(m.bursts, m.count, &m.cores), least_s)));
}

/* All processors together may have fewer cores to use than they have. */
static double all_cores_s(const mz_analytic *model, int step, const mz_analytic_parts *parts) {
  const mz_pipeline *pipeline = model->pipeline;
  double cpu_s = 0;
  for (int s = 0; s < pipeline->stage_count; s++)
    if (pipeline->stages[s].step == step) cpu_s += parts->cpu_s[s];
  const mz_analytic_cores all = mz_analytic_all_cores(model);
  return cpu_s / mz_analytic_rate(&all, all.threads);
}

void mz_analytic_take_apart(const mz_analytic *model, const mz_plan *plan, mz_analytic_parts *out) {
  const mz_pipeline *pipeline = model->pipeline;
  mz_analytic_steps *steps = &out->steps;
  stages all;
  steps->count = 0;
  for (int s = 0; s < pipeline->stage_count; s++) {
    measure_stage(model, s, plan, out, &all);
    if (pipeline->stages[s].step >= steps->count) steps->count = pipeline->stages[s].step + 1;
  }
  measure_chains(model, plan, out, &all);
  for (int step = 0; step < steps->count; step++) {
    steps->apart[step] = false;
    for (int s = 0; s < pipeline->stage_count; s++)
      steps->apart[step] = steps->apart[step] || (pipeline->stages[s].step == step && pipeline->stages[s].apart);
    steps->least_s[step] = all_cores_s(model, step, out);
    steps->least_on[step] = -1;
    steps->even_s[step] = 0;
    for (int d = 0; d < pipeline->device_count; d++) measure_device(model, step, d, plan, &all, out);
    steps->even_s[step] = fmax(steps->even_s[step], steps->least_s[step]);
  }
}

double mz_analytic_overlap_s(const mz_pipeline *pipeline, const mz_analytic_steps *steps, int step, double gamma) {
  double largest = -INFINITY, sum = 0;
  int count = 0;
  for (int c = 0; c < pipeline->stage_count; c++) {
    if (pipeline->stages[c].step != step || steps->log_chain[c] == -INFINITY) continue;
    largest = fmax(largest, steps->log_chain[c]);
    count++;
  }
  if (count <= 1) return exp(largest);
  for (int c = 0; c < pipeline->stage_count; c++)
    if (pipeline->stages[c].step == step) sum += exp(gamma * (steps->log_chain[c] - largest));
  return exp(largest + log(sum) / gamma);
}
