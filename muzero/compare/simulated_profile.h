/* Profiles on a simulated machine, and what such a profile is worth: the same plans beside what was measured of them. In this process and
 * in virtual time; the figures are simulated, are labelled so, and go into no history. */
#pragma once
#include "muzero/steering/profile.h"

typedef struct mz_simulated_profile_options {
  mz_profile_options profile;
  const char *machine; /* "sim:cores=64,numa=2" */
  /* The file of a measured profile (profile_record.h) from which the stages' costs are taken; NULL: the stages are timed here. */
  const char *costs;
  const char *against; /* file of a profile that was measured; NULL: none */
} mz_simulated_profile_options;

/* As mz_profile, "machine_simulated" being the text. Under a quota threads use all cores and are held up, as those of a run are that is put
 * under the quota after it began. MZ_E_CONFIG: what is wrong with the text, at which character; a history, which would be measured. */
mz_status mz_simulated_profile(const mz_simulated_profile_options *options, const mz_profile_watcher *watcher, cJSON **out);

/* Simulates the plans of options->against and compares seconds per unit of work, medians over passes. *out: {"env",
 * "machine_simulated", "plans": [{"plan", "measured_s", "measurements", "simulated_s", "error" (simulated / measured − 1)}], and over plans
 * "median_error", "p90_error", "worst_error" (of absolute errors), "bias" (median error, signed), "regret" (measured time of the plan that
 * is simulated to be fastest over that of the one that was, − 1), "noise_median", "noise_p90" (as the errors, of the passes of even number
 * against those of odd number; NAN: every plan was measured once), "noise_regret" (of the plan that one half of the passes calls fastest,
 * by the other half)}. cJSON_Delete. */
mz_status mz_simulated_against(const mz_simulated_profile_options *options, const mz_profile_watcher *watcher, cJSON **out);
