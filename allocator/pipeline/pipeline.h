/* The pipeline that is steered, as data: stages that work, queues between them, devices they run on, knobs that set their sizes. The owner
 * of the real thing (the trainer's roof, a test) fills one in and hands it over; nothing here knows what the stages do. All
 * plain structs that are copied freely; references between parts are indices, -1 for none.
 *
 * Work is counted in units of equal work (the trainer: a round in which learning takes place); times are seconds per unit, so
 * that doing less never looks like being faster. */
#pragma once
#include "base/config/config.h"

enum {
  MZ_NAME_MAX = 32,
  MZ_DEVICE_MODEL_MAX = 64,
  MZ_STAGES_MAX = 12,
  MZ_QUEUES_MAX = 8,
  MZ_STORES_MAX = 4,
  MZ_NETWORKS_MAX = 4,
  MZ_LINKS_MAX = 12,
  MZ_DEVICES_MAX = 32,
  MZ_CORES_MAX = 1024, /* of a device */
  MZ_PLAN_KNOBS_MAX = 16,
  MZ_PROBES_MAX = 4
};

typedef enum mz_device_kind { MZ_DEVICE_CPU, MZ_DEVICE_CUDA, MZ_DEVICE_KINDS } mz_device_kind;
typedef struct mz_device {
  char name[MZ_NAME_MAX]; /* "cpu:0", "cuda:1" */
  mz_device_kind kind;
  int cores;                       /* of a CPU device: hardware threads in its set */
  int whole_cores;                 /* that those belong to; 0: each is a core by itself */
  char model[MZ_DEVICE_MODEL_MAX]; /* of a GPU: "NVIDIA H100 80GB HBM3"; "": not known */
  double memory;                   /* bytes of its own that a run may have; 0: not known */
} mz_device;
static inline int mz_device_whole_cores(const mz_device *device) {
  return device->whole_cores > 0 ? device->whole_cores : device->cores;
}

typedef enum mz_scale {
  MZ_SCALE_LOG2,   /* a step goes to the next power of two; the ends of the range are steps too */
  MZ_SCALE_CHOICE, /* any value of min … max is one step away: the index of a device */
} mz_scale;
typedef struct mz_knob {
  char name[MZ_NAME_MAX]; /* in records */
  mz_class class_;
  mz_scale scale;
  int64_t min, max;          /* inclusive, within 0 … 2^53; equal: cannot move (also: held by the user) */
  char setting[MZ_NAME_MAX]; /* key of the setting that holds it, where that is another: what people read and write; "": name */
} mz_knob;

/* The work of a stage, for predictors that learn from many pipelines what such stages cost (graph/graph.h); no model needs it. */
typedef enum mz_work_kind { MZ_WORK_OTHER, MZ_WORK_SELFPLAY, MZ_WORK_REANALYZE, MZ_WORK_TRAINING } mz_work_kind;

/* The time of an item of a stage on devices of one kind, at batch sizes, timed alone before the run. On a GPU a task works on a core
 * first, where its calls are prepared, and then on the device, which tasks of all threads share. */
typedef struct mz_probes {
  double batch[MZ_PROBES_MAX];    /* 0: no more */
  double cpu_s[MZ_PROBES_MAX];    /* CPU seconds per item */
  double device_s[MZ_PROBES_MAX]; /* seconds per item at work on the device; 0 on a CPU */
} mz_probes;

/* Memory of a stage while it is on a GPU: of the host, threads · (host_thread + batch · host_slot), and of the GPU itself,
 * fixed + threads · (thread + batch · slot). All 0: not known, the host's is as on CPUs. */
typedef struct mz_gpu_bytes {
  double host_thread, host_slot;
  double fixed, thread, slot;
} mz_gpu_bytes;

/* Stages of one step run at the same time; steps follow one another. */
typedef struct mz_pipeline_stage {
  char name[MZ_NAME_MAX];
  mz_work_kind work;
  int step;
  int threads, batch, device; /* knobs; -1: one thread, batches of one, device 0 */
  double items;               /* per unit of work; what telemetry counted last, once there is some */
  double groups;              /* independent items: `batch` makes ceil(groups / batch) tasks that threads share; 0: no bound */
  bool gives_way;             /* other stages' threads go first where cores are too few (it has no queue) */
  bool apart;    /* its step is in no unit's time, as evaluation between phases: it is timed, and predicted, by itself */
  double serial; /* share of the stage's time that one thread does alone (Amdahl), until it is fitted */
  mz_probes probes[MZ_DEVICE_KINDS]; /* by kind of device; a kind without any is one on which the stage was not timed */
  double bytes_thread, bytes_slot; /* memory: threads · (bytes_thread + batch · bytes_slot + min(batch, tile) · bytes_tile) */
  double bytes_tile, tile;         /* what is kept for so many of a batch only, which are worked on in turns */
  mz_gpu_bytes on_gpu;             /* in place of those */
} mz_pipeline_stage;

typedef struct mz_pipeline_queue {
  char name[MZ_NAME_MAX];
  int from, to; /* stages */
  int capacity; /* knob; -1: one */
  double items; /* per unit of work */
  double bytes; /* per place */
  bool batched; /* a task takes all items of its batch before it begins, and frees their places when it ends */
} mz_pipeline_queue;

/* Memory whose older part can be packed: that costs time which no model knows, so its knob moves only for want of memory. */
typedef struct mz_pipeline_store {
  char name[MZ_NAME_MAX];
  int raw;           /* knob: bytes that are kept as they are */
  double bytes;      /* of all of it, as it is */
  double packed;     /* share of them that packing leaves */
  double packed_max; /* packed bytes that stay in memory, the rest goes to a file; 0: all */
} mz_pipeline_store;

/* A network that stages run; those that train it change it. */
typedef struct mz_pipeline_network {
  char name[MZ_NAME_MAX];
  double parameters, flops; /* flops: of one item, forward */
  double depth, width;      /* layers one after the other; units, or channels, of a layer */
  uint32_t users;           /* bit per stage */
} mz_pipeline_network;

/* A stage writes to a store, or reads from it. */
typedef struct mz_pipeline_link {
  int stage, store;
  bool writes;
  double items, bytes; /* per unit of work */
} mz_pipeline_link;

typedef struct mz_pipeline {
  char name[MZ_NAME_MAX]; /* "muzero" */
  double unit_samples;    /* what a unit is worth: samples trained */
  double handoff_s;       /* that a thread takes to wake when what it waits for has come */
  double bytes_fixed;     /* memory that no knob changes, at the most: weights, replay at its bound … */
  int stage_count, queue_count, device_count, knob_count, store_count;
  int network_count, link_count; /* may be 0: they are known to who learns from many pipelines, and to nobody else */
  mz_pipeline_stage stages[MZ_STAGES_MAX];
  mz_pipeline_queue queues[MZ_QUEUES_MAX];
  mz_pipeline_store stores[MZ_STORES_MAX];
  mz_pipeline_network networks[MZ_NETWORKS_MAX];
  mz_pipeline_link links[MZ_LINKS_MAX];
  mz_device devices[MZ_DEVICES_MAX];
  mz_knob knobs[MZ_PLAN_KNOBS_MAX];
} mz_pipeline;

/* A value for every knob, by its index. */
typedef struct mz_plan {
  int64_t values[MZ_PLAN_KNOBS_MAX];
} mz_plan;

/* Indices in range, at least one stage and one CPU device, names distinct, amounts finite: MZ_E_CONFIG naming the part. The
 * functions below take pipelines that pass it. */
mz_status mz_pipeline_check(const mz_pipeline *pipeline);
/* The knob of this name, in records or as it is shown; -1 when unknown. */
int mz_pipeline_knob(const mz_pipeline *pipeline, const char *name);
/* The name by which people know it: its setting's key, or its own. */
const char *mz_knob_shown(const mz_knob *knob);
/* MZ_E_CONFIG naming the nearest knob, or all of them. */
mz_status mz_pipeline_find_knob(const mz_pipeline *pipeline, const char *name, const char *where, int *out);

/* Narrows the range of every knob that places a stage to the devices around its value in the plan that are alike: whoever moves knobs
 * then changes no rounding. */
void mz_pipeline_keep_kinds(mz_pipeline *pipeline, const mz_plan *plan);

bool mz_plan_equal(const mz_pipeline *pipeline, const mz_plan *a, const mz_plan *b);
/* "cpu_actor 2 mcts_storage_size 16": the knobs in which `plan` differs from `from` (NULL: all; those that cannot move are left
 * out). Devices by name. */
void mz_plan_text(const mz_pipeline *pipeline, const mz_plan *plan, const mz_plan *from, char *out, size_t size);
/* Steps of all knobs between two plans: doublings; another choice is one. */
double mz_plan_distance(const mz_pipeline *pipeline, const mz_plan *a, const mz_plan *b);
/* The knob decides how much of a store is packed. */
bool mz_knob_packs(const mz_pipeline *pipeline, int knob);
/* The value one step up (+1) or down (−1) of `value`, within the range; `value` itself at the end. */
int64_t mz_knob_step(const mz_knob *knob, int64_t value, int direction);
/* A knob's value within its range. */
int64_t mz_knob_clamp(const mz_knob *knob, int64_t value);
/* Returns the plan with every knob within its range. */
mz_plan mz_plan_clamp(const mz_pipeline *pipeline, const mz_plan *plan);

/* Return the threads, the batch and the device of a stage under a plan. */
int64_t mz_stage_threads(const mz_pipeline *pipeline, int stage, const mz_plan *plan);
int64_t mz_stage_batch(const mz_pipeline *pipeline, int stage, const mz_plan *plan);
int mz_stage_device(const mz_pipeline *pipeline, int stage, const mz_plan *plan);
/* The last stage of a chain: its threads share one item, in parts that are alike. */
bool mz_stage_shares_items(const mz_pipeline *pipeline, int stage);
/* Returns the kind of the device that a stage is on under a plan. */
mz_device_kind mz_stage_kind(const mz_pipeline *pipeline, int stage, const mz_plan *plan);
/* Returns the CPU device on whose cores a device's threads run: itself; a GPU's is the next in turn, the first GPU's the first. */
int mz_device_home(const mz_pipeline *pipeline, int device);
/* Returns how many batch sizes were timed. */
int mz_probes_count(const mz_probes *probes);
/* On any kind of device. */
bool mz_stage_is_probed(const mz_pipeline_stage *stage);
/* Cores of all CPU devices. */
int mz_pipeline_cores(const mz_pipeline *pipeline);
/* Copies what the stages were timed to take alone, on every kind of device; the stages are the same. */
void mz_pipeline_take_probes(mz_pipeline *to, const mz_pipeline *from);
/* Cores that a plan can keep busy at once at the most: the largest step's threads, no more than its devices' cores. Threads that
 * feed a GPU count, on whatever cores there are. */
int mz_plan_cores(const mz_pipeline *pipeline, const mz_plan *plan);
/* Every pool of so many threads, within its range. */
void mz_plan_set_pools(const mz_pipeline *pipeline, int64_t threads, mz_plan *plan);
/* Returns how many CUDA devices some stage runs on. */
int mz_plan_gpus(const mz_pipeline *pipeline, const mz_plan *plan);
/* Bytes of memory that the threads of a stage, a queue, a store take under a plan. */
double mz_stage_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan);
double mz_queue_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan);
double mz_store_bytes(const mz_pipeline *pipeline, int index, const mz_plan *plan);
/* Bytes of a GPU's own memory that a plan needs at the most, and (out, size; may be NULL) the sum in words. */
double mz_plan_gpu_bytes(const mz_pipeline *pipeline, const mz_plan *plan, int device, char *out, size_t size);
/* Returns the first GPU of whose memory a plan needs more than there is (mz_device.memory); −1: none. */
int mz_plan_overfull(const mz_pipeline *pipeline, const mz_plan *plan);
/* Bytes of the host's memory that a plan needs at the most, and (out, size; may be NULL) the sum in words. */
double mz_plan_bytes(const mz_pipeline *pipeline, const mz_plan *plan, char *out, size_t size);

cJSON *mz_pipeline_to_json(const mz_pipeline *pipeline);
mz_status mz_pipeline_from_json(mz_pipeline *pipeline, const cJSON *json, const char *where, mz_status code);
cJSON *mz_plan_to_json(const mz_pipeline *pipeline, const mz_plan *plan); /* {"cpu_actor": 2, …} */
/* Adds mz_plan_text of the whole plan as a member. */
void mz_plan_add_text(cJSON *object, const char *key, const mz_pipeline *pipeline, const mz_plan *plan);
/* Knobs that the object lacks keep their values in *plan; unknown ones are an error. Ranges are not checked: mz_plan_refused. */
mz_status mz_plan_from_json(const mz_pipeline *pipeline, mz_plan *plan, const cJSON *json, const char *where, mz_status code);
