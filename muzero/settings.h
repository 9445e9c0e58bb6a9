/* Every setting of a run, joined from the rooms, with the roof's own: learning, knobs, training. One mz_config over it drives
 * presets, --set, --help and the resolved config in the run directory. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "base/config/config.h"
#include "networks/loss.h"
#include "networks/model/model.h"
#include "networks/parameters/optimizer.h"
#include "replay/buffer.h"
#include "selfplay/games/actor.h"
#include "selfplay/search/search.h"

enum { MZ_BATCH_SIZE_MAX = 65536, MZ_LOOP_COUNT_MAX = 4096 };

typedef struct mz_learning_settings {
  int64_t batch_size, loop_count; /* rows an update; updates a round */
  char batch_schedule[64];        /* other batch sizes by phase (batch_schedule.h); "": none */
  double replay_ratio;            /* ρ = loop_count·batch_size / (moves·games); 0: follows from the others */
  int64_t shards;                 /* logical gradient shards V; divides batch_size */
  int64_t target_interval;        /* updates between copies of the weights to the target network */
  double reanalyze_ratio;         /* share of rows whose targets are searched afresh */
  double average; /* learning.average: decay per update of the published weight average; 0: the weights themselves */
} mz_learning_settings;

enum { MZ_KNOB_THREADS_MAX = 1024 };
typedef struct mz_knobs { /* exact: only speed and memory depend on them; 0: chosen from the thread budget */
  int64_t cpu_actor, batch_actor, learner_threads, mcts_storage_size, batch_buffer_size;
  int64_t selfplay_device, reanalyze_device, learning_device; /* 1 + index of the device (allocator/pipeline/devices.h) */
  int64_t replay_raw;  /* bytes of replay kept as they are, the rest is packed (replay/buffer.h) */
  int64_t env_workers; /* processes that play the environment; stays 0 where none does */
} mz_knobs;

#define MZ_SCORE_NONE 1e9 /* limits.score and train.target of so much: none is asked for */

typedef struct mz_train_settings {
  int64_t horizon;                    /* train.horizon: updates over which schedules run; 0: constant */
  int64_t phase_rounds;               /* train.phase_rounds: rounds a phase */
  int64_t rounds, updates, env_steps; /* stop limits of the preset (totals); 0: none */
  double time;                        /* train.time: limit for an invocation; 0: none */
  double target;                      /* train.target: the score at which the run has done its work */
  int64_t target_evaluations;         /* train.target_evaluations: in a row that reach it before it counts */
  int64_t eval_games, eval_simulations,
      eval_interval;          /* eval.games, eval.simulations (0: as in self-play), eval.interval in phases */
  bool eval_symmetry;         /* eval.symmetry: positions are looked at in all symmetries of the board */
  int64_t eval_openings;      /* eval.openings: random moves that begin a game of an evaluation */
  char eval_opponent[64];     /* eval.opponent; "" for single-player */
  int64_t keep, spaced;       /* checkpoint.keep: last K kept, and the best; checkpoint.spaced: and so many of each doubling */
  double checkpoint_interval; /* checkpoint.interval: seconds between checkpoints at round ends */
} mz_train_settings;

typedef struct mz_placement_settings {            /* the stages' devices (allocator/pipeline/devices.h) */
  char selfplay[64], reanalyze[64], learning[64]; /* devices.selfplay, …: "auto" or a device's name */
} mz_placement_settings;

typedef struct mz_guard_settings {      /* guard.h */
  int32_t mode;                         /* numerics.guard: mz_guard_mode */
  int64_t backs;                        /* numerics.backs */
  double norm_max, loss_max, value_max; /* numerics.norm_max, numerics.loss_max, numerics.value_max; 0: none */
} mz_guard_settings;
typedef enum mz_watchdog_action { MZ_WATCHDOG_WARN, MZ_WATCHDOG_ABORT } mz_watchdog_action;
typedef struct mz_watchdog_settings {
  double time;    /* watchdog.time: seconds without progress after which it speaks; 0: never */
  int32_t action; /* watchdog.action: mz_watchdog_action */
} mz_watchdog_settings;

typedef struct mz_settings {
  mz_network_settings network;
  mz_loss_settings loss;
  mz_optimizer_settings optimizer;
  mz_search_settings search;
  mz_selfplay_settings selfplay;
  mz_replay_settings replay;
  mz_learning_settings learning;
  mz_knobs knobs;
  mz_train_settings train;
  mz_allocation_settings allocation;
  mz_placement_settings placement;
  mz_guard_settings guard;
  mz_watchdog_settings watchdog;
} mz_settings;

enum { MZ_SETTINGS_ROWS_MAX = 160 };

/* Keys that settings had before, and have now; ends with a row of NULL. */
extern const mz_renamed_key mz_renamed_settings[];
/* A config over `settings` (and `explicit_`, MZ_SETTINGS_ROWS_MAX flags or NULL); defaults are not yet filled in. */
mz_config mz_settings_config(mz_settings *settings, uint8_t *explicit_);
/* Ties loop_count, moves and replay_ratio (any two give the third), checks what no single row can (shards divide batch_size,
 * n-step and segment sizes …), resolves nothing that is an exact knob. MZ_E_CONFIG naming keys and the nearest valid value. */
mz_status mz_settings_resolve(mz_settings *settings, const uint8_t *explicit_);
/* Checks settings that were resolved before and come from a file: MZ_E_CONFIG where mz_settings_resolve would have refused or
 * changed them. */
mz_status mz_settings_check(const mz_settings *settings);
/* Returns how evaluations search: as self-play does, but for eval.simulations and eval.symmetry. */
mz_search_settings mz_settings_evaluation_search(const mz_settings *settings);
/* Returns a hash of the settings that decide what a unit of work costs: network, loss, search, self-play, replay, batch,
 * evaluation. */
uint64_t mz_settings_work_hash(const mz_settings *settings);
/* Returns a hash of all that learning and its score depend on: algorithmic settings and those of evaluation, but for batch_schedule, so
 * that runs in batches of other sizes (batch_rule.h) have the same. */
uint64_t mz_settings_learning_hash(const mz_settings *settings);
/* Returns a hash of what an epoch's time depends on, but for its moves and batches: those of work_hash without num_games, moves_per_round,
 * loop_count, batch_size, train.phase_rounds, and what costs no time. */
uint64_t mz_settings_timing_hash(const mz_settings *settings);

/* Bundled presets (muzero/presets/NAME.json, compiled in) by name; a path with a '/' or ending in .json is read from disk, and so
 * is a run's directory, which stands for its config.json. The path of an environment ("./mine.so") stands for a preset that follows
 * from its numbers (derived_preset.h). A variant of an environment ("gomoku:size=9") has a preset of its own
 * or else that of the environment. MZ_E_CONFIG naming the nearest. *text is NUL-terminated, free(). */
mz_status mz_preset_load(const char *name, char **text, size_t *size);
/* Loads a preset into a config over mz_settings. A run's own config.json gives all of that run's settings, as they were resolved:
 * none of them counts as given by the user, and replay_ratio follows anew from the others. A preset may name a bundled one as its "preset":
 * that one's settings come first. MZ_E_CONFIG when it is none. */
mz_status mz_preset_apply(mz_config *config, const char *name);
int mz_preset_count(void);
const char *mz_preset_name(int index);
