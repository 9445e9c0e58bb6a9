#include "cli/commands.h"
#include "cli/console.h"
#include "cli/print.h"
#include "cli/playing/screen.h"
#include "cli/terminal_window.h"
#include <math.h>
#include <string.h>
#include <time.h>

typedef struct watch_arguments {
  mz_mover_arguments mover;
  const char *opponent;
  int64_t games, delay_ms;
  bool json;
} watch_arguments;

#define AT(field) offsetof(watch_arguments, field)
static const mz_option options[] = {
    {.name = "--games",
     .type = MZ_OPTION_COUNT,
     .offset = AT(games),
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1000000000,
     .class_ = MZ_OPERATIONAL,
     .help = "games to play; against an opponent the agent moves first in every other one"},
    {.name = "--opponent",
     .type = MZ_OPTION_TEXT,
     .offset = AT(opponent),
     .value = "WHO",
     .otherwise = "the agent itself",
     .class_ = MZ_OPERATIONAL,
     .help = "random, rule, perfect, mcts:SIMS, a baseline that `muzero envs ENV` names, or another RUN"},
    {.name = "--delay",
     .type = MZ_OPTION_COUNT,
     .offset = AT(delay_ms),
     .value = "MS",
     .otherwise = "500 on a terminal, else 0",
     .min = 0,
     .max = 3600000,
     .class_ = MZ_OPERATIONAL,
     .help = "milliseconds to rest after a move"},
    {.name = "--json",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(json),
     .class_ = MZ_OPERATIONAL,
     .help = "one JSON object a line: each move, the end of each game, and all of them"},
    {0},
};

enum { BEST = 5, AGENT = 0, OPPONENT = 1, DELAY_MS = 500 };

typedef struct show {
  mz_live_game game;
  mz_mover movers[2]; /* by AGENT, OPPONENT */
  bool opposed;       /* otherwise the agent has every seat */
  bool json, colour, in_place;
  mz_terminal_window window;
  int lines; /* of the picture on the screen that the next one is drawn over */
  int64_t delay_ms;
  int64_t moves;
  double returns; /* of the agent, or of the first seat where it has both; over all games */
} show;

/* The agent's seat in the game under way: 0, and 1 in every other game against an opponent. */
static int agent_seat(const show *s) { return s->opposed ? (int)(s->game.ordinal & 1) : 0; }

static mz_mover *who_moves(show *s) {
  const bool own = !s->opposed || mz_live_game_to_play(&s->game) == agent_seat(s);
  return &s->movers[own ? AGENT : OPPONENT];
}

/* Returns the agent's rewards so far. */
static double agent_return(const show *s) {
  const double first = mz_live_game_return(&s->game);
  return agent_seat(s) == 0 ? first : -first;
}

static void rest(const show *s) {
  if (s->delay_ms <= 0) return;
  struct timespec left = {.tv_sec = s->delay_ms / 1000, .tv_nsec = s->delay_ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) continue; /* a signal that does not end us does not wake us */
}

/* --- for people --- */

/* Where a game's picture is drawn over the last one, lines are cut at the terminal's edge, so that their number is known. */
static mz_status draw(show *s) {
  if (s->in_place) printf("\033[?7l");
  if (s->in_place && s->lines == 0) s->window = mz_terminal_window_measure();
  if (s->in_place && mz_terminal_window_follow(&s->window)) s->lines = 0;
  if (s->in_place && s->lines > 0) printf("\r\033[%dA\033[J", s->lines);
  return mz_console_draw(s->game.env, mz_live_game_state(&s->game), s->colour, &s->lines);
}

/* Ends a picture: the last one of a game stays on the screen. */
static mz_status show_picture(show *s, int more_lines) {
  s->lines += more_lines;
  if (s->in_place) printf("\033[?7h");
  if (!s->in_place || mz_live_game_over(&s->game)) printf("\n");
  if (mz_live_game_over(&s->game)) s->lines = 0;
  return mz_print_flush();
}

static mz_status show_start(show *s) {
  MZ_TRY(draw(s));
  return show_picture(s, 0);
}

static void print_result(const show *s) {
  const mz_step *last = &s->game.plies[s->game.count - 1].step;
  const double first = mz_live_game_return(&s->game);
  printf("game %u ends after %d moves", s->game.ordinal + 1, s->game.count);
  if (last->truncated && !last->terminated) printf(" at its limit");
  if (s->game.env->spec.players < 2)
    printf(", return %g", first);
  else if (first == 0)
    printf(", a draw");
  else if (s->opposed)
    printf(", %s wins", s->movers[agent_return(s) > 0 ? AGENT : OPPONENT].name);
  else
    printf(", the %s player wins", first > 0 ? "first" : "second");
  printf("\n");
}

/* The position after a move, with what its mover thought. */
static mz_status show_move(show *s, const mz_mover *mover, const mz_thought *thought) {
  const mz_ply *ply = &s->game.plies[s->game.count - 1];
  char name[MZ_ACTION_TEXT];
  MZ_TRY(draw(s));
  printf("%d. %s: %s", s->game.count, mover->name, mz_live_game_text(&s->game, ply->action, name));
  if (ply->step.reward != 0) printf(", reward %g", (double)ply->step.reward);
  printf("\n");
  if (thought->searched)
    mz_console_thought(&s->game, thought);
  else
    printf("\n");
  if (mz_live_game_over(&s->game)) print_result(s);
  return show_picture(s, 2);
}

/* --- for scripts --- */

static void add_thought(cJSON *json, const mz_live_game *game, const mz_thought *thought) {
  cJSON_AddNumberToObject(json, "value", (double)thought->value);
  cJSON_AddNumberToObject(json, "raw_value", (double)thought->raw_value);
  cJSON_AddNumberToObject(json, "simulations", thought->simulations);
  cJSON *list = cJSON_AddArrayToObject(json, "best");
  int32_t best[BEST];
  const int actions = game->env->spec.actions, count = mz_thought_best(thought, actions, BEST, best);
  int64_t visits = 0;
  for (int a = 0; a < actions; a++) visits += thought->visits[a];
  for (int i = 0; i < count; i++) {
    char name[MZ_ACTION_TEXT];
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "action", best[i]);
    cJSON_AddStringToObject(item, "text", mz_live_game_text(game, best[i], name));
    cJSON_AddNumberToObject(item, "share", (double)thought->visits[best[i]] / (double)visits);
    cJSON_AddNumberToObject(item, "policy", (double)thought->policy[best[i]]);
    cJSON_AddNumberToObject(item, "improved_policy", (double)thought->improved[best[i]]);
    if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
  }
}

static mz_status print_move(const show *s, const mz_mover *mover, const mz_thought *thought) {
  const mz_ply *ply = &s->game.plies[s->game.count - 1];
  char name[MZ_ACTION_TEXT];
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "event", "move");
  cJSON_AddNumberToObject(json, "game", s->game.ordinal + 1);
  cJSON_AddNumberToObject(json, "move", s->game.count);
  cJSON_AddNumberToObject(json, "player", ply->player);
  cJSON_AddStringToObject(json, "by", mover->name);
  cJSON_AddNumberToObject(json, "action", ply->action);
  cJSON_AddStringToObject(json, "text", mz_live_game_text(&s->game, ply->action, name));
  cJSON_AddNumberToObject(json, "reward", (double)ply->step.reward);
  cJSON_AddBoolToObject(json, "terminated", ply->step.terminated);
  cJSON_AddBoolToObject(json, "truncated", ply->step.truncated);
  if (thought->searched) add_thought(json, &s->game, thought);
  return mz_print_json(json);
}

static mz_status print_game(const show *s) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "event", "game");
  cJSON_AddNumberToObject(json, "game", s->game.ordinal + 1);
  cJSON_AddNumberToObject(json, "moves", s->game.count);
  cJSON_AddNumberToObject(json, "agent", agent_seat(s));
  cJSON_AddNumberToObject(json, "return", agent_return(s));
  return mz_print_json(json);
}

static mz_status print_done(const show *s, int64_t games) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "event", "done");
  cJSON_AddNumberToObject(json, "games", (double)games);
  cJSON_AddNumberToObject(json, "moves", (double)s->moves);
  cJSON_AddNumberToObject(json, "mean_return", s->returns / (double)games);
  cJSON_AddStringToObject(json, "opponent", s->opposed ? s->movers[OPPONENT].name : "none");
  return mz_print_json(json);
}

/* --- playing --- */

static mz_status play_game(show *s) {
  if (!s->json) MZ_TRY(show_start(s));
  while (!mz_live_game_over(&s->game)) {
    mz_mover *mover = who_moves(s);
    mz_thought thought;
    MZ_TRY(mz_mover_think(mover, &s->game, &thought));
    MZ_TRY(mz_live_game_play(&s->game, mz_live_game_to_play(&s->game), thought.action));
    MZ_TRY(s->json ? print_move(s, mover, &thought) : show_move(s, mover, &thought));
    rest(s);
  }
  s->moves += s->game.count;
  s->returns += agent_return(s);
  return s->json ? print_game(s) : MZ_OK;
}

static mz_status watch(const void *given) {
  const watch_arguments *arguments = given;
  show s = {.json = arguments->json, .delay_ms = arguments->delay_ms, .opposed = arguments->opponent != NULL};
  s.in_place = !s.json && mz_screen_possible();
  s.window = mz_terminal_window_measure();
  s.colour = mz_console_colour();
  if (s.delay_ms == MZ_COUNT_UNSET) s.delay_ms = s.in_place ? DELAY_MS : 0;
  mz_status status;
  MZ_TRY_CLEANUP(mz_mover_init(&s.movers[AGENT], &arguments->mover));
  const mz_env *env = s.movers[AGENT].agent.env;
  if (s.opposed) MZ_TRY_CLEANUP(mz_mover_init_opponent(&s.movers[OPPONENT], arguments->opponent, env));
  MZ_TRY_CLEANUP(mz_live_game_init(&s.game, env, (uint64_t)arguments->mover.seed));
  for (int64_t game = 0; game < arguments->games; game++) {
    if (game > 0) MZ_TRY_CLEANUP(mz_live_game_restart(&s.game));
    MZ_TRY_CLEANUP(play_game(&s));
  }
  if (s.json) status = print_done(&s, arguments->games);
cleanup:
  mz_live_game_deinit(&s.game);
  mz_mover_deinit(&s.movers[OPPONENT]);
  mz_mover_deinit(&s.movers[AGENT]);
  return status;
}

const mz_command mz_command_watch = {
    .name = "watch",
    .summary = "watch a trained agent play",
    .about =
        "Plays games, the agent against itself or an opponent, or alone, and shows every position with the agent's value of it "
        "for the side to move and the shares of its simulations on the best moves. In --json `value` is that of the search and "
        "`raw_value` the network's own; of each of the `best` moves, `share` is its share of the simulations, `policy` the "
        "probability that the network gives it before the search, and `improved_policy` that which the search would teach the "
        "network (after one simulation, which compares nothing, it says little). The agent plays the move that the search "
        "selects, unless --temperature draws one.",
    .options = options,
    .shared = mz_mover_options,
    .arguments_size = sizeof(watch_arguments),
    .examples = {"watch runs/cp", "watch runs/t --opponent mcts:100 --games 2 --json"},
    .run = watch,
};
