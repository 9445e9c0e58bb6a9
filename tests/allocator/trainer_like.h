/* A pipeline like the trainer's, on so many devices: a store, a queue, three networks that three stages run and one trains, a stage that
 * follows and one that is apart. Every stage may be on any device. */
#pragma once
#include "allocator/pipeline/pipeline.h"

enum { TL_ACTORS, TL_GAMES, TL_BUILDERS, TL_LEARNERS, TL_PLACES, TL_RAW, TL_SELFPLAY, TL_REANALYZE, TL_LEARNING, TL_KNOBS };
enum { TL_ACTOR, TL_BATCH, TL_LEARNER, TL_FOLD, TL_EVALUATE };

/* devices: 1 … 4; the last of more than two is a GPU. */
static inline mz_pipeline trainer_like(int devices) {
  mz_pipeline p = {
      .name = "muzero",
      .unit_samples = 2048,
      .bytes_fixed = 40 << 20,
      .stage_count = 5,
      .queue_count = 1,
      .device_count = devices,
      .knob_count = TL_KNOBS,
      .store_count = 1,
      .network_count = 3,
      .link_count = 3,
      .stages = {{.name = "actor",
                  .work = MZ_WORK_SELFPLAY,
                  .threads = TL_ACTORS,
                  .batch = TL_GAMES,
                  .device = TL_SELFPLAY,
                  .items = 16384,
                  .groups = 128,
                  .gives_way = true,
                  .probes = {[MZ_DEVICE_CPU] = {.batch = {1, 32}, .cpu_s = {2e-4, 5e-5}}},
                  .bytes_thread = 1 << 20,
                  .bytes_slot = 80 << 10},
                 {.name = "batch",
                  .work = MZ_WORK_REANALYZE,
                  .threads = TL_BUILDERS,
                  .batch = -1,
                  .device = TL_REANALYZE,
                  .items = 8,
                  .groups = 8,
                  .probes = {[MZ_DEVICE_CPU] = {.batch = {1}, .cpu_s = {2e-2}}}},
                 {.name = "learner",
                  .work = MZ_WORK_TRAINING,
                  .threads = TL_LEARNERS,
                  .batch = -1,
                  .device = TL_LEARNING,
                  .items = 8,
                  .groups = 8,
                  .serial = 0.1,
                  .probes = {[MZ_DEVICE_CPU] = {.batch = {1}, .cpu_s = {8e-2}}}},
                 {.name = "fold",
                  .step = 1,
                  .threads = -1,
                  .batch = -1,
                  .device = TL_LEARNING,
                  .items = 1,
                  .probes = {[MZ_DEVICE_CPU] = {.batch = {1}, .cpu_s = {1e-3}}}},
                 {.name = "evaluate", .step = 2, .threads = TL_ACTORS, .batch = -1, .device = TL_SELFPLAY, .apart = true}},
      .queues = {{.name = "batches", .from = TL_BATCH, .to = TL_LEARNER, .capacity = TL_PLACES, .items = 8, .bytes = 200 << 10}},
      .stores = {{.name = "replay", .raw = TL_RAW, .bytes = 46 << 20, .packed = 0.3}},
      .networks = {{.name = "representation", .parameters = 44100, .flops = 3.2e6, .depth = 5, .width = 64, .users = 23},
                   {.name = "dynamics", .parameters = 51600, .flops = 3.9e6, .depth = 5, .width = 64, .users = 23},
                   {.name = "prediction", .parameters = 7950, .flops = 1e5, .depth = 2, .width = 64, .users = 23}},
      .links = {{.stage = TL_ACTOR, .store = 0, .writes = true, .items = 1024, .bytes = 241 << 10},
                {.stage = TL_BATCH, .store = 0, .items = 2048, .bytes = 1.5 * (1 << 20)},
                {.stage = TL_LEARNER, .store = 0, .writes = true, .items = 2048, .bytes = 8192}},
      .devices = {{.name = "cpu:0", .cores = 8},
                  {.name = "cpu:1", .cores = 4},
                  {.name = "cpu:2", .cores = 4},
                  {.name = "cpu:3", .cores = 2}},
      .knobs = {[TL_ACTORS] = {"cpu_actor", MZ_EXACT, MZ_SCALE_LOG2, 1, 16},
                [TL_GAMES] = {"mcts_storage_size", MZ_EXACT, MZ_SCALE_LOG2, 1, 128},
                [TL_BUILDERS] = {"batch_actor", MZ_EXACT, MZ_SCALE_LOG2, 1, 16},
                [TL_LEARNERS] = {"learner_threads", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [TL_PLACES] = {"batch_buffer_size", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                [TL_RAW] = {"replay_raw", MZ_EXACT, MZ_SCALE_LOG2, 1 << 20, 46 << 20},
                [TL_SELFPLAY] = {"selfplay_device", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, devices - 1},
                [TL_REANALYZE] = {"reanalyze_device", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, devices - 1},
                [TL_LEARNING] = {"learning_device", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, devices - 1}},
  };
  if (devices > 2) {
    mz_device *last = &p.devices[devices - 1];
    *last = (mz_device){.name = "cuda:0", .kind = MZ_DEVICE_CUDA};
  }
  return p;
}

/* selfplay, reanalyze, learning: devices. */
static inline mz_plan trainer_like_plan(int selfplay, int reanalyze, int learning) {
  return (mz_plan){.values = {4, 32, 2, 2, 4, 46 << 20, selfplay, reanalyze, learning}};
}
