#include "muzero/storage/sections.h"
#include "base/maths/digest.h"
#include "muzero/storage/stored.h"
#include "muzero/training/guard.h"
#include "muzero/training/soundness.h"
#include "networks/parameters/weights.h"
#include <string.h>

const char *const mz_digest_parts[MZ_DIGEST_PARTS] = {"weights", "target", "optimizer", "replay", "games", "counters"};

/* The source that a section is read from. */
typedef struct origin {
  const mz_checkpoint *checkpoint;
  const mz_settings *stored; /* that the checkpoint was written under */
  mz_status (*load)(void *context, uint64_t hash, mz_segment **out);
  void *context;
} origin;

static size_t vector_bytes(const mz_state *state) { return (size_t)state->model.params.size * sizeof(float); }

/* ---- weights, target ---- */

static mz_status write_weights(const mz_state *state, const float *values, mz_writer *writer) {
  uint8_t *file;
  size_t size;
  MZ_TRY(mz_weights_write(&state->model.params, values, NULL, &file, &size));
  mz_write(writer, file, size);
  free(file);
  return MZ_OK;
}

static mz_status write_learned(const mz_state *state, mz_writer *writer) {
  return write_weights(state, mz_learner_weights(state->learner), writer);
}

static mz_status load_learned(mz_state *state, const origin *from) {
  return mz_weights_stored(from->checkpoint, "weights", &state->model.params, mz_learner_weights(state->learner));
}

static mz_status write_target(const mz_state *state, mz_writer *writer) { return write_weights(state, state->target, writer); }

static mz_status load_target(mz_state *state, const origin *from) {
  return mz_weights_stored(from->checkpoint, "target", &state->model.params, state->target);
}

/* ---- optimizer, average ---- */

/* Checkpoints from before that have the average at the end of section 'optimizer'. */
static bool has_average(const mz_state *state, const origin *from) {
  const mz_section *optimizer = mz_checkpoint_find(from->checkpoint, "optimizer");
  return mz_learner_average(state->learner) && optimizer && optimizer->version >= MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION;
}

static size_t optimizer_max(const mz_state *state, const mz_settings *stored) {
  (void)stored;
  return MZ_OPTIMIZER_HEAD_BYTES + 3 * vector_bytes(state); /* version 1 has the average, too */
}

static mz_status write_optimizer(const mz_state *state, mz_writer *writer) {
  const mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  const float *average = mz_learner_average(state->learner);
  size_t bytes = (size_t)state->model.params.size * sizeof(float);
  mz_write_u64(writer, (uint64_t)optimizer->steps);
  mz_write_u64(writer, (uint64_t)state->model.params.size);
  mz_write_u8(writer, optimizer->moment2 != NULL);
  mz_write_u8(writer, average != NULL);
  mz_write(writer, optimizer->moment1, bytes);
  if (optimizer->moment2) mz_write(writer, optimizer->moment2, bytes);
  return MZ_OK;
}

/* A run that begins with another one's state takes over what its optimizer gathered. */
static mz_status check_optimizer(const mz_state *state, const mz_settings *stored) {
  const bool adam = stored->optimizer.kind == MZ_ADAM, average = stored->learning.average > 0;
  const char *kind = adam ? "adam" : "sgd";
  if (stored->optimizer.kind != state->settings.optimizer.kind)
    return mz_fail(MZ_E_CONFIG, "optimizer: the state that this run begins with is that of %s; nearest valid value: %s", kind,
                   kind);
  if (average != (mz_learner_average(state->learner) != NULL))
    return mz_fail(MZ_E_CONFIG,
                   "weight_average: the state that this run begins with has %s average of weights; nearest valid "
                   "value: %g",
                   average ? "an" : "no", stored->learning.average);
  return MZ_OK;
}

static mz_status read_optimizer(mz_state *state, mz_reader *reader, const origin *from) {
  mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  float *average = mz_learner_average(state->learner);
  size_t bytes = (size_t)state->model.params.size * sizeof(float);
  MZ_TRY(check_optimizer(state, from->stored));
  MZ_TRY(mz_count_read("optimizer", "steps", reader, &optimizer->steps));
  uint64_t size = mz_read_u64(reader);
  bool second = mz_read_u8(reader), averaged = mz_read_u8(reader);
  if (size != (uint64_t)state->model.params.size || second != (optimizer->moment2 != NULL) || averaged != (average != NULL))
    return mz_fail(MZ_E_CHECKPOINT, "section 'optimizer': made for another optimizer or network (%llu parameters, %lld wanted)",
                   (unsigned long long)size, (long long)state->model.params.size);
  mz_read(reader, optimizer->moment1, bytes);
  if (second) mz_read(reader, optimizer->moment2, bytes);
  if (averaged && !has_average(state, from)) mz_read(reader, average, bytes);
  return MZ_OK;
}

static size_t average_max(const mz_state *state, const mz_settings *stored) {
  (void)stored;
  return vector_bytes(state);
}

static mz_status write_average(const mz_state *state, mz_writer *writer) {
  const float *average = mz_learner_average(state->learner);
  if (average) mz_write(writer, average, vector_bytes(state));
  return MZ_OK;
}

static mz_status read_average(mz_state *state, mz_reader *reader, const origin *from) {
  (void)from;
  mz_read(reader, mz_learner_average(state->learner), vector_bytes(state));
  return MZ_OK;
}

/* ---- replay ---- */

/* The index of the replay: for each segment, of at least one transition, hash and length, and a priority a transition. */
static size_t replay_max(const mz_state *state, const mz_settings *stored) {
  (void)state;
  return 64 + (size_t)stored->replay.capacity * 16;
}

static mz_status write_replay(const mz_state *state, mz_writer *writer) {
  mz_buffer_write(state->buffer, writer);
  return MZ_OK;
}

static mz_status read_replay(mz_state *state, mz_reader *reader, const origin *from) {
  return mz_buffer_read(state->buffer, reader, from->load, from->context);
}

/* ---- games ---- */

/* A game without a limit has at most the moves that a segment takes; written they are smaller, with the versions beside them not
 * twice as large. */
static size_t games_max(const mz_state *state, const mz_settings *stored) {
  const mz_spec *spec = &state->env->spec;
  const mz_cut cut = mz_state_cut(stored);
  const size_t moves = cut.segment_moves > 0 ? (size_t)cut.segment_moves + (size_t)cut.look_ahead : (size_t)spec->max_moves;
  const size_t a_move = mz_spec_obs_bytes(spec) + (size_t)spec->actions * 8 + 64;
  const size_t recorded = moves > 0 ? (moves + 1) * a_move : 2 * (size_t)MZ_SEGMENT_BYTES_MAX;
  return 64 + (size_t)stored->selfplay.games * (2 * state->env->state_size + 128 + recorded);
}

static mz_status write_games(const mz_state *state, mz_writer *writer) {
  mz_games_write(state->games, writer);
  return MZ_OK;
}

static mz_status read_games(mz_state *state, mz_reader *reader, const origin *from) {
  (void)from;
  return mz_games_read(state->games, reader);
}

/* ---- counters ---- */

static size_t counters_max(const mz_state *state, const mz_settings *stored) {
  (void)state, (void)stored;
  return MZ_COUNTERS_BYTES;
}

static mz_status write_counters(const mz_state *state, mz_writer *writer) {
  const mz_counters *c = &state->counters;
  mz_write_u64(writer, state->seed);
  const int64_t values[] = {c->rounds, c->phases, c->updates, c->env_steps, c->simulations, c->episodes};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) mz_write_u64(writer, (uint64_t)values[i]);
  return MZ_OK;
}

static mz_status read_counters(mz_state *state, mz_reader *reader, const origin *from) {
  (void)from;
  state->seed = mz_read_u64(reader);
  return mz_counters_read(&state->counters, reader);
}

/* ---- loop_count ---- */

enum { LOOP_COUNT_BYTES = 8 };

static bool has_loop_count(const mz_state *state, const origin *from) {
  (void)state;
  return mz_checkpoint_find(from->checkpoint, "loop_count") != NULL;
}

static size_t loop_count_max(const mz_state *state, const mz_settings *stored) {
  (void)state, (void)stored;
  return LOOP_COUNT_BYTES;
}

static mz_status write_loop_count(const mz_state *state, mz_writer *writer) {
  if (state->moves_loop_count) mz_write_u64(writer, (uint64_t)state->settings.learning.loop_count);
  return MZ_OK;
}

static mz_status read_loop_count(mz_state *state, mz_reader *reader, const origin *from) {
  (void)from;
  const uint64_t loops = mz_read_u64(reader);
  if (loops > MZ_LOOP_COUNT_MAX)
    return mz_fail(MZ_E_CHECKPOINT, "section 'loop_count': damaged: %llu updates a round, %d at the most",
                   (unsigned long long)loops, MZ_LOOP_COUNT_MAX);
  state->settings.learning.loop_count = (int64_t)loops;
  state->moves_loop_count = true;
  return MZ_OK;
}

/* ---- batch_size ---- */

static mz_status write_batch_size(const mz_state *state, mz_writer *writer) {
  if (!state->moves_batch_size) return MZ_OK;
  mz_write_u64(writer, (uint64_t)state->settings.learning.batch_size);
  mz_write_u64(writer, (uint64_t)state->trained_rows);
  return MZ_OK;
}

/* A state that continues one whose batches had one size goes on counting from its updates. */
static mz_status load_batch_size(mz_state *state, const origin *from) {
  mz_batch_size stored;
  MZ_TRY(mz_batch_size_stored(from->checkpoint, &stored));
  const bool moved = stored.rows > 0;
  state->trained_rows = moved ? stored.trained_rows : state->counters.updates * state->own.learning.batch_size;
  state->moves_batch_size = state->moves_batch_size || moved;
  return MZ_OK;
}

/* ---- all of them ---- */

typedef struct section_row {
  const char *name;
  bool extends; /* the digest counts it to the part before it */
  mz_status (*write)(const mz_state *state, mz_writer *writer);
  mz_status (*load)(mz_state *state, const origin *from); /* NULL: the next two do it */
  mz_status (*read)(mz_state *state, mz_reader *reader, const origin *from);
  size_t (*bytes_max)(const mz_state *state, const mz_settings *stored); /* whatever the run is set to now */
  bool (*there)(const mz_state *state, const origin *from);              /* NULL: always */
} section_row;

static const section_row table[MZ_STATE_SECTIONS] = {
    {"weights", .write = write_learned, .load = load_learned},
    {"target", .write = write_target, .load = load_target},
    {"optimizer", .write = write_optimizer, .read = read_optimizer, .bytes_max = optimizer_max},
    {"average", true, write_average, NULL, read_average, average_max, has_average},
    {"replay", .write = write_replay, .read = read_replay, .bytes_max = replay_max},
    {"games", .write = write_games, .read = read_games, .bytes_max = games_max},
    {"counters", .write = write_counters, .read = read_counters, .bytes_max = counters_max},
    {"loop_count", true, write_loop_count, NULL, read_loop_count, loop_count_max, has_loop_count},
    {"batch_size", true, .write = write_batch_size, .load = load_batch_size},
};

const char *mz_state_section_name(int section) { return table[section].name; }

mz_status mz_state_write(const mz_state *state, mz_writer sections[MZ_STATE_SECTIONS]) {
  memset(sections, 0, MZ_STATE_SECTIONS * sizeof *sections);
  mz_status status;
  MZ_TRY_CLEANUP(mz_learner_fetch(state->learner, true));
  for (int i = 0; i < MZ_STATE_SECTIONS; i++) {
    MZ_TRY_CLEANUP(table[i].write(state, &sections[i]));
    if (sections[i].failed)
      MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "checkpoint: no memory for the copy of section '%s'", table[i].name));
  }
cleanup:
  if (status != MZ_OK)
    for (int i = 0; i < MZ_STATE_SECTIONS; i++) mz_writer_free(&sections[i]);
  return status;
}

static mz_status read_section(mz_state *state, const section_row *row, const origin *from) {
  if (row->there && !row->there(state, from)) return MZ_OK;
  if (row->load) return row->load(state, from);
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(from->checkpoint, row->name, row->bytes_max(state, from->stored), &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  mz_status status = row->read(state, &reader, from);
  if (status == MZ_OK && (!reader.ok || mz_reader_left(&reader) != 0))
    status = mz_fail(MZ_E_CHECKPOINT, "section '%s': %s", row->name, reader.ok ? "bytes left over" : "too short");
  free(data);
  return status;
}

/* A run without one, which another is begun from, has its present state for the sound one. */
static mz_status read_guard(mz_state *state, const origin *from) {
  if (from->stored->guard.mode == MZ_GUARD_BACK) return mz_guard_read(state->guard, from->checkpoint);
  mz_guard_keep(state->guard, state);
  return MZ_OK;
}

mz_status mz_state_read(mz_state *state, const mz_checkpoint *checkpoint, mz_status (*load)(void *, uint64_t, mz_segment **),
                        void *context) {
  mz_settings stored;
  const origin from = {checkpoint, &stored, load, context};
  mz_config config = mz_settings_config(&stored, NULL);
  const mz_env *env;
  MZ_TRY(mz_config_stored(checkpoint, &config, &env));
  for (int i = 0; i < MZ_STATE_SECTIONS; i++) MZ_TRY(read_section(state, &table[i], &from));
  if (mz_state_check_finite(state) != MZ_OK) return mz_fail(MZ_E_CHECKPOINT, "%s: %s", checkpoint->path, mz_message());
  MZ_TRY(mz_learner_weights_changed(state->learner));
  MZ_TRY(mz_state_target_changed(state));
  if (state->guard) MZ_TRY(read_guard(state, &from));
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
  int part = -1;
  bool failed = false;
  for (int i = 0; i < MZ_STATE_SECTIONS && !failed; i++) {
    if (table[i].extends) continue;
    for (int next = i + 1; next < MZ_STATE_SECTIONS && table[next].extends; next++)
      mz_write(&sections[i], sections[next].data, sections[next].size);
    failed = sections[i].failed;
    if (!failed) hashes[++part] = mz_hash(sections[i].data, sections[i].size, 0);
  }
  for (int i = 0; i < MZ_STATE_SECTIONS; i++) mz_writer_free(&sections[i]);
  if (failed) return mz_fail(MZ_E_MEMORY, "digest: no memory for the copy of a section");
  MZ_ASSERT(part == MZ_DIGEST_PARTS - 1);
  *digest = mz_digest_of_parts(hashes);
  return MZ_OK;
}
