/* The batch size as state, and what goes by the rows that were trained because of it. */
#include "muzero/batch_rule.h"
#include "muzero/training/state.h"

/* The same network, but for the momentum of its statistics. */
static mz_status change_model(mz_state *state, const mz_settings *next) {
  mz_model *model;
  MZ_TRY(mz_alloc(&model, 1, sizeof *model));
  const mz_status status = mz_model_init(model, &next->network, &state->env->spec);
  if (status == MZ_OK) state->model = *model;
  free(model);
  return status;
}

mz_status mz_state_set_batch_size(mz_state *state, int64_t rows, const char *where) {
  mz_settings next = state->own;
  if (rows == state->settings.learning.batch_size) return MZ_OK;
  MZ_TRY(mz_batch_rule_apply(&next, rows, where));
  MZ_TRY(change_model(state, &next));
  state->trained_rows = mz_state_trained_rows(state);
  state->moves_batch_size = true;
  state->settings.learning = next.learning;
  state->settings.optimizer = next.optimizer;
  state->settings.network = next.network;
  state->settings.train = next.train;
  const mz_learner_settings learning = mz_state_learning(&state->settings);
  return mz_learner_resize_batch(state->learner, &state->where.learning, &learning);
}

int64_t mz_state_trained_rows(const mz_state *s) {
  return s->moves_batch_size ? s->trained_rows : s->counters.updates * s->own.learning.batch_size;
}

double mz_state_progress(const mz_state *s) {
  if (s->own.train.horizon == 0) return 0;
  const double all = (double)s->own.train.horizon * (double)s->own.learning.batch_size;
  const double progress = (double)mz_state_trained_rows(s) / all;
  return progress < 1 ? progress : 1;
}

mz_rate_position mz_state_rate_position(const mz_state *s) {
  const double own = (double)s->own.learning.batch_size, present = (double)s->settings.learning.batch_size;
  return (mz_rate_position){.update = (double)mz_state_trained_rows(s) / present,
                            .warmup = (double)s->own.optimizer.warmup_updates * own / present,
                            .horizon = (double)s->own.train.horizon * own / present};
}

int64_t mz_state_updates_at(const mz_state *s, int64_t own_updates) {
  const int64_t rows = s->settings.learning.batch_size;
  const int64_t left = own_updates * s->own.learning.batch_size - mz_state_trained_rows(s);
  const int64_t updates = s->counters.updates + (left > 0 ? (left + rows - 1) / rows : 0);
  return updates > 1 ? updates : 1;
}
