/* `muzero profile --score`: learning curves are measured, and shown. */
#pragma once
#include "muzero/steering/score_profile.h"

mz_status mz_score_profile_show(const mz_score_profile_options *options, bool json);
