/* The Go Text Protocol, version 2 (Farnebäck 2002), for any board game of two players: black is player 0. */
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/playing/gtp_commands.h"
#include "cli/print.h"
#include <string.h>

/* As the protocol says: no control characters, tabs are spaces, no comments. */
static void clean(char *line) {
  char *to = line;
  for (const char *from = line; *from && *from != '#'; from++) {
    if (*from == '\t')
      *to++ = ' ';
    else if ((unsigned char)*from >= ' ' && *from != 127)
      *to++ = *from;
  }
  *to = '\0';
}

/* An identity number at the line's beginning, as it was typed; "" for none. */
static const char *take_id(char **line) {
  char *at = *line + strspn(*line, " ");
  const size_t digits = strspn(at, "0123456789");
  *line = at;
  if (digits == 0 || (at[digits] && at[digits] != ' ')) return "";
  *line = at + digits + (at[digits] == ' ');
  at[digits] = '\0';
  return at;
}

/* A response ends with an empty line, so it may hold none. */
static void respond(const char *id, bool refused, const char *text) {
  printf("%c%s ", refused ? '?' : '=', id);
  for (const char *at = text; *at; at++)
    if (*at != '\n' || (at[1] != '\n' && at[1] != '\0')) putchar(*at);
  printf("\n\n");
}

static mz_status answer(mz_gtp *gtp, char *line) {
  clean(line);
  if (line[strspn(line, " ")] == '\0') return MZ_OK;
  const char *id = take_id(&line);
  char *text;
  size_t size;
  FILE *reply = open_memstream(&text, &size);
  if (!reply) return mz_fail(MZ_E_MEMORY, "gtp: no memory for a response");
  bool refused = false;
  char shown[MZ_SHOWN_SIZE];
  mz_status status = mz_gtp_obey(gtp, line, reply, &refused);
  const bool lost = fclose(reply) != 0;
  if (status == MZ_OK && lost) status = mz_fail(MZ_E_MEMORY, "gtp: no memory for a response");
  if (status == MZ_OK)
    respond(id, refused, text);
  else
    respond(id, true, mz_text_shown(mz_message(), shown));
  free(text);
  return status == MZ_OK ? mz_print_flush() : status;
}

static mz_status gtp(const void *arguments) {
  mz_gtp gtp;
  mz_console_input input = {0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_gtp_init(&gtp, arguments));
  while (!gtp.quits) {
    char *line;
    MZ_TRY_CLEANUP(mz_console_read(&input, &line));
    if (!line) break;
    MZ_TRY_CLEANUP(answer(&gtp, line));
  }
cleanup:
  free(input.line);
  mz_gtp_deinit(&gtp);
  return status;
}

const mz_command mz_command_gtp = {
    .name = "gtp",
    .summary = "play through the Go Text Protocol, for programs",
    .about =
        "Reads commands of the Go Text Protocol, version 2, one a line, and plays any board game of two players: black moves "
        "first. Vertices are written as the game's pictures show them; `list_commands` lists what is understood.",
    .options = mz_mover_options,
    .arguments_size = sizeof(mz_mover_arguments),
    .examples = {"gtp runs/t", "gtp runs/go --sims 200"},
    .run = gtp,
};
