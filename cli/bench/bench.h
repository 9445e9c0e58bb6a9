/* Measurements of this machine, for `muzero bench`: each gives JSON, an object or an array of objects with the same keys. */
#pragma once
#include "base/threads/pool.h"
#include "muzero/settings.h"
#include "networks/lane.h"

typedef struct mz_bench {
  const char *env;     /* of gym */
  double time_s;       /* at least this long for each measurement */
  const char *history; /* a file, or "none" */
  int situations, cores_min,
      cores_max; /* of predictors: simulated situations instead of the history's plans; 0: none; their machines */
  double gpu_share;
  int threads;
  mz_lane where;                       /* search, learner and inference compute there */
  mz_pool *pool;                       /* of `threads` */
  mz_settings settings;                /* defaults, then what --set gave */
  uint8_t given[MZ_SETTINGS_ROWS_MAX]; /* rows that --set gave */
} mz_bench;

bool mz_bench_given(mz_bench *bench, const char *key);

/* Whether what is measured computes on a GPU. */
bool mz_bench_on_gpu(const mz_bench *bench);

/* Runs `task` again and again until time_s has passed, after one run that is not counted; runs per second. */
mz_status mz_bench_rate(double time_s, mz_status (*task)(void *context), void *context, double *per_s);

/* Simulations per second of the model of a peer's benchmark (64 wide, 2 actions, 21 bins): algorithm × batch × simulations.
 * Batches of 32 and more are split over the threads. */
mz_status mz_bench_search(mz_bench *bench, cJSON **out);
/* Updates per second of the K-step loss with Adam on the threads, by width, beside the peak of fused multiply-adds. */
mz_status mz_bench_learner(mz_bench *bench, cJSON **out);
/* Recurrent inferences per second of a peer's residual network (6 × 7 board, 64 channels × 2 blocks), by batch; batches of 2 and
 * more are split over the threads. */
mz_status mz_bench_inference(mz_bench *bench, cJSON **out);
/* One thread, Connect Four with that network: simulations per second of self-play by games searched together, and what share this
 * is of the rate of inferences alone at the same batch. */
mz_status mz_bench_selfplay(mz_bench *bench, cJSON **out);
/* Steps per second of every environment on one thread: a batch of states, random legal actions chosen beforehand, resets included;
 * and the same with observations and legal actions for every step. */
mz_status mz_bench_envs(mz_bench *bench, cJSON **out);
/* Steps per second of 32 games that workers play (envs/worker/), uniformly random legal moves, observations and resets included. */
mz_status mz_bench_gym(mz_bench *bench, cJSON **out);
/* One thread: rollouts per second of mcts:1000 in every game for two, and positions per second that Connect Four's solver
 * searches. */
mz_status mz_bench_opponents(mz_bench *bench, cJSON **out);
/* One thread: transitions recorded, cut into segments and inserted per second; µs of 256 prioritised draws, without and
 * with reading what a batch needs of packed segments. */
mz_status mz_bench_replay(mz_bench *bench, cJSON **out);
/* µs, median, of growing and shrinking a pool that is at work. */
mz_status mz_bench_resize(mz_bench *bench, cJSON **out);
/* µs, median and 99th percentile, of what the allocator does between windows. */
mz_status mz_bench_allocator(mz_bench *bench, cJSON **out);
/* Every predictor on every pipeline of the history of which enough plans were measured: errors on plans that it was not fitted to. */
mz_status mz_bench_predictors(mz_bench *bench, cJSON **out);

/* The constants that `--machine sim:…` takes over from this machine, and the text that holds them: µs to wake a thread whose core slept,
 * cores' worth of work of two hardware threads of a core (2: they are cores), GB/s read by one thread and by all. */
mz_status mz_bench_machine(mz_bench *bench, cJSON **out);

/* float32 GFLOP/s of independent fused multiply-adds in registers on `threads` threads of the pool, at the level of isa.h. */
mz_status mz_bench_peak(mz_bench *bench, double *gflops);
/* Adds a rate to a row, and where there is a peak (0: on GPUs) the rate's share of it. */
void mz_bench_add_gflops(cJSON *row, double gflops, double peak);
/* Adds what one evaluation or sample asks for: operations, bytes of memory without caches, and the nodes of the tape, each a launch on a
 * GPU at the least, of a whole batch (networks/tape/cost.h). */
void mz_bench_add_cost(cJSON *row, double operations, double bytes, int nodes);

/* Models of vectors are measured with CartPole's shape: four numbers, two actions, one player. Boards are Connect Four's: 6 × 7 of
 * 3 planes, 7 columns. */
enum { MZ_BENCH_OBS = 4, MZ_BENCH_ACTIONS = 2 };
extern const mz_spec mz_bench_spec, mz_bench_board;
/* The network that is measured on boards: what --set gave, else the peers'. */
mz_network_settings mz_bench_residual(mz_bench *bench);
