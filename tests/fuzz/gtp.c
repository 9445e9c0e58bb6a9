/* Lines of the Go Text Protocol, to an agent of a tiny network. The first byte chooses the game. */
#include "cli/playing/gtp_commands.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { GAMES = 2, LINE_MAX_ = 512 };

static mz_gtp games[GAMES];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const char *const runs[GAMES] = {FUZZ_SEEDS "/checkpoint/tictactoe.mzc", FUZZ_SEEDS "/checkpoint/go.mzc"};
  (void)argc, (void)argv;
  fuzz_quiet();
  for (int i = 0; i < GAMES; i++) {
    const mz_mover_arguments arguments = {.run = runs[i], .simulations = 2, .seed = 1};
    fuzz_must(mz_gtp_init(&games[i], &arguments));
  }
  return 0;
}

static void obey(mz_gtp *gtp, char *line) {
  char *text;
  size_t size;
  bool refused;
  FILE *reply = open_memstream(&text, &size);
  MZ_ASSERT(reply != NULL);
  (void)mz_gtp_obey(gtp, line, reply, &refused);
  fclose(reply);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  mz_gtp *gtp = &games[data[0] % GAMES];
  const mz_status status = mz_live_game_restart(&gtp->game);
  MZ_ASSERT(status == MZ_OK);
  gtp->game.ordinal = 0;
  gtp->quits = false;
  const uint8_t *at = data + 1, *end = data + size;
  while (at < end && !gtp->quits) {
    const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    char line[LINE_MAX_];
    size_t length = 0;
    for (; at < stop; at++) /* as they come from the prompt: no control characters */
      if (*at >= ' ' && *at != 127 && length + 1 < sizeof line) line[length++] = (char)*at;
    line[length] = '\0';
    obey(gtp, line);
    at = stop + 1;
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  if (size < 2) return LLVMFuzzerMutate(data, size, max_size);
  return 1 + fuzz_mutate_text(data + 1, size - 1, max_size - 1, &random);
}
