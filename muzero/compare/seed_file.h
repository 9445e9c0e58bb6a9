/* A seed of a comparison on the disk: DIR/seed-S.json has its cells, DIR/seed-S their runs. */
#pragma once
#include "muzero/compare/arm.h"
#include "muzero/compare/party.h"

/* Writes the path of the folder of the runs. */
mz_status mz_seed_folder(const char *dir, uint64_t seed, char *out, size_t size);
/* Writes what the arms' runs have told, and takes their blocks. *out: what was written, {"seed", "cells": [{"arm", "run", "crashed",
 * "blocks"}]}; cJSON_Delete. */
mz_status mz_seed_write(const char *dir, uint64_t seed, const mz_arm *arms, int count, mz_party *parties, cJSON **out);
/* *out: as above; NULL where the seed is still to be played, for the first time or because an arm of it crashed. MZ_E_CHECKPOINT: the
 * file is damaged. */
mz_status mz_seed_read(const char *dir, uint64_t seed, cJSON **out);
