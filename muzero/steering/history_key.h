/* The key of a run's rows in the history (allocator/records/history.h): what two runs must agree in for the measurements of one to hold for
 * the other. */
#pragma once
#include "allocator/pipeline/devices.h"
#include "allocator/records/history.h"
#include "envs/env.h"
#include "muzero/settings.h"

/* Fills *key for a run with `cores` cores on `devices`, which are named where there are several. `network` names the kind of the model,
 * its layers and, for conv, the precision of inference and of training, which is a numeric setting and no part of `work`; mlp has one
 * precision only. */
void mz_history_key_of(mz_history_key *key, const mz_env *env, const mz_settings *settings, const mz_model *model, double cores,
                       const mz_devices *devices);
