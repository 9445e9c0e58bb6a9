#include "muzero/training/guard.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include "muzero/storage/stored.h"
#include <math.h>
#include <string.h>

enum { VECTORS = 5, HEAD_BYTES = 4 * 8 };

struct mz_guard {
  int64_t limit, backs, rounds, steps; /* steps: the optimizer's */
  size_t size;                         /* elements of a vector */
  float *vectors[VECTORS];             /* weights, target, average, moments 1 and 2; NULL: there is none */
  void *block;
  char why[MZ_MESSAGE_MAX];
};

static mz_status check(double value, double bound, int64_t update, const char *what, const char *setting) {
  if (bound <= 0 || value <= bound) return MZ_OK;
  return mz_fail(MZ_E_DIVERGED, "update %lld: %s is %g, above %s %g", (long long)update, what, value, setting, bound);
}

mz_status mz_guard_check(const mz_guard_settings *s, int64_t update, const mz_update_seen *seen) {
  if (s->mode == MZ_GUARD_OFF) return MZ_OK;
  MZ_TRY(check(seen->loss, s->loss_max, update, "the loss", "numerics.loss_max"));
  MZ_TRY(check(seen->norm, s->norm_max, update, "the gradient's norm", "numerics.norm_max"));
  return check(seen->value_rms, s->value_max, update, "the root mean square of the predicted values", "numerics.value_max");
}

static void vectors_of(const mz_state *state, float *out[VECTORS]) {
  const mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  float *const all[VECTORS] = {mz_learner_weights(state->learner), state->target, mz_learner_average(state->learner),
                               optimizer->moment1, optimizer->moment2};
  memcpy(out, all, sizeof all);
}

mz_status mz_guard_create(mz_guard **out, const mz_state *state) {
  mz_guard *guard;
  MZ_TRY(mz_alloc(&guard, 1, sizeof *guard));
  guard->limit = state->settings.guard.backs;
  guard->size = (size_t)state->model.params.size;
  float *vectors[VECTORS];
  vectors_of(state, vectors);
  mz_carver carver = {0};
  for (int i = 0; i < VECTORS; i++)
    if (vectors[i]) mz_carve(&carver, &guard->vectors[i], guard->size, sizeof(float));
  const mz_status status = mz_carve_commit(&carver, &guard->block);
  if (status != MZ_OK) {
    mz_guard_free(guard);
    return status;
  }
  mz_guard_keep(guard, state);
  *out = guard;
  return MZ_OK;
}

void mz_guard_free(mz_guard *guard) {
  if (!guard) return;
  free(guard->block);
  free(guard);
}

void mz_guard_keep(mz_guard *guard, const mz_state *state) {
  float *vectors[VECTORS];
  vectors_of(state, vectors);
  for (int i = 0; i < VECTORS; i++)
    if (guard->vectors[i]) memcpy(guard->vectors[i], vectors[i], guard->size * sizeof(float));
  guard->steps = mz_learner_optimizer(state->learner)->steps;
  guard->rounds = state->counters.rounds;
}

mz_status mz_guard_go_back(mz_guard *guard, mz_state *state) {
  if (guard->backs >= guard->limit)
    return mz_fail(MZ_E_DIVERGED, "%s, after it went back %lld times (numerics.backs)", mz_message(), (long long)guard->backs);
  snprintf(guard->why, sizeof guard->why, "%s", mz_message());
  float *vectors[VECTORS];
  vectors_of(state, vectors);
  for (int i = 0; i < VECTORS; i++)
    if (guard->vectors[i]) memcpy(vectors[i], guard->vectors[i], guard->size * sizeof(float));
  mz_learner_optimizer(state->learner)->steps = guard->steps;
  guard->backs++;
  MZ_TRY(mz_learner_weights_changed(state->learner));
  return mz_state_target_changed(state);
}

void mz_guard_begin_run(mz_guard *guard) { guard->backs = 0; }
int64_t mz_guard_backs(const mz_guard *guard) { return guard->backs; }
int64_t mz_guard_kept_rounds(const mz_guard *guard) { return guard->rounds; }
const char *mz_guard_why(const mz_guard *guard) { return guard->why; }

static size_t written_bytes(const mz_guard *guard) {
  size_t vectors = 0;
  for (int i = 0; i < VECTORS; i++) vectors += guard->vectors[i] != NULL;
  return HEAD_BYTES + vectors * guard->size * sizeof(float);
}

void mz_guard_write(const mz_guard *guard, mz_writer *writer) {
  mz_write_u64(writer, (uint64_t)guard->backs);
  mz_write_u64(writer, (uint64_t)guard->rounds);
  mz_write_u64(writer, (uint64_t)guard->steps);
  mz_write_u64(writer, guard->size);
  for (int i = 0; i < VECTORS; i++)
    if (guard->vectors[i]) mz_write(writer, guard->vectors[i], guard->size * sizeof(float));
}

static mz_status read_section(mz_guard *guard, mz_reader *reader) {
  MZ_TRY(mz_count_read("guard", "backs", reader, &guard->backs));
  MZ_TRY(mz_count_read("guard", "rounds", reader, &guard->rounds));
  MZ_TRY(mz_count_read("guard", "steps", reader, &guard->steps));
  if (mz_read_u64(reader) != guard->size) return mz_fail(MZ_E_CHECKPOINT, "section 'guard': made for another network");
  for (int i = 0; i < VECTORS; i++) {
    if (!guard->vectors[i]) continue;
    mz_read(reader, guard->vectors[i], guard->size * sizeof(float));
    if (!mz_all_finite(guard->vectors[i], guard->size))
      return mz_fail(MZ_E_CHECKPOINT, "section 'guard': holds numbers that are not finite");
  }
  return MZ_OK;
}

mz_status mz_guard_read(mz_guard *guard, const mz_checkpoint *checkpoint) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, "guard", written_bytes(guard), &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  mz_status status = size == written_bytes(guard)
                         ? read_section(guard, &reader)
                         : mz_fail(MZ_E_CHECKPOINT, "section 'guard': %zu bytes, wanted %zu", size, written_bytes(guard));
  free(data);
  return status;
}
