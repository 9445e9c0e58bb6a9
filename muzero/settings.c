#include "muzero/settings.h"
#include "base/maths/digest.h"
#include "envs/worker/workers.h"
#include <math.h>
#include <string.h>

static const mz_setting learning_rows[] = {
    MZ_SETTING(mz_learning_settings, batch_size, "batch_size", MZ_INT, MZ_ALGORITHMIC, 1, MZ_BATCH_SIZE_MAX, "128", "rows",
               "rows of a training batch", .common = true),
    MZ_SETTING(mz_learning_settings, batch_schedule, "batch_schedule", MZ_TEXT, MZ_ALGORITHMIC, 0, 0, "", "",
               "other batch sizes from the end of a phase on: PHASE:ROWS,PHASE:ROWS; a round trains as many rows, learning_rate "
               "is multiplied by the root of the size's ratio, schedules go by rows; empty: none"),
    MZ_SETTING(mz_learning_settings, loop_count, "loop_count", MZ_INT, MZ_ALGORITHMIC, 0, MZ_LOOP_COUNT_MAX, "40",
               "updates a round", "learner updates between two weight publications", .common = true),
    MZ_SETTING(mz_learning_settings, replay_ratio, "replay_ratio", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e6, "0", "",
               "trained rows per self-play move: loop_count × batch_size / (moves_per_round × num_games); give any two of the "
               "three (0: follows)"),
    MZ_SETTING(mz_learning_settings, shards, "shards", MZ_INT, MZ_ALGORITHMIC, 1, 256, "16", "",
               "logical gradient shards; divides batch_size (one that is not given: the next smaller number that does)"),
    MZ_SETTING(mz_learning_settings, target_interval, "target_interval", MZ_INT, MZ_ALGORITHMIC, 1, 1e9, "200", "updates",
               "updates between copies to the target network"),
    MZ_SETTING(mz_learning_settings, reanalyze_ratio, "reanalyze_ratio", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0", "",
               "share of rows whose targets are searched afresh with the target network", .common = true),
    MZ_SETTING(mz_learning_settings, average, "weight_average", MZ_FLOAT, MZ_ALGORITHMIC, 0, 0.99999, "0", "",
               "decay per update of the running average of the weights that self-play and evaluation use; 0: the latest weights"),
};

static const mz_setting knob_rows[] = {
    MZ_SETTING(mz_knobs, cpu_actor, "cpu_actor", MZ_INT, MZ_EXACT, 0, MZ_KNOB_THREADS_MAX, "0", "threads",
               "threads in the self-play pool; 0: by the thread budget"),
    MZ_SETTING(mz_knobs, batch_actor, "batch_actor", MZ_INT, MZ_EXACT, 0, MZ_KNOB_THREADS_MAX, "0", "threads",
               "threads that draw, reanalyze and build batches; 0: by the thread budget"),
    MZ_SETTING(mz_knobs, learner_threads, "learner_threads", MZ_INT, MZ_EXACT, 0, MZ_KNOB_THREADS_MAX, "0", "threads",
               "threads that compute gradient shards; 0: by the thread budget"),
    MZ_SETTING(mz_knobs, mcts_storage_size, "mcts_storage_size", MZ_INT, MZ_EXACT, 0, 4096, "0", "games",
               "games that one actor searches together; 0: by num_games and actors"),
    MZ_SETTING(mz_knobs, batch_buffer_size, "batch_buffer_size", MZ_INT, MZ_EXACT, 0, 1024, "0", "batches",
               "capacity of the queue of built batches; 0: chosen"),
    MZ_SETTING(
        mz_knobs, env_workers, "env_workers", MZ_INT, MZ_EXACT, 0, MZ_WORKERS_MAX, "0", "processes",
        "processes that play an environment of Gymnasium, OpenSpiel or with isolate=1; 0: workers= of its name, else by the "
        "thread budget"),
};

static const mz_setting train_rows[] = {
    MZ_SETTING(mz_train_settings, horizon, "train.horizon", MZ_INT, MZ_ALGORITHMIC, 0, 1e9, "0", "updates",
               "length of the schedules (learning rate, temperature); 0: constant. Never read from a stop limit", .common = true),
    MZ_SETTING(mz_train_settings, phase_rounds, "train.phase_rounds", MZ_INT, MZ_ALGORITHMIC, 1, 1e6, "10", "rounds",
               "rounds a phase; after it the run evaluates"),
    MZ_SETTING(mz_train_settings, rounds, "train.rounds", MZ_INT, MZ_OPERATIONAL, 0, 1e12, "0", "rounds",
               "stop after this many rounds in total; 0: no limit"),
    MZ_SETTING(mz_train_settings, updates, "train.updates", MZ_INT, MZ_OPERATIONAL, 0, 1e12, "0", "updates",
               "stop after this many updates in total; 0: no limit"),
    MZ_SETTING(mz_train_settings, env_steps, "train.env_steps", MZ_INT, MZ_OPERATIONAL, 0, 1e15, "0", "moves",
               "stop after this many environment steps in total; 0: no limit"),
    MZ_SETTING(mz_train_settings, time, "train.time", MZ_TIME, MZ_OPERATIONAL, 0, 1e9, "0", "seconds",
               "stop an invocation after this time; 0: no limit"),
    MZ_SETTING(mz_train_settings, target, "train.target", MZ_FLOAT, MZ_OPERATIONAL, -1e9, 1e9, "1e9", "",
               "the score at which training has done its work and stops"),
    MZ_SETTING(mz_train_settings, target_evaluations, "train.target_evaluations", MZ_INT, MZ_OPERATIONAL, 1, 1000, "1", "",
               "evaluations in a row that reach train.target before training stops: one alone may be luck"),
    MZ_SETTING(mz_train_settings, eval_games, "eval.games", MZ_INT, MZ_OPERATIONAL, 1, 100000, "20", "games",
               "games of the evaluation after a phase"),
    MZ_SETTING(mz_train_settings, eval_simulations, "eval.simulations", MZ_INT, MZ_OPERATIONAL, 0, 100000, "0", "",
               "simulations a move in evaluation; 0: as in self-play"),
    MZ_SETTING(mz_train_settings, eval_symmetry, "eval.symmetry", MZ_BOOL, MZ_OPERATIONAL, 0, 1, "off", "",
               "the same as search.symmetry, for evaluation and play alone"),
    MZ_SETTING(mz_train_settings, eval_interval, "eval.interval", MZ_INT, MZ_OPERATIONAL, 1, 1e9, "1", "phases",
               "phases between evaluations"),
    MZ_SETTING(mz_train_settings, eval_openings, "eval.openings", MZ_INT, MZ_OPERATIONAL, 0, 1000, "0", "moves",
               "random moves that begin the games of an evaluation; both seats get each opening"),
    MZ_SETTING(
        mz_train_settings, eval_opponent, "eval.opponent", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "", "",
        "opponent of two-player evaluation: random, rule, perfect, all, mcts:SIMS, or a baseline that `muzero envs ENV` names",
        .common = true),
    MZ_SETTING(mz_train_settings, keep, "checkpoint.keep", MZ_INT, MZ_OPERATIONAL, 1, 1e6, "3", "checkpoints",
               "latest checkpoints kept, beside the best"),
    MZ_SETTING(mz_train_settings, spaced, "checkpoint.spaced", MZ_INT, MZ_OPERATIONAL, 0, 64, "0", "checkpoints",
               "of each doubling of the rounds so many are kept besides, with their replay, as for `eval --ladder`"),
    MZ_SETTING(mz_train_settings, checkpoint_interval, "checkpoint.interval", MZ_TIME, MZ_OPERATIONAL, 0, 1e9, "60s", "seconds",
               "time between checkpoints, taken at round ends"),
};

static const mz_setting guard_rows[] = {
    MZ_SETTING(mz_guard_settings, mode, "numerics.guard", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "stop", "",
               "when a bound below is broken: stop at the last sound checkpoint; off: bounds do not count; back: network and "
               "optimizer go back to the end of the last sound phase, so too when a number of an update is not finite",
               .choices = "stop|off|back"),
    MZ_SETTING(mz_guard_settings, backs, "numerics.backs", MZ_INT, MZ_ALGORITHMIC, 0, 1e6, "3", "times",
               "with guard back: it stops when it would go back once more"),
    MZ_SETTING(mz_guard_settings, norm_max, "numerics.norm_max", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e30, "0", "",
               "bound of an update's gradient norm; 0: none"),
    MZ_SETTING(mz_guard_settings, loss_max, "numerics.loss_max", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e30, "0", "",
               "bound of an update's loss; 0: none"),
    MZ_SETTING(mz_guard_settings, value_max, "numerics.value_max", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e30, "0", "",
               "bound of the root mean square of the values predicted in an update; 0: none"),
};

static const mz_setting watchdog_rows[] = {
    MZ_SETTING(mz_watchdog_settings, time, "watchdog.time", MZ_TIME, MZ_OPERATIONAL, 0, 1e9, "5m", "seconds",
               "a run that makes no progress for so long says which stage stands; 0: nobody watches"),
    MZ_SETTING(mz_watchdog_settings, action, "watchdog.action", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "warn", "",
               "what follows then: a warning, repeated whenever the time has doubled, or that and the end, by abort()",
               .choices = "warn|abort"),
};

static const mz_setting placement_rows[] = {
    MZ_SETTING(mz_placement_settings, selfplay, "devices.selfplay", MZ_TEXT, MZ_EXACT, 0, 0, "auto", "",
               "where self-play runs: cpu:N, cuda:N, or auto: the allocator's choice among devices that round alike"),
    MZ_SETTING(mz_placement_settings, reanalyze, "devices.reanalyze", MZ_TEXT, MZ_EXACT, 0, 0, "auto", "",
               "where batches are reanalyzed: cpu:N, cuda:N, or auto"),
    MZ_SETTING(mz_placement_settings, learning, "devices.learning", MZ_TEXT, MZ_EXACT, 0, 0, "auto", "",
               "where gradients are computed: cpu:N, cuda:N, or auto"),
};

#define COUNT(rows) (int)(sizeof rows / sizeof rows[0])

const mz_renamed_key mz_renamed_settings[] = {
    {"games", "num_games"},
    {"moves", "moves_per_round"},
    {"unroll", "unroll_steps"},
    {"n_step", "td_steps"},
    {"network.bn_share", "network.bn_momentum"},
    {NULL, NULL},
};

mz_config mz_settings_config(mz_settings *settings, uint8_t *explicit_) {
  enum { TABLES = 13 };
  static mz_settings_table tables[TABLES];
  static bool ready; /* idempotent: two threads would write the same bytes, but runs are opened by one thread */
  if (!ready) {
    const mz_settings_table all[TABLES] = {
        {learning_rows, COUNT(learning_rows), offsetof(mz_settings, learning)},
        {mz_optimizer_table.rows, mz_optimizer_table.count, offsetof(mz_settings, optimizer)},
        {mz_loss_table.rows, mz_loss_table.count, offsetof(mz_settings, loss)},
        {mz_network_table.rows, mz_network_table.count, offsetof(mz_settings, network)},
        {mz_selfplay_table.rows, mz_selfplay_table.count, offsetof(mz_settings, selfplay)},
        {mz_search_table.rows, mz_search_table.count, offsetof(mz_settings, search)},
        {mz_replay_table.rows, mz_replay_table.count, offsetof(mz_settings, replay)},
        {knob_rows, COUNT(knob_rows), offsetof(mz_settings, knobs)},
        {train_rows, COUNT(train_rows), offsetof(mz_settings, train)},
        {mz_allocation_table.rows, mz_allocation_table.count, offsetof(mz_settings, allocation)},
        {placement_rows, COUNT(placement_rows), offsetof(mz_settings, placement)},
        {guard_rows, COUNT(guard_rows), offsetof(mz_settings, guard)},
        {watchdog_rows, COUNT(watchdog_rows), offsetof(mz_settings, watchdog)},
    };
    memcpy(tables, all, sizeof tables);
    ready = true;
  }
  mz_config config = {
      .tables = tables, .table_count = TABLES, .values = settings, .explicit_ = explicit_, .renamed = mz_renamed_settings};
  MZ_ASSERT(mz_config_row_count(&config) <= MZ_SETTINGS_ROWS_MAX);
  return config;
}

mz_search_settings mz_settings_evaluation_search(const mz_settings *settings) {
  mz_search_settings search = settings->search;
  if (settings->train.eval_simulations > 0) search.simulations = settings->train.eval_simulations;
  search.symmetry = search.symmetry || settings->train.eval_symmetry;
  return search;
}

typedef bool (*counts)(const mz_setting *row);

/* By keys, and of those only that differ from their defaults: a setting that a later version adds changes no hash. */
static uint64_t hash_changed(const mz_settings *settings, counts counted) {
  enum { TEXT = 160 };
  mz_settings copy = *settings, usual;
  mz_config config = mz_settings_config(&copy, NULL), defaults = mz_settings_config(&usual, NULL);
  mz_config_defaults(&defaults);
  uint64_t hash = 0;
  for (int i = 0; i < mz_config_row_count(&config); i++) {
    const mz_setting *row = mz_config_row(&config, i);
    char text[TEXT], otherwise[TEXT];
    mz_config_text(&config, i, text, sizeof text);
    mz_config_text(&defaults, i, otherwise, sizeof otherwise);
    if (!counted(row) || strcmp(text, otherwise) == 0) continue;
    hash = mz_hash_combine(hash, mz_hash(row->key, strlen(row->key), 0));
    hash = mz_hash_combine(hash, mz_hash(text, strlen(text), 0));
  }
  return hash;
}

static bool begins_with(const mz_setting *row, const char *prefix) { return strncmp(row->key, prefix, strlen(prefix)) == 0; }

static bool is_one_of(const mz_setting *row, const char *const *keys) {
  for (; *keys; keys++)
    if (strcmp(row->key, *keys) == 0) return true;
  return false;
}

/* Keys from after the hashes by number of row: they count only where they are changed. */
static bool is_later(const mz_setting *row) {
  static const char *const keys[] = {
      "search.spread_min", "search.prior_min",    "search.symmetry",    "selfplay.exploring_moves", "selfplay.exploring_repeat",
      "eval.symmetry",     "network.value_start", "network.head_width", "network.projection",       NULL};
  return begins_with(row, "network.downsample") || is_one_of(row, keys);
}

static uint64_t hash_rows(const mz_settings *settings, counts counted) {
  static const char *const uncounted[] = {"batch_schedule", "env_workers", "train.target_evaluations", NULL};
  mz_settings copy = *settings;
  mz_config config = mz_settings_config(&copy, NULL);
  uint64_t hash = 0;
  for (int i = 0, at = -1; i < mz_config_row_count(&config); i++) {
    const mz_setting *row = mz_config_row(&config, i);
    if (is_one_of(row, uncounted) || is_later(row)) continue; /* hashes are those from before they existed */
    at++;
    if (!counted(row)) continue;
    char text[160];
    mz_config_text(&config, i, text, sizeof text);
    hash = mz_hash_combine(hash, mz_hash(text, strlen(text), (uint64_t)at));
  }
  return hash;
}

static bool counts_for_learning(const mz_setting *row) {
  return (row->class_ == MZ_ALGORITHMIC && strcmp(row->key, "batch_schedule") != 0) || begins_with(row, "eval.");
}

static bool counts_for_work(const mz_setting *row) {
  return (row->class_ == MZ_ALGORITHMIC || begins_with(row, "eval.")) && !begins_with(row, "learning_rate") &&
         !begins_with(row, "numerics.");
}

static bool counts_for_timing(const mz_setting *row) {
  static const char *const others[] = {"num_games",      "moves_per_round", "loop_count",         "batch_size",
                                       "batch_schedule", "train.horizon",   "target_interval",    "warmup_updates",
                                       "weight_decay",   "replay.min_fill", "train.phase_rounds", NULL};
  return counts_for_work(row) && !is_one_of(row, others);
}

uint64_t mz_settings_work_hash(const mz_settings *settings) {
  const uint64_t rows = hash_rows(settings, counts_for_work), later = hash_changed(settings, is_later);
  return later == 0 ? rows : mz_hash_combine(rows, later);
}
uint64_t mz_settings_learning_hash(const mz_settings *settings) { return hash_changed(settings, counts_for_learning); }
uint64_t mz_settings_timing_hash(const mz_settings *settings) { return hash_changed(settings, counts_for_timing); }
