#include "muzero/training/state.h"
#include "base/maths/digest.h"
#include "muzero/training/guard.h"
#include "muzero/training/soundness.h"
#include "muzero/storage/stored.h"
#include "networks/tape/backend.h"
#include "networks/parameters/weights.h"
#include <string.h>

const char *const mz_digest_parts[MZ_DIGEST_PARTS] = {"weights", "target", "optimizer", "replay", "games", "counters"};
enum { WEIGHTS, TARGET, OPTIMIZER, AVERAGE, REPLAY, GAMES, COUNTERS };
const char *const mz_state_sections[MZ_STATE_SECTIONS] = {"weights", "target", "optimizer", "average",
                                                          "replay",  "games",  "counters"};

mz_cut mz_state_cut(const mz_settings *s) {
  int n = (int)s->replay.td_steps;
  return (mz_cut){.segment_moves = (int)s->replay.segment_moves, .look_ahead = n + (int)s->loss.unroll};
}

mz_learner_settings mz_state_learning(const mz_settings *s) {
  return (mz_learner_settings){.loss = s->loss,
                               .optimizer = s->optimizer,
                               .horizon = s->train.horizon,
                               .batch_size = s->learning.batch_size,
                               .shards = s->learning.shards,
                               .average = s->learning.average};
}

mz_status mz_state_init(mz_state *state, const mz_env *env, const mz_settings *settings, uint64_t seed, int learner_threads) {
  *state = (mz_state){.env = env, .settings = *settings, .seed = seed, .learner_stage = {.name = "learner"}};
  mz_status status;
  MZ_TRY_CLEANUP(mz_model_init(&state->model, &settings->network, &env->spec));
  size_t size = (size_t)state->model.params.size;
  MZ_TRY_CLEANUP(mz_pool_create(&state->learner_pool, "learner", learner_threads, &state->learner_stage));
  const mz_learner_settings learning = mz_state_learning(settings);
  MZ_TRY_CLEANUP(mz_learner_create(&state->learner, &state->model, &mz_backend_cpu, &learning, state->learner_pool));
  MZ_TRY_CLEANUP(mz_alloc(&state->target, size, sizeof(float)));
  MZ_TRY_CLEANUP(mz_alloc(&state->target_prepared, (size_t)state->model.params.packed, sizeof(float)));
  float *weights = mz_learner_weights(state->learner);
  mz_params_init(&state->model.params, seed, weights);
  memcpy(state->target, weights, size * sizeof(float));
  if (mz_learner_average(state->learner)) memcpy(mz_learner_average(state->learner), weights, size * sizeof(float));
  MZ_TRY_CLEANUP(mz_learner_weights_changed(state->learner));
  MZ_TRY_CLEANUP(mz_state_target_changed(state));
  MZ_TRY_CLEANUP(mz_buffer_create(&state->buffer, &settings->replay, &env->spec));
  MZ_TRY_CLEANUP(mz_games_create(&state->games, env, &settings->selfplay, mz_state_cut(settings), seed));
  MZ_TRY_CLEANUP(mz_state_publish(state));
  if (settings->guard.mode == MZ_GUARD_BACK) MZ_TRY_CLEANUP(mz_guard_create(&state->guard, state));
cleanup:
  if (status != MZ_OK) mz_state_deinit(state);
  return status;
}

void mz_state_deinit(mz_state *state) {
  mz_guard_free(state->guard);
  mz_snapshot_release(state->published);
  if (state->games) mz_games_free(state->games);
  if (state->buffer) mz_buffer_free(state->buffer);
  free(state->target);
  free(state->target_prepared);
  mz_learner_free(state->learner);
  if (state->learner_pool) mz_pool_free(state->learner_pool);
  memset(state, 0, sizeof *state);
}

mz_status mz_state_target_changed(mz_state *state) {
  return mz_infer_prepare(&state->model, &mz_backend_cpu, state->target, state->target_prepared);
}

mz_status mz_state_publish(mz_state *state) {
  const float *average = mz_learner_average(state->learner);
  mz_snapshot *next;
  MZ_TRY(mz_snapshot_create(&next, &state->model, average ? average : mz_learner_weights(state->learner),
                            (uint64_t)state->counters.updates));
  mz_snapshot_release(state->published);
  state->published = next;
  return MZ_OK;
}

static mz_status write_weights(const mz_state *state, const float *values, mz_writer *writer) {
  uint8_t *file;
  size_t size;
  MZ_TRY(mz_weights_write(&state->model.params, values, NULL, &file, &size));
  mz_write(writer, file, size);
  free(file);
  return MZ_OK;
}

static void write_optimizer(const mz_state *state, mz_writer *writer) {
  const mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  const float *average = mz_learner_average(state->learner);
  size_t bytes = (size_t)state->model.params.size * sizeof(float);
  mz_write_u64(writer, (uint64_t)optimizer->steps);
  mz_write_u64(writer, (uint64_t)state->model.params.size);
  mz_write_u8(writer, optimizer->moment2 != NULL);
  mz_write_u8(writer, average != NULL);
  mz_write(writer, optimizer->moment1, bytes);
  if (optimizer->moment2) mz_write(writer, optimizer->moment2, bytes);
}

static void write_average(const mz_state *state, mz_writer *writer) {
  const float *average = mz_learner_average(state->learner);
  if (average) mz_write(writer, average, (size_t)state->model.params.size * sizeof(float));
}

static void write_counters(const mz_state *state, mz_writer *writer) {
  const mz_counters *c = &state->counters;
  mz_write_u64(writer, state->seed);
  const int64_t values[] = {c->rounds, c->phases, c->updates, c->env_steps, c->simulations, c->episodes};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) mz_write_u64(writer, (uint64_t)values[i]);
}

mz_status mz_state_write(const mz_state *state, mz_writer sections[MZ_STATE_SECTIONS]) {
  memset(sections, 0, MZ_STATE_SECTIONS * sizeof *sections);
  mz_status status;
  MZ_TRY_CLEANUP(write_weights(state, mz_learner_weights(state->learner), &sections[WEIGHTS]));
  MZ_TRY_CLEANUP(write_weights(state, state->target, &sections[TARGET]));
  write_optimizer(state, &sections[OPTIMIZER]);
  write_average(state, &sections[AVERAGE]);
  mz_buffer_write(state->buffer, &sections[REPLAY]);
  mz_games_write(state->games, &sections[GAMES]);
  write_counters(state, &sections[COUNTERS]);
  for (int i = 0; i < MZ_STATE_SECTIONS; i++)
    if (sections[i].failed)
      MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "checkpoint: no memory for the copy of section '%s'", mz_state_sections[i]));
cleanup:
  if (status != MZ_OK)
    for (int i = 0; i < MZ_STATE_SECTIONS; i++) mz_writer_free(&sections[i]);
  return status;
}

static mz_status read_optimizer(mz_state *state, mz_reader *reader, uint32_t version) {
  mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  float *average = mz_learner_average(state->learner);
  size_t bytes = (size_t)state->model.params.size * sizeof(float);
  optimizer->steps = (int64_t)mz_read_u64(reader);
  uint64_t size = mz_read_u64(reader);
  bool second = mz_read_u8(reader), averaged = mz_read_u8(reader);
  if (size != (uint64_t)state->model.params.size || second != (optimizer->moment2 != NULL) || averaged != (average != NULL))
    return mz_fail(MZ_E_CHECKPOINT, "section 'optimizer': made for another optimizer or network (%llu parameters, %lld wanted)",
                   (unsigned long long)size, (long long)state->model.params.size);
  mz_read(reader, optimizer->moment1, bytes);
  if (second) mz_read(reader, optimizer->moment2, bytes);
  if (averaged && version < MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION) mz_read(reader, average, bytes);
  return MZ_OK;
}

void mz_counters_read(mz_counters *c, mz_reader *reader) {
  int64_t *const values[] = {&c->rounds, &c->phases, &c->updates, &c->env_steps, &c->simulations, &c->episodes};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) *values[i] = (int64_t)mz_read_u64(reader);
}

typedef struct segment_loader {
  mz_status (*load)(void *context, uint64_t hash, mz_segment **out);
  void *context;
} segment_loader;

enum { MOVES_UNBOUNDED = 1 << 16 }; /* of a game without a limit of moves, more than any has */

/* The most bytes that a section can have that was written under `stored`, whatever the run is set to now. */
static size_t section_bytes_max(const mz_state *state, const mz_settings *stored, const char *name) {
  const mz_spec *spec = &state->env->spec;
  const size_t vector = (size_t)state->model.params.size * sizeof(float);
  if (strcmp(name, "optimizer") == 0) return MZ_OPTIMIZER_HEAD_BYTES + 3 * vector; /* version 1 has the average, too */
  if (strcmp(name, "average") == 0) return vector;
  if (strcmp(name, "counters") == 0) return MZ_COUNTERS_BYTES;
  /* The index of the replay: for each segment, of at least one transition, hash and length, and a priority a transition. */
  if (strcmp(name, "replay") == 0) return 64 + (size_t)stored->replay.capacity * 16;
  const mz_cut cut = mz_state_cut(stored);
  const size_t whole = spec->max_moves > 0 ? (size_t)spec->max_moves : MOVES_UNBOUNDED;
  const size_t moves = cut.segment_moves > 0 ? (size_t)cut.segment_moves + (size_t)cut.look_ahead : whole;
  const size_t a_move = mz_spec_obs_bytes(spec) + (size_t)spec->actions * 8 + 64;
  return 64 + (size_t)stored->selfplay.games * (2 * state->env->state_size + 128 + (moves + 1) * a_move);
}

static mz_status read_section(mz_state *state, const mz_checkpoint *checkpoint, const char *name, const mz_settings *stored,
                              const segment_loader *loader) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, name, section_bytes_max(state, stored, name), &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  mz_status status = MZ_OK;
  if (strcmp(name, "optimizer") == 0) status = read_optimizer(state, &reader, mz_checkpoint_find(checkpoint, name)->version);
  if (strcmp(name, "average") == 0)
    mz_read(&reader, mz_learner_average(state->learner), (size_t)state->model.params.size * sizeof(float));
  if (strcmp(name, "replay") == 0) status = mz_buffer_read(state->buffer, &reader, loader->load, loader->context);
  if (strcmp(name, "games") == 0) status = mz_games_read(state->games, &reader);
  if (strcmp(name, "counters") == 0) {
    state->seed = mz_read_u64(&reader);
    mz_counters_read(&state->counters, &reader);
  }
  if (status == MZ_OK && (!reader.ok || mz_reader_left(&reader) != 0))
    status = mz_fail(MZ_E_CHECKPOINT, "section '%s': %s", name, reader.ok ? "bytes left over" : "too short");
  free(data);
  return status;
}

/* A run without one, which another is begun from, has its present state for the sound one. */
static mz_status read_guard(mz_state *state, const mz_checkpoint *checkpoint, const mz_settings *stored) {
  if (stored->guard.mode == MZ_GUARD_BACK) return mz_guard_read(state->guard, checkpoint);
  mz_guard_keep(state->guard, state);
  return MZ_OK;
}

/* Called after section 'optimizer' was read. */
static bool has_average_section(const mz_state *state, const mz_checkpoint *checkpoint) {
  const mz_section *optimizer = mz_checkpoint_find(checkpoint, "optimizer");
  return mz_learner_average(state->learner) && optimizer->version >= MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION;
}

mz_status mz_state_read(mz_state *state, const mz_checkpoint *checkpoint, mz_status (*load)(void *, uint64_t, mz_segment **),
                        void *context) {
  const segment_loader loader = {load, context};
  mz_settings stored;
  mz_config config = mz_settings_config(&stored, NULL);
  const mz_env *env;
  MZ_TRY(mz_config_stored(checkpoint, &config, &env));
  MZ_TRY(mz_weights_stored(checkpoint, "weights", &state->model.params, mz_learner_weights(state->learner)));
  MZ_TRY(mz_weights_stored(checkpoint, "target", &state->model.params, state->target));
  for (int i = OPTIMIZER; i < MZ_STATE_SECTIONS; i++)
    if (i != AVERAGE || has_average_section(state, checkpoint))
      MZ_TRY(read_section(state, checkpoint, mz_state_sections[i], &stored, &loader));
  if (mz_state_check_finite(state) != MZ_OK) return mz_fail(MZ_E_CHECKPOINT, "%s: %s", checkpoint->path, mz_message());
  MZ_TRY(mz_learner_weights_changed(state->learner));
  MZ_TRY(mz_state_target_changed(state));
  if (state->guard) MZ_TRY(read_guard(state, checkpoint, &stored));
  return mz_state_publish(state);
}

uint64_t mz_digest_of_parts(const uint64_t hashes[MZ_DIGEST_PARTS]) {
  uint64_t digest = 0;
  for (int i = 0; i < MZ_DIGEST_PARTS; i++) digest = mz_hash_combine(digest, hashes[i]);
  return digest;
}

mz_status mz_state_digest(const mz_state *state, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest) {
  mz_writer sections[MZ_STATE_SECTIONS];
  MZ_TRY(mz_state_write(state, sections));
  mz_write(&sections[OPTIMIZER], sections[AVERAGE].data, sections[AVERAGE].size); /* one part of the digest */
  const bool failed = sections[OPTIMIZER].failed;
  for (int i = 0, part = 0; i < MZ_STATE_SECTIONS; i++) {
    if (i != AVERAGE) hashes[part++] = mz_hash(sections[i].data, sections[i].size, 0);
    mz_writer_free(&sections[i]);
  }
  if (failed) return mz_fail(MZ_E_MEMORY, "digest: no memory for the copy of section 'optimizer'");
  *digest = mz_digest_of_parts(hashes);
  return MZ_OK;
}
