/* The devices of a run: which its stages compute on, whether a resumed run may continue there, and the way on when one is lost. */
#include "base/text.h"
#include "muzero/run.h"
#include "muzero/storage/checkpoint_list.h"
#include <string.h>

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

mz_status mz_run_device_lost(mz_run *run) {
  char why[MZ_MESSAGE_MAX], name[MZ_CHECKPOINT_NAME_MAX], path[MZ_DIR_MAX + 128], quoted[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  snprintf(why, sizeof why, "%s", mz_message());
  if (mz_saver_wait(run->saver) != MZ_OK || mz_checkpoint_pointer_read(run->dir, "LATEST", name) != MZ_OK ||
      mz_checkpoint_path(run->dir, name, path, sizeof path) != MZ_OK)
    return mz_fail(MZ_E_DEVICE, "%s", why);
  return mz_fail(
      MZ_E_DEVICE,
      "%s: the device is lost; the last checkpoint is %s; 'muzero resume %s' continues from it when the device is there "
      "again, 'muzero resume %s --device cpu --allow-numeric' without it",
      why, path, mz_shell_quote(run->dir, quoted, sizeof quoted), quoted);
}
