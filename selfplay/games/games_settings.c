#include "selfplay/games/games.h"

static const mz_setting rows[] = {
    MZ_SETTING(mz_selfplay_settings, games, "num_games", MZ_INT, MZ_ALGORITHMIC, 1, 1 << 20, "32", "games",
               "games in play at a time", .common = true),
    MZ_SETTING(mz_selfplay_settings, moves, "moves_per_round", MZ_INT, MZ_ALGORITHMIC, 1, MZ_MOVES_PER_ROUND_MAX, "16", "moves",
               "moves that every game makes in a round", .common = true),
    MZ_SETTING(mz_selfplay_settings, temperature, "selfplay.temperature", MZ_FLOAT, MZ_ALGORITHMIC, 0, 100, "1", "",
               "puct: moves are drawn from visits^(1/temperature), at first with this one; 0: the most visited"),
    MZ_SETTING(mz_selfplay_settings, temperature_final, "selfplay.temperature_final", MZ_FLOAT, MZ_ALGORITHMIC, 0, 100, "0.25",
               "", "puct: the temperature at last, reached linearly"),
    MZ_SETTING(mz_selfplay_settings, temperature_until, "selfplay.temperature_until", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0.75",
               "of the horizon", "puct: when the final temperature is reached"),
    MZ_SETTING(mz_selfplay_settings, opening_plies, "selfplay.opening_plies", MZ_INT, MZ_ALGORITHMIC, 0, 10000, "0", "moves",
               "each new game begins with 0 to this many random, unrecorded moves"),
    MZ_SETTING(mz_selfplay_settings, fork_share, "selfplay.fork_share", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0", "",
               "share of games that begin at some position of the game before, with a random, unrecorded move there"),
    MZ_SETTING(mz_selfplay_settings, exploring_moves, "selfplay.exploring_moves", MZ_INT, MZ_ALGORITHMIC, 0, 10000, "0", "moves",
               "after its opening each game has 0 to this many random moves that are recorded, for the model's sake; their "
               "values are no targets"),
    MZ_SETTING(mz_selfplay_settings, exploring_repeat, "selfplay.exploring_repeat", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0", "",
               "probability that such a move is the one before again, where that is legal"),
    MZ_SETTING(mz_selfplay_settings, noise, "selfplay.noise", MZ_BOOL, MZ_ALGORITHMIC, 0, 1, "on", "",
               "noise at the root: Dirichlet (puct), Gumbel (gumbel)"),
    MZ_SETTING(mz_selfplay_settings, full_share, "selfplay.full_share", MZ_FLOAT, MZ_ALGORITHMIC, 0.01, 1, "1", "",
               "share of the moves that are searched in full; the others are no policy targets (playout cap randomization)"),
    MZ_SETTING(mz_selfplay_settings, fast_simulations, "selfplay.fast_simulations", MZ_INT, MZ_ALGORITHMIC, 1, 1 << 20, "4", "",
               "simulations of those other moves, at most"),
};

int64_t mz_selfplay_fast_simulations(const mz_selfplay_settings *settings, int64_t simulations) {
  return settings->fast_simulations < simulations ? settings->fast_simulations : simulations;
}

double mz_selfplay_mean_simulations(const mz_selfplay_settings *settings, int64_t simulations) {
  const double full = settings->full_share;
  return full * (double)simulations + (1 - full) * (double)mz_selfplay_fast_simulations(settings, simulations);
}

const mz_settings_table mz_selfplay_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
