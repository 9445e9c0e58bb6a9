/* The devices of a run: which its stages compute on, and whether a resumed run may continue there. */
#include "muzero/run.h"

void mz_run_devices_text(const mz_run *run, char *out, size_t size) {
  const mz_knobs kept = mz_steer_kept_knobs(run->steer);
  mz_device_records devices;
  char where[320];
  mz_steer_device_records(run->steer, &kept, &devices);
  out[0] = '\0';
  if (run->choice.why[0] == '\0' && !mz_device_records_use_gpu(&devices)) return;
  mz_device_records_text(&devices, where, sizeof where);
  snprintf(out, size, "%s%s%s", where, run->choice.why[0] ? ": " : "", run->choice.why);
}

mz_status mz_run_check_devices(const mz_run *run) {
  const mz_knobs kept = mz_steer_kept_knobs(run->steer); /* what is on trial may change rounding only where that is wanted */
  mz_device_records now;
  char what[480];
  mz_steer_device_records(run->steer, &kept, &now);
  if (!mz_device_records_differ(&run->recorded, &now, what, sizeof what)) return MZ_OK;
  const bool gone = run->choice.gpus.count == 0 && mz_device_records_use_gpu(&run->recorded);
  return mz_fail(MZ_E_CONFIG, "%s: %s%s%s%s; the same mathematics, other rounding: --allow-numeric continues all the same",
                 run->dir, what, gone ? " (" : "", gone ? run->choice.missing : "", gone ? ")" : "");
}
