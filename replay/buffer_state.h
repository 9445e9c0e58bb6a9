/* The buffer from inside, for what unpacks its segments. Internal to this room. */
#pragma once
#include "replay/buffer.h"
#include "replay/storage/tiers.h"

const mz_tiers *mz_buffer_tiers(const mz_buffer *buffer);
