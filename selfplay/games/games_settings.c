#include "selfplay/games/games.h"

#define ROW(field, key_, type_, min_, max_, fallback_, unit_, ...)                                                               \
  {                                                                                                                              \
    .key = key_, .type = type_, .class_ = MZ_ALGORITHMIC, .offset = offsetof(mz_selfplay_settings, field), .min = min_,          \
    .max = max_, .fallback = fallback_, .unit = unit_, .help = __VA_ARGS__                                                       \
  }

static const mz_setting rows[] = {
    ROW(games, "num_games", MZ_INT, 1, 1 << 20, "32", "games", "games in play at a time", .common = true),
    ROW(moves, "moves_per_round", MZ_INT, 1, 1 << 20, "16", "moves", "moves that every game makes in a round", .common = true),
    ROW(temperature, "selfplay.temperature", MZ_FLOAT, 0, 100, "1", "",
        "puct: moves are drawn from visits^(1/temperature), at first with this one; 0: the most visited"),
    ROW(temperature_final, "selfplay.temperature_final", MZ_FLOAT, 0, 100, "0.25", "",
        "puct: the temperature at last, reached linearly"),
    ROW(temperature_until, "selfplay.temperature_until", MZ_FLOAT, 0, 1, "0.75", "of the horizon",
        "puct: when the final temperature is reached"),
    ROW(opening_plies, "selfplay.opening_plies", MZ_INT, 0, 10000, "0", "moves",
        "each new game begins with 0 to this many random, unrecorded moves"),
    ROW(fork_share, "selfplay.fork_share", MZ_FLOAT, 0, 1, "0", "",
        "share of games that begin at some position of the game before, with a random, unrecorded move there"),
    ROW(noise, "selfplay.noise", MZ_BOOL, 0, 1, "on", "", "noise at the root: Dirichlet (puct), Gumbel (gumbel)"),
    ROW(full_share, "selfplay.full_share", MZ_FLOAT, 0.01, 1, "1", "",
        "share of the moves that are searched in full; the others are no policy targets (playout cap randomization)"),
    ROW(fast_simulations, "selfplay.fast_simulations", MZ_INT, 1, 1 << 20, "4", "", "simulations of those other moves, at most"),
};

int64_t mz_selfplay_fast_simulations(const mz_selfplay_settings *settings, int64_t simulations) {
  return settings->fast_simulations < simulations ? settings->fast_simulations : simulations;
}

double mz_selfplay_mean_simulations(const mz_selfplay_settings *settings, int64_t simulations) {
  const double full = settings->full_share;
  return full * (double)simulations + (1 - full) * (double)mz_selfplay_fast_simulations(settings, simulations);
}

const mz_settings_table mz_selfplay_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
