/* The strategy `static`: the cheapest plan of a whole run is made before it begins, from the history's learning curves, and kept. */
#include "allocator/records/ledger.h"
#include "muzero/run.h"
#include "muzero/steering/run_planning.h"
#include <stdlib.h>
#include <string.h>

static mz_promise promise_of(const mz_run_plan *plan, const mz_run_ask *ask) {
  mz_promise out = {.batch_size = plan->batch_size,
                    .epochs = plan->epochs,
                    .deadline_s = ask->deadline_s,
                    .target = ask->target,
                    .budget = ask->budget,
                    .seconds = plan->seconds,
                    .score = plan->score,
                    .cost = plan->cost};
  memcpy(out.amounts, plan->amounts, sizeof out.amounts);
  return out;
}

static bool is_static(const mz_settings *settings) { return strcmp(settings->allocation.strategy, "static") == 0; }

mz_status mz_run_plan_whole(mz_run *run, const mz_env *env, const mz_run_options *options) {
  mz_settings *s = &run->settings;
  mz_run_planning *planning = NULL;
  mz_device_choice *choice;
  mz_run_place *place = NULL;
  mz_status status;
  if (!is_static(s)) return MZ_OK;
  if (options->from)
    return mz_fail(MZ_E_CONFIG,
                   "allocate.strategy: static plans a run from its first round on, and this one continues %s; choose "
                   "another strategy, for example greedy",
                   options->from);
  if (!(s->allocation.score < MZ_SCORE_NONE))
    return mz_fail(MZ_E_CONFIG,
                   "limits.score: strategy static plans for a score, and there is none; set one, for example limits.score=%g",
                   s->train.target < MZ_SCORE_NONE ? s->train.target : 1);
  const mz_run_ask ask = mz_run_ask_of(s, env, options);
  MZ_TRY(mz_alloc(&choice, 1, sizeof *choice));
  MZ_TRY_CLEANUP(mz_alloc(&place, 1, sizeof *place));
  MZ_TRY_CLEANUP(mz_device_choose(choice, options->device, s, &env->spec, NULL));
  MZ_TRY_CLEANUP(mz_run_planning_for(&planning, place, env, s, choice, options, &ask));
  status = mz_run_planning_check(planning, &ask);
  if (status != MZ_OK && options->refused) *options->refused = true;
  MZ_TRY_CLEANUP(status);
  mz_run_plan_apply(&planning->best, &place->outset.pipeline, &ask, s);
  run->promise.is = promise_of(&planning->best, &ask);
  run->promise.made = true;
cleanup:
  mz_run_planning_free(planning);
  free(place);
  free(choice);
  return status;
}

mz_status mz_run_recall_promise(mz_run *run) {
  char path[MZ_DIR_MAX + 32];
  if (!is_static(&run->settings)) return MZ_OK;
  MZ_TRY(mz_ledger_path(run->dir, path, sizeof path));
  return mz_ledger_promise(path, &run->promise.is, &run->promise.made);
}

mz_status mz_run_keep_promise(mz_run *run, mz_reason reason) {
  const mz_counters *c = &run->state.counters;
  if (!run->promise.made || reason == MZ_REASON_INTERRUPTED) return MZ_OK;
  mz_kept_promise kept = {.phase = c->phases,
                          .round = c->rounds,
                          .epochs = c->rounds / run->settings.train.phase_rounds,
                          .seconds = mz_run_wall_s(run),
                          .score = run->best_score,
                          .cost = run->cost};
  snprintf(kept.reason, sizeof kept.reason, "%s", mz_reason_name(reason));
  return mz_steer_keep_promise(run->steer, &run->promise.is, &kept);
}
