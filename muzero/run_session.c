/* Section 'session' of a checkpoint: where the run stands beside its state, for resume. */
#include "base/log.h"
#include "envs/allocation.h"
#include "muzero/knobs.h"
#include "muzero/run.h"
#include "muzero/storage/stored.h"
#include "networks/isa.h"
#include <math.h>
#include <string.h>

mz_lost_workers mz_run_lost(const mz_run *run) {
  const mz_lost_workers now = mz_worker_env_lost(run->state.env), *before = &run->lost_before, *since = &run->lost_at_open;
  return (mz_lost_workers){.workers = before->workers + now.workers - since->workers,
                           .games = before->games + now.games - since->games};
}

mz_status mz_run_session(const mz_run *run, char **out) {
  const mz_knobs kept = mz_steer_kept_knobs(run->steer);
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "wall_s", mz_run_wall_s(run));
  cJSON_AddNumberToObject(json, "score", run->score);
  cJSON_AddNumberToObject(json, "best_score", run->best_score);
  cJSON_AddNumberToObject(json, "reached", (double)run->reached);
  if (run->owes_evaluation) cJSON_AddBoolToObject(json, "owes_evaluation", true);
  cJSON_AddNumberToObject(json, "game_s", run->game_s); /* NAN: null */
  cJSON_AddNumberToObject(json, "game_cores", run->game_cores);
  mz_json_add(json, "game_lengths", cJSON_CreateDoubleArray(run->lengths.last, MZ_GAME_LENGTHS));
  cJSON_AddNumberToObject(json, "longest_game", run->lengths.longest);
  if (run->best_rounds >= 0) cJSON_AddNumberToObject(json, "best_rounds", (double)run->best_rounds);
  mz_json_add_u64_hex(json, "metrics_offset", run->metrics.offset);
  mz_json_add_u64_hex(json, "ledger_offset", mz_steer_ledger_offset(run->steer));
  mz_json_add(json, "plan", mz_knobs_to_json(&kept));
  cJSON_AddNumberToObject(json, "cost", run->cost + run->reserved.cost); /* within a phase, too */
  cJSON_AddNumberToObject(json, "fallbacks", run->fallbacks);
  const mz_lost_workers lost = mz_run_lost(run);
  cJSON_AddNumberToObject(json, "lost_workers", (double)lost.workers);
  cJSON_AddNumberToObject(json, "lost_games", (double)lost.games);
  cJSON_AddStringToObject(json, "isa", mz_isa_name(mz_isa_level()));
  mz_device_records devices;
  mz_steer_device_records(run->steer, &kept, &devices);
  mz_json_add(json, "devices", mz_device_records_to_json(&devices));
  if (run->parent) cJSON_AddStringToObject(json, "parent", run->parent);
  /* A course's file may change: whoever lets the agent decide compares. */
  const mz_course *course = mz_allocation_course(run->state.env);
  if (course) mz_json_add_u64_hex(json, "course", course->digest);
  *out = mz_json_line(json);
  cJSON_Delete(json);
  return *out ? MZ_OK : mz_fail(MZ_E_MEMORY, "checkpoint: no memory for section 'session'");
}

static double number_or(const cJSON *json, const char *key, double fallback) {
  const double value = mz_json_number_or_nan(json, key);
  return isfinite(value) ? value : fallback;
}

/* They are not in checkpoints from before. */
static void restore_lengths(mz_game_lengths *lengths, const cJSON *json) {
  const cJSON *last = cJSON_GetObjectItemCaseSensitive(json, "game_lengths");
  for (int i = 0; i < MZ_GAME_LENGTHS && i < cJSON_GetArraySize(last); i++)
    lengths->last[i] = fmin(fmax(cJSON_GetNumberValue(cJSON_GetArrayItem(last, i)), 0), 1e9); /* of none: 0 */
  lengths->longest = fmin(fmax(number_or(json, "longest_game", 0), 0), 1e9);
}

static mz_status restore(mz_run *run, const cJSON *json, const char *path, mz_log_offsets *offsets) {
  run->wall_before_s = number_or(json, "wall_s", 0);
  run->score = mz_json_number_or_nan(json, "score");
  run->best_score = mz_json_number_or_nan(json, "best_score");
  run->reached = (int64_t)fmin(fmax(number_or(json, "reached", 0), 0), 1e6);
  run->owes_evaluation = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "owes_evaluation"));
  run->game_s = mz_json_number_or_nan(json, "game_s");
  run->game_cores = (int)fmin(fmax(number_or(json, "game_cores", 0), 0), 1e6); /* not in checkpoints from before */
  restore_lengths(&run->lengths, json);
  run->cost = number_or(json, "cost", 0);
  run->lost_before = mz_lost_from_json(json);
  run->fallbacks = (int)fmin(fmax(number_or(json, "fallbacks", 0), 0), 1e9);
  const double best_rounds = number_or(json, "best_rounds", -1);
  run->best_rounds = best_rounds >= 0 && best_rounds < 1e15 ? (int64_t)best_rounds : -1;
  run->last_plan = mz_knobs_from_json(cJSON_GetObjectItemCaseSensitive(json, "plan"));
  mz_device_records_from_json(&run->recorded, cJSON_GetObjectItemCaseSensitive(json, "devices"));
  MZ_TRY(mz_json_get_u64_hex(json, "metrics_offset", "section 'session'", MZ_E_CHECKPOINT, &offsets->metrics));
  MZ_TRY(mz_json_get_u64_hex(json, "ledger_offset", "section 'session'", MZ_E_CHECKPOINT, &offsets->ledger));
  const char *isa = mz_json_text_or_empty(json, "isa"), *here = mz_isa_name(mz_isa_level());
  if (isa[0] && !mz_isa_names_agree(isa, here))
    mz_log_write(MZ_LOG_WARNING, "%s: this run was made with %s kernels and continues with %s: same mathematics, other rounding",
                 path, isa, here);
  const char *parent = mz_json_text_or_empty(json, "parent");
  if (parent[0] && !(run->parent = strdup(parent))) return mz_fail(MZ_E_MEMORY, "%s: no memory for its session", path);
  return MZ_OK;
}

mz_status mz_run_restore_session(mz_run *run, const mz_checkpoint *checkpoint, mz_log_offsets *offsets) {
  cJSON *json;
  MZ_TRY(mz_checkpoint_json(checkpoint, "session", &json));
  const mz_status status = restore(run, json, checkpoint->path, offsets);
  cJSON_Delete(json);
  return status;
}
