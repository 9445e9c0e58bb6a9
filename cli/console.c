#include "cli/console.h"
#include "base/text.h"
#include "cli/playing/screen.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { BEST = 5 };

bool mz_console_colour(void) {
  const char *no_colour = getenv("NO_COLOR");
  return mz_screen_possible() && (!no_colour || !*no_colour);
}

mz_status mz_console_read(mz_console_input *input, char **line) {
  errno = 0;
  const ssize_t got = getline(&input->line, &input->capacity, stdin);
  *line = NULL;
  if (got < 0) {
    if (feof(stdin)) return MZ_OK;
    return errno == ENOMEM ? mz_fail(MZ_E_MEMORY, "standard input: no memory for a line")
                           : mz_fail(MZ_E_IO, "standard input: %s", strerror(errno));
  }
  *line = input->line;
  for (ssize_t i = 0; i < got; i++)
    if ((*line)[i] == '\0') (*line)[i] = ' '; /* the line ends where it ends */
  if ((*line)[got - 1] == '\n') (*line)[got - 1] = '\0';
  return MZ_OK;
}

static bool is_blank(char c) { return (unsigned char)c <= ' ' || c == 127; }

char *mz_console_trim(char *line) {
  size_t length = strlen(line);
  while (length > 0 && is_blank(line[length - 1])) line[--length] = '\0';
  while (*line && is_blank(*line)) line++;
  return line;
}

mz_status mz_console_text(const mz_env *env, const void *state, char **out) {
  const int length = env->text(env, state, NULL, 0);
  MZ_ASSERT(length >= 0);
  MZ_TRY(mz_alloc(out, (size_t)length + 1, 1));
  env->text(env, state, *out, (size_t)length + 1);
  return MZ_OK;
}

/* −1: no stone. */
static int stone_of(char c) {
  if (c == 'x' || c == 'X') return 0;
  return c == 'o' || c == 'O' ? 1 : -1;
}

static bool is_of_board(const char *line, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (isalpha((unsigned char)line[i]) && stone_of(line[i]) < 0) return false;
  return true;
}

static void draw_line(const char *line, size_t length, bool colour) {
  static const char *const inks[] = {"\033[1;36m", "\033[1;33m"}; /* cyan, yellow: seen on dark and on light */
  const bool stones = colour && is_of_board(line, length);
  for (size_t i = 0; i < length; i++) {
    const int stone = stones ? stone_of(line[i]) : -1;
    if (stone >= 0)
      printf("%s%c\033[0m", inks[stone], line[i]);
    else
      putchar(line[i]);
  }
  putchar('\n');
}

mz_status mz_console_draw(const mz_env *env, const void *state, bool colour, int *lines) {
  char *text;
  MZ_TRY(mz_console_text(env, state, &text));
  int count = 0;
  for (const char *at = text; *at; count++) {
    const size_t length = strcspn(at, "\n");
    draw_line(at, length, colour && env->spec.players == 2);
    at += length + (at[length] == '\n');
  }
  free(text);
  if (lines) *lines = count;
  return MZ_OK;
}

void mz_console_thought(const mz_live_game *game, const mz_thought *thought) {
  int32_t best[BEST];
  char name[MZ_ACTION_TEXT];
  const int actions = game->env->spec.actions, count = mz_thought_best(thought, actions, BEST, best);
  int64_t visits = 0;
  for (int a = 0; a < actions; a++) visits += thought->visits[a];
  printf("value %+.2f after %d simulation%s (%+.2f before)", (double)thought->value, thought->simulations,
         mz_plural(thought->simulations), (double)thought->raw_value);
  for (int i = 0; i < count; i++)
    printf("%s%s %.0f %%", i == 0 ? ": " : ", ", mz_live_game_text(game, best[i], name),
           100 * (double)thought->visits[best[i]] / (double)visits);
  printf("\n");
}
