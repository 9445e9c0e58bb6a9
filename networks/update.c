#include "networks/update.h"

mz_status mz_update_create(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                           const mz_update_vectors *vectors, mz_pool *pool) {
  MZ_ASSERT(where->backend->updater != NULL && settings->batch_size % settings->shards == 0);
  return where->backend->updater->create(out, where, model, settings, vectors, pool);
}

void mz_update_free(mz_update *update) {
  if (update != NULL) update->updater->free(update);
}

mz_lane_bytes mz_update_bytes(const mz_lane *where, const mz_model *model, const mz_update_settings *settings) {
  return where->backend->updater->bytes(model, settings);
}

mz_status mz_update_record(mz_tape **out, const mz_lane *lane, const mz_model *model, const mz_update_settings *settings,
                           mz_loss *loss) {
  MZ_TRY(mz_tape_create(out, lane, &model->params, (int)(settings->batch_size / settings->shards), true));
  mz_tape_set_share(*out, 1.0 / (double)settings->shards);
  mz_loss_build(loss, model, &settings->loss, *out);
  return MZ_OK;
}

mz_status mz_update_thread_bytes(const mz_lane *where, const mz_model *model, const mz_update_settings *settings, double *bytes) {
  mz_tape *tape;
  mz_loss loss;
  size_t size = 0;
  MZ_TRY(mz_update_record(&tape, where, model, settings, &loss));
  const mz_status status = mz_tape_measure(tape, &size);
  mz_tape_free(tape);
  *bytes = (double)size;
  return status;
}

mz_status mz_update_changed(mz_update *update) { return update->updater->changed(update); }

mz_status mz_update_run(mz_update *update, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report) {
  return update->updater->run(update, rows, step, report);
}

mz_status mz_update_fetch(mz_update *update, bool moments) {
  return update->updater->fetch == NULL ? MZ_OK : update->updater->fetch(update, moments);
}

mz_status mz_update_probe(mz_update *update, const mz_update_rows *rows, double *loss) {
  return update->updater->probe(update, rows, loss);
}
