#include "replay/replay_settings.h"

static const mz_setting rows[] = {
    MZ_SETTING(mz_replay_settings, capacity, "replay.capacity", MZ_COUNT, MZ_ALGORITHMIC, 1, 4e9, "100k", "transitions",
               "transitions that the replay buffer holds; the oldest segments leave first", .common = true),
    MZ_SETTING(mz_replay_settings, bytes_max, "replay.bytes", MZ_SIZE, MZ_ALGORITHMIC, 1024, 1e15, "1GiB", "bytes",
               "raw bytes that the replay buffer holds, look-ahead included; the oldest segments leave first"),
    MZ_SETTING(mz_replay_settings, min_fill, "replay.min_fill", MZ_COUNT, MZ_ALGORITHMIC, 0, 4e9, "1k", "transitions",
               "transitions to collect before learning starts"),
    MZ_SETTING(mz_replay_settings, segment_moves, "replay.segment_moves", MZ_INT, MZ_ALGORITHMIC, 0, 1e6, "128", "moves",
               "moves after which a stretch of a game still in play goes to replay; 0: whole games only"),
    MZ_SETTING(mz_replay_settings, td_steps, "td_steps", MZ_INT, MZ_ALGORITHMIC, 0, 10000, "10", "moves",
               "rewards summed in a value target before it bootstraps from the search's root value; 0: to the end of the game, "
               "or of its stretch (replay.segment_moves)",
               .common = true),
    MZ_SETTING(
        mz_replay_settings, lambda, "td_lambda", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "1", "",
        "how much of a value target comes from later moves rather than from the search's root values on the way (the lambda of "
        "lambda returns); 1: all of it"),
    MZ_SETTING(mz_replay_settings, discount, "discount", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0.997", "",
               "factor on what comes one move later", .common = true),
    MZ_SETTING(mz_replay_settings, priority_exponent, "replay.priority_exponent", MZ_FLOAT, MZ_ALGORITHMIC, 0, 2, "0", "",
               "a transition is drawn in proportion to its value error to this power; 0: uniformly"),
    MZ_SETTING(mz_replay_settings, importance_exponent, "replay.importance_exponent", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0", "",
               "how far the loss is weighted against the bias of prioritised draws; 1: entirely, 0: not at all"),
    MZ_SETTING(mz_replay_settings, symmetry, "replay.symmetry", MZ_BOOL, MZ_ALGORITHMIC, 0, 1, "on", "",
               "show each drawn row in a random symmetry of the board, where the environment has any"),
    MZ_SETTING(mz_replay_settings, raw_bytes, "replay.raw_bytes", MZ_SIZE, MZ_EXACT, 0, 1e15, "0", "bytes",
               "raw bytes of the newest segments that stay uncompressed in memory; older ones are compressed; 0: all stay so"),
    MZ_SETTING(mz_replay_settings, packed_bytes, "replay.packed_bytes", MZ_SIZE, MZ_EXACT, 0, 1e15, "0", "bytes",
               "compressed bytes of replay that stay in memory; the oldest beyond them go to a temporary file in the run's "
               "folder (after "
               "train --from: in the one around it); 0: all stay"),
};

const mz_settings_table mz_replay_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
