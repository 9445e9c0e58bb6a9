/* The updates a round, which goodput moves and a repeated run follows: what the pipeline is with another number of them, or with batches of
 * another size. */
#include "muzero/knobs.h"
#include "muzero/steering/history_key.h"
#include "muzero/steering/steer_state.h"

mz_status mz_steer_describe(mz_steer *s, const mz_settings *settings, const mz_memory *memory, mz_outset *out) {
  *out = s->outset;
  const mz_knobs in_force = mz_steer_knobs(s);
  mz_device_records before;
  mz_steer_device_records(s, &in_force, &before);
  const mz_outset_options options = {.bounds = s->bounds, .threads = s->threads, .choice = &s->choice, .before = &before};
  MZ_TRY(mz_outset_on_devices(out, settings, memory, &options));
  mz_pipeline_take_probes(&out->pipeline, &s->outset.pipeline);
  out->pipeline.handoff_s = s->outset.pipeline.handoff_s;
  return MZ_OK;
}

mz_status mz_steer_turn_to_work(mz_steer *s) {
  mz_history_key_of(&s->key, s->state->env, &s->state->settings, &s->state->model, s->bounds.cpu_max, &s->outset.devices);
  MZ_TRY(mz_steer_read_history(s));
  return mz_steer_keep_pipeline(s);
}

/* Under the present loop_count. */
static mz_status describe_anew(mz_steer *s) {
  mz_outset *next;
  MZ_TRY(mz_alloc(&next, 1, sizeof *next));
  const mz_status status = mz_steer_describe(s, &s->state->settings, &s->memory, next);
  if (status == MZ_OK) s->outset = *next;
  free(next);
  return status;
}

static mz_status take_loop_count(mz_steer *s, mz_learning_settings *learning, int64_t loops) {
  const double before = s->outset.pipeline.unit_samples, now = (double)(loops * learning->batch_size);
  if (before > 0) s->memory.fixed[MZ_MEMORY_ROUND] *= now / before;
  learning->loop_count = loops;
  MZ_TRY(describe_anew(s));
  return mz_steer_turn_to_work(s);
}

static bool describes(const mz_steer *s, int64_t loops) {
  return s->outset.pipeline.unit_samples == (double)(loops * s->state->settings.learning.batch_size);
}

mz_status mz_steer_set_loop_count(mz_steer *s, mz_workers *workers, int64_t loops, const mz_plan *start) {
  const mz_plan plan = *start; /* the allocator's own may be given */
  if (!describes(s, loops)) MZ_TRY(take_loop_count(s, &workers->state->settings.learning, loops));
  mz_allocator_options options = s->options;
  options.start = mz_plan_clamp(&s->outset.pipeline, &plan); /* fewer updates may mean fewer builders */
  return mz_steer_begin_anew(s, workers, &options);
}

mz_status mz_steer_resume(mz_steer *s, mz_workers *workers) {
  const int64_t loops = s->state->settings.learning.loop_count;
  if (mz_steer_plan_is_due(s)) return mz_steer_follow(s, workers);
  return describes(s, loops) ? MZ_OK : mz_steer_set_loop_count(s, workers, loops, mz_allocator_kept(s->allocator));
}
