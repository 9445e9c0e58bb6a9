#include "cli/commands.h"
#include "cli/console.h"
#include "cli/print.h"
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct play_arguments {
  mz_mover_arguments mover;
  const char *seat;
} play_arguments;

static const mz_option options[] = {
    {.name = "--seat",
     .type = MZ_OPTION_TEXT,
     .offset = offsetof(play_arguments, seat),
     .value = "SEAT",
     .fallback = "first",
     .class_ = MZ_OPERATIONAL,
     .help = "yours: first or second; both: the agent has both, moves when you press Enter, and you may move for either"},
    {0},
};

enum { SEAT_BOTH = 2, SEATS, LISTED_MAX = 16 };
static const char *const seats[SEATS] = {"first", "second", "both"};

typedef struct sitting {
  mz_live_game game;
  mz_mover agent;
  int seat; /* the person's: 0, 1 or SEAT_BOTH */
  bool colour, quits;
} sitting;

static bool is_agents_turn(const sitting *s) {
  return !mz_live_game_over(&s->game) && s->seat != SEAT_BOTH && mz_live_game_to_play(&s->game) != s->seat;
}

static void print_result(const sitting *s) {
  const double won = mz_live_game_return(&s->game);
  const mz_step *last = &s->game.plies[s->game.count - 1].step;
  const int winner = won > 0 ? 0 : 1;
  if (last->truncated && !last->terminated) printf("The game is at its limit of %d moves. ", s->game.env->spec.max_moves);
  if (won == 0)
    printf("A draw");
  else if (s->seat == SEAT_BOTH)
    printf("The %s player wins", seats[winner]);
  else
    printf(winner == s->seat ? "You win" : "The agent wins");
  printf(". `new` begins another game, `undo` takes back, `quit` leaves.\n");
}

/* Plays a legal action and shows what came of it. */
static mz_status move(sitting *s, int action, const char *who) {
  char name[MZ_ACTION_TEXT];
  MZ_TRY(mz_live_game_play(&s->game, mz_live_game_to_play(&s->game), action));
  printf("\n");
  MZ_TRY(mz_console_draw(s->game.env, mz_live_game_state(&s->game), s->colour, NULL));
  printf("%s: %s\n", who, mz_live_game_text(&s->game, action, name));
  if (mz_live_game_over(&s->game)) print_result(s);
  return mz_print_flush();
}

static mz_status move_agent(sitting *s) {
  mz_thought thought;
  MZ_TRY(mz_mover_think(&s->agent, &s->game, &thought));
  return move(s, thought.action, "agent");
}

static mz_status answer(sitting *s) {
  while (is_agents_turn(s)) MZ_TRY(move_agent(s));
  return MZ_OK;
}

/* --- what a person can say besides moves --- */

static mz_status show(sitting *s) {
  printf("\n");
  return mz_console_draw(s->game.env, mz_live_game_state(&s->game), s->colour, NULL);
}

static mz_status hint(sitting *s) {
  if (mz_live_game_over(&s->game)) {
    print_result(s);
    return MZ_OK;
  }
  mz_thought thought;
  char name[MZ_ACTION_TEXT];
  MZ_TRY(mz_mover_think(&s->agent, &s->game, &thought));
  const int own = thought.simulations;
  printf("The agent would play %s", mz_live_game_text(&s->game, thought.action, name));
  MZ_TRY(mz_mover_hint(&s->agent, &s->game, &thought));
  if (thought.simulations != own) /* what it plays by, and what it thinks on asking, may differ */
    printf(", by %d simulation%s; after more it would play %s", own, mz_plural(own),
           mz_live_game_text(&s->game, thought.action, name));
  printf(". For the side to move: ");
  mz_console_thought(&s->game, &thought);
  return MZ_OK;
}

static void print_legal(const sitting *s) {
  char name[MZ_ACTION_TEXT];
  for (int a = 0; a < s->game.env->spec.actions; a++)
    if (s->game.legal[a]) printf(" %s", mz_live_game_text(&s->game, a, name));
  printf("\n");
}

static mz_status moves(sitting *s) {
  printf("%d legal moves:", s->game.legal_count);
  print_legal(s);
  return MZ_OK;
}

/* Back to the person's last move. */
static mz_status undo(sitting *s) {
  if (!s->game.env->copies) {
    printf("Moves of %s cannot be taken back: its states cannot be copied.\n", s->game.env->name);
    return MZ_OK;
  }
  int own = s->game.count - 1;
  while (own >= 0 && s->seat != SEAT_BOTH && s->game.plies[own].player != s->seat) own--;
  if (own < 0) {
    printf("There is no move of yours to take back.\n");
    return MZ_OK;
  }
  while (s->game.count > own) mz_live_game_undo(&s->game);
  return show(s);
}

static mz_status begin(sitting *s) {
  MZ_TRY(mz_live_game_restart(&s->game));
  MZ_TRY(show(s));
  return answer(s);
}

static mz_status quit(sitting *s) {
  s->quits = true;
  return MZ_OK;
}

static mz_status help(sitting *s);

static const struct {
  const char *name, *help;
  mz_status (*run)(sitting *s);
} words[] = {
    {"hint", "what the agent would play, and a search with at least the simulations of self-play: value, best moves' shares",
     hint},
    {"moves", "the legal moves", moves},
    {"undo", "takes back your last move and the answer to it", undo},
    {"board", "draws the board", show},
    {"new", "another game", begin},
    {"quit", "leaves, as the end of input does", quit},
    {"help", "this list", help},
};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

static mz_status help(sitting *s) {
  char name[MZ_ACTION_TEXT];
  int some = 0;
  while (some < s->game.env->spec.actions - 1 && !s->game.legal[some]) some++;
  printf("  %-7s a move, such as this\n", mz_live_game_text(&s->game, some, name));
  if (s->seat == SEAT_BOTH) printf("  Enter   the agent moves\n");
  for (int i = 0; i < WORD_COUNT; i++) printf("  %-7s %s\n", words[i].name, words[i].help);
  return MZ_OK;
}

/* --- the dialogue --- */

static void refuse(const sitting *s, const char *text, int action) {
  char name[MZ_ACTION_TEXT], shown[MZ_SHOWN_SIZE];
  if (mz_live_game_over(&s->game)) {
    print_result(s);
    return;
  }
  const char *names[WORD_COUNT];
  for (int i = 0; i < WORD_COUNT; i++) names[i] = words[i].name;
  const char *word = action < 0 ? mz_nearest(text, names, WORD_COUNT) : NULL;
  if (action >= 0)
    printf("%s is not legal here", mz_text_shown(text, shown));
  else
    printf("'%s' is no move", mz_text_shown(text, shown));
  const int near = mz_live_game_nearest(&s->game, text, action);
  if (word)
    printf("; did you mean `%s`?\n", word);
  else if (near >= 0)
    printf("; the nearest legal move is %s (`help` lists what you can say)\n", mz_live_game_text(&s->game, near, name));
  else if (s->game.legal_count <= LISTED_MAX) {
    printf("; legal are");
    print_legal(s);
  } else
    printf("; `moves` lists the legal ones, `help` what else you can say\n");
}

/* One line, without spaces around it. */
static mz_status obey(sitting *s, const char *text) {
  if (!*text) return s->seat == SEAT_BOTH && !mz_live_game_over(&s->game) ? move_agent(s) : MZ_OK;
  const int action = mz_live_game_find(&s->game, text);
  if (action >= 0 && s->game.legal[action]) {
    MZ_TRY(move(s, action, s->seat == SEAT_BOTH ? "moved" : "you"));
    return answer(s);
  }
  for (int i = 0; i < WORD_COUNT && action < 0; i++)
    if (strcasecmp(text, words[i].name) == 0) return words[i].run(s);
  refuse(s, text, action);
  return MZ_OK;
}

static mz_status talk(sitting *s) {
  mz_console_input input = {0};
  const bool prompts = isatty(STDIN_FILENO);
  mz_status status = MZ_OK;
  while (status == MZ_OK && !s->quits) {
    if (prompts) printf("> ");
    MZ_TRY_CLEANUP(mz_print_flush());
    char *line;
    MZ_TRY_CLEANUP(mz_console_read(&input, &line));
    if (!line) break;
    status = obey(s, mz_console_trim(line));
  }
cleanup:
  free(input.line);
  return status;
}

static mz_status play(const void *given) {
  const play_arguments *arguments = given;
  sitting s = {.colour = mz_console_colour()};
  while (s.seat < SEATS && strcmp(arguments->seat, seats[s.seat]) != 0) s.seat++;
  if (s.seat == SEATS) return mz_fail(MZ_E_USAGE, "--seat: %s: there are first, second and both", arguments->seat);
  mz_status status;
  MZ_TRY_CLEANUP(mz_mover_init(&s.agent, &arguments->mover));
  const mz_env *env = s.agent.agent.env;
  if (env->spec.players != 2)
    MZ_TRY_CLEANUP(
        mz_fail(MZ_E_CONFIG, "%s: %s is played alone; `muzero watch` shows the agent at it", arguments->mover.run, env->name));
  MZ_TRY_CLEANUP(mz_live_game_init(&s.game, env, (uint64_t)arguments->mover.seed));
  const int simulations = mz_agent_simulations(&s.agent.agent);
  printf("%s against the agent, %d simulation%s a move; `help` lists what you can say.\n", env->name, simulations,
         mz_plural(simulations));
  MZ_TRY_CLEANUP(show(&s));
  MZ_TRY_CLEANUP(answer(&s));
  MZ_TRY_CLEANUP(talk(&s));
  status = mz_print_flush();
cleanup:
  mz_live_game_deinit(&s.game);
  mz_mover_deinit(&s.agent);
  return status;
}

const mz_command mz_command_play = {
    .name = "play",
    .summary = "play against a trained agent in the terminal",
    .about =
        "Draws the board and reads moves, one a line (`help` there lists what else it understands: hint, undo, new …), until "
        "`quit` or the end of input.",
    .options = options,
    .shared = mz_mover_options,
    .arguments_size = sizeof(play_arguments),
    .examples = {"play runs/t", "play runs/t --seat second --sims 200"},
    .run = play,
};
