#include "cli/training/session.h"
#include "allocator/records/history.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "base/machine/pacer.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/playing/screen.h"
#include "cli/signals.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static int64_t given_or_zero(int64_t count) { return count == MZ_COUNT_UNSET ? 0 : count; }

mz_limits mz_session_limits(const mz_session_arguments *arguments) {
  return (mz_limits){
      .rounds = given_or_zero(arguments->rounds),
      .env_steps = given_or_zero(arguments->env_steps),
      .updates = given_or_zero(arguments->updates),
      .for_s = isnan(arguments->for_s) ? 0 : arguments->for_s,
      .until = !isnan(arguments->until),
      .score = isnan(arguments->until) ? 0 : arguments->until,
  };
}

/* A mean return, or a share of points. */
static double most_score(const mz_env *env) { return env->spec.players == 1 ? (double)env->spec.return_max : 1; }

mz_status mz_session_check_machine(const char *machine, const char *device) {
  if (!machine || !device) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "--device %s: not with --machine, whose text names the devices", device);
}

mz_status mz_session_check_score(const mz_env *env, const mz_session_arguments *arguments) {
  if (isnan(arguments->until) || arguments->until <= most_score(env)) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "--until %g: the score of %s is %s, %g at the most", arguments->until, env->name,
                 env->spec.players == 1 ? "a game's mean return" : "the share of points", most_score(env));
}

static const char *default_history(void) {
  static char path[512];
  return mz_history_default_path(path, sizeof path) ? path : NULL;
}

mz_run_options mz_session_run_options(const mz_session_arguments *arguments) {
  const bool seeded = arguments->seed != MZ_COUNT_UNSET;
  return (mz_run_options){
      .device = arguments->device,
      .allocate = arguments->allocate,
      .history = arguments->history ? arguments->history : default_history(),
      .history_optional = !arguments->history,
      .watchdog = arguments->watchdog,
      .sets = arguments->sets.items,
      .set_count = arguments->sets.count,
      .seed = seeded ? (uint64_t)arguments->seed : 1,
      .seed_given = seeded,
      .threads = (int)given_or_zero(arguments->threads),
  };
}

void mz_outcome_deinit(mz_outcome *outcome) {
  free(outcome->scores);
  outcome->scores = NULL;
}

/* How a run is shown. */
typedef struct view {
  mz_run *run;
  bool json;
  int clamped_phases; /* in a row, with many targets beyond the network's range */
  mz_screen *screen;  /* NULL: JSON or plain lines */
  mz_pacer last_line; /* of plain lines */
} view;
enum { LINE_EVERY_S = 10 };

static const char *score_name(const mz_run *run, char out[MZ_SCORE_NAME_MAX]) {
  return mz_score_name(mz_run_env(run), mz_run_settings(run)->train.eval_opponent, out);
}

static mz_status view_open(view *out, mz_run *run, bool json) {
  *out = (view){.run = run, .json = json, .last_line = {LINE_EVERY_S, mz_run_wall_s(run)}};
  mz_print_let_readers_leave(); /* `train | head`: the run is worth more than its lines */
  if (json) return MZ_OK;
  const mz_counters *counters = mz_run_counters(run);
  char title[MZ_PRINTABLE_SIZE(512) + 200], rounds[MZ_TEXT_SIZE], dir[MZ_PRINTABLE_SIZE(512)];
  int length = snprintf(title, sizeof title, "%s, seed %llu, in %s", mz_run_env(run)->name, (unsigned long long)mz_run_seed(run),
                        mz_text_printable(mz_run_dir(run), dir, sizeof dir));
  if (counters->rounds > 0 && length < (int)sizeof title)
    length += snprintf(title + length, sizeof title - (size_t)length, ", continuing after %s rounds",
                       mz_text_count((double)counters->rounds, rounds));
  char counts[MZ_SCORE_NAME_MAX];
  score_name(run, counts);
  char devices[640];
  mz_run_devices_text(run, devices, sizeof devices);
  if (mz_screen_possible() && devices[0] && length < (int)sizeof title)
    snprintf(title + length, sizeof title - (size_t)length, "; %s", devices);
  if (mz_screen_possible()) return mz_screen_create(&out->screen, title, counts);
  printf("%s\n%s%s%sscore: %s\n", title, devices[0] ? "devices: " : "", devices, devices[0] ? "\n" : "", counts);
  return mz_print_flush();
}

static void warn_of_score(const mz_run *run, const char *key, double score) {
  const mz_env *env = mz_run_env(run);
  if (score > most_score(env) && score < 1e9) /* from there on: none */
    mz_log_write(MZ_LOG_WARNING, "%s=%g: never reached; the score of %s is %g at the most", key, score, env->name,
                 most_score(env));
}

/* A checkpoint holds no games of an environment whose states cannot be copied. */
static void warn_of_games(const mz_run *run) {
  const char *name = mz_run_env(run)->name;
  if (mz_run_env(run)->copies) return;
  if (mz_run_counters(run)->rounds > 0)
    mz_log_write(MZ_LOG_WARNING, "%s: the games that were in play begin anew: this is not quite the run that was never stopped",
                 name);
  else
    mz_log_write(
        MZ_LOG_WARNING,
        "%s: its games cannot be saved: 'muzero resume' begins those in play anew, so a run that was stopped is not quite the "
        "run that was never stopped",
        name);
}

/* Settings that are valid and hardly what a user wants, and what does not hold for the environment. */
static void warn(const mz_run *run) {
  warn_of_games(run);
  warn_of_score(run, "train.target", mz_run_settings(run)->train.target);
  warn_of_score(run, "limits.score", mz_run_settings(run)->allocation.score);
  if (mz_run_settings(run)->learning.loop_count == 0)
    mz_log_write(MZ_LOG_WARNING, "loop_count=0: self-play only; the network is never updated and the score will not rise");
}

/* Says once that much of what is to be learned lies beyond the network's range. A network that has learned little guesses values beyond
 * it, too, fewer from phase to phase: those pass. */
static void warn_of_clamping(view *shown, const mz_phase *phase) {
  enum { MOST_PERCENT = 1, PATIENCE = 10 };
  const double percent = 100 * phase->clamped_targets;
  if (shown->clamped_phases >= PATIENCE) return; /* told */
  shown->clamped_phases = percent > MOST_PERCENT ? shown->clamped_phases + 1 : 0;
  if (shown->clamped_phases < PATIENCE) return;
  const mz_spec *spec = &mz_run_env(shown->run)->spec;
  mz_log_write(
      MZ_LOG_WARNING,
      "clamped_targets: %.2g %% of the targets of phase %lld lie beyond the network's range and are clamped to it; rewards are "
      "taken to be %g … %g, returns %g … %g: network.reward_range and network.value_range widen it, and for gym: "
      "reward_min=, reward_max=, return_min= and return_max= in the name",
      percent, (long long)phase->phase, (double)spec->reward_min, (double)spec->reward_max, (double)spec->return_min,
      (double)spec->return_max);
}

static void view_tick(void *context, const mz_progress *progress) {
  view *shown = context;
  mz_signals_pass_on(shown->run);
  if (shown->screen) mz_screen_progress(shown->screen, progress);
  if (shown->screen || shown->json || !mz_pacer_due(&shown->last_line, progress->wall_s)) return;
  char moves[MZ_TEXT_SIZE], updates[MZ_TEXT_SIZE], time[MZ_TEXT_SIZE];
  printf("  so far: rounds %lld, moves %s, updates %s, %s\n", (long long)progress->counters.rounds,
         mz_text_count((double)progress->counters.env_steps, moves), mz_text_count((double)progress->counters.updates, updates),
         mz_text_time(progress->wall_s, time));
  fflush(stdout); /* a failure is met by the phase's line */
}

static mz_status print_line(const mz_phase *phase) {
  char moves[MZ_TEXT_SIZE], updates[MZ_TEXT_SIZE], score[MZ_TEXT_SIZE], loss[MZ_TEXT_SIZE], sims[MZ_TEXT_SIZE],
      rate[MZ_TEXT_SIZE], time[MZ_TEXT_SIZE];
  printf("phase %lld: rounds %lld, moves %s, updates %s, score %s, loss %s, %s simulations/s, %s updates/s, %s%s%s\n",
         (long long)phase->phase, (long long)phase->counters.rounds, mz_text_count((double)phase->counters.env_steps, moves),
         mz_text_count((double)phase->counters.updates, updates), mz_text_number(phase->score, score),
         mz_text_number(phase->loss, loss), mz_text_count(phase->sims_per_s, sims), mz_text_count(phase->updates_per_s, rate),
         mz_text_time(phase->wall_s, time), phase->warning ? ", warning: " : "", phase->warning ? phase->warning : "");
  const bool changes = phase->action && strcmp(phase->action, "keep") != 0 && strcmp(phase->action, "wait") != 0;
  if (changes) printf("  %s, %s: %s\n", phase->strategy, phase->action, phase->reason);
  return mz_print_flush();
}

static mz_status view_phase(view *shown, const mz_phase *phase) {
  if (shown->screen) {
    mz_screen_phase(shown->screen, phase);
    return MZ_OK;
  }
  shown->last_line.last_s = phase->wall_s;
  if (!shown->json) return print_line(phase);
  cJSON *object = mz_phase_to_json(phase);
  if (object) mz_json_add_u64(object, "seed", mz_run_seed(shown->run));
  return mz_print_json(object);
}

static mz_status keep_score(mz_outcome *out, double score, int64_t *capacity) {
  if (out->phases == *capacity) {
    const int64_t grown = *capacity ? *capacity * 2 : 64;
    double *scores = realloc(out->scores, (size_t)grown * sizeof *scores);
    if (!scores) return mz_fail(MZ_E_MEMORY, "out of memory for the score curve");
    out->scores = scores;
    *capacity = grown;
  }
  out->scores[out->phases++] = score;
  return MZ_OK;
}

/* Phases until a limit. A record that could not be shown does not lose the run: it is stopped, and saved like after a signal. */
static mz_status drive_phases(view *shown, const mz_limits *limits, mz_phase *phase, mz_outcome *out) {
  mz_status shown_status = MZ_OK;
  char message[MZ_MESSAGE_MAX];
  int64_t capacity = 0;
  do {
    mz_signals_pass_on(shown->run);
    MZ_TRY(mz_run_phase(shown->run, limits, view_tick, shown, phase, &out->reason));
    if (phase->played == 0 && out->reason != MZ_GOES_ON) break; /* nothing to show but the end */
    MZ_TRY(keep_score(out, phase->score, &capacity));
    warn_of_clamping(shown, phase);
    if (shown_status == MZ_OK && (shown_status = view_phase(shown, phase)) != MZ_OK) {
      snprintf(message, sizeof message, "%s", mz_message());
      mz_run_request(shown->run, MZ_REQUEST_STOP);
    }
  } while (out->reason == MZ_GOES_ON);
  /* The terminal may have gone before its signal came. */
  if (shown_status == MZ_OK || mz_signals_hung_up()) return MZ_OK;
  return mz_fail(shown_status, "%s; the run is saved in %s", message, mz_run_dir(shown->run));
}

mz_status mz_session_drive(mz_run *run, const mz_limits *limits, bool json, mz_outcome *out) {
  *out = (mz_outcome){.score = NAN, .seed = mz_run_seed(run), .is_board = mz_run_env(run)->spec.players == 2};
  score_name(run, out->score_name);
  snprintf(out->run, sizeof out->run, "%s", mz_run_dir(run));
  view shown;
  MZ_TRY(view_open(&shown, run, json));
  warn(run);
  mz_phase phase = {.score = NAN};
  mz_status status = drive_phases(&shown, limits, &phase, out);
  mz_screen_free(shown.screen);
  if (status == MZ_OK) {
    out->score = phase.score;
    out->digest = phase.digest;
    out->counters = *mz_run_counters(run);
    out->lost = mz_run_lost(run);
    out->wall_s = mz_run_wall_s(run);
  }
  return status;
}

cJSON *mz_outcome_to_json(const mz_outcome *outcome, const char *event) {
  cJSON *object = cJSON_CreateObject();
  if (!object) return NULL;
  cJSON_AddStringToObject(object, "event", event);
  cJSON_AddStringToObject(object, "run", outcome->run);
  mz_json_add_u64(object, "seed", outcome->seed);
  cJSON_AddNumberToObject(object, "score", outcome->score);
  cJSON_AddStringToObject(object, "score_name", outcome->score_name);
  cJSON_AddNumberToObject(object, "wall_s", outcome->wall_s);
  cJSON_AddNumberToObject(object, "env_steps", (double)outcome->counters.env_steps);
  cJSON_AddNumberToObject(object, "updates", (double)outcome->counters.updates);
  cJSON_AddNumberToObject(object, "rounds", (double)outcome->counters.rounds);
  cJSON_AddNumberToObject(object, "phases", (double)outcome->counters.phases);
  cJSON_AddNumberToObject(object, "sims", (double)outcome->counters.simulations);
  cJSON_AddNumberToObject(object, "lost_workers", (double)outcome->lost.workers);
  cJSON_AddNumberToObject(object, "lost_games", (double)outcome->lost.games);
  mz_json_add_u64_hex(object, "digest", outcome->digest);
  cJSON_AddStringToObject(object, "reason", mz_reason_name(outcome->reason));
  cJSON_AddNumberToObject(object, "rss_peak_bytes", (double)mz_machine_rss_peak());
  return object;
}

/* No default: the compiler asks for the words of a reason that is new. */
static const char *end_in_words(mz_reason reason) {
  switch (reason) {
    case MZ_GOES_ON: return "";
    case MZ_REASON_ROUNDS: return "the limit of rounds is reached";
    case MZ_REASON_ENV_STEPS: return "the limit of moves is reached";
    case MZ_REASON_UPDATES: return "the limit of updates is reached";
    case MZ_REASON_TIME: return "the time is over";
    case MZ_REASON_SCORE: return "the score is reached";
    case MZ_REASON_BUDGET: return "the budget is spent";
    case MZ_REASON_INTERRUPTED: return ""; /* said by the command's failure */
  }
  return "";
}

static void print_end(const mz_outcome *outcome) {
  const mz_counters *counters = &outcome->counters;
  const bool by_rounds = outcome->reason == MZ_REASON_ROUNDS, by_moves = outcome->reason == MZ_REASON_ENV_STEPS;
  if (outcome->phases == 0 && (by_rounds || by_moves || outcome->reason == MZ_REASON_UPDATES)) {
    const int64_t count = by_rounds ? counters->rounds : by_moves ? counters->env_steps : counters->updates;
    printf("nothing to do: the run already has %lld %s%s (limits are totals)\n", (long long)count,
           by_rounds  ? "round"
           : by_moves ? "move"
                      : "update",
           mz_plural((double)count));
    return;
  }
  const char *end = end_in_words(outcome->reason);
  if (*end) printf("%s\n", end);
}

void mz_outcome_print(const mz_outcome *outcome) {
  char score[MZ_TEXT_SIZE], time[MZ_TEXT_SIZE], moves[MZ_TEXT_SIZE], updates[MZ_TEXT_SIZE];
  char name[MZ_PRINTABLE_SIZE(sizeof outcome->run)], run[MZ_SHELL_QUOTE_SIZE(sizeof outcome->run)];
  char program[MZ_SHELL_QUOTE_SIZE(1024)];
  const mz_counters *counters = &outcome->counters;
  mz_shell_quote(outcome->run, run, sizeof run);
  mz_shell_quote(program_invocation_name, program, sizeof program);
  print_end(outcome);
  printf("  score   %s (%s) after %s: %lld round%s, %s move%s, %s update%s\n  run     %s\n",
         mz_text_number(outcome->score, score), outcome->score_name, mz_text_time(outcome->wall_s, time),
         (long long)counters->rounds, mz_plural((double)counters->rounds), mz_text_count((double)counters->env_steps, moves),
         mz_plural((double)counters->env_steps), mz_text_count((double)counters->updates, updates),
         mz_plural((double)counters->updates), mz_text_printable(outcome->run, name, sizeof name));
  if (outcome->lost.workers > 0)
    printf("  lost    %lld worker%s; %lld game%s truncated by that\n", (long long)outcome->lost.workers,
           mz_plural((double)outcome->lost.workers), (long long)outcome->lost.games,
           outcome->lost.games == 1 ? " was" : "s were");
  printf("  resume  %s resume %s%s\n", program, run, outcome->reason == MZ_REASON_INTERRUPTED ? "" : " --for 10m");
  printf(outcome->is_board ? "  play    %s play %s\n" : "  watch   %s watch %s\n", program, run);
  printf("  measure %s eval %s --games 100\n", program, run);
}

mz_status mz_outcome_status(const mz_outcome *outcome) {
  if (outcome->reason != MZ_REASON_INTERRUPTED) return MZ_OK;
  return mz_fail(MZ_INTERRUPTED, "interrupted: %s is saved and can be resumed", outcome->run);
}

mz_status mz_session_finish(mz_run *run, const mz_session_arguments *arguments) {
  const mz_limits limits = mz_session_limits(arguments);
  mz_outcome outcome;
  mz_status status = mz_session_drive(run, &limits, arguments->json, &outcome);
  mz_run_close(run);
  if (status == MZ_OK && arguments->json)
    status = mz_print_json(mz_outcome_to_json(&outcome, "done"));
  else if (status == MZ_OK)
    mz_outcome_print(&outcome);
  mz_outcome_deinit(&outcome);
  return status == MZ_OK ? mz_outcome_status(&outcome) : status;
}
