/* A trained agent from a run or a checkpoint file: the model and the published weights, nothing of the run around it. */
#include "base/maths/digest.h"
#include "base/maths/maths.h"
#include "envs/allocation.h"
#include "muzero/steering/device_choice.h"
#include "muzero/storage/run_path.h"
#include "muzero/storage/sections.h"
#include "muzero/storage/stored.h"
#include <string.h>

struct mz_loaded {
  const mz_env *env;
  mz_settings settings;
  mz_model model;
  float *weights;
  mz_lane where;
  mz_prepared *prepared; /* there */
  mz_counters counters;
  uint64_t seed, course;
  mz_lost_workers lost;
};

static mz_status load_settings(mz_loaded *l, const mz_checkpoint *checkpoint) {
  mz_config config = mz_settings_config(&l->settings, NULL);
  return mz_config_stored(checkpoint, &config, &l->env);
}

/* Finds the average in section 'optimizer' of version 1, behind the moments that its head speaks of. */
static mz_status find_in_optimizer(const uint8_t *data, size_t size, size_t bytes, const uint8_t **average) {
  mz_reader reader = mz_reader_over(data, size);
  mz_read_u64(&reader); /* steps */
  const uint64_t parameters = mz_read_u64(&reader);
  const size_t moments = mz_read_u8(&reader) ? 2 : 1;
  const bool averaged = mz_read_u8(&reader);
  *average = data + MZ_OPTIMIZER_HEAD_BYTES + moments * bytes;
  const bool whole = averaged && parameters * sizeof(float) == bytes && size == MZ_OPTIMIZER_HEAD_BYTES + (moments + 1) * bytes;
  return whole ? MZ_OK
               : mz_fail(MZ_E_CHECKPOINT, "section 'optimizer': %zu bytes hold no average of the network's weights", size);
}

/* The weights that are published are their average where there is one. */
static mz_status load_average(mz_loaded *l, const mz_checkpoint *checkpoint) {
  const size_t bytes = (size_t)l->model.params.size * sizeof(float);
  const mz_section *optimizer = mz_checkpoint_find(checkpoint, "optimizer");
  const bool own = !optimizer || optimizer->version >= MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION;
  const char *name = own ? "average" : "optimizer";
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, name, own ? bytes : MZ_OPTIMIZER_HEAD_BYTES + 3 * bytes, &data, &size));
  const uint8_t *average = data;
  mz_status status = MZ_OK;
  if (!own)
    status = find_in_optimizer(data, size, bytes, &average);
  else if (size != bytes)
    status = mz_fail(MZ_E_CHECKPOINT, "section 'average': %zu bytes do not fit the network", size);
  if (status == MZ_OK) memcpy(l->weights, average, bytes);
  free(data);
  if (status == MZ_OK && !mz_all_finite(l->weights, (size_t)l->model.params.size))
    status = mz_fail(MZ_E_CHECKPOINT, "section '%s': the average of the weights is not finite", name);
  return status == MZ_OK ? MZ_OK : mz_fail(status, "%s: %s", checkpoint->path, mz_message());
}

static mz_status load_weights(mz_loaded *l, const mz_checkpoint *checkpoint) {
  MZ_TRY(mz_weights_claimed(checkpoint, "weights", &l->model.params));
  MZ_TRY(mz_alloc(&l->weights, (size_t)l->model.params.size, sizeof(float)));
  MZ_TRY(mz_weights_stored(checkpoint, "weights", &l->model.params, l->weights)); /* names and shapes are checked here */
  return l->settings.learning.average > 0 ? load_average(l, checkpoint) : MZ_OK;
}

/* The session of a checkpoint tells what was lost with workers and, of `allocation`, which course it was; it need be neither there nor
 * sound. */
static mz_status load_session(mz_loaded *l, const mz_checkpoint *checkpoint) {
  cJSON *json;
  if (!mz_checkpoint_find(checkpoint, "session")) return MZ_OK;
  const mz_status status = mz_checkpoint_json(checkpoint, "session", &json);
  if (status != MZ_OK) return status == MZ_E_MEMORY ? status : MZ_OK;
  l->lost = mz_lost_from_json(json);
  if (mz_json_get_u64_hex(json, "course", "section 'session'", MZ_E_CHECKPOINT, &l->course) != MZ_OK) l->course = 0;
  cJSON_Delete(json);
  return MZ_OK;
}

/* Weights do not fit where the file of a course has been given other plans since. */
static mz_status wrap_course(const mz_loaded *l, const char *file, mz_status status) {
  const mz_course *course = mz_allocation_course(l->env);
  if (status != MZ_E_CHECKPOINT || !course || l->course == 0 || l->course == course->digest) return status;
  return mz_fail(
      MZ_E_CONFIG,
      "%s: was trained on another course (%016llx) than %s now holds (%016llx): put that file there again, or train anew", file,
      (unsigned long long)l->course, mz_allocation_path(l->env), (unsigned long long)course->digest);
}

bool mz_names_run(const char *who) { return strchr(who, '/') != NULL || mz_run_path_exists(who); }

mz_status mz_loaded_open(mz_loaded **out, const char *path) {
  char file[640];
  mz_checkpoint checkpoint = {0};
  mz_loaded *l;
  MZ_TRY(mz_alloc(&l, 1, sizeof *l));
  mz_status status;
  MZ_TRY_CLEANUP(mz_run_checkpoint_path(path, file, sizeof file));
  MZ_TRY_CLEANUP(mz_checkpoint_open(&checkpoint, file));
  MZ_TRY_CLEANUP(load_settings(l, &checkpoint));
  MZ_TRY_CLEANUP(mz_model_init(&l->model, &l->settings.network, &l->env->spec));
  MZ_TRY_CLEANUP(load_session(l, &checkpoint));
  MZ_TRY_CLEANUP(wrap_course(l, file, load_weights(l, &checkpoint)));
  l->where = mz_lane_cpu;
  MZ_TRY_CLEANUP(mz_prepared_create(&l->prepared, &l->model, &l->where, l->weights));
  MZ_TRY_CLEANUP(mz_counters_stored(&checkpoint, &l->seed, &l->counters));
  *out = l;
cleanup:
  mz_checkpoint_close(&checkpoint);
  if (status != MZ_OK) mz_loaded_close(l);
  return status;
}

mz_status mz_loaded_place(mz_loaded *l, const char *device) {
  mz_lane where;
  mz_prepared *prepared;
  MZ_TRY(mz_device_lane(device, &l->settings, &l->env->spec, &where));
  if (mz_lane_same(&where, &l->where)) return MZ_OK;
  MZ_TRY(mz_prepared_create(&prepared, &l->model, &where, l->weights));
  mz_prepared_release(l->prepared);
  l->prepared = prepared;
  l->where = where;
  return MZ_OK;
}

void mz_loaded_close(mz_loaded *l) {
  if (!l) return;
  free(l->weights);
  mz_prepared_release(l->prepared);
  free(l);
}

mz_agent mz_loaded_agent(const mz_loaded *l) {
  return (mz_agent){.env = l->env,
                    .search = &l->settings.search,
                    .model = &l->model,
                    .where = &l->where,
                    .discount = l->settings.replay.discount,
                    .weights = l->prepared,
                    .simulations = (int)l->settings.train.eval_simulations,
                    .symmetry = l->settings.train.eval_symmetry};
}

const mz_settings *mz_loaded_settings(const mz_loaded *l) { return &l->settings; }
const mz_counters *mz_loaded_counters(const mz_loaded *l) { return &l->counters; }
uint64_t mz_loaded_seed(const mz_loaded *l) { return l->seed; }
mz_lost_workers mz_loaded_lost(const mz_loaded *l) { return l->lost; }
uint64_t mz_loaded_course(const mz_loaded *l) { return l->course; }
uint64_t mz_loaded_digest(const mz_loaded *l) { return mz_hash(l->weights, (size_t)l->model.params.size * sizeof(float), 0); }
