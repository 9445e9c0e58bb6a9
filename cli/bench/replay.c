#include "cli/bench/bench.h"
#include "replay/storage/row_reader.h"

enum { OBS = MZ_BENCH_OBS, ACTIONS = MZ_BENCH_ACTIONS, PUSHES = 4096, EPISODE = 200, DRAWS = 256, POINTS = 1 << 16 };

typedef struct fixture {
  mz_buffer *buffer;
  mz_trajectory *trajectory;
  mz_priority_tree *tree;
  uint64_t *points; /* [POINTS], drawn beforehand */
  int64_t leaves[DRAWS];
  mz_draw draws[DRAWS];
  mz_row_reader reader;
  mz_span span;
  int move, at;
  uint32_t update;
} fixture;

static mz_status insert(void *context, mz_segment *segment) { return mz_buffer_insert(((fixture *)context)->buffer, segment); }

/* A move of an episode as an actor hands it over: recorded, cut into segments, given its first priority, inserted. */
static mz_status push_many(void *context) {
  fixture *f = context;
  float obs[OBS] = {0.1f, 0.2f, 0.3f, 0.4f}, policy[ACTIONS] = {0.25f, 0.75f};
  const uint8_t legal[ACTIONS] = {1, 1};
  for (int i = 0; i < PUSHES; i++) {
    obs[0] = (float)++f->move;
    const mz_move move = {.obs = obs,
                          .action = f->move & 1,
                          .reward = 1,
                          .value = (float)(f->move % 50),
                          .policy = policy,
                          .legal = legal,
                          .terminated = f->move % EPISODE == 0};
    MZ_TRY(mz_trajectory_append(f->trajectory, &move, 0, insert, f));
  }
  return MZ_OK;
}

static mz_status draw_many(void *context) {
  fixture *f = context;
  mz_buffer_draw(f->buffer, 1, f->update++, DRAWS, f->draws);
  return MZ_OK;
}

/* As draw_many where nothing is raw: what a batch needs of every row is unpacked. */
static mz_status read_many(void *context) {
  fixture *f = context;
  mz_buffer_draw(f->buffer, 1, f->update++, DRAWS, f->draws);
  for (int i = 0; i < DRAWS; i++) {
    mz_draw read;
    MZ_TRY(mz_row_read(&f->reader, f->buffer, &f->span, &f->draws[i], &read));
  }
  return MZ_OK;
}

static mz_status find_many(void *context) {
  fixture *f = context;
  mz_priority_tree_find(f->tree, DRAWS, f->points + f->at, f->leaves);
  f->at = (f->at + DRAWS) % POINTS;
  return MZ_OK;
}

static mz_status measure_buffer(fixture *f, mz_bench *bench, double *pushes_per_s, double *draws_per_s, double *reads_per_s) {
  mz_replay_settings settings = bench->settings.replay;
  if (!mz_bench_given(bench, "replay.capacity")) settings.capacity = 1 << 16;
  if (!mz_bench_given(bench, "replay.priority_exponent")) settings.priority_exponent = 1;
  const mz_cut cut = {.segment_moves = (int)settings.segment_moves,
                      .look_ahead = (int)(settings.td_steps + bench->settings.loss.unroll)};
  MZ_TRY(mz_buffer_create(&f->buffer, &settings, &mz_bench_spec));
  MZ_TRY(mz_trajectory_create(&f->trajectory, &mz_bench_spec, cut, 0));
  f->span = (mz_span){.values = cut.look_ahead + 1, .policies = (int)bench->settings.loss.unroll + 1, .observations = 1};
  double bursts;
  MZ_TRY(mz_bench_rate(bench->time_s, push_many, f, &bursts));
  *pushes_per_s = bursts * PUSHES;
  MZ_TRY(mz_bench_rate(bench->time_s, draw_many, f, draws_per_s));
  MZ_TRY(mz_buffer_set_tiers(f->buffer, 1, 0));
  return mz_bench_rate(bench->time_s, read_many, f, reads_per_s);
}

static mz_status measure_tree(fixture *f, mz_bench *bench, int64_t leaves, double *per_s) {
  MZ_TRY(mz_priority_tree_create(&f->tree, leaves));
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int64_t i = 0; i < leaves; i++) mz_priority_tree_set(f->tree, i, 1 + mz_rng_below(&rng, 1 << 20));
  for (int i = 0; i < POINTS; i++) f->points[i] = mz_rng_u64(&rng) % mz_priority_tree_total(f->tree);
  const mz_status status = mz_bench_rate(bench->time_s, find_many, f, per_s);
  mz_priority_tree_free(f->tree);
  f->tree = NULL;
  return status;
}

mz_status mz_bench_replay(mz_bench *bench, cJSON **out) {
  fixture f = {0};
  double pushes = 0, buffer_draws = 0, reads = 0, small = 0, large = 0;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&f.points, POINTS, sizeof *f.points));
  MZ_TRY_CLEANUP(measure_buffer(&f, bench, &pushes, &buffer_draws, &reads));
  MZ_TRY_CLEANUP(measure_tree(&f, bench, 1 << 16, &small));
  MZ_TRY_CLEANUP(measure_tree(&f, bench, 1 << 20, &large));
  cJSON *row = cJSON_CreateObject();
  cJSON_AddNumberToObject(row, "pushes_per_s", pushes);
  cJSON_AddNumberToObject(row, "draws", DRAWS);
  cJSON_AddNumberToObject(row, "tree_us_64k", 1e6 / small);
  cJSON_AddNumberToObject(row, "tree_us_1M", 1e6 / large);
  cJSON_AddNumberToObject(row, "buffer_us_64k", 1e6 / buffer_draws); /* with streams, positions and probabilities */
  cJSON_AddNumberToObject(row, "packed_us_64k", 1e6 / reads);        /* and with the contents of packed segments */
  *out = row;
cleanup:
  mz_row_reader_deinit(&f.reader);
  if (f.trajectory) mz_trajectory_free(f.trajectory);
  if (f.buffer) mz_buffer_free(f.buffer);
  if (f.tree) mz_priority_tree_free(f.tree);
  free(f.points);
  return status;
}
