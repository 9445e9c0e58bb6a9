#include "tests/fault/scenarios.h"

/* The smallest runs that fill the replay, learn, evaluate and save several times. Every round is saved, and old checkpoints go. */
#define SETS                                                                                                                     \
  "--set num_games=4 --set moves_per_round=4 --set simulations=2 --set batch_size=16 --set loop_count=2 --set "                  \
  "replay.min_fill=16 --set unroll_steps=2 --set td_steps=2 --set replay.segment_moves=4 "                                       \
  "--set train.phase_rounds=2 --set eval.games=2 --set network.width=8 --set checkpoint.interval=0 --set checkpoint.keep=1 "     \
  "--threads 1 --history "
#define TINY SETS "none"
/* Segments of few moves, of which nearly all go to the file tier. */
#define TIERS TINY " --set replay.segment_moves=2 --set replay.raw_bytes=1 --set replay.packed_bytes=1"

const scenario scenarios[] = {
    {.name = "train",
     .command = "train cartpole --run run --seed 4 --rounds 4 " TINY,
     .resume = "resume run --rounds 4 --history none",
     .run = "run",
     .logs = true},
    {.name = "resume",
     .prepare = "train cartpole --run run --seed 4 --rounds 3 " SETS "history.db",
     .command = "resume run --rounds 5 --threads 1 --history history.db",
     .resume = "resume run --rounds 5 --history none",
     .run = "run",
     .logs = true},
    {.name = "from",
     .prepare = "train cartpole --run parent --seed 4 --rounds 2 " TINY,
     .command = "train cartpole --from parent --run run --seed 4 --rounds 4 " TINY,
     .resume = "resume run --rounds 4 --history none",
     .run = "run",
     .unchanged = "parent",
     .logs = true},
    {.name = "batches",
     .command = "train cartpole --run run --seed 4 --rounds 4 " TINY " --set shards=4 --set batch_schedule=1:32",
     .resume = "resume run --rounds 4 --history none",
     .run = "run",
     .logs = true},
    {.name = "tiers",
     .prepare = "train cartpole --run run --seed 4 --rounds 3 " TIERS,
     .command = "resume run --rounds 5 --threads 1 --history none",
     .resume = "resume run --rounds 5 --history none",
     .run = "run",
     .logs = true},
    {.name = "eval",
     .prepare = "train cartpole --run run --seed 4 --rounds 2 " TINY,
     .command = "eval run --games 2 --threads 1",
     .run = "run",
     .unchanged = "run"},
    {.name = "compare",
     .command = "compare cartpole --run comparison --arms rule,default --seeds 1 --seed 4 --block 1 --rounds 2 " TINY,
     .run = "comparison/seed-4/arm-1",
     .logs = true},
};
const int scenario_count = sizeof scenarios / sizeof scenarios[0];
