#include "cli/playing/gtp_commands.h"
#include "base/log.h"
#include "cli/playing/board.h"
#include "cli/console.h"
#include <math.h>
#include <string.h>
#include <strings.h>

enum { BLACK, WHITE, WORDS_MAX = 8 };

typedef struct call {
  mz_gtp *gtp;
  int count; /* of arguments */
  const char *arguments[WORDS_MAX];
  FILE *out;
  bool refused;
} call;

static mz_status refuse(call *c, const char *why) {
  c->refused = true;
  fputs(why, c->out);
  return MZ_OK;
}

/* A refusal of the game is an answer; any other failure ends the program. */
static mz_status refused_by_game(call *c, mz_status status) { return status == MZ_E_USAGE ? refuse(c, mz_message()) : status; }

static mz_status syntax(call *c) { return refuse(c, "syntax error"); }

/* −1: no colour. */
static int colour_of(const char *word) {
  if (strcasecmp(word, "b") == 0 || strcasecmp(word, "black") == 0) return BLACK;
  return strcasecmp(word, "w") == 0 || strcasecmp(word, "white") == 0 ? WHITE : -1;
}

static void print_vertex(const call *c, int action) {
  char name[MZ_ACTION_TEXT];
  fputs(mz_live_game_text(&c->gtp->game, action, name), c->out);
}

/* A list of actions, by a mask. */
static void print_vertices(const call *c, const uint8_t *mask) {
  bool any = false;
  for (int a = 0; a < c->gtp->game.env->spec.actions; a++) {
    if (!mask[a]) continue;
    if (any) fputc(' ', c->out);
    print_vertex(c, a);
    any = true;
  }
}

/* --- administration --- */

static mz_status protocol_version(call *c) {
  fputs("2", c->out);
  return MZ_OK;
}

static mz_status name(call *c) {
  fputs("muzero", c->out);
  return MZ_OK;
}

static mz_status version(call *c) {
  fputs(MUZERO_VERSION, c->out);
  return MZ_OK;
}

static mz_status known_command(call *c);
static mz_status list_commands(call *c);

static mz_status quit(call *c) {
  c->gtp->quits = true;
  return MZ_OK;
}

/* --- setup --- */

static mz_status boardsize(call *c) {
  char *end;
  const long size = strtol(c->arguments[0], &end, 10);
  if (*end) return syntax(c);
  if (size != c->gtp->game.env->spec.obs_shape[1]) return refuse(c, "unacceptable size");
  return mz_live_game_restart(&c->gtp->game);
}

static mz_status query_boardsize(call *c) {
  fprintf(c->out, "%d", c->gtp->game.env->spec.obs_shape[1]);
  return MZ_OK;
}

static mz_status clear_board(call *c) { return mz_live_game_restart(&c->gtp->game); }

static mz_status komi(call *c) {
  char *end;
  const double komi = strtod(c->arguments[0], &end);
  if (*end || !isfinite(komi)) return syntax(c);
  double own = 0;
  mz_board_komi(c->gtp->game.env, &own);
  if (komi != own)
    mz_log_write(MZ_LOG_WARNING, "komi %g: final_score counts by it, but the agent has learned with %g and plays by that", komi,
                 own);
  c->gtp->komi = komi;
  return MZ_OK;
}

static mz_status get_komi(call *c) {
  fprintf(c->out, "%g", c->gtp->komi);
  return MZ_OK;
}

/* --- play --- */

static mz_status play(call *c) {
  mz_live_game *game = &c->gtp->game;
  const int colour = colour_of(c->arguments[0]), action = mz_live_game_find(game, c->arguments[1]);
  if (colour < 0) return syntax(c);
  if (action < 0) return refuse(c, "illegal move");
  return refused_by_game(c, mz_live_game_play(game, colour, action));
}

static mz_status choose(call *c, bool plays) {
  mz_live_game *game = &c->gtp->game;
  const int colour = colour_of(c->arguments[0]);
  if (colour < 0) return syntax(c);
  mz_thought thought;
  const mz_status status = mz_live_game_turn(game, colour);
  if (status != MZ_OK) return refused_by_game(c, status);
  MZ_TRY(mz_mover_think(&c->gtp->agent, game, &thought));
  print_vertex(c, thought.action);
  if (plays) return mz_live_game_play(game, colour, thought.action);
  mz_live_game_settle(game);
  return MZ_OK;
}

static mz_status genmove(call *c) { return choose(c, true); }

static mz_status reg_genmove(call *c) { return choose(c, false); }

static mz_status undo(call *c) { return mz_live_game_undo(&c->gtp->game) ? MZ_OK : refuse(c, "cannot undo"); }

static mz_status gg_undo(call *c) {
  char *end;
  long moves = c->count ? strtol(c->arguments[0], &end, 10) : 1;
  if ((c->count && *end) || moves < 0) return syntax(c);
  const mz_live_game *game = &c->gtp->game;
  long made = 0; /* an inserted pass goes with the move after it */
  for (int i = 0; i < game->count; i++) made += !game->plies[i].inserted;
  if (moves > made) return refuse(c, "cannot undo");
  for (; moves > 0; moves--) mz_live_game_undo(&c->gtp->game);
  return MZ_OK;
}

/* --- what the board shows --- */

static mz_status showboard(call *c) {
  char *text;
  const mz_live_game *game = &c->gtp->game;
  MZ_TRY(mz_console_text(game->env, mz_live_game_state(game), &text));
  fprintf(c->out, "\n%s", text);
  free(text);
  return MZ_OK;
}

static mz_status list_stones(call *c) {
  const mz_live_game *game = &c->gtp->game;
  const int colour = colour_of(c->arguments[0]);
  if (colour < 0) return syntax(c);
  double stones[MZ_ENV_NUMBERS_MAX];
  const int cells = mz_board_stones(game->env, mz_live_game_state(game), stones);
  uint8_t mask[MZ_ENV_NUMBERS_MAX] = {0};
  for (int i = 0; i < cells; i++) mask[i] = stones[i] == (colour == BLACK ? 1 : -1);
  print_vertices(c, mask);
  return MZ_OK;
}

static mz_status color(call *c) {
  const mz_live_game *game = &c->gtp->game;
  const int cell = mz_live_game_find(game, c->arguments[0]);
  double stones[MZ_ENV_NUMBERS_MAX];
  if (cell < 0 || cell >= mz_board_stones(game->env, mz_live_game_state(game), stones)) return syntax(c);
  fputs(stones[cell] > 0 ? "black" : stones[cell] < 0 ? "white" : "empty", c->out);
  return MZ_OK;
}

static mz_status all_legal(call *c) {
  mz_live_game *game = &c->gtp->game;
  const int colour = colour_of(c->arguments[0]);
  if (colour < 0) return syntax(c);
  const mz_status status = mz_live_game_turn(game, colour);
  if (status == MZ_OK) print_vertices(c, game->legal);
  mz_live_game_settle(game);
  return status == MZ_E_USAGE ? MZ_OK : status; /* nothing is legal */
}

static mz_status is_legal(call *c) {
  mz_live_game *game = &c->gtp->game;
  const int colour = colour_of(c->arguments[0]), action = mz_live_game_find(game, c->arguments[1]);
  if (colour < 0) return syntax(c);
  const mz_status status = mz_live_game_turn(game, colour);
  fputc(status == MZ_OK && action >= 0 && game->legal[action] ? '1' : '0', c->out);
  mz_live_game_settle(game);
  return status == MZ_E_USAGE ? MZ_OK : status;
}

static void print_ply(const call *c, int index) {
  const mz_ply *ply = &c->gtp->game.plies[index];
  fprintf(c->out, "%s ", ply->player == BLACK ? "black" : "white");
  print_vertex(c, ply->action);
}

static mz_status last_move(call *c) {
  if (c->gtp->game.count == 0) return refuse(c, "no previous move known");
  print_ply(c, c->gtp->game.count - 1);
  return MZ_OK;
}

/* The last move first, as GNU Go does. */
static mz_status move_history(call *c) {
  for (int i = c->gtp->game.count - 1; i >= 0; i--) {
    print_ply(c, i);
    fputc('\n', c->out);
  }
  return MZ_OK;
}

/* --- the end --- */

static void print_score(const call *c, double lead) {
  if (lead == 0)
    fputc('0', c->out);
  else
    fprintf(c->out, "%c+%g", lead > 0 ? 'B' : 'W', fabs(lead));
}

/* Points, where the game has them, as the board lies; otherwise what the finished game pays. "F": forfeited, by a repetition that
 * the points know nothing of. */
static mz_status final_score(call *c) {
  const mz_live_game *game = &c->gtp->game;
  const bool over = mz_live_game_over(game);
  const double won = mz_live_game_return(game);
  int points;
  double komi = 0;
  const mz_status status = mz_board_points(game->env, mz_live_game_state(game), &points);
  if (status == MZ_E_CONFIG) {
    if (!over) return refuse(c, "cannot score");
    print_score(c, won);
    return MZ_OK;
  }
  MZ_TRY(status);
  mz_board_komi(game->env, &komi);
  const double by_points = points > komi ? 1 : points < komi ? -1 : 0;
  if (over && won != by_points)
    fputs(won > 0 ? "B+F" : won < 0 ? "W+F" : "0", c->out);
  else
    print_score(c, points - c->gtp->komi);
  return MZ_OK;
}

/* --- the table --- */

typedef struct command {
  const char *name;
  int arguments; /* at least so many */
  mz_status (*run)(call *c);
  enum { ALWAYS, WITH_KOMI, WITH_STONES } needs;
} command;

static const command commands[] = {
    {"protocol_version", 0, protocol_version, ALWAYS},
    {"name", 0, name, ALWAYS},
    {"version", 0, version, ALWAYS},
    {"known_command", 1, known_command, ALWAYS},
    {"list_commands", 0, list_commands, ALWAYS},
    {"quit", 0, quit, ALWAYS},
    {"boardsize", 1, boardsize, ALWAYS},
    {"query_boardsize", 0, query_boardsize, ALWAYS},
    {"clear_board", 0, clear_board, ALWAYS},
    {"komi", 1, komi, WITH_KOMI},
    {"get_komi", 0, get_komi, WITH_KOMI},
    {"play", 2, play, ALWAYS},
    {"genmove", 1, genmove, ALWAYS},
    {"reg_genmove", 1, reg_genmove, ALWAYS},
    {"undo", 0, undo, ALWAYS},
    {"gg-undo", 0, gg_undo, ALWAYS},
    {"showboard", 0, showboard, ALWAYS},
    {"list_stones", 1, list_stones, WITH_STONES},
    {"color", 1, color, WITH_STONES},
    {"all_legal", 1, all_legal, ALWAYS},
    {"is_legal", 2, is_legal, ALWAYS},
    {"last_move", 0, last_move, ALWAYS},
    {"move_history", 0, move_history, ALWAYS},
    {"final_score", 0, final_score, ALWAYS},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static bool is_offered(const mz_gtp *gtp, const command *row) {
  double komi, stones[MZ_ENV_NUMBERS_MAX];
  switch (row->needs) {
    case WITH_KOMI: return mz_board_komi(gtp->game.env, &komi);
    case WITH_STONES: return mz_board_stones(gtp->game.env, mz_live_game_state(&gtp->game), stones) > 0;
    default: return true;
  }
}

static const command *find(const mz_gtp *gtp, const char *word) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(word, commands[i].name) == 0) return is_offered(gtp, &commands[i]) ? &commands[i] : NULL;
  return NULL;
}

static mz_status known_command(call *c) {
  fputs(find(c->gtp, c->arguments[0]) ? "true" : "false", c->out);
  return MZ_OK;
}

static mz_status list_commands(call *c) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (is_offered(c->gtp, &commands[i])) fprintf(c->out, "%s\n", commands[i].name);
  return MZ_OK;
}

mz_status mz_gtp_obey(mz_gtp *gtp, char *line, FILE *out, bool *refused) {
  call c = {.gtp = gtp, .out = out};
  char *rest = NULL;
  const char *word = strtok_r(line, " ", &rest);
  const command *row = word ? find(gtp, word) : NULL;
  while (c.count < WORDS_MAX && (word = strtok_r(NULL, " ", &rest))) c.arguments[c.count++] = word;
  mz_status status;
  if (!row)
    status = refuse(&c, "unknown command");
  else if (c.count < row->arguments)
    status = syntax(&c);
  else
    status = row->run(&c);
  *refused = c.refused;
  return status;
}

mz_status mz_gtp_init(mz_gtp *gtp, const mz_mover_arguments *arguments) {
  *gtp = (mz_gtp){0};
  MZ_TRY(mz_mover_init(&gtp->agent, arguments));
  const mz_env *env = gtp->agent.agent.env;
  if (env->spec.players != 2)
    return mz_fail(MZ_E_CONFIG, "%s: %s is played alone; `muzero watch` shows the agent at it", arguments->run, env->name);
  mz_board_komi(env, &gtp->komi);
  return mz_live_game_init(&gtp->game, env, (uint64_t)arguments->seed);
}

void mz_gtp_deinit(mz_gtp *gtp) {
  mz_live_game_deinit(&gtp->game);
  mz_mover_deinit(&gtp->agent);
}
