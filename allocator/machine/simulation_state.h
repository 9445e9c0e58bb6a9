/* What the simulation of a unit is made of, for simulation.c, simulation_tasks.c and simulation_rates.c. */
#pragma once
#include "allocator/machine/simulation.h"

typedef enum mz_sim_state {
  MZ_SIM_IDLE,
  MZ_SIM_WAITS_IN,
  MZ_SIM_WAITS_OUT,
  MZ_SIM_WORKS,
  MZ_SIM_ENDED,
  MZ_SIM_STATES
} mz_sim_state;

typedef struct mz_sim_thread {
  int stage, task; /* task −1: none, or what one thread of a pool does alone */
  mz_sim_state state;
  int lane;     /* of its work on cores: MZ_SIM_CPU or MZ_SIM_OWN */
  bool rests;   /* it has waited since its last task, and must be woken */
  double end;   /* of its work: the lane's progress then */
  double gpu_s; /* that follows on a GPU */
} mz_sim_thread;

/* Threads of a stage that are at work on a device: they all progress alike. Progress is work done by each since the step began. */
typedef struct mz_sim_lane {
  int device;
  int *threads, count; /* a heap by end; count: working */
  double progress;
  double share, speed;  /* of a core or GPU that each has; work done in a second of it */
  double waits, remote; /* share of its time for memory; by which that takes longer */
} mz_sim_lane;

/* Threads work on the cores that a node's threads share, on those that threads which drive others have for their own, or on a GPU. */
enum { MZ_SIM_CPU, MZ_SIM_OWN, MZ_SIM_GPU, MZ_SIM_LANES };

typedef struct mz_sim_stage {
  bool runs;                 /* in the present step */
  bool stirred;              /* something has changed that its threads may wait for */
  int first, threads;        /* in the table of threads */
  int states[MZ_SIM_STATES]; /* threads in each */
  mz_sim_lane lanes[MZ_SIM_LANES];
  bool on_gpu;
  double cache;                       /* by which an item takes longer */
  int tasks, next, ended;             /* of a pool: tasks; in lockstep: items */
  int in, out;                        /* queues; −1: none */
  bool begun;                         /* in lockstep: the item has been taken; of a pool: its serial part is done */
  int parts, parts_next, parts_ended; /* of the item in lockstep; part 0 is the serial one, alone */
} mz_sim_stage;

typedef struct mz_sim_queue {
  int tokens, capacity, released;
  bool *published; /* by producer's task */
  int in_order;    /* tasks published without a gap, from the first on */
} mz_sim_queue;

typedef struct mz_sim_step {
  const mz_simulation *simulation;
  const mz_pipeline *pipeline;
  const mz_plan *plan;
  uint64_t unit;
  int step;
  double cost; /* factor of the whole unit */
  mz_sim_stage stages[MZ_STAGES_MAX];
  mz_sim_queue queues[MZ_QUEUES_MAX];
  mz_sim_thread *threads;
  int thread_count;
  mz_sim_quota quota;
  int own[MZ_DEVICES_MAX];                 /* cores that are MZ_SIM_OWN */
  bool sleeps[MZ_DEVICES_MAX][MZ_SIM_GPU]; /* by lane: some core of it was idle just before */
  double in_use;                           /* cores, by the pipeline */
  bool crowded;                            /* some thread waits for a core */
  double others;                           /* cores that neighbours use */
  mz_sim_unit *out;
} mz_sim_step;

/* u: the step under way; s: the index of a stage. */

/* ---- tasks (simulation_tasks.c) ---- */

/* Fills the stage's numbers for the step; its threads are placed later. */
void mz_sim_begin_stage(mz_sim_step *u, int s);
/* Whether both ends of the queue are in the present step. */
bool mz_sim_queue_runs(const mz_sim_step *u, int queue);
/* Tokens of a queue that a stage's tasks 0 … task carry together. */
int mz_sim_tokens_through(const mz_sim_step *u, int queue, int s, int task);
/* Lets the threads that do not work look for something to do, until none finds anything. */
void mz_sim_settle(mz_sim_step *u);
/* The thread has ended its work on the lane. */
void mz_sim_finish(mz_sim_step *u, int thread, int lane);

/* ---- rates (simulation_rates.c) ---- */

/* Device of a stage's lane; the stage's caches, memory and GPU. */
void mz_sim_place_stage(mz_sim_step *u, int s);
/* Decides which cores are whose, once the step's stages are placed: u->own. */
void mz_sim_place_cores(mz_sim_step *u);
/* Returns the lane in which the stage's nth thread works on cores. */
int mz_sim_thread_lane(const mz_sim_step *u, int s, int nth);
/* Computes share and speed of every lane. */
void mz_sim_share(mz_sim_step *u);

/* ---- lanes (simulation_lanes.c) ---- */

void mz_sim_lane_push(mz_sim_step *u, mz_sim_lane *lane, int thread, double work);
int mz_sim_lane_pop(mz_sim_step *u, mz_sim_lane *lane);
/* Returns the seconds until its first thread ends; INFINITY: nobody works, or nobody may. */
double mz_sim_lane_left_s(const mz_sim_step *u, const mz_sim_lane *lane);
/* Whether its first thread has ended. */
bool mz_sim_lane_ended(const mz_sim_step *u, const mz_sim_lane *lane);
